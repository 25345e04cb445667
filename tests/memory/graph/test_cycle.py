"""The graph cycle over a database, with a model that gives prepared answers."""

from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from construct.clock import Clock
from construct.memory.cycles.graphing import BETWEEN_TURNS, GraphJob, is_due
from construct.memory.graph.reading import neighbours, related_notes
from construct.memory.graph.storing import drop_unsaid_names, revert_graph
from construct.memory.keeping import keep_for_user
from construct.memory.undo import undo
from construct.store import graph as rows
from construct.store.database import transaction
from tests.memory.builders import Life, stated
from tests.memory.graph.drawing import CLOCK, NOW, Graph, ScriptedModel, answer
from tests.support.fake_api import FakeApi
from tests.support.talks import talking

PORTO = answer("Ana | lives in | Porto | P1")


def revert_last(graph: Graph) -> int:
    """Undo the newest graph cycle and return how many relations went."""
    with transaction(graph.db):
        ((cycle_id,),) = graph.query(
            "SELECT max(id) FROM cycles WHERE kind = 'graph' AND status = 'succeeded'"
        )
        count = revert_graph(graph.db, cycle_id)
        graph.db.execute("UPDATE cycles SET status = 'reverted' WHERE id = ?", (cycle_id,))
    return count


def test_when_a_cycle_is_due(graph: Graph) -> None:
    """Between turns with twenty unread notes, otherwise with one."""
    assert not is_due(graph.db)
    graph.keep("Ana lives in Porto")
    assert (is_due(graph.db), is_due(graph.db, BETWEEN_TURNS)) == (True, False)
    graph.keep(*(f"Locker {i} has the code {1000 + i}" for i in range(19)))
    assert is_due(graph.db, BETWEEN_TURNS)


@pytest.mark.parametrize(
    ("priority", "stance", "is_read"),
    [
        ("high", "stated", True), ("medium", "planned", True), ("low", "stated", False),
        ("high", "asked", False), ("high", "inferred", False), ("high", "quoted", False),
    ],
)  # fmt: skip
def test_what_is_read(life: Life, priority: str, stance: str, is_read: bool) -> None:
    """What was stated or planned, minor things apart, once it is committed."""
    here = life.talk()
    said = life.exchange(here, "Ana lives in Porto")
    note = replace(stated(said.content, [said.id]), priority=priority, stance=stance)
    life.observe(here, note)
    assert not is_due(life.db)
    life.compact(here)
    assert is_due(life.db) is is_read


async def test_one_call_reads_all_unread_notes(graph: Graph) -> None:
    """They are read once, and relations keep their note."""
    given = answer(
        "Ana | is sister of | User | P1", "Rui | plays | Chess | P60", entities=("Rui | person",)
    )
    texts = [f"Locker {i} has the code {1000 + i}" for i in range(58)]
    ids = await graph.draw(given, "Ana is my sister", *texts, "Rui plays Chess")
    assert len(graph.requests) == 1
    assert graph.relations() == [("Ana", "is sister of", "User", 1), ("Rui", "plays", "Chess", 1)]
    assert graph.query("SELECT observation_id FROM relations") == [(ids[0],), (ids[-1],)]
    assert graph.query("SELECT type FROM entities WHERE name = 'Rui'") == [("person",)]
    assert not is_due(graph.db)


async def test_known_names_go_out_with_the_next_call(graph: Graph) -> None:
    """The first call has none."""
    await graph.draw(answer("User | has sister | Ana | P1"), "Ana is my sister")
    await graph.draw(answer(), "The gate opens at seven")
    assert "<names>" not in graph.requests[0].user
    assert graph.requests[1].user.endswith("<names>\nhas sister\nAna\n</names>")


async def test_after_a_failure_the_newest_notes_are_read_first(graph: Graph) -> None:
    """In their order; a long one that may be the reason waits."""
    await graph.draw("Sorry, I cannot do that.", "Stir the flour. " * 4_000)
    newer = graph.keep("Ana lives in Porto", "Rui plays Chess")
    model: Any = ScriptedModel(answer())
    cycle = graph.begin(model)
    assert cycle is not None
    assert [note.id for note in cycle.batch.notes.values()] == newer


async def test_an_answer_of_no_use_fails_the_cycle(graph: Graph) -> None:
    """It is asked twice.

    The notes are due again with the next new one, and all are read then.
    """
    await graph.draw("Sorry, I cannot do that.", "Ana lives in Porto")
    assert graph.account.attempts == 2
    assert graph.account.problems == ["the answer has no <relations> section"] * 2
    assert graph.query("SELECT status FROM cycles WHERE kind = 'graph'") == [("failed",)]
    assert not is_due(graph.db)
    graph.keep("Rui plays chess")
    assert is_due(graph.db)
    await graph.draw(PORTO)
    assert graph.relations() == [("Ana", "lives in", "Porto", 1)]


async def test_the_second_attempt_counts(graph: Graph) -> None:
    """The first one could not be read."""
    await graph.draw("no", "Ana lives in Porto", again=PORTO)
    assert len(graph.relations()) == 1


async def test_of_an_answer_that_breaks_off_twice_whole_lines_count(graph: Graph) -> None:
    """The notes behind the last one it named stay unread."""
    broken = "<relations>\nAna | lives in | Porto | P1\nRui | pla"
    ids = await graph.draw(broken, "Ana lives in Porto", "Rui plays Chess")
    assert graph.account.problems == ["the answer broke off"] * 2
    assert graph.relations() == [("Ana", "lives in", "Porto", 1)]
    assert [note.id for note in rows.unread(graph.db, 9)] == ids[1:]


async def test_nothing_to_draw_is_an_answer(graph: Graph) -> None:
    """The notes count as read."""
    await graph.draw(answer(), "The gate opens at seven")
    assert graph.query("SELECT status FROM cycles WHERE kind = 'graph'") == [("succeeded",)]
    assert rows.count_unread(graph.db) == 0


async def test_entities_of_one_name_are_one(graph: Graph) -> None:
    """In any case of letters, by alias too, over several cycles; the user is one."""
    await graph.draw(answer("Ana | is sister of | User | P1"), "Ana is my sister")
    given = answer(
        "ANA | knows | Robert | P1",
        "I | know | Bob | P2",
        entities=("Robert | person | also: Bob",),
    )
    await graph.draw(given, "Ana knows Robert", "I know Bob, who is Robert")
    await graph.draw(answer("Bob | plays | Chess | P1"), "Bob plays Chess")
    names = graph.query("SELECT name, aliases FROM entities ORDER BY id")
    assert names == [("Ana", "[]"), ("User", "[]"), ("Robert", '["Bob"]'), ("Chess", "[]")]


async def test_two_who_share_a_first_name_are_two(graph: Graph) -> None:
    """An alias that two have does not make them one."""
    given = answer(
        "Ana Silva | knows | User | P1", "Ana Costa | knows | User | P2",
        entities=("Ana Silva | person | also: Ana", "Ana Costa | person | also: Ana"),
    )  # fmt: skip
    await graph.draw(given, "User knows Ana Silva", "User knows Ana Costa", "Ana is ill")
    assert graph.query("SELECT count(*) FROM entities WHERE name LIKE 'Ana%'") == [(2,)]


async def test_an_alias_joins_two_that_were_known_apart(graph: Graph) -> None:
    """From either name the relations of both are related; undo parts them again."""
    bob, robert = await graph.draw(
        answer("Bob | plays | Chess | P1", "Robert | works at | Acme | P2"),
        "Bob plays Chess",
        "Robert works at Acme",
    )
    given = answer("Bob | likes | Tea | P1", entities=("Bob | person | also: Robert",))
    (tea,) = await graph.draw(given, "Bob, that is Robert, likes Tea")
    for name in ("bob", "robert"):
        assert set(related_notes(graph.db, f"what about {name}?")) == {bob, robert, tea}
        assert {b.tree.name for b in neighbours(graph.db, name, CLOCK).branches} == {
            "Chess",
            "Acme",
            "Tea",
        }
    assert revert_last(graph) == 1
    assert related_notes(graph.db, "bob") == [bob]


async def test_undo_takes_back_only_the_aliases_of_its_cycle(graph: Graph) -> None:
    """What an earlier note bears out stays, even when the undone one says it too."""
    given = answer("Robert | plays | Chess | P1", entities=("Robert | person | also: Bob",))
    await graph.draw(given, "Robert plays Chess", "Robert is nicknamed Bob at home")
    given = answer("Bob | likes | Tea | P1", entities=("Robert | person | also: Bob, Rob",))
    await graph.draw(given, "Bob, or Rob, likes Tea")
    aliases = "SELECT name, aliases FROM entities WHERE type = 'person'"
    assert graph.query(aliases) == [("Robert", '["Bob", "Rob"]')]
    revert_last(graph)
    assert graph.query(aliases) == [("Robert", '["Bob"]')]


async def test_a_relation_keeps_apart_two_that_an_alias_would_join(graph: Graph) -> None:
    """Nobody is one's own sister."""
    await graph.draw(answer("Ana | has sister | Rita | P1"), "Ana has a sister, Rita")
    given = answer("Ana | plays | Chess | P1", entities=("Ana | person | also: Rita",))
    await graph.draw(given, "Ana plays Chess with Rita")
    assert graph.query("SELECT name, aliases FROM entities") == [
        ("Ana", "[]"),
        ("Rita", "[]"),
        ("Chess", "[]"),
    ]


async def test_a_superseded_note_takes_its_relations_along(graph: Graph) -> None:
    """They are no longer related; the tree shows them as past, in the user's days."""
    ids = await graph.draw(answer("User | lives in | Lisbon | P1"), "User lives in Lisbon")
    with transaction(graph.db):
        graph.db.execute("UPDATE observations SET superseded_at = '2026-03-10T01:00:00+00:00'")
    assert related_notes(graph.db, "Lisbon") == []
    for hours, until in ((0, "2026-03-10"), (-10, "2026-03-09")):
        clock = Clock(None, timezone(timedelta(hours=hours)))
        (branch,) = neighbours(graph.db, "Lisbon", clock).branches
        assert (branch.observation_id, branch.since, branch.until) == (ids[0], "2026-03-01", until)


async def test_undo_of_a_graph_cycle(graph: Graph) -> None:
    """Undo removes relations and entities, and the notes are unread again.

    They wait for a new note before they are read.
    """
    await graph.draw(PORTO, "Ana lives in Porto")
    assert revert_last(graph) == 1
    assert graph.query(
        "SELECT (SELECT count(*) FROM relations), (SELECT count(*) FROM entities)"
    ) == [(0, 0)]
    assert rows.count_unread(graph.db) == 1
    assert not is_due(graph.db)


async def test_what_goes_while_it_is_read_gets_no_relation(graph: Graph) -> None:
    """A note was superseded during the call."""
    ids = graph.keep("Ana lives in Porto", "Rui plays Chess")
    model: Any = ScriptedModel(answer("Ana | lives in | Porto | P1", "Rui | plays | Chess | P2"))
    cycle = graph.begin(model)
    assert cycle is not None
    assert graph.begin(model) is None  # one at a time
    found = await GraphJob(model).work(cycle.batch, cycle.account)
    with transaction(graph.db):
        graph.db.execute("UPDATE observations SET superseded_at = ? WHERE id = ?", (NOW, ids[0]))
    graph.end(cycle, found)
    assert graph.relations() == [("Rui", "plays", "Chess", 1)]
    assert graph.query("SELECT name FROM entities ORDER BY id") == [("Rui",), ("Chess",)]


async def test_names_that_no_note_has_any_more_go(graph: Graph) -> None:
    """After notes were deleted."""
    given = answer("Robert | plays | Chess | P1", entities=("Robert | person | also: Bob",))
    ids = await graph.draw(given, "Robert plays Chess", "Robert is nicknamed Bob at home")
    assert graph.query("SELECT aliases FROM entities WHERE name = 'Robert'") == [('["Bob"]',)]
    with transaction(graph.db):
        graph.db.execute("DELETE FROM observations WHERE id = ?", (ids[1],))
        drop_unsaid_names(graph.db)
    assert graph.query("SELECT aliases FROM entities WHERE name = 'Robert'") == [("[]",)]


@pytest.mark.parametrize("text", [PORTO, "no"])
async def test_the_worker_draws_the_graph(text: str, tmp_path: Path, api: FakeApi) -> None:
    """On /compact, with its calls booked; undo takes back what succeeded."""
    api.graph = lambda _body: text
    async with talking(tmp_path, api) as t:
        call = t.companion.store.call
        await call(keep_for_user, "Ana lives in Porto", None, CLOCK)
        await t.companion.worker.run_now(t.id)
        drawn = text == PORTO
        cycle = await call(
            lambda db: db.execute(
                "SELECT status, attempts FROM cycles WHERE kind = 'graph'"
            ).fetchall()
        )
        assert cycle == [("succeeded", 1) if drawn else ("failed", 2)]
        booked = "SELECT count(*) FROM usage WHERE purpose = 'graph'"
        assert await call(lambda db: db.execute(booked).fetchall()) == [(1 if drawn else 2,)]
        assert len(await call(rows.entities)) == (2 if drawn else 0)
        if drawn:
            assert (await call(undo, t.companion.settings.clock)).relations == 1
            assert await call(rows.entities) == []


async def test_a_name_without_a_relation_is_kept(graph: Graph) -> None:
    """So is another name of the user's; both go with the last note that has them."""
    texts = "Nono is a dog", "User's friends call them Bia"
    named = answer(entities=("Nono | animal", "User | person | also: Bia"))
    ids = await graph.draw(named, *texts)
    assert graph.query("SELECT name, type, aliases FROM entities ORDER BY id") == [
        ("Nono", "animal", "[]"), ("User", "person", '["Bia"]'),
    ]  # fmt: skip
    assert neighbours(graph.db, "bia", CLOCK).name == "User"
    with transaction(graph.db):
        graph.db.execute("DELETE FROM observations WHERE id IN (?, ?)", ids)
        drop_unsaid_names(graph.db)
    assert graph.query("SELECT name FROM entities") == []


async def test_an_undone_cycle_takes_names_without_a_relation_along(graph: Graph) -> None:
    """Those that it had stored itself, and no other."""
    await graph.draw(answer(entities=("Nono | animal",)), "Nono is a dog")
    await graph.draw(answer("Nono | chases | Mia | P1"), "Nono chases Mia")
    assert revert_last(graph) == 1
    assert graph.query("SELECT name FROM entities") == [("Nono",)]
