"""What is read from the graph."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from construct.errors import NotFoundError
from construct.memory.graph.reading import Tree, entities_in, neighbours, reached
from tests.memory.drawing_graphs import answer, draw
from tests.support.fake_api import FakeApi
from tests.support.talks import LOW, Talk, talking

FAMILY = answer(
    ("Ana", "is sister of", "User"),
    ("Ana", "works at", "Acme"),
    ("Acme", "based in", "Berlin"),
    ("User", "owns", "Rex"),
    ("Berlin", "capital of", "Germany"),
)
FAMILY_TEXTS = (
    "Ana is my sister",
    "Ana works at Acme",
    "Acme is based in Berlin",
    "I own Rex",
    "Berlin is the capital of Germany",
)


@pytest_asyncio.fixture
async def t(tmp_path: Path, api: FakeApi) -> AsyncIterator[Talk]:
    """A companion with a new conversation."""
    async with talking(tmp_path, api, **LOW) as opened:
        yield opened


async def test_a_query_reaches_what_stands_one_or_two_relations_away(t: Talk, api: FakeApi) -> None:
    """Nearest first; through the user the way does not go on."""
    sister, work, berlin, _, _ = await draw(t, api, FAMILY, *FAMILY_TEXTS)
    assert await t.companion.store.call(reached, "Where does ana's boss sit?") == [work, sister, berlin]
    assert await t.companion.store.call(reached, "Who is my yacht's captain?") == []
    assert await t.companion.store.call(reached, "") == []


async def test_entities_are_found_by_whole_names(t: Talk, api: FakeApi) -> None:
    """Of several words too, in any case of letters, accents or not; a part of a word is none, nor is the user."""
    given = answer(("José da Silva", "lives in", "São Paulo"), ("User", "owns", "Rex"), ("安娜", "likes", "Tea"))
    await draw(t, api, given, "José da Silva lives in São Paulo", "I own Rex", "安娜 likes Tea")

    async def found(text: str) -> list[str]:
        return [e.name for e in await t.companion.store.call(entities_in, text)]

    assert await found("what does jose DA silva do in sao paulo?") == ["José da Silva", "São Paulo"]
    assert await found("Silva, T-Rexes and I") == []
    assert await found("rex") == ["Rex"]
    assert await found("安娜") == ["安娜"]


async def test_the_tree_of_a_name(t: Talk, api: FakeApi) -> None:
    """Each relation once, seen from where it is reached, with its day."""
    await draw(t, api, FAMILY, *FAMILY_TEXTS)

    def lines(tree: Tree, depth: int = 0) -> list[str]:
        here = []
        for b in tree.branches:
            assert len(b.since) == 10
            here.append(f"{'  ' * depth}{'' if b.forward else '<'}{b.predicate} {b.tree.name}")
            here += lines(b.tree, depth + 1)
        return here

    tree = await t.companion.store.call(neighbours, "ANA")
    assert lines(tree) == ["is sister of User", "works at Acme", "  based in Berlin"]
    assert lines(await t.companion.store.call(neighbours, "me")) == ["<is sister of Ana", "  works at Acme", "owns Rex"]
    assert lines(await t.companion.store.call(neighbours, "Germany")) == ["<capital of Berlin", "  <based in Acme"]
    with pytest.raises(NotFoundError, match="knows nothing of"):
        await t.companion.store.call(neighbours, "Zoe")
