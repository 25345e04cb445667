"""A conversation is shown as if each line it took in were recorded.

That holds whatever is done in a life.
"""

import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from construct.memory import forgetting, undo
from construct.memory.cycles import commit
from construct.memory.forgetting import carry_out
from construct.memory.shown import forks, view
from construct.memory.shown.frame import Frame
from construct.memory.shown.view import Blocks
from construct.store import observations as rows
from construct.store.database import open_database, transaction
from construct.store.invariants import take_in_violations
from construct.store.records import Observation
from construct.vocabulary import Scope
from tests.memory import builders, test_whole_life
from tests.memory.builders import Life
from tests.store.transfer_world import bring, exported

DEEDS = (
    *test_whole_life.STEPS, "learn", "learn", "learn", "learn", "vary", "withhold", "step_back",
    "restart", "take_in", "take_in", "look", "look", "look",
)  # fmt: skip
BUDGETS = (60, 90, 150, 300, 8000)


def urgency(o: Observation) -> tuple[object, ...]:
    """Return what decides which lines are kept when there are too many."""
    rank = {"high": 2, "medium": 1, "low": 0}
    return o.pinned, rank[o.priority], o.observation_date, o.id


class Noted(test_whole_life.Player):
    """A life that records each line that a conversation took in.

    `taken[conversation][observation]` is its block, 0 for what fell off the budget: the
    plain way, which needs a row for every active line in every conversation.
    """

    def __init__(self, life: Life, seed: int, frame: Frame, patch: pytest.MonkeyPatch) -> None:
        self.frame = frame
        self.taken: dict[int, dict[int, int]] = {}
        super().__init__(life, seed)
        for module in (builders, test_whole_life):
            patch.setattr(module, "FRAME", frame)
        for module, name, note in (
            (view, "take_in", self.note_take_in),
            (commit, "take_in", self.note_take_in),
            (forks, "copy_shown", self.note_fork),
            (undo, "show_again", self.note_again),
            (carry_out, "show_instead", self.note_instead),
        ):
            patch.setattr(module, name, noting(getattr(module, name), note))

    def in_scope(self, here: int) -> dict[int, Observation]:
        """Return the active observations in a conversation's scope."""
        reach = forks.reach(self.life.db, self.frame.scope, here)
        return {o.id: o for o in rows.active_in_scope(self.life.db, reach)}

    def noted(self, here: int) -> dict[int, int]:
        """Return what a conversation took in and still exists."""
        ids = {o.id for o in rows.all_observations(self.life.db)}
        self.taken[here] = {i: b for i, b in self.taken.get(here, {}).items() if i in ids}
        return self.taken[here]

    def note_take_in(self, _db: sqlite3.Connection, here: int, _frame: Frame) -> None:
        """Note that all in scope is taken in, and packed when it is too much.

        What is pinned is taken in even if it fell off before.
        """
        active = self.in_scope(here)
        taken = {i: block for i, block in self.noted(here).items() if i in active}
        last = max(taken.values(), default=0) + 1
        new = [i for i, o in active.items() if i not in taken or (o.pinned and not taken[i])]
        taken |= dict.fromkeys(new, last)
        if sum(active[i].token_count for i, block in taken.items() if block) > self.frame.budget:
            left, last = self.frame.budget * 3 // 4, max(taken.values())
            for o in sorted(active.values(), key=urgency, reverse=True):
                fits = o.token_count <= left
                left -= o.token_count * fits
                taken[o.id] = (taken[o.id] or last) * fits
        self.taken[here] = taken

    def note_fork(self, _db: sqlite3.Connection, parent: int, fork: int) -> None:
        """Note that a fork has taken in what its parent has."""
        self.taken[fork] = dict(self.noted(parent))

    def note_again(self, _db: sqlite3.Connection, ids: Iterable[int]) -> None:
        """Note that lines are back in the last block of the conversations in scope."""
        for here in self.conversations():
            taken, active = self.noted(here), self.in_scope(here)
            last = max(taken.values(), default=0)
            taken.update({i: last for i in ids if last and i in active and i not in taken})

    def note_instead(self, _db: sqlite3.Connection, back: int, places: Iterable[int]) -> None:
        """Note that a line stands where one of `places` is shown."""
        for here in self.conversations():
            taken = self.noted(here)
            block = max((taken.get(i, 0) for i in places), default=0)
            if block and not taken.get(back):
                taken[back] = block

    def conversations(self) -> list[int]:
        """Return all conversations."""
        return [i for (i,) in self.life.db.execute("SELECT id FROM conversations ORDER BY id")]

    def learn(self) -> None:
        """Say something, learn from it and commit that."""
        for deed in (self.say, self.say, self.observe, self.compact):
            deed()

    def vary(self) -> None:
        """Let pending lines differ in what decides whether they are kept."""
        for (i,) in self.life.db.execute("SELECT id FROM observations WHERE committed_at IS NULL"):
            self.life.db.execute(
                """UPDATE observations SET token_count = ?, priority = ?, observation_date = ?
                   WHERE id = ?""",
                (
                    self.chance.choice((5, 10, 20, 40)),
                    self.chance.choice(("high", "medium", "low")),
                    f"2026-03-0{self.chance.randint(1, 9)}",
                    i,
                ),
            )

    def withhold(self) -> None:
        """Withhold a line, or give it back."""
        for o in self.active(1)[:1]:
            update = "UPDATE observations SET withheld = NOT withheld WHERE id = ?"
            self.life.db.execute(update, (o.id,))

    def step_back(self) -> None:
        """Let a fork begin before the last words that it inherits."""
        forks.step_back(self.life.db, self.here())

    def restart(self) -> None:
        """Close the file and open it again."""
        self.life.db.close()
        self.life.db = open_database(self.life.path)

    def take_in(self) -> None:
        """Take in what is new, as when the prompt cache is cold."""
        here = self.here()
        with transaction(self.life.db):
            self.compare(here, view.take_in(self.life.db, here, self.frame))

    def look(self) -> None:
        """Look at what a conversation is shown."""
        self.look_at(self.here())

    def look_at(self, here: int) -> None:
        """Look at what a conversation is shown, and whether that is what was noted."""
        with transaction(self.life.db):
            self.compare(here, view.current_blocks(self.life.db, here, self.frame))

    def compare(self, here: int, blocks: Blocks) -> None:
        """Compare what is shown with what was noted, block by block."""
        noted: dict[int, list[int]] = {}
        for i, block in sorted(self.noted(here).items()):
            noted.setdefault(block, []).append(i)
        noted.pop(0, None)
        assert [[o.id for o in block] for block in blocks] == [noted[n] for n in sorted(noted)]


def noting(deed: Callable[..., object], note: Callable[..., None]) -> Callable[..., object]:
    """Return the function that does both."""

    def both(*args: object) -> object:
        note(*args)
        return deed(*args)

    return both


@pytest.mark.parametrize("scope", Scope)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    deeds=st.lists(st.sampled_from(DEEDS), min_size=20, max_size=60),
    budget=st.sampled_from(BUDGETS),
    seed=st.integers(0, 1 << 30),
)
def test_it_is_shown_as_if_every_line_it_took_in_were_noted(
    scope: Scope, deeds: list[str], budget: int, seed: int
) -> None:
    """What falls off the budget stays off until it is packed anew.

    No row says so. Nothing else that is in scope is left out.
    """
    live(Frame(scope, budget), deeds, seed)


def live(frame: Frame, deeds: Iterable[str], seed: int) -> None:
    """Live a life by these actions and check what every conversation is shown."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        player = Noted(Life(Path(folder)), seed, frame, patch)
        for name in deeds:
            getattr(player, name)()
        for here in player.conversations():
            player.look_at(here)
        assert take_in_violations(player.life.db) == []
        player.life.db.close()


def shown(life: Life, here: int) -> list[list[str]]:
    """Return the lines a conversation is shown under its own scope, block by block."""
    frame = Frame(Scope.CONVERSATION, 8000)
    return [[o.content for o in block] for block in view.current_blocks(life.db, here, frame)]


def test_what_fell_off_is_offered_once_more_after_an_import(life: Life, tmp_path: Path) -> None:
    """What fell off the budget is in no export and is offered again after import.

    Packed anew once, what is shown stays, and exports are the same.
    """
    frame = Frame(Scope.USER, 60)
    here = life.talk()
    for n in range(12):
        life.learn(here, f"Ana has bicycle {n}")
    talk = life.talk()
    view.take_in(life.db, talk, frame)
    for n in range(12, 14):
        life.learn(here, f"Ana has bicycle {n}")
    before, text = view.take_in(life.db, talk, frame), exported(life.db)
    for name in ("b.db", "c.db"):
        other = Life(tmp_path, name)
        bring(other.db, tmp_path, text)
        assert exported(other.db) == text
        assert view.current_blocks(other.db, talk, frame) == before
        after = view.take_in(other.db, talk, frame)
        assert view.take_in(other.db, talk, frame) == after
        assert take_in_violations(other.db) == []
        before, text = after, exported(other.db)
        other.db.close()


def test_a_line_that_returns_for_one_out_of_scope_is_shown(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is active again shows in a fork that never saw its replacement."""
    monkeypatch.setattr(builders, "FRAME", Frame(Scope.CONVERSATION, 8000))
    here = life.talk()
    before = [life.learn(here, "Ana lives in Faro"), life.learn(here, "Ana has a bicycle")]
    fork = forks.fork(life.db, here, life.clock)
    after = life.learn(here, "Ana has a dog")
    life.reflect(("Ana walks and lives in Faro", [before[0], after]), here=here)
    life.learn(fork, "Ana swims")
    assert shown(life, fork) == [["Ana has a bicycle"], ["Ana swims"]]
    life.learn(here, "Ana sings")
    forgetting.forget(life.db, ("observation", after.id), life.clock, words=False)
    life.learn(fork, "Ana paints")
    assert shown(life, fork)[-1] == ["Ana lives in Faro", "Ana paints"]


def test_what_undo_brings_back_is_shown_in_scope_only(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What undo brings back shows at once in its own conversation and in a fork.

    A talk about something else never shows it.
    """
    monkeypatch.setattr(builders, "FRAME", Frame(Scope.CONVERSATION, 8000))
    here, other = life.talk(), life.talk()
    line = life.learn(here, "Ana lives in Faro")
    life.learn(here, "Ana has a bicycle")
    life.learn(other, "Ben sings")
    fork = forks.fork(life.db, here, life.clock)
    life.reflect(dropped=[line])
    assert [shown(life, i) for i in (here, fork)] == [[["Ana has a bicycle"]]] * 2
    assert shown(life, other) == [["Ben sings"]]
    undo.undo(life.db, life.clock)
    back = [["Ana lives in Faro", "Ana has a bicycle"]]
    assert [shown(life, i) for i in (here, fork)] == [back] * 2
    assert shown(life, other) == [["Ben sings"]]
