"""Whatever is done, in any order, the invariants hold.

Nothing is lost silently, and everything can be undone.
"""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from construct.clock import to_text
from construct.memory.corrections import edit, pin
from construct.memory.forgetting import delete_conversation, forget, plan_forget
from construct.memory.shown.forks import fork
from construct.memory.shown.view import current_blocks
from construct.memory.trace import trace_observation
from construct.memory.undo import newest_cycle, undo
from construct.operations.history import diff
from construct.store import cycles
from construct.store import observations as rows
from construct.store.conversations import get_watermarks, list_conversations
from construct.store.messages import live_messages, messages_of
from construct.store.note_history import active_at
from construct.store.records import REMOVED, Observation
from construct.store.succession import direct_successors
from construct.vocabulary import Origin
from tests.memory.builders import FRAME, Life
from tests.support.context import context

STEPS = (
    "say", "say", "observe", "observe", "compact", "reflect", "reflect", "drop", "outdate", "edit",
    "pin", "keep", "keep_for_model", "undo", "forget", "fork", "delete",
)  # fmt: skip


class Player:
    """Takes steps, choosing by chance what they are done to."""

    def __init__(self, life: Life, seed: int) -> None:
        self.life = life
        self.chance = random.Random(seed)
        self.said = 0
        self.dropped: set[int] = set()
        life.talk()

    def here(self) -> int:
        """Return some conversation."""
        ids = [c.conversation.id for c in list_conversations(self.life.db)]
        return self.chance.choice(sorted(ids)) if ids else self.life.talk()

    def active(self, least: int) -> list[Observation]:
        """Return some active observations, none when there are fewer than `least`."""
        found = rows.active_in_scope(self.life.db, None)
        return (
            self.chance.sample(found, min(len(found), least + self.chance.randint(0, 2)))
            if len(found) >= least
            else []
        )

    def say(self) -> None:
        """Say something new."""
        self.said += 1
        self.life.exchange(self.here(), f"Word{self.said} is said", f"Reply{self.said}")

    def observe(self) -> None:
        """Observe a conversation, leaving some of it out."""
        here = self.here()
        marks = get_watermarks(self.life.db, here)
        batch = [m for m in live_messages(self.life.db, here, marks.observed) if m.role == "user"]
        if batch:
            facts = [(f"Fact of {m.content}", [m]) for m in batch if self.chance.random() < 0.8]
            self.life.observe(here, *facts, title=f"Talk of {batch[0].content}")

    def compact(self) -> None:
        """Compact a conversation."""
        self.life.compact(self.here(), self.chance.choice([0, 20]))

    def reflect(self) -> None:
        """Condense some lines into one; what is the user's own is never condensed."""
        sources = [o for o in self.active(2) if not o.is_protected]
        if len(sources) > 1:
            here = self.chance.choice([None, self.here()])
            line = " and ".join(o.content for o in sources)
            self.life.reflect((line, sources), here=here, notes=[f"“{sources[0].content}”"])

    def drop(self) -> None:
        """Let a line go for nothing."""
        gone = self.active(1)[:1]
        if gone:
            self.dropped.add(gone[0].id)
            self.life.reflect(dropped=gone)

    def outdate(self) -> None:
        """Let one line make another outdated."""
        pair = sorted(self.active(2)[:2], key=lambda o: o.id)
        if pair:
            self.life.reflect(outdated=[(pair[0], pair[1])])

    def edit(self) -> None:
        """Replace a line by other words."""
        found = rows.unsuperseded(self.life.db)
        if found:
            o = self.chance.choice(found)
            edit(self.life.db, o.id, f"{o.content}, edited", self.life.clock)

    def pin(self) -> None:
        """Pin a line."""
        for o in self.active(1)[:1]:
            pin(self.life.db, o.id)

    def keep(self) -> None:
        """Keep something on request, sometimes what is known already."""
        self.said += 1
        known = [o.content for o in self.active(1)[:1]]
        self.life.remember(self.chance.choice([*known, f"Thing{self.said} is kept"]))

    def keep_for_model(self) -> None:
        """Let the model keep what the user says."""
        here = self.here()
        self.said += 1
        said = self.life.exchange(here, f"Word{self.said} is said", f"Reply{self.said}")
        self.life.remember_for_model(f"Fact of {said.content}", said)

    def undo(self) -> None:
        """Take the newest cycle back."""
        if newest_cycle(self.life.db):
            undone = undo(self.life.db, self.life.clock)
            assert all(o.state == "superseded" for o in undone.deactivated)
            assert all(o.state != "superseded" for o in undone.reactivated)

    def forget(self) -> None:
        """Forget any observation, of whatever state."""
        found = rows.all_observations(self.life.db)
        if found:
            target = self.chance.choice(found)
            words = self.chance.random() < 0.5
            said = plan_forget(self.life.db, ("observation", target.id), words=words).messages
            assert not forget(
                self.life.db, ("observation", target.id), self.life.clock, words=words
            ).pending_erasure
            if words:
                everything = self.life.bytes()
                assert [
                    m.content
                    for m in said
                    if m.content != REMOVED and m.content.encode() in everything
                ] == []

    def fork(self) -> None:
        """Fork a conversation."""
        fork(self.life.db, self.here(), self.life.clock)

    def delete(self) -> None:
        """Delete a conversation, rarely."""
        if len(list_conversations(self.life.db)) > 2 and self.chance.random() < 0.3:
            delete_conversation(self.life.db, self.here(), self.life.clock)

    def step(self, name: str) -> None:
        """Take a step, and look whether all is well after it."""
        deed: Callable[[], None] = getattr(self, name)
        deed()
        assert self.life.broken() == []
        self.nothing_went_silently()

    def nothing_went_silently(self) -> None:
        """Everything leads to its messages, or is the user's own.

        What was superseded has something in its place, or was let go by name.
        """
        db = self.life.db
        for o in rows.all_observations(db):
            assert trace_observation(db, o.id).messages or o.origin == Origin.USER
            made_by = cycles.get_cycle(db, o.cycle_id)
            if made_by.status == "reverted":
                assert o.superseded_by == o.cycle_id
            elif o.state == "superseded":
                assert direct_successors(db, o) or o.id in self.dropped
        active = rows.active_in_scope(db, None)
        assert active_at(db, to_text(self.life.now)) == active
        for summary in list_conversations(db):
            seen = {
                o.id for block in current_blocks(db, summary.conversation.id, FRAME) for o in block
            }
            assert seen <= {o.id for o in active}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(STEPS), min_size=5, max_size=30), st.integers(0, 1 << 30))
def test_whatever_is_done_the_promises_hold_and_all_can_be_undone(
    steps: list[str], seed: int
) -> None:
    """After every step.

    And when everything is undone, what was learned from is raw again and nothing is
    remembered.

    What was read with nothing found in it stays read: there is nothing to undo.
    """
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder))
        player = Player(life, seed)
        start = life.tick()
        for name in steps:
            player.step(name)
        before = diff(context(life.db), start, life.tick())
        known = {o.content for o in rows.unsuperseded(life.db)}  # what is pending is known too
        assert {o.content for o in before.learned} == known
        while newest_cycle(life.db):
            player.step("undo")
        assert rows.unsuperseded(life.db) == []
        assert (
            life.count(
                "observations WHERE cycle_id IN (SELECT id FROM cycles WHERE status = 'succeeded')"
            )
            == 0
        )
        for summary in list_conversations(life.db):
            messages = messages_of(life.db, summary.conversation.id)
            read = get_watermarks(life.db, summary.conversation.id).window
            assert life.window(summary.conversation.id) == [
                m.content for m in messages if m.id > read and not m.withheld
            ]
        life.db.close()
