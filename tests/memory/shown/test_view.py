"""A conversation is shown what the file has now, however little is read."""

from construct.memory.corrections import pin
from construct.memory.shown.frame import Frame
from construct.memory.shown.view import current_blocks, show_again, take_in
from construct.store import observations as rows
from construct.store import shown as store
from construct.store.database import rehearsal, transaction
from tests.memory.builders import FRAME, Life

BUDGET = 60


def shown(life: Life, here: int) -> list[list[str]]:
    """Return the lines a conversation is shown, block by block."""
    return [[o.content for o in block] for block in current_blocks(life.db, here, FRAME)]


def test_what_falls_off_has_no_row(life: Life) -> None:
    """A conversation has one row for each line it is shown, and no others."""
    here = life.talk()
    for n in range(12):
        life.learn(here, f"Ana has bicycle {n}")
    first, second = life.talk(), life.talk()
    for conversation in (first, second):
        blocks = take_in(life.db, conversation, Frame("user", BUDGET))
        assert store.count_shown(life.db, conversation) == (1, len(blocks[0]))
        assert len(blocks[0]) < 12
        assert take_in(life.db, conversation, Frame("user", BUDGET)) == blocks


def test_what_is_pinned_after_it_fell_off_is_shown(life: Life) -> None:
    """From the next compaction on, although there was no room for it before."""
    here, frame = life.talk(), Frame("user", BUDGET)
    first = life.learn(here, "Ana has the key", priority="low")
    for n in range(12):
        life.learn(here, f"Ana has bicycle {n}")
    assert first.id not in [o.id for block in take_in(life.db, here, frame) for o in block]
    pin(life.db, first.id)
    assert first.id in [o.id for block in take_in(life.db, here, frame) for o in block]


def test_another_scope_takes_in_anew(life: Life) -> None:
    """What was out of scope is taken in when the scope is wider again."""
    here, other = life.talk(), life.talk()
    life.learn(other, "Ana lives in Faro")
    life.learn(here, "Ana has a bicycle")
    assert shown(life, here) == [["Ana lives in Faro", "Ana has a bicycle"]]
    (own,) = take_in(life.db, here, Frame("conversation", 8000))
    assert [o.content for o in own] == ["Ana has a bicycle"]
    blocks = take_in(life.db, here, FRAME)
    assert [[o.content for o in block] for block in blocks] == [
        ["Ana has a bicycle"],
        ["Ana lives in Faro"],
    ]


def test_what_is_shown_follows_what_stands(life: Life) -> None:
    """A line that is new, moved to another block, or replaced is seen so at once.

    Another talk has its own.
    """
    here, other = life.talk(), life.talk()
    life.learn(here, "Ana lives in Faro")
    bike = life.learn(here, "Ana has a bicycle")
    assert shown(life, here) == [["Ana lives in Faro"], ["Ana has a bicycle"]]
    assert shown(life, other) == []
    with transaction(life.db):
        blocks = dict.fromkeys(store.shown_blocks(life.db, here), 1)
        store.store_take_in(life.db, here, "user", blocks)
    assert shown(life, here) == [["Ana lives in Faro", "Ana has a bicycle"]]
    life.reflect(("Ana cycles", [bike]))
    assert shown(life, here) == [["Ana lives in Faro"], ["Ana cycles"]]


def test_an_id_that_comes_again_stands_for_what_it_is_now(life: Life) -> None:
    """What was shown inside a rolled-back transaction is forgotten.

    Its id may be given to another line later.
    """
    here = life.talk()
    first = life.learn(here, "Ana lives in Faro")
    with rehearsal(life.db):
        values = {
            name: value for name, value in first._asdict().items() if name not in {"id", "uid"}
        }
        gone = rows.insert_observation(life.db, values | {"content": "Ana lives in Porto"})
        assert gone is not None
        show_again(life.db, [gone])
        assert shown(life, here) == [["Ana lives in Faro", "Ana lives in Porto"]]
    assert life.learn(here, "Ana has a bicycle").id == gone
    assert shown(life, here) == [["Ana lives in Faro"], ["Ana has a bicycle"]]
