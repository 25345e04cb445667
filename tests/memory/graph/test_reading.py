"""What is read from the graph."""

import pytest

from construct.errors import NotFoundError
from construct.memory.graph.reading import Tree, entities_in, neighbours, related_notes
from tests.memory.graph.drawing import CLOCK, Graph, answer

FAMILY = answer(
    "Ana | is sister of | User | P1",
    "Ana | works at | Acme | P2",
    "Acme | based in | Berlin | P3",
    "User | owns | Rex | P4",
    "Berlin | capital of | Germany | P5",
)
FAMILY_TEXTS = (
    "Ana is my sister",
    "Ana works at Acme",
    "Acme is based in Berlin",
    "I own Rex",
    "Berlin is the capital of Germany",
)


async def test_a_query_reaches_what_stands_one_or_two_relations_away(graph: Graph) -> None:
    """Nearest first; the way does not lead on through the user."""
    sister, work, berlin, _, _ = await graph.draw(FAMILY, *FAMILY_TEXTS)
    assert related_notes(graph.db, "Where does ana's boss sit?") == [work, sister, berlin]
    assert related_notes(graph.db, "Who is my yacht's captain?") == []
    assert related_notes(graph.db, "") == []


async def test_entities_are_found_by_whole_names(graph: Graph) -> None:
    """Of several words too, in any case of letters, with accents or without.

    Never a part of a word, nor the user.
    """
    given = answer(
        "José da Silva | lives in | São Paulo | P1",
        "User | owns | Rex | P2",
        "安娜 | likes | Tea | P3",
    )
    await graph.draw(given, "José da Silva lives in São Paulo", "I own Rex", "安娜 likes Tea")

    def found(text: str) -> list[str]:
        return [e.name for e in entities_in(graph.db, text)]

    assert found("what does jose DA silva do in sao paulo?") == ["José da Silva", "São Paulo"]
    assert found("Silva, T-Rexes and I") == []
    assert found("rex") == ["Rex"]
    assert found("安娜") == ["安娜"]


async def test_the_tree_of_a_name(graph: Graph) -> None:
    """Each relation once, seen from where it is asked for, with its day."""
    await graph.draw(FAMILY, *FAMILY_TEXTS)

    def lines(tree: Tree, depth: int = 0) -> list[str]:
        here = []
        for b in tree.branches:
            assert len(b.since) == 10
            here.append(f"{'  ' * depth}{'' if b.forward else '<'}{b.predicate} {b.tree.name}")
            here += lines(b.tree, depth + 1)
        return here

    assert lines(neighbours(graph.db, "ANA", CLOCK)) == [
        "is sister of User",
        "works at Acme",
        "  based in Berlin",
    ]
    assert lines(neighbours(graph.db, "me", CLOCK)) == [
        "<is sister of Ana",
        "  works at Acme",
        "owns Rex",
    ]
    assert lines(neighbours(graph.db, "Germany", CLOCK)) == [
        "<capital of Berlin",
        "  <based in Acme",
    ]
    with pytest.raises(NotFoundError, match="is not in the graph"):
        neighbours(graph.db, "Zoe", CLOCK)


async def test_a_graph_without_the_user(graph: Graph) -> None:
    """Asked for themselves, the user is told to name something else."""
    await graph.draw(answer("Berlin | capital of | Germany | P1"), "Berlin is Germany's capital")
    with pytest.raises(NotFoundError, match="Name a person, place or thing"):
        neighbours(graph.db, "me", CLOCK)
