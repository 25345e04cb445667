"""What a conversation is shown is what stands in the file now, however little of it is read."""

from construct.memory.shown.view import current_blocks
from construct.store import observations as rows
from construct.store.database import rehearsal, transaction
from tests.memory.builders import FRAME, Life


def shown(life: Life, here: int) -> list[list[str]]:
    """Return the lines a conversation is shown, block by block."""
    return [[o.content for o in block] for block in current_blocks(life.db, here, FRAME)]


def test_what_is_shown_follows_what_stands(life: Life) -> None:
    """A line that is new, moved to another block, or replaced is seen so at once; another talk has its own."""
    here, other = life.talk(), life.talk()
    life.learn(here, "Ana lives in Faro")
    bike = life.learn(here, "Ana has a bicycle")
    assert shown(life, here) == [["Ana lives in Faro"], ["Ana has a bicycle"]]
    assert shown(life, other) == []
    with transaction(life.db):
        rows.replace_shown(life.db, here, [(i, 1) for i, _ in rows.shown_blocks(life.db, here)])
    assert shown(life, here) == [["Ana lives in Faro", "Ana has a bicycle"]]
    life.reflect(("Ana cycles", [bike]))
    assert shown(life, here) == [["Ana lives in Faro"], ["Ana cycles"]]


def test_an_id_that_comes_again_stands_for_what_it_is_now(life: Life) -> None:
    """What was shown inside a transaction that was taken back is forgotten, though its id is given to another line."""
    here = life.talk()
    first = life.learn(here, "Ana lives in Faro")
    with rehearsal(life.db):
        values = {name: value for name, value in first._asdict().items() if name not in {"id", "uid"}}
        gone = rows.insert_observation(life.db, values | {"content": "Ana lives in Porto"})
        rows.add_shown(life.db, [gone], here)
        assert shown(life, here) == [["Ana lives in Faro", "Ana lives in Porto"]]
    assert life.learn(here, "Ana has a bicycle").id == gone
    assert shown(life, here) == [["Ana lives in Faro"], ["Ana has a bicycle"]]
