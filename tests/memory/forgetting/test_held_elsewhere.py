"""What else holds what is forgotten: pure, from rows to what they become."""

import json

import pytest

from construct.memory.forgetting.traces import (
    cleared_conversation_notes,
    cleared_cycle_notes,
    replies_quoting,
    replies_revealing,
)
from construct.references import Reference
from construct.store.forgotten_text import ConversationNotes, CycleNotes
from construct.store.records import REMOVED

FACT = "User hides the xylophone behind the Wardrobe"
ELSEWHERE, HOME = 1, 2


def conversation(conversation_id: int, **said: str) -> ConversationNotes:
    """Return a conversation with these notes about it as a whole."""
    fields = {"titled_by": "observer" if "title" in said else None, **said}
    return ConversationNotes(
        conversation_id, **{name: fields.get(name) for name in ConversationNotes._fields[1:]}
    )


def rounds(*lines: str) -> list[tuple[int, str]]:
    """Return replies, numbered from 1, each with one tool result."""
    results = ([{"type": "tool_result", "content": line}] for line in lines)
    return list(enumerate(map(json.dumps, results), 1))


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (conversation(HOME, title="The xylophone"), conversation(HOME)),
        (conversation(HOME, title="Hiding things"), None),
        (conversation(HOME, title="The xylophone", titled_by="user"), None),
        (conversation(HOME, title="Wardrobe doors", titled_by="user"), conversation(HOME)),
        (conversation(ELSEWHERE, title="The Wardrobe"), None),
        (conversation(ELSEWHERE, title="Hides xylophone behind Wardrobe"), conversation(ELSEWHERE)),
        (conversation(HOME, current_task="a xylophone"), conversation(HOME)),
        (conversation(HOME, suggested_response="a xylophone?"), conversation(HOME)),
        (
            conversation(
                HOME, title="Music", current_task="The Wardrobe", suggested_response="Ask."
            ),
            conversation(HOME, title="Music", suggested_response="Ask."),
        ),
        (
            conversation(
                HOME, title="Music", current_task="Tea", suggested_response="The Wardrobe?"
            ),
            conversation(HOME, title="Music", current_task="Tea"),
        ),
    ],
)
def test_titles_tasks_and_responses(
    said: ConversationNotes, left: ConversationNotes | None
) -> None:
    """At home a word is enough, of the user's own a name; elsewhere it must be said."""
    assert cleared_conversation_notes([said], {HOME}, [FACT]) == ([] if left is None else [left])


def test_notes_and_errors_lose_what_holds_it() -> None:
    """The other notes stay, and so do cycles that hold nothing of it."""
    cycles = [
        CycleNotes(1, ("kept “the Wardrobe”", "an innocent note"), None),
        CycleNotes(2, ("an innocent note",), "could not read “the xylophone”"),
        CycleNotes(3, ("an innocent note",), "an innocent error"),
        CycleNotes(4, (), None),
    ]
    assert cleared_cycle_notes(cycles, [FACT]) == [
        CycleNotes(1, (REMOVED, "an innocent note"), None),
        CycleNotes(2, ("an innocent note",), REMOVED),
    ]


def test_notes_lose_a_fact_of_short_words() -> None:
    """It has no name and no long word to look for."""
    cycles = [CycleNotes(1, ("kept “User is gay”", "kept “User has a cat”"), "User is gay")]
    assert cleared_cycle_notes(cycles, ["User is gay"]) == [
        CycleNotes(1, (REMOVED, "kept “User has a cat”"), REMOVED)
    ]


def test_tool_rounds_that_hold_it() -> None:
    """Those go that name it, say it, or quote a message it comes from."""
    found = rounds(
        "observation 1: the Wardrobe",
        "observation 2: a xylophone",
        "message 3: it hangs near the old window now",
        "message 4: Tea",
        "message 5: the window",
    )
    said = ["It hangs near the old window now"]
    assert replies_revealing(found, {}, [FACT], said) == [1, 3]
    assert replies_revealing(found, {}, [FACT], []) == [1]
    assert (
        replies_revealing(rounds("observation 1: a hidden thing"), {}, ["User lives in 東京都"], [])
        == []
    )
    assert replies_revealing(
        rounds("observation 1: User lives in 東京都"), {}, ["User lives in 東京都"], []
    )


@pytest.mark.parametrize("name", ["Édith", "Ольга"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_name_is_found_in_tool_rounds_however_json_writes_it(name: str, ascii_only: bool) -> None:
    """JSON may write its capital letter as an escape."""
    call = json.dumps([{"input": {"query": name}}], ensure_ascii=ascii_only)
    assert replies_revealing([(7, call)], {}, [f"User's sister is {name}"], []) == [7]


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("User is gay", "observation 40, 2026-05-17 (~): User is gay"),
        ("User has a cat", "observation 40: User has a cat"),
        ("User was hiking and baking", "message 4: the user hikes and bakes"),
    ],
)
def test_a_fact_of_short_or_inflected_words_is_found_in_tool_rounds(fact: str, line: str) -> None:
    """It has no name and no long word to look for."""
    assert replies_revealing(rounds(line), {}, [fact], []) == [1]


def test_a_tool_round_is_read_in_all_its_depth() -> None:
    """Lists in objects in lists, line by line."""
    deep = json.dumps([{"input": {"queries": ["tea", {"also": "one\nthe Wardrobe"}], "limit": 3}}])
    assert replies_revealing([(7, deep)], {}, [FACT], []) == [7]


@pytest.mark.parametrize(
    ("line", "is_quoted"),
    [
        ("I keep it in the shed", True),
        ("message 1, 2026-03-01 user: I keep it in the shed", True),
        ("message 1, 2026-03-01 user (loose: or less): [… it in the shed …]", True),
        ("- message:1, 2026-03-01, message, user, loose match: I keep it in the shed", True),
        ('- message:1, 2026-03-01 09:00, user: "Tea\\nI keep it in the shed"', True),
        ('- message:1, 2026-03-01 09:00, user: "I keep it in the attic"', False),
        ("a: b: c: d: I keep it in the shed", True),
        ("a: b: c: d: e: I keep it in the shed", False),
        ("message 1:   I  keep it\tin the shed", True),
        ("message 1: the shed", False),
        ("message 1: in the shed.", True),
        ("message 1: I keep it in the attic", False),
    ],
)
def test_tool_rounds_that_quote_a_conversation(line: str, is_quoted: bool) -> None:
    """Behind one of the first colons, with at least a dozen characters of it."""
    said = ["Hello", "I  keep it in the shed. & <so on>"]
    assert replies_quoting(rounds("Tea", line), {}, said) == ([2] if is_quoted else [])


def test_quotations_are_escaped_as_prompts_are() -> None:
    """A tool's result has the markup of what was said escaped."""
    found = rounds(
        "message 1: type &lt;ambient> first",
        "- message:1, 2026-03-01, message, user: type &lt;ambient> first",
        '- message:1, 2026-03-01 09:00, user: "type \\u003cambient> first"',
    )
    assert replies_quoting(found, {}, ["type <ambient> first"]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("said", "is_quoted"), [("affair", True), ("A\naffair", True), ("an affair", False)]
)
def test_a_whole_line_may_be_short(said: str, *, is_quoted: bool) -> None:
    """It is a quotation if it has a word with a meaning of its own."""
    found = rounds("message 9, 2026-03-01 user (loose): affair", "message 8: No")
    assert replies_quoting(found, {}, [said, "No"]) == ([1] if is_quoted else [])


def test_a_line_shows_the_item_at_its_beginning() -> None:
    """The words must be its own: in a reply that was imported an id means another item."""
    found = rounds(
        "observation 31, 2026-03-01: No",
        "observation 3, 2026-03-01: No",
        "observation 3, 2026: Maybe",
        "- 3, 2026-03-01, observation, stated: No",
        '- message:3, 2026-03-01 09:00, user: "No"',
    )
    gone: dict[Reference, str] = {("observation", 3): "No"}
    assert replies_quoting(found, gone, []) == replies_revealing(found, gone, [], []) == [2, 4]
    said: dict[Reference, str] = {("message", 3): "No"}
    assert replies_quoting(found, said, []) == [5]


def test_a_quotation_has_twelve_characters() -> None:
    """What is shorter may stand anywhere."""
    assert replies_quoting(
        rounds("twelve chars", "only eleven"), {}, ["twelve chars only eleven"]
    ) == [1]
