"""What a conversation is shown is what stands in the file now, however little of it is read."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from construct.memory.shown.forks import fork
from construct.memory.shown.view import Frame, current_blocks, take_in
from construct.store import observations as rows
from construct.store import shown as store
from construct.store.database import rehearsal, transaction
from construct.store.purge import reactivate
from construct.store.records import Observation
from tests.memory.builders import FRAME, Life

BUDGET = 60
LINE_TOKENS = (5, 10, 20)
DEEDS = (
    "write", "write", "commit", "commit", "supersede", "withhold", "undo", "undo", "forget", "talk", "fork",
    "take_in", "take_in", "take_in",
)  # fmt: skip


def shown(life: Life, here: int) -> list[list[str]]:
    """Return the lines a conversation is shown, block by block."""
    return [[o.content for o in block] for block in current_blocks(life.db, here, FRAME)]


def urgency(o: Observation) -> tuple[object, ...]:
    """Return what decides which lines are kept when there are too many."""
    rank = {"high": 2, "medium": 1, "low": 0}
    return o.pinned, rank[o.priority], o.observation_date, o.id


class Noted:
    """Does what is done to a life, and notes each line that a conversation took in.

    `taken[conversation][observation]` is its block, 0 for what fell off the budget: the
    plain way, which needs a row for every active line in every conversation.
    """

    def __init__(self, life: Life, seed: int) -> None:
        self.life = life
        self.chance = random.Random(seed)
        self.taken: dict[int, dict[int, int]] = {}
        self.talk()

    def ids(self, where: str = "true") -> list[int]:
        """Return the observations of which a condition holds."""
        query = f"SELECT id FROM observations WHERE {where} ORDER BY id"
        return [i for (i,) in self.life.db.execute(query)]

    def some(self, where: str) -> list[int]:
        """Return up to three of them, by chance."""
        found = self.ids(where)
        return self.chance.sample(found, min(len(found), self.chance.randint(1, 3)))

    def change(self, ids: list[int], changed: str) -> None:
        """Change columns of observations."""
        for i in ids:
            self.life.db.execute(f"UPDATE observations SET {changed} WHERE id = ?", (i,))

    def here(self) -> int:
        """Return some conversation."""
        return self.chance.choice(sorted(self.taken))

    def talk(self) -> None:
        """Begin a conversation."""
        self.taken[self.life.talk()] = {}

    def fork(self) -> None:
        """Fork a conversation."""
        here = self.here()
        self.taken[fork(self.life.db, here, self.life.clock)] = dict(self.taken[here])

    def write(self) -> None:
        """Observe something."""
        here = self.here()
        self.life.observe(here, ("Some line", [self.life.exchange(here, "x")]))
        self.change(
            self.ids()[-1:],
            f"""token_count = {self.chance.choice(LINE_TOKENS)}, pinned = {self.chance.choice([0, 0, 1])},
                priority = '{self.chance.choice(["high", "medium", "low"])}',
                observation_date = '2026-03-0{self.chance.randint(1, 9)}'""",
        )

    def commit(self) -> None:
        """Commit lines, the older ones perhaps last."""
        self.change(self.some("committed_at IS NULL"), "committed_at = created_at")

    def supersede(self) -> None:
        """Supersede lines."""
        self.change(self.some(rows.ACTIVE), "superseded_at = created_at, superseded_by = cycle_id")

    def withhold(self) -> None:
        """Withhold lines, or give them back."""
        self.change(self.some("true"), "withheld = NOT withheld")

    def undo(self) -> None:
        """Bring lines back, at once in one conversation or in all that are shown something."""
        back = self.some("superseded_at IS NOT NULL AND committed_at IS NOT NULL AND NOT withheld")
        here = self.chance.choice([None, self.here()])
        reactivate(self.life.db, back)
        store.show_again(self.life.db, back, here)
        for conversation, taken in self.taken.items():
            if max(taken.values(), default=0) and here in {None, conversation}:
                last = max(taken.values())
                taken.update({i: last for i in back if i not in taken})

    def forget(self) -> None:
        """Delete lines; a superseded one stands in their place."""
        gone = self.some(rows.ACTIVE)
        back = self.some("superseded_at IS NOT NULL")[:1]
        for i in back:
            store.show_instead(self.life.db, i, gone)
        reactivate(self.life.db, back)
        for taken in self.taken.values():
            blocks = [taken.pop(i) for i in gone if i in taken]
            if blocks:
                taken.update({i: max(blocks) for i in back if i not in taken})
        self.life.db.executemany("DELETE FROM observations WHERE id = ?", [(i,) for i in gone])

    def take_in(self) -> None:
        """Take in what is active, and look whether the blocks are those that were noted."""
        here = self.here()
        active = {o.id: o for o in rows.active_in_scope(self.life.db, None)}
        taken = {i: block for i, block in self.taken[here].items() if i in active}
        last = max(taken.values(), default=0) + 1
        taken |= {i: last for i in active if i not in taken}
        if sum(active[i].token_count for i, block in taken.items() if block) > BUDGET:
            left, last = BUDGET * 3 // 4, max(taken.values())
            for o in sorted(active.values(), key=urgency, reverse=True):
                fits = o.token_count <= left
                left -= o.token_count * fits
                taken[o.id] = (taken[o.id] or last) * fits
        self.taken[here] = taken
        order = sorted((block, i) for i, block in taken.items() if block)
        blocks = take_in(self.life.db, here, Frame("user", BUDGET))
        assert [o.id for block in blocks for o in block] == [i for _, i in order]
        assert len(blocks) == len({block for block, _ in order})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(DEEDS), min_size=20, max_size=80), st.integers(0, 1 << 30))
def test_it_is_shown_as_if_every_line_it_took_in_were_noted(deeds: list[str], seed: int) -> None:
    """Whatever falls off the budget stays off until it is packed anew, though no row says so."""
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder))
        noted = Noted(life, seed)
        for name in deeds:
            deed: Callable[[], None] = getattr(noted, name)
            deed()
        life.db.close()


def test_what_falls_off_has_no_row(life: Life) -> None:
    """A conversation has as many rows as it is shown lines, however many others are active."""
    here = life.talk()
    for n in range(12):
        life.learn(here, f"Ana has bicycle {n}")
    first, second = life.talk(), life.talk()
    for conversation in (first, second):
        blocks = take_in(life.db, conversation, Frame("user", BUDGET))
        assert store.count_shown(life.db, conversation) == (1, len(blocks[0]))
        assert len(blocks[0]) < 12
        assert take_in(life.db, conversation, Frame("user", BUDGET)) == blocks


def test_another_scope_takes_in_anew(life: Life) -> None:
    """What was out of scope at the last take-in is taken in when the scope is wider again."""
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
    """What was shown inside a transaction that was taken back is forgotten, though its id is given to another line."""
    here = life.talk()
    first = life.learn(here, "Ana lives in Faro")
    with rehearsal(life.db):
        values = {
            name: value for name, value in first._asdict().items() if name not in {"id", "uid"}
        }
        gone = rows.insert_observation(life.db, values | {"content": "Ana lives in Porto"})
        store.show_again(life.db, [gone], here)
        assert shown(life, here) == [["Ana lives in Faro", "Ana lives in Porto"]]
    assert life.learn(here, "Ana has a bicycle").id == gone
    assert shown(life, here) == [["Ana lives in Faro"], ["Ana has a bicycle"]]
