"""How a graph extractor's answer is read, and what of it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.graph.answers import (
    GraphProposal,
    ProposedEntity,
    UnreadableAnswerError,
    read_answer,
)
from construct.memory.graph.names import names_by_key
from tests.memory.graph.drawing import answer

TEXTS = {
    "P1": "User's sister Ana lives in Porto",
    "P2": "Ana works at Acme, and Rui does not work at Acme",
    "P3": "Acme is based in Berlin. Robert is called Bob by all",
}


def triples(found: GraphProposal) -> list[tuple[str, str, str, str]]:
    """Return the relations as tuples."""
    return [(r.subject.names[0], r.predicate, r.object.names[0], r.anchor) for r in found.relations]


def kept(line: str, text: str, *entities: str) -> bool:
    """Return whether a relation is kept that names this text as P1."""
    return bool(read_answer(answer(f"{line} | P1", entities=entities), {"P1": text}).relations)


def test_lines_become_entities_and_relations() -> None:
    """An alias that no memory has is left out."""
    found = read_answer(
        answer(
            "User | has sister | Ana | P1",
            entities=("Ana | Person | also: Nini, Porto", "Zoe | person"),
        ),
        TEXTS,
    )
    assert triples(found) == [("User", "has sister", "Ana", "P1")]
    assert found.relations[0].subject == ProposedEntity(("User",))
    assert found.relations[0].object == ProposedEntity(("Ana", "Porto"), "person")
    assert found.is_whole
    assert found.read == ("P1", "P2", "P3")


def test_loose_forms_are_read() -> None:
    """Loose forms of an answer are read.

    They are tags in any case, a repeated section, bullets, brackets, commas and text
    around it.
    """
    text = (
        "Sure!\n<RELATIONS>\nUser | likes | Tea | P9\n</relations>\n"
        "<Relations>\n- Ana|lives in|Porto|[p1], P3\n</RELATIONS> Done."
    )
    assert triples(read_answer(text, TEXTS)) == [("Ana", "lives in", "Porto", "P1")]


def test_of_several_notes_the_first_that_names_both_counts() -> None:
    """Anchors that were not sent are passed over."""
    found = read_answer(answer("Acme | based in | Berlin | P9 P2 P3"), TEXTS)
    assert triples(found) == [("Acme", "based in", "Berlin", "P3")]


def test_a_relation_that_two_notes_state_belongs_to_both() -> None:
    """It still stands when one of them is superseded."""
    texts = {"P1": "Ana lives in Porto", "P2": "Ana lives in Porto with Rui"}
    lines = [f"Ana | lives in | Porto | {anchor}" for anchor in ("P1", "P2", "P1")]
    assert [r.anchor for r in read_answer(answer(*lines), texts).relations] == ["P1", "P2"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ana lives in Porto.",
        "<entities>\nAna | person\n</entities>",
        answer("Ana lives in Porto P1"),
        answer("Ana | lives in | Porto | P9", "Ana | lives in | Porto"),
        "<relations>\n",
        "<relations>\nAna | lives in | Porto | P1",
    ],
)
def test_an_answer_without_readable_relations_is_a_failed_attempt(text: str) -> None:
    """An answer without readable relations is a failed attempt.

    It has no tag, no line in the right form or no anchor that was sent, or it broke off
    at once.
    """
    with pytest.raises(UnreadableAnswerError):
        read_answer(text, TEXTS)


def test_an_empty_section_is_an_answer() -> None:
    """There was nothing to draw."""
    found = read_answer("<relations></relations>", TEXTS)
    assert (found.relations, found.is_whole) == ((), True)


def test_an_answer_that_broke_off_covers_what_it_named() -> None:
    """Its whole lines count, and the notes behind them are not read yet."""
    found = read_answer(
        "<relations>\nAna | lives in | Porto | P1\nAna | works at | Acme | P2\nAcme | based", TEXTS
    )
    assert not found.is_whole
    assert found.read == ("P1", "P2")
    assert len(found.relations) == 2


def test_unreadable_and_refused_lines_are_noted() -> None:
    """The other lines are kept."""
    found = read_answer(
        answer("Ana | lives in | Berlin | P1", "Ana is nice", "Ana | lives in | Porto | P1"), TEXTS
    )
    assert triples(found) == [("Ana", "lives in", "Porto", "P1")]
    assert found.notes == (
        "refused “Ana lives in Berlin”: "
        "the note does not name both entities, or this is not a relation",
        "lines that could not be read: 1",
    )


@pytest.mark.parametrize(
    ("line", "text", "expected"),
    [
        ("Ana | lives in | Porto", "Ana lives in Porto", True),
        ("User | lives in | Porto", "Ana lives in Porto", False),
        ("User | has sister | Ana", "Ana is my sister", True),
        ("I | know | Ana", "Eu conheço a Ana", True),
        ("User | visited | Sao Paulo", "User visited São Paulo in 2019", True),
        ("User | owns | Rex", "User owns a T-Rexes poster", False),
        ("User | knows | 安娜", "我认识安娜", True),
        ("User | is | me", "User is User", False),
        ("Ana | knows | the", "Ana knows the others", False),
        ("Ana | is somebody of whom it is said that she likes | Tea", "Ana likes Tea", False),
        ("Ana | | Tea", "Ana likes Tea", False),
    ],
)
def test_a_memory_must_name_both_ends(line: str, text: str, expected: bool) -> None:
    """As whole words; the user by "User", "I" or "my"."""
    assert kept(line, text) == expected


def test_aliases_name_an_entity() -> None:
    """Those of the answer, if a memory has them, and those that are stored."""
    bob = answer(
        "Robert | plays | Chess | P1",
        entities=("Robert | person | also: Bob, Bobby, Chess", "Chess | thing"),
    )
    found = read_answer(bob, {"P1": "Bob plays Chess", "P2": "Robert is called Bob"})
    assert triples(found) == [("Robert", "plays", "Chess", "P1")]
    assert found.relations[0].subject.names == ("Robert", "Bob")
    known = names_by_key([("Robert", "Bob")])
    assert read_answer(
        answer("Robert | plays | Chess | P1"), {"P1": "Bob plays Chess"}, known
    ).relations
    assert not kept("Robert | plays | Chess", "Bob plays Chess")


def test_a_name_that_no_memory_has_is_replaced_by_one_it_has() -> None:
    """The model wrote a fuller name than any memory has."""
    found = read_answer(
        answer(
            "Ana Maria Silva | lives in | Porto | P1",
            entities=("Ana Maria Silva | person | also: Ana",),
        ),
        TEXTS,
    )
    assert triples(found) == [("Ana", "lives in", "Porto", "P1")]


def test_names_come_out_as_they_were_typed() -> None:
    """What was escaped for the prompt is not stored escaped."""
    found = read_answer(
        answer("User | drives | \\M3 coupé | P1"), {"P1": "User drives an M3 coupé"}
    )
    assert triples(found) == [("User", "drives", "M3 coupé", "P1")]


@given(st.text(alphabet="AnaPorto |P123,\n<>/-\\¹İ", max_size=80))
def test_anything_can_be_read(lines: str) -> None:
    """Whatever stands in the sections, relations come from notes that were sent."""
    for text in (answer(lines, entities=(lines,)), lines):
        try:
            found = read_answer(text, TEXTS)
        except UnreadableAnswerError:
            continue
        assert {r.anchor for r in found.relations} <= TEXTS.keys()
