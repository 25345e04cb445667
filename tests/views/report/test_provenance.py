"""What is remembered as trees."""

from collections.abc import Iterable, Iterator

from construct.memory.corrections import edit
from construct.store import note_links
from construct.store.database import transaction
from construct.views.report.contents import Node, forest
from tests.memory.builders import Life
from tests.views.report.conftest import read


def walked(nodes: Iterable[Node], depth: int = 0) -> Iterator[tuple[int, Node]]:
    """Yield (depth, node)."""
    for node in nodes:
        yield depth, node
        yield from walked((*node.sources, *node.replaced), depth + 1)


def drawn(roots: Iterable[Node]) -> list[int]:
    """Return the ids of all that is drawn."""
    return [node.observation.id for _, node in walked(roots)]


def test_a_tree_leads_down_to_the_words(lived: Life) -> None:
    """A reflection holds its sources of every generation.

    An edit what it was edited from; each the words.
    """
    found = forest(read(lived))
    top = {n.observation.content: n for n in found}
    reflection = top["I live in a small flat in Lisbon with a cat"]
    assert [(n.observation.generation, n.observation.content) for n in reflection.sources] == [
        (0, "I have a cat"), (1, "I live in a small flat in Lisbon"),
    ]  # fmt: skip
    below = reflection.sources[1].sources
    assert [m.content for n in below for m in n.messages] == [
        "I live in Lisbon",
        "My flat is small",
    ]
    assert [n.observation.content for n in top["My rent is 950"].replaced] == ["My rent is 900"]
    assert {n.observation.state for n in found} == {"active", "pending"}


def test_each_observation_is_drawn_once(lived: Life) -> None:
    """What several rest on hangs on one of them, and the others name it.

    What is let go stands by itself.
    """
    here = lived.talk()
    shared, other, gone = (lived.learn(here, text) for text in ("I run", "I swim", "I saw a bus"))
    lived.reflect(("I run and swim", [shared, other]), ("I run a lot", [shared]), dropped=[gone])
    found = forest(read(lived))
    assert sorted(drawn(found)) == [o.id for o in read(lived).observations]
    assert [n.observation.id for n in found if n.observation.superseded_at] == [gone.id]
    assert [o.id for n in found for o in n.sources_elsewhere] == [shared.id]


def test_a_tree_is_never_too_deep(life: Life) -> None:
    """A tree of forty generations is cut to a readable depth, with nothing missing."""
    here = life.talk()
    top = life.learn(here, "Fact 0")
    for n in range(1, 40):
        (top,) = life.reflect((f"Fact {n}", [top]))
    found = forest(read(life))
    assert max(depth for depth, _ in walked(found)) < 20
    assert len(drawn(found)) == 40


def test_an_edit_made_again_and_again_replaces_all_that_is_below_it(life: Life) -> None:
    """Below the deepest level too, what was replaced is not shown as a source."""
    newest = life.learn(life.talk(), "Fact 0").id
    for n in range(1, 20):
        newest = edit(life.db, newest, f"Fact {n}", life.clock)
    nodes = [node for _, node in walked(forest(read(life)))]
    assert len(nodes) == 20
    assert not any(node.sources or node.sources_elsewhere for node in nodes)


def test_what_two_replaced_is_shown_once(life: Life) -> None:
    """The other one says that it replaced it, not that it comes from it."""
    here = life.talk()
    old, new, other = (life.learn(here, text) for text in ("Old", "New", "Other"))
    with transaction(life.db):
        pairs = [(new.id, old.id), (other.id, old.id)]
        note_links.link_replaced(life.db, pairs, "outdated", new.cycle_id)
        life.db.execute(
            "UPDATE observations SET superseded_at = created_at, superseded_by = ? WHERE id = ?",
            (new.cycle_id, old.id),
        )
    nodes = forest(read(life))
    assert [o.id for n in nodes for o in n.replaced_elsewhere] == [old.id]
    assert not any(node.sources_elsewhere for node in nodes)


def test_a_circle_ends(life: Life) -> None:
    """Observations that replaced each other are drawn once.

    No cycle makes a circle like that.
    """
    here = life.talk()
    one, two = life.learn(here, "One"), life.learn(here, "Two")
    with transaction(life.db):
        for pair in ((one.id, two.id), (two.id, one.id)):
            note_links.link_replaced(life.db, [pair], "outdated", one.cycle_id)
        life.db.execute(
            "UPDATE observations SET superseded_at = created_at, superseded_by = cycle_id"
        )
    assert sorted(drawn(forest(read(life)))) == [one.id, two.id]


def test_what_was_undone_is_not_there(lived: Life) -> None:
    """A reverted cycle counts as never run."""
    from construct.memory.undo import undo

    here = lived.talk()
    fact = lived.learn(here, "I paint")
    lived.reflect(("I paint walls", [fact]))
    undo(lived.db, lived.clock)
    contents = {n.observation.content for _, n in walked(forest(read(lived)))}
    assert "I paint" in contents
    assert "I paint walls" not in contents
