"""`construct memory …`, `undo` and `compact`, run as a program."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from construct.clock import Clock
from construct.memory.learning.proposals import ProposedObservation
from construct.memory.undo import undo
from construct.views.shapes import MessageJson, NoteJson
from tests.memory.builders import Life
from tests.support.emulator import PseudoTerminal, python
from tests.support.fake_api import FakeApi, adversarial, faults
from tests.support.program import Program
from tests.support.talks import LOW, facts

COMMON = {"kind", "id", "conversation", "date", "text"}
OBSERVATION = COMMON | {
    "generation",
    "priority",
    "stance",
    "state",
    "referenced_date",
    "referenced_time",
    "recurs",
    "label",
    "remind_at",
    "pinned",
    "kept",
    "category",
    "origin",
    "withheld",
}


def ids(found: list[dict[str, Any]]) -> list[object]:
    """Return the ids of a list."""
    return [one["id"] for one in found]


def test_without_a_command_it_lists(lived: Program) -> None:
    """`construct memory` is `construct memory list`.

    `--json` is only accepted after a command.
    """
    assert lived.run("memory").stdout == lived.run("memory", "list").stdout != ""
    assert lived.json("memory") == lived.json("memory", "list")
    done = lived.run("memory", "--json", "show", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "construct memory show --json" in done.stderr


def test_list_has_the_shape_of_the_contract(lived: Program) -> None:
    """`memory list --json` has active and pending observations; ids are bare numbers."""
    found = lived.json("memory", "list")
    assert {frozenset(one) for one in found} == {frozenset(OBSERVATION)}
    assert {one["id"]: one["state"] for one in found} == {
        3: "active",
        4: "active",
        5: "pending",
        6: "active",
    }
    assert {one["id"]: one["generation"] for one in found}[4] == 1
    assert {one["date"] for one in found} == {"2026-03-01"}


def test_list_all_adds_what_is_superseded(lived: Program) -> None:
    """`--all` lists superseded observations and memories and says that they are."""
    found = {one["id"]: one["state"] for one in lived.json("memory", "list", "--all")}
    assert (found[1], found[2]) == ("superseded", "superseded")
    assert set(ids(lived.json("memory", "list"))) < set(found)
    assert "superseded" in lived.run("memory", "list", "--all").stdout


def test_a_plan_is_of_unknown_outcome_by_the_day_that_is_looked_back_to(
    program: Program, life: Life
) -> None:
    """On 3 March a plan for the 5th lay ahead, on the 6th nobody knew how it went."""
    here = life.talk()
    said = life.exchange(here, "On 5 March I see the dentist")
    plan = ProposedObservation(
        "On 5 March I see the dentist", "high", "planned", "2026-03-01", "2026-03-05", (said.id,)
    )
    life.observe(here, plan)
    life.compact(here)
    life.db.close()
    for day, words in (("2026-03-03", ""), ("2026-03-06", "[outcome unknown]")):
        unknown = program.json("memory", "list", "unknown", "--as-of", day)
        assert [one["kind"] for one in unknown] == (["observation"] if words else [])
        listed = program.run("memory", "list", "dentist", "--as-of", day).stdout.splitlines()[0]
        assert listed.endswith(words or "| planned | for 2026-03-05")


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_limit_is_the_most_of_both_kinds_together(lived: Program, limit: int) -> None:
    """No more than `--limit` things are listed or found; the newest, the best."""
    whole = lived.json("memory", "list")
    assert len(lived.json("memory", "list", "--limit", str(limit))) == min(limit, len(whole))
    assert len(lived.json("memory", "search", "Lisbon flat", "--limit", str(limit))) <= limit
    assert lived.json("memory", "list", "--limit", "9" * 30) == whole


def test_as_of_lists_what_was_believed_then(lived: Program) -> None:
    """Before the first day nothing is known.

    At its end what was active, nothing pending.
    """
    assert lived.json("memory", "list", "--as-of", "2026-02-28") == []
    assert lived.json("memory", "search", "Lisbon", "--as-of", "2026-02-28") == []
    assert ids(lived.json("memory", "list", "--as-of", "2026-03-01")) == [3, 4, 6]
    assert 1 in ids(lived.json("memory", "list", "--as-of", "2026-03-01", "--all"))
    early = lived.json("memory", "list", "--as-of", "2026-03-01T09:09:00+00:00")
    assert ids(early) == [1, 6]
    assert [one["state"] for one in early] == ["active", "active"]
    assert (
        "superseded"
        not in lived.run("memory", "list", "--as-of", "2026-03-01T09:09:00+00:00").stdout
    )
    assert lived.json("memory", "list", "--as-of", "0001-01-01") == []
    assert (
        lived.run("memory", "list", "--as-of", "2026-02-28").stdout
        == "Nothing was remembered then.\n"
    )
    assert lived.json("memory", "list", "--as-of", "9999-12-31") == lived.json(
        "memory", "list", "--as-of", "today"
    )
    assert lived.run("memory", "list", "--as-of", "when it rained").returncode == 2


@pytest.mark.parametrize("options", [["--as-of", "2026-03-01"], ["--as-of", "now", "--all"]])
def test_what_was_undone_is_in_no_past_list(
    program: Program, life: Life, options: list[str]
) -> None:
    """An observation whose cycle was undone counts as never made."""
    life.learn(life.talk(), "I live in Porto")
    assert ids(program.json("memory", "list", *options)) == [1]
    undo(life.db, Clock(datetime(2026, 3, 2, tzinfo=UTC)))
    assert ids(program.json("memory", "list", *options)) == []


def test_search_has_the_shape_of_the_contract(lived: Program) -> None:
    """Each kind has its id's form and a score; best first.

    A superseded one only with `--all`.
    """
    found = lived.json("memory", "search", "lisbon")
    assert {one["kind"] for one in found} == {"message", "observation"}
    assert all(set(one) >= COMMON | {"score"} for one in found)
    for one in found:
        if one["kind"] == "observation":
            assert set(one) == NoteJson.__required_keys__ | {"score", "holds"}
            assert isinstance(one["id"], int)
        else:
            assert one["id"].startswith(f"{one['kind']}:")
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    assert not {1, 2} & set(ids(found))
    assert {1, 2} < set(ids(lived.json("memory", "search", "lisbon", "--all")))


def test_list_and_search_agree(lived: Program) -> None:
    """List and search give the same conversation, date, text and state."""
    listed = {one["id"]: one for one in lived.json("memory", "list")}
    for one in lived.json("memory", "search", "Lisbon tandem birthday alarm"):
        if one["kind"] != "message":
            known = listed[one["id"]]
            assert {key: one[key] for key in (*COMMON, "state")} == {
                key: known[key] for key in (*COMMON, "state")
            }


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "AND OR NOT",
        "(((",
        "lisbon*",
        "NEAR(a b)",
        "a:b",
        "***",
        "'; DROP",
        "-foo",
        "--bar",
        "\x00",
        "^x",
    ],
)
def test_a_search_in_any_syntax_is_words(lived: Program, query: str) -> None:
    """Whatever the query looks like, it exits 0."""
    done = lived.run("memory", "search", query)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("query", [(" ",), ("\t\n",), ("",), ("", " "), ()])
def test_a_blank_search_is_wrong_usage(lived: Program, query: tuple[str, ...]) -> None:
    """It exits 2."""
    assert lived.run("memory", "search", *query).returncode == 2


def test_show_takes_each_form_of_id(lived: Program) -> None:
    """Bare and `message:ID` show what they name, in its shape."""
    assert lived.json("memory", "show", "3")["text"] == "Zoe's birthday is on May 5th"
    assert lived.json("memory", "show", "observation:3") == lived.json("memory", "show", "3")
    message = lived.json("memory", "show", "message:1")
    assert message["id"] == "message:1"
    assert set(message) == MessageJson.__required_keys__
    assert "Zoe's birthday" in lived.run("memory", "show", "3").stdout
    assert lived.run("memory", "show", "message:1").stdout == (
        "[2026-03-01 09:02] user:\nI live in Lisbon near the river\n"
    )


def test_why_goes_through_every_generation(lived: Program) -> None:
    """`why --json` names the observations below and all messages they rest on.

    Their ids are plain numbers.
    """
    why = lived.json("memory", "why", "4")
    assert set(why) == {"observation", "sources", "messages", "attachments", "life"}
    assert why["observation"]["id"] == 4
    assert ids(why["sources"]) == [1, 2]
    assert {frozenset(one) for one in why["messages"]} == {
        frozenset({"id", "role", "content", "created_at"})
    }
    assert [(m["id"], m["role"]) for m in why["messages"]] == [(1, "user"), (3, "user")]
    assert "I live in Lisbon near the river" in lived.run("memory", "why", "4").stdout


def test_why_last_shows_what_the_reply_was_given(lived: Program) -> None:
    """What came back by itself for the last reply is listed, whatever process answered.

    Before one there is none.
    """
    assert lived.run("memory", "why", "last").returncode == 1
    asked = lived.json("ask", "--json", "--new", "Is the chain of my tandem a long one?")
    why = lived.json("memory", "why", "last")
    assert set(why) == {"message", "observations", "given"}
    assert why["message"]["id"] == asked["message_id"]
    assert why["observations"] == {"blocks": 1, "lines": 3, "ids": [3, 4, 6]}
    assert [(one["way"], one["id"]) for one in why["given"]] == [("passage", "message:9")]
    shown = lived.run("memory", "why", "last").stdout
    assert "what your words brought back" in shown
    assert "3 observations at the start of the prompt" in shown
    for line in ("3 Zoe's birthday is on May 5th", "4 I live in Lisbon near the river"):
        assert line in shown


def test_why_a_message_or_what_was_kept_by_hand(lived: Program) -> None:
    """It says what rests on a message.

    What was kept by hand rests on nothing, and says who kept it.
    """
    found = lived.json("memory", "why", "message:1")
    assert (found["message"]["content"], ids(found["observations"])) == (
        "I live in Lisbon near the river",
        [1, 4],
    )
    assert "message:1" in lived.run("memory", "why", "message:1").stdout
    (by_hand,) = map(str, ids(lived.json("memory", "list", "yours")))
    assert "kept  you wrote: The alarm code" in lived.run("memory", "why", by_hand).stdout
    found = lived.json("memory", "why", by_hand)
    assert (found["observation"]["origin"], found["messages"]) == ("user", [])


@pytest.mark.parametrize("command", ["show", "why", "pin", "edit", "forget"])
@pytest.mark.parametrize("name", ["99", "message:99", "9" * 30])
def test_an_unknown_id_is_a_failure(lived: Program, command: str, name: str) -> None:
    """It exits 1 and says so, with nothing on standard output."""
    more = {"edit": ["Words."], "forget": ["--yes"]}.get(command, [])
    done = lived.run("memory", command, name, *more, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert 1 <= len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("name", ["x", "", "message:", "note:1", "1.5", "message:x", "٣"])
def test_what_is_no_id_is_wrong_usage(lived: Program, name: str) -> None:
    """It exits 2."""
    assert lived.run("memory", "show", name).returncode == 2


def test_an_edit_takes_over_and_can_be_undone(lived: Program) -> None:
    """An edit is a new observation in the place of the old one, with the same messages.

    `undo` takes it back.
    """
    new = lived.json("memory", "edit", "3", "Zoe's birthday is on May 6th")
    assert (new["id"], new["text"], new["origin"]) == (7, "Zoe's birthday is on May 6th", "user")
    assert lived.json("memory", "show", "3")["state"] == "superseded"
    assert (
        lived.json("memory", "why", "7")["messages"] == lived.json("memory", "why", "3")["messages"]
    )
    undone = lived.json("undo")
    assert {name for name, what in undone.items() if what} == {
        "cycle",
        "deactivated",
        "reactivated",
    }
    assert (ids(undone["deactivated"]), ids(undone["reactivated"])) == ([7], [3])
    assert lived.json("memory", "show", "3")["state"] == "active"
    assert lived.run("memory", "edit", "3", " ").returncode == 2


def test_a_pin_is_put_and_taken_away(lived: Program) -> None:
    """`pin` prints the observation with its pin; `--off` lets it go."""
    assert lived.json("memory", "pin", "3")["pinned"] is True
    assert "pinned" in lived.run("memory", "list").stdout
    assert lived.json("memory", "pin", "3", "--off")["pinned"] is False


def test_add_keeps_a_memory(lived: Program) -> None:
    """A memory added by hand is listed.

    A blank one is wrong usage, and with CONSTRUCT_MEMORY not on so is any.
    """
    kept = lived.json("memory", "add", "The boiler is by Junkers", "--category", "home")
    assert (kept["text"], kept["category"], kept["origin"]) == (
        "The boiler is by Junkers",
        "home",
        "user",
    )
    assert kept["id"] in ids(lived.json("memory", "list"))
    assert lived.run("memory", "add", " ").returncode == 2
    refused = lived.run("memory", "add", "Something", more={"CONSTRUCT_MEMORY": "read-only"})
    assert refused.returncode == 2
    assert "CONSTRUCT_MEMORY" in refused.stderr


def test_forget_says_what_went(lived: Program) -> None:
    """From a reflection down to its sources.

    Without `--yes` and nobody to ask nothing goes.
    """
    asked = lived.run("memory", "forget", "4", "--json", stdin="yes\n")
    assert (asked.returncode, asked.stdout) == (2, "")
    assert "--yes" in asked.stderr
    gone = lived.json("memory", "forget", "4", "--yes")
    assert set(gone) == {"forgotten"}
    assert gone["forgotten"]["observations"] == 3
    assert {"observations", "messages"} < set(gone["forgotten"])
    assert lived.json("memory", "search", "Lisbon", "--all") == []
    assert lived.run("memory", "show", "4").returncode == 1


def test_forget_takes_a_message_too(lived: Program) -> None:
    """By the id that `search` shows, with what was drawn from it."""
    gone = lived.json("memory", "forget", "message:5", "--words", "--yes")["forgotten"]
    assert (gone["observations"], gone["emptied"]) == (1, 2)
    assert lived.run("memory", "show", "3").returncode == 1


def test_forget_with_words_leaves_no_byte(lived: Program) -> None:
    """The words are in no file of the database afterwards."""
    lived.json("memory", "forget", "3", "--words", "--yes")
    assert lived.json("memory", "show", "message:5")["text"] == "[removed]"
    assert b"birthday" not in b"".join(
        file.read_bytes() for file in lived.folder.glob("construct.db*")
    )


def test_diff_has_three_parts(lived: Program) -> None:
    """What was learned, what changed and what is gone between two moments.

    The earlier one comes first.
    """
    whole = lived.json("memory", "diff", "2026-02-01")
    assert set(whole) == {"learned", "changed", "gone"}
    assert ids(whole["learned"]) == [6, 3, 4, 5]
    assert lived.json("memory", "diff", "yesterday", "today") == {
        "learned": [],
        "changed": [],
        "gone": [],
    }
    changed = lived.json("memory", "diff", "2026-03-01T09:09:00+00:00", "2026-03-02")["changed"]
    assert [(one["old"]["id"], one["new"]["id"]) for one in changed] == [(1, 4)]
    assert lived.run("memory", "diff").stdout
    assert lived.run("memory", "diff", "2026-03-02", "2026-03-01").returncode == 2


def test_there_is_nothing_to_undo_at_first(program: Program) -> None:
    """`undo` exits 1."""
    done = program.run("undo")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Nothing to undo" in done.stderr


def test_undo_takes_back_one_cycle_after_another(lived: Program) -> None:
    """The newest first, until there is none."""
    kinds = [lived.json("undo")["cycle"]["kind"] for _ in range(6)]
    assert kinds == ["observer", "reflector", "observer", "observer", "observer", "edit"]
    assert lived.run("undo").returncode == 1
    assert [one for one in lived.json("memory", "list") if one["kind"] == "observation"] == []


def test_compact_does_all_now(program: Program, api: FakeApi) -> None:
    """`compact` observes and commits everything below the thresholds.

    It prints what changed.
    """
    before = program.json("compact")
    for text in facts(3):
        program.run("ask", "--no-wait", text)
    assert not api.of("observer")
    changed = program.json("compact")
    assert changed.keys() == before.keys()
    assert (changed["conversation"], changed["observed"], changed["committed"]) == (1, 3, 3)
    figures = program.json("status")
    assert figures["messages"]["unobserved"] == 0
    assert figures["observations"]["pending"]["count"] == 0
    assert program.run("compact").stdout
    refused = program.run("compact", more={"CONSTRUCT_MEMORY": "off"})
    assert refused.returncode == 2
    assert "CONSTRUCT_MEMORY" in refused.stderr


@pytest.mark.parametrize("answers", [False, True], ids=["no answer", "unreadable answers"])
def test_compact_says_what_was_read_by_rule(program: Program, api: FakeApi, answers: bool) -> None:
    """With the trouble that the worker model had.

    What it did not read some time before is no news.
    """
    program.run("ask", "--no-wait", "My sister Rita lives in Braga.")
    if answers:
        api.observer = adversarial.prose
    else:
        api.fail("observer", faults.http(401), times=None)
    gone = program.run("compact")
    made = program.json("memory", "list")[0]["id"]
    assert "without a model" in program.run("memory", "why", str(made)).stdout
    assert (gone.returncode, gone.stdout[:17]) == (0, "1 new observation")
    assert "read without a model: " in gone.stderr
    assert program.run("compact").stderr == ""


def test_the_extractive_worker_needs_no_model(program: Program, api: FakeApi) -> None:
    """With MEMORY_WORKER_MODEL=extractive the user's own sentence is remembered."""
    more = {**LOW, "MEMORY_WORKER_MODEL": "extractive"}
    for text in facts(6):
        assert program.run("ask", text, more=more).returncode == 0
    assert not api.of("observer")
    texts = [one["text"] for one in program.json("memory", "list") if one["kind"] == "observation"]
    assert "My locker number 0 has the code 1000, and I keep the Tea0 there." in texts


def test_scope_conversation_counts_only_its_own(program: Program, life: Life) -> None:
    """With CONSTRUCT_SCOPE=conversation only the latest talk's lines are counted."""
    life.learn(life.talk(), "I live in Lisbon")
    life.exchange(life.talk(), "Hello there")
    assert program.json("status")["observations"]["committed"]["count"] == 1
    narrow = program.json("status", more={"CONSTRUCT_SCOPE": "conversation"})
    assert narrow["observations"]["committed"]["count"] == 0


def test_a_list_can_be_narrowed(lived: Program) -> None:
    """The words of `/memory` narrow the list too, as JSON or not.

    What narrows to nothing says so.
    """
    assert ids(lived.json("memory", "list", "reflections")) == [4]
    assert ids(lived.json("memory", "list", "pending", "tandem")) == [5]
    assert ids(lived.json("memory", "list", "yours")) == [6]
    assert ids(lived.json("memory", "list", "--kept")) == [6]
    assert ids(lived.json("memory", "list", "kept", "tandem")) == []
    assert lived.json("memory", "list", "high", "until", "2026-02") == []
    assert lived.run("memory", "list", "low").stdout == "No matches: low.\n"
    assert lived.run("memory", "list", "since", "2026-99").returncode == 2


def test_on_a_terminal_the_list_is_the_chats(lived: Program) -> None:
    """What was kept on request stands among the others; words stay whole."""
    commands = [["memory", "list"], ["memory", "list", "--limit", "1"], ["memory", "diff", "soon"]]
    code = f"from construct.cli.run import run; any(map(run, {commands}))"
    terminal = PseudoTerminal(python(code), lived.environment(), 80, 60)
    try:
        assert terminal.wait() == 0
        shown = terminal.screen.text
    finally:
        terminal.close()
    assert "The alarm code is 9917" in shown
    assert "1 kept on request" in shown
    assert "3 older not shown. Pass a larger --limit" in shown
    assert "\nyesterday." in shown


def test_the_timeline(lived: Program) -> None:
    """Week by week: what was learned, condensed, and active at the end."""
    first, second, third = lived.json("memory", "timeline")
    assert first == {
        "monday": "2026-02-23", "learned": 5, "superseded": 2, "reflections": 1, "corrected": 0,
        "active": {"0": 3, "1": 1},
    }  # fmt: skip
    assert second["learned"] == third["learned"] == 0
    shown = lived.run("memory", "timeline").stdout
    assert "5 observations learned in 3 weeks; 4 known today" in shown
    assert "2 superseded, 1 reflection" in shown


def test_undo_says_what_the_chat_says(lived: Program) -> None:
    """Undoing is told in the same words as in the chat.

    The latest talk is another one, so `compact` is no way on.
    """
    shown = lived.run("undo").stdout
    assert "Taken back: an observation run" in shown
    assert "1 observation removed:" in shown
    assert "in conversation 1, will be read again" in " ".join(shown.split())
    assert "2 observations active again:" in lived.run("undo").stdout


@pytest.mark.parametrize("setting", ["read-only", "off"])
def test_while_nothing_is_learned_no_learning_is_announced(lived: Program, setting: str) -> None:
    """Undo and import do not advise what CONSTRUCT_MEMORY would refuse."""
    more = {"CONSTRUCT_MEMORY": setting}
    assert "read again" not in lived.run("undo", more=more).stdout
    (lived.folder / "talk.jsonl").write_text(
        '{"type": "message", "conversation": "x", "role": "user", "content": "We rowed.",'
        ' "created_at": "2026-03-01"}\n'
    )
    done = lived.run("import", "talk.jsonl", more=more)
    assert (done.stdout, done.stderr) == ("Imported 1 message, 1 new conversation.\n", "")


def test_a_question_does_not_go_into_redirected_output(lived: Program) -> None:
    """With standard output in a file, it is asked on standard error."""
    out = lived.folder / "out.json"
    code = (
        f"import os; os.dup2(os.open({str(out)!r}, os.O_WRONLY | os.O_CREAT), 1);"
        "from construct.cli.run import run; run(['undo', '--json'])"
    )
    terminal = PseudoTerminal(python(code), lived.environment(), 100, 40)
    try:
        terminal.see("Take this back? [y/N]")
        terminal.type("yes\n")
        assert terminal.wait() == 0
    finally:
        terminal.close()
    assert json.loads(out.read_text())["cycle"]["kind"] == "observer"


@pytest.mark.parametrize(("answer", "left"), [("no\n", [3, 4, 5, 6]), ("yes\n", [3, 4, 6])])
def test_undo_on_a_terminal_shows_what_it_would_take_back_and_asks(
    lived: Program, answer: str, left: list[int]
) -> None:
    """With its conversation; `--yes` does not ask."""
    terminal = PseudoTerminal(
        python("from construct.cli.run import run; run(['undo'])"), lived.environment(), 100, 40
    )
    try:
        terminal.see("[y/N]")
        shown = terminal.screen.text
        assert "This would be taken back: an observation run" in shown
        assert "in conversation 1" in shown
        assert "1 observation would be removed:" in shown
        assert "tandem" in shown
        assert [
            one["id"] for one in lived.json("memory", "list") if one["kind"] == "observation"
        ] == [3, 4, 5, 6]
        terminal.type(answer)
        assert terminal.wait() == 0
    finally:
        terminal.close()
    assert [
        one["id"] for one in lived.json("memory", "list") if one["kind"] == "observation"
    ] == left
    terminal = PseudoTerminal(
        python("from construct.cli.run import run; run(['undo', '--yes'])"),
        lived.environment(),
        100,
        40,
    )
    try:
        assert terminal.wait() == 0
        assert "Take this back?" not in terminal.screen.text
    finally:
        terminal.close()


def test_an_edit_warns_of_names_and_numbers_it_leaves_out(lived: Program) -> None:
    """On standard error: the words stand all the same."""
    lived.run("memory", "edit", "3", "Ana was born in Faro on 12 May")
    done = lived.run("memory", "edit", "7", "Ana was born in spring")
    assert done.returncode == 0
    assert "spring" in done.stdout
    assert done.stderr.startswith(
        "Note: the old line had “Faro”, “12” and “May”; the new one does not."
    )
    assert lived.run("memory", "edit", "8", "Ana was born in autumn").stderr == ""


def test_search_can_be_narrowed_to_whose_words(program: Program, life: Life) -> None:
    """`--by user` or `--by assistant`; anybody else is a mistake."""
    here = life.talk()
    mine = life.say(here, "The ferry to Seixal is blue")
    reply = life.say(here, "The ferry to Seixal is late", "assistant")
    life.remember("The ferry has two decks")
    life.db.close()
    assert ids(program.json("memory", "search", "ferry", "--by", "user")) == [f"message:{mine.id}"]
    assert ids(program.json("memory", "search", "ferry", "--by", "assistant")) == [
        f"message:{reply.id}"
    ]
    wrong = program.run("memory", "search", "ferry", "--by", "mother")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--by user" in wrong.stderr
    unknown = program.run("memory", "search", "ferry", "--since", "2030")
    assert unknown.returncode == 0
    assert unknown.stderr.startswith("--since was searched for as a word")


def test_search_says_which_spelling_it_searched(program: Program, life: Life) -> None:
    """Under what was found; JSON stays a list."""
    life.say(life.talk(), "The dentist in Porto has moved")
    life.db.close()
    lines = program.run("memory", "search", "dentisst").stdout.splitlines()
    assert "The dentist in Porto has moved" in lines[0]
    assert "“dentisst” occurs nowhere; “dentist” was searched for instead." in lines
    assert [hit["match"] for hit in program.json("memory", "search", "dentisst")] == ["respelt"]
    assert program.run("memory", "search", "qwertz").stdout == "Nothing was found.\n"


def test_the_graph_is_what_the_chat_shows(lived: Program) -> None:
    """Without a name the graph is the user's; an unknown name is an error."""
    found = lived.json("memory", "graph", "the")
    assert found["name"] == "The"
    (relation,) = found["relations"]
    assert (relation["predicate"], relation["with"]["name"]) == ("concerns", "9917")
    assert relation["observation"] == 6
    assert "concerns → 9917" in lived.run("memory", "graph", "the").stdout
    assert lived.run("memory", "graph", "Nobody").returncode == 1


def test_the_context_is_what_would_be_sent(lived: Program) -> None:
    """The context is shown part by part, with tokens and cache marks.

    `--full` prints all of the text.
    """
    found = lived.json("memory", "context")
    assert found["messages"][0]["blocks"][0]["kind"] == "observations"
    assert set(found["tokens"]) >= {"system", "observations", "messages"}
    assert "would be sent to" in lived.run("memory", "context").stdout
    full = lived.run("memory", "context", "--full").stdout
    assert "You are Construct" in full
    tools = re.findall(r"^tool  ([\d,]+) tokens$", full, re.MULTILINE)
    assert sum(map(int, tools)) == found["tokens"]["tools"]
    assert '"properties"' in full


def test_profile_gives_each_line_its_id(lived: Program) -> None:
    """On the screen, and with `--json` as `memory list` has it."""
    printed = lived.run("memory", "profile").stdout
    found = lived.json("memory", "profile")
    lines = [line for subject in found for line in subject["lines"]]
    listed = {str(one["id"]): one for one in lived.json("memory", "list")}
    assert lines
    assert all(listed[str(line["id"])] == line for line in lines)
    for line in lines:
        assert f"{line['id']} {line['date'][:10]} {line['text'][:20]}" in printed
    assert lived.run("--db", str(lived.folder / "none.db"), "memory", "profile").returncode == 0


def test_an_empty_profile_says_what_would_help(program: Program) -> None:
    """Imported messages are not compacted but observed, and nothing is learned while off."""
    assert "`construct compact` observes" in program.run("memory", "profile").stdout
    line = {"type": "message", "conversation": "a", "role": "user", "content": "I sing."}
    line["created_at"] = "2026-03-01"
    (program.folder / "past.jsonl").write_text(json.dumps(line) + "\n")
    program.run("import", "past.jsonl")
    assert "`construct observe` learns" in program.run("memory", "profile").stdout
    off = program.run("memory", "profile", more={"CONSTRUCT_MEMORY": "off"}).stdout
    assert "CONSTRUCT_MEMORY is off" in off
    assert "compact" not in off
