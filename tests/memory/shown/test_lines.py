"""The one form of a note: rendered for every prompt, read from every answer."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from construct.language.written_days import contradicts
from construct.memory.learning.proposals import ProposedObservation
from construct.memory.shown.lines import (
    PRIORITIES,
    SIGNS,
    STANCES,
    ReadNote,
    anchored_lines,
    anchors_in,
    line_tokens,
    pairs_in,
    phrase,
    plain_line,
    read_notes,
    readable_line,
    section,
    shown_line,
)
from tests.memory.making import observation

SENT = {"M3", "M5", "M7", "M12"}
KNOWN = {"K4", "K5", "K6", "K7"}


def read(line: str) -> ReadNote | None:
    """Return what is read of one line."""
    return next(iter(read_notes([" ".join(line.split())], "M", SENT, KNOWN)[0]), None)


@pytest.mark.parametrize(
    ("priority", "stance", "ahead", "first", "expected"),
    [
        ("high", "stated", None, None, "! [2026-03-01] User sees Ana"),
        ("medium", "stated", None, "2026-02-01", "- [2026-02-01 to 2026-03-01] User sees Ana"),
        ("low", "stated", None, "2026-03-01", "~ [2026-03-01] User sees Ana"),
        (
            "high",
            "planned",
            "2026-03-05",
            None,
            "! [2026-03-01] User sees Ana | planned | for 2026-03-05",
        ),
        ("high", "stated", "2026-05", None, "! [2026-03-01] User sees Ana | for 2026-05"),
        ("low", "assistant", None, None, "~ [2026-03-01] User sees Ana | assistant"),
    ],
)
def test_what_the_main_model_is_shown(
    priority: str, stance: str, ahead: str | None, first: str | None, expected: str
) -> None:
    """A line shows its sign, days and fact.

    Marks say what is not the user's own statement and what the line refers to.
    """
    note = observation(1, "User sees Ana", priority=priority, stance=stance, ahead=ahead)._replace(
        first_date=first
    )
    assert shown_line(note) == expected
    assert plain_line(note) == expected.replace("[", "").replace("]", "")
    assert anchored_lines("K", [note, note]) == [f"K1 {plain_line(note)}", f"K2 {plain_line(note)}"]


def test_people_read_the_words_as_they_were_said() -> None:
    """Escapes are for models."""
    note = observation(1, "User wrote a <title> tag")
    assert shown_line(note) != readable_line(note) == "- [2026-03-01] User wrote a <title> tag"


def test_the_tokens_are_those_of_the_line() -> None:
    """Observation tokens count the line as shown, marks included."""
    bare = line_tokens(observation(1, "User sees Ana"))
    assert (
        0 < bare < line_tokens(observation(1, "User sees Ana", stance="quoted", ahead="2026-03-05"))
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ana | planned", "Ana / planned"),
        ("Ana | | planned", "Ana / / planned"),
        ("| planned", "/ planned"),
        ("a|b", "a|b"),
    ],
)
def test_nothing_in_a_fact_reads_as_a_mark(text: str, shown: str) -> None:
    """What the user wrote themselves may hold a bar.

    A line never takes it for a mark.
    """
    assert shown_line(observation(1, text)) == f"- [2026-03-01] {shown}"


NOTE = ReadNote("User likes tea", "medium", "stated", "2026-01-20", None, ("M5",), ())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- 2026-01-20 M5 User likes tea", NOTE),
        ("! 2026-01-20 M5 M7 User likes tea", replace(NOTE, priority="high", anchors=("M5", "M7"))),
        ("* ~ 2026-01-20 [M5], [M7] User likes tea",
         replace(NOTE, priority="low", anchors=("M5", "M7"))),
        ("- - 2026-01-20 [M5, M7] User likes tea", replace(NOTE, anchors=("M5", "M7"))),
        ("3. - 2026-01-20 (M5): User   likes tea", NOTE),
        ("- 2026-01-20 M5 M99 K4 User likes tea", replace(NOTE, content="K4 User likes tea")),
        ("- 2026-01-20 M5 M5 User likes tea", NOTE),
        ("- 2026-01-20 M5 User likes tea | PLANNED", replace(NOTE, stance="planned")),
        ("- 2026-01-20 M5 User likes tea | For 2026-05", replace(NOTE, referenced_date="2026-05")),
        ("- 2026-01-20 M5 User likes tea | quoted | asked", replace(NOTE, stance="quoted")),
        ("- 2026-01-20 M5 User likes tea | stated | for 2027 | for 2028",
         replace(NOTE, referenced_date="2027")),
        ("- 2026-01-20 M5 User likes tea | for Ana | black",
         replace(NOTE, content="User likes tea / for Ana / black", stance="inferred",
                 faults=("“for Ana” is not a mark", "“black” is not a mark"))),
        ("- 2026-01-20 M5 User plays the tuba | hypothetical, for 2027",
         replace(NOTE, content="User plays the tuba / hypothetical, for 2027", stance="inferred",
                 faults=("“hypothetical, for 2027” is not a mark",))),
        ("- 2026-01-20 M5 User likes tea | unsure | replaces", NOTE),
        ("- 2026-01-20 M5 User likes tea on 3 May | for 2026-05-04",
         replace(NOTE, content="User likes tea on 3 May",
                 faults=("it names another day than “for 2026-05-04”",))),
        ("- 2026-01-20 M5 User likes tea | for 3 days | for 2026-02-30", NOTE),
        ("- 2026-01-20 M5 User likes tea | replaces K4", replace(NOTE, replaces=("K4",))),
        (
            "- 2026-01-20 M5 User likes tea | replaces K4 K5, | replaces K6 K7",
            replace(NOTE, replaces=("K4", "K5", "K6")),
        ),
        ("- 2026-01-20 M5 User likes tea | replaces K99 | replaces the old one", NOTE),
        ("- 2026-01-20 M5 User likes tea | | planned", replace(NOTE, stance="planned")),
        ("- 2026-01-20 M5 User likes &lt;task> and &lt;b>",
         replace(NOTE, content="User likes <task> and &lt;b>")),
        ("- 2026-01-20 M5 User \\[M3] and \\! 2026-01-01",
         replace(NOTE, content="User [M3] and ! 2026-01-01")),
        ("- 2026-01-10 to 2026-01-20 M5 User likes tea", NOTE),
        ("- 2026-02-30 M5 User likes tea", None),
        ("- 2026-01-20 M99 User likes tea", None),
        ("- 2026-01-20 User likes tea", None),
        ("- 2026-01-20 M5's User likes tea", None),
        ("- 2026-01-20 M5", None),
        ("- 2026-01-20 M5 N/A", None),
        ("- 2026-01-20 M5 User: …", None),
        ("- 2026-01-20 M5 | planned", None),
        ("2026-01-20 M5 User likes tea", None),
        ("Sure! Here are the notes:", None),
        ("(none)", None),
    ],
)  # fmt: skip
def test_reading_a_line(line: str, expected: ReadNote | None) -> None:
    """Bullets, brackets and commas are forgiven.

    Invented anchors and marks are left out; the rest is no note.
    """
    assert read(line) == expected


FACT = st.text("abc ÀéЖ漢\\&<>[]|()=!~-:.0123456789", min_size=1, max_size=40)


@given(
    FACT.map(lambda text: f"User likes {text}"), st.sampled_from(PRIORITIES),
    st.sampled_from(STANCES),
    st.sampled_from([None, "2026", "2026-05", "2026-05-31"]),
)  # fmt: skip
def test_what_is_rendered_reads_as_itself(
    content: str, priority: str, stance: str, ahead: str | None
) -> None:
    """A note that is rendered for a worker to copy is read as the same note."""
    assume(not (ahead and contradicts(content, ahead, "2026-01-20")))
    once = ProposedObservation(content, priority, stance, "2026-01-20", ahead, (1,))
    first = read(plain_line(once).replace("2026-01-20", "2026-01-20 M5", 1))
    assert first is not None
    again = read(plain_line(first).replace("2026-01-20", "2026-01-20 M5", 1))
    assert again == first
    assert (first.priority, first.stance, first.referenced_date) == (priority, stance, ahead)
    assert " | " not in first.content
    assert SIGNS[first.priority] in "!-~"


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    """Reading a model's answer raises nothing, whatever it says.

    No fact has a line break or a bar.
    """
    answer = f"<observations>{text}"
    found = section(answer, "observations")
    for note in read_notes(found.lines if found else [], "M", SENT, KNOWN)[0]:
        assert len(note.content.splitlines()) == 1
        assert " | " not in note.content


@pytest.mark.parametrize(
    ("answer", "lines", "closed"),
    [
        ("Hm. <observations>\n a  b\n\n c</observations> bye", ["a b", "c"], True),
        ("<OBSERVATIONS>a</Observations>", ["a"], True),
        ("<observations>a</observations><observations>b</observations>", ["b"], True),
        ("<observations>\na\nb", ["a"], False),
        ("<observations>\na\nb\n", ["a", "b"], False),
        ("<observations>\na\nb\n<task>t</task>", ["a", "b"], False),
        ("<observations>", [], False),
        ("<observations></observations>", [], True),
        ("a\u2028<observations>\x0ba\u2028b\u2028", ["a", "b"], False),
    ],
)
def test_sections(answer: str, lines: list[str], closed: bool) -> None:
    """Tags count in any case and the last of a name counts.

    What broke off keeps its whole lines.
    """
    found = section(answer, "observations")
    assert found is not None
    assert (list(found.lines), found.is_closed) == (lines, closed)


def test_sections_of_one_line() -> None:
    """A missing section differs from an empty one."""
    answer = "<task>find a\n flat</task><next> </next><title>open"
    assert [phrase(answer, name, 9) for name in ("task", "next", "title", "forget")] == [
        "find a fl",
        "",
        None,
        None,
    ]


def test_anchors_and_pairs() -> None:
    """Only what was sent counts, in any of the usual ways of writing it."""
    sent = {"O1", "O2", "O12"}
    assert anchors_in(["O1, [O12] o1 O99 and O2."], sent) == ["O1", "O12"]
    lines = ["O12 = O1", "- [O2] = [O1]", "O1 = O1", "O1 = O99", "O1 by O2", "O1 is O2"]
    assert pairs_in(lines, "=", sent) == [("O12", "O1"), ("O2", "O1")]
    assert pairs_in(lines, "by", sent) == [("O1", "O2")]
