"""What is believed of a graph extractor's answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.memory.graph.answers import Drawing, drawing
from tests.memory.drawing_graphs import answer, entity, relation

TEXTS = {
    1: "User's sister Ana lives in Porto",
    2: "Ana works at Acme, and Rui does not work at Acme",
    3: "Acme is based in Berlin. Robert is called Bob by all",
}


def drawn(*relations: tuple[str, str, str], entities: list[dict[str, object]] | None = None) -> Drawing:
    """Return what is believed of an answer over TEXTS."""
    return drawing(answer(*relations, entities=entities), TEXTS)


def triples(found: Drawing) -> list[tuple[str, str, str, int]]:
    """Return relations as tuples."""
    return [(r.subject, r.predicate, r.object, r.memory_id) for r in found.relations]


def test_a_relation_belongs_to_the_memory_that_names_both_ends() -> None:
    """The one with the verb, else the newest; the user is named in all."""
    assert triples(
        drawn(("Ana", "is sister of", "User"), ("Ana", "lives in", "Porto"), ("Acme", "based in", "Berlin"))
    ) == [
        ("Ana", "is sister of", "User", 1),
        ("Ana", "lives in", "Porto", 1),
        ("Acme", "based in", "Berlin", 3),
    ]


def test_an_invented_relation_is_refused() -> None:
    """Ends that no memory names together, or at all."""
    found = drawn(("Ana", "lives in", "Berlin"), ("Ana", "owns", "Mercedes"), ("Zoe", "knows", "Ana"))
    assert found.relations == ()
    assert found.entities == ()
    assert len(found.notes) == 3
    assert all("no memory names both" in note for note in found.notes)


def test_what_is_denied_is_no_relation() -> None:
    """In the clause that names it; the rest of the sentence counts."""
    assert drawn(("Ana", "works at", "Acme")).relations
    assert drawn(("Rui", "works at", "Acme")).relations == ()
    only = drawing(answer(("User", "likes", "Fado")), {1: "User does not like Fado"})
    assert (only.relations, len(only.notes)) == ((), 1)
    assert drawing(answer(("User", "does not like", "Fado")), {1: "User does not like Fado"}).relations


@pytest.mark.parametrize(
    ("text", "predicate", "object_", "users"),
    [
        ("User's sister Ana lives in Porto", "lives in", "Porto", False),
        ("Ana works at Acme", "works at", "Acme", False),
        ("Ana and my brother Rui play Chess", "plays", "Chess", False),
        ("Rui and I play Chess", "plays", "Chess", True),
        ("Ana is my sister", "has sister", "Ana", True),
        ("Ana lent me the Volvo", "drives", "Volvo", True),
        ("My cat is called Tom", "has cat", "Tom", True),
        ("Allergic to peanuts", "is allergic to", "peanuts", True),
    ],
)
def test_what_is_said_of_another_is_not_the_users(text: str, predicate: str, object_: str, users: bool) -> None:
    """The user counts as named everywhere, but does not live where the sister lives."""
    entities = [entity(name) for name in ("User", "Ana", "Rui", object_)]
    found = drawing(answer(("User", predicate, object_), entities=entities), {1: text})
    assert bool(found.relations) == users


def test_aliases_stand_in_the_texts() -> None:
    """One that does not is dropped, and so is one that another entity bears."""
    found = drawing(
        answer(("Bob", "knows", "Ana"), entities=[entity("Robert", "Bob", "Bobby", "Ana", 7, None), entity("Ana")]),
        {1: "Robert, called Bob, knows Ana"},
    )
    assert triples(found) == [("Robert", "knows", "Ana", 1)]
    assert found.entities[0].aliases == ("Bob",)


def test_a_fuller_name_that_no_text_has_is_not_taken() -> None:
    """The name that stands there is the entity's."""
    found = drawing(
        answer(("Ana Maria Silva", "lives in", "Porto"), entities=[entity("Ana Maria Silva", "Ana")]), TEXTS
    )
    assert triples(found) == [("Ana", "lives in", "Porto", 1)]
    assert [e.name for e in found.entities] == ["Ana", "Porto"]


def test_nobody_is_their_own_sister() -> None:
    """An alias is dropped when a relation tells the two apart, and a relation to oneself is none."""
    found = drawing(
        answer(("Ana", "is sister of", "Bea"), entities=[entity("Ana", "Bea")]), {1: "Ana is the sister of Bea"}
    )
    assert found.relations == ()
    found = drawn(("User", "is", "me"), ("I", "know", "Ana"))
    assert triples(found) == [("User", "know", "Ana", 1)]


KEYS = st.sampled_from(["name", "type", "aliases", "subject", "predicate", "object"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
)


@given(ANYTHING)
def test_whatever_stands_in_an_answer_is_read(value: Any) -> None:
    """Any JSON of any type in any place gives a drawing, and nothing that the texts do not name."""
    for data in (
        {"entities": value, "relations": value},
        {"entities": [value], "relations": [value]},
        {"relations": [relation(value, value, value)], "entities": [entity(value, value, kind=value)]},
    ):
        found = drawing(data, TEXTS)
        assert {r.memory_id for r in found.relations} <= TEXTS.keys()
