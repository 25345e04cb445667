"""What the notebook learns by rule, from outside."""

from tests.memory.learning.test_extractive import ANOTHER_VOICE
from tests.support.program import Program

NOTEBOOK = {
    "ANTHROPIC_BASE_URL": "",
    "ANTHROPIC_API_KEY": "",
    "CONSTRUCT_TZ": "Europe/Lisbon",
    "CONSTRUCT_NOW": "2026-11-02T10:00:00+00:00",
}
MAIL = "From: Ana <ana@example.com>\nTo: Tom\nSubject: News\n\nI have diabetes and live in Oslo.\n"


def test_other_voices_give_nothing_of_the_users(program: Program) -> None:
    """Letters, plays, drafts, code, chats, quotations and text to be translated."""
    said = [text for texts in ANOTHER_VOICE.values() for text in texts if "\n" not in text]
    program.run("chat", stdin="\n".join([*said, "I moved to Porto."]), more=NOTEBOOK)
    program.run("ask", "--no-wait", "-", stdin=MAIL, more=NOTEBOOK)
    log = "Ana: I'm pregnant!\nBen: wow, when?\n"
    program.run("ask", "-", stdin=log, more=NOTEBOOK)
    found = program.json("memory", "list", more=NOTEBOOK)
    assert [note["text"] for note in found] == ["I moved to Porto."]


def test_only_certain_days_are_on_the_agenda(program: Program) -> None:
    """Said on a Monday; what is off, or contradicts the calendar, is not ahead."""
    said = [
        "I will see the dentist Dr Maes a week on Tuesday.",
        "My trip to Rome tomorrow is off.",
        "I will see Ana on Wednesday 3 November.",
        "Where do I live?",
    ]
    program.run("chat", stdin="\n".join(said), more=NOTEBOOK)
    found = program.json("agenda", more=NOTEBOOK)
    assert [(item["content"], item["date"]) for item in found] == [(said[0], "2026-11-10")]
    stances = {note["text"]: note["stance"] for note in program.json("memory", "list")}
    assert stances[said[3]] == "asked"
