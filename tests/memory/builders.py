"""A life in a database, told in a few words: talk, observe, compact, reflect."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from construct.clock import Clock, to_text
from construct.memory.cycles.commit import Compacted, compact, store_extraction, store_reflection
from construct.memory.keeping import keep_for_model, keep_for_user
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.memory.learning.reflection_checks import Change, ChangeKind, Reflection
from construct.memory.shown.frame import Frame
from construct.store import cycles
from construct.store import observations as rows
from construct.store.conversations import create_conversation, get_watermarks, note_request
from construct.store.database import transaction
from construct.store.invariants import index_violations, take_in_violations, violations
from construct.store.messages import NewMessage, add_message, is_shown, live_messages
from construct.store.records import Message, Observation
from tests.support.database import new_database

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Lisbon")
FRAME = Frame("user", 8000)


class Life:
    """One database and a clock that goes on by a minute with every deed."""

    def __init__(self, folder: Path, name: str = "life.db") -> None:
        self.path = folder / name
        self.db: sqlite3.Connection = new_database(self.path)
        self.now = START

    @property
    def clock(self) -> Clock:
        """The present, a minute later each time it is asked for."""
        self.now += timedelta(minutes=1)
        return Clock(self.now, ZONE)

    def tick(self) -> str:
        """Return the present as it is stored."""
        return to_text(self.clock.now())

    def pass_days(self, days: float) -> None:
        """Let time go by."""
        self.now += timedelta(days=days)

    def talk(self, title: str | None = None) -> int:
        """Begin a conversation."""
        now = self.tick()
        here = create_conversation(self.db, now, title)
        note_request(self.db, here, now, "5m")
        return here

    def say(self, here: int, text: str, role: str = "user", blocks: str | None = None) -> Message:
        """Store a message."""
        return add_message(self.db, here, NewMessage(role, text, blocks), self.tick())

    def exchange(self, here: int, text: str, reply: str = "I see.") -> Message:
        """Store the user's words and a reply to them; return the former."""
        said = self.say(here, text)
        self.say(here, reply, "assistant")
        return said

    def observe(
        self, here: int, *facts: tuple[str, Sequence[Message]] | ProposedObservation, **said: Any
    ) -> list[Observation]:
        """Observe all that is unobserved, by these facts.

        Return the pending observations.
        """
        with transaction(self.db):
            observed = get_watermarks(self.db, here).observed
            batch = live_messages(self.db, here, observed)
            now = self.tick()
            cycle = cycles.start_cycle(
                self.db, "observer", here, now, span=(batch[0].id, batch[-1].id)
            )
            assert cycle is not None
            found = tuple(
                f if isinstance(f, ProposedObservation) else stated(f[0], [m.id for m in f[1]])
                for f in facts
            )
            store_extraction(
                self.db, cycle, Extraction(found, by_rule=False, **said), batch, observed, now
            )
            assert cycles.finish_cycle(self.db, cycle, "succeeded", self.tick())
        return [o for o in rows.pending(self.db, here) if o.cycle_id == cycle]

    def compact(self, here: int, retained: int = 0) -> Compacted:
        """Commit what is pending, and let the window begin later."""
        with transaction(self.db):
            return compact(self.db, here, retained, FRAME, self.clock)

    def learn(
        self, here: int, text: str, *, reply: str = "I see.", priority: str = "high"
    ) -> Observation:
        """Say something, observe just that, and commit it."""
        said = self.exchange(here, text, reply)
        (found,) = self.observe(here, replace(stated(text, [said.id]), priority=priority))
        self.compact(here)
        return self.read(found)

    def reflect(
        self,
        *lines: tuple[str, Sequence[Observation]],
        here: int | None = None,
        dropped: Sequence[Observation] = (),
        shelved: Sequence[Observation] = (),
        outdated: Sequence[tuple[Observation, Observation]] = (),
        same: Sequence[tuple[Observation, Observation]] = (),
        notes: list[str] | None = None,
    ) -> list[Observation]:
        """Run a reflector cycle that puts each line in the place of its sources.

        Return the new ones.

        Of the pairs in `outdated` and `same` the first is retired for the second.
        """
        given = {o.id: o for _, sources in lines for o in sources}
        given.update(
            {o.id: o for o in (*dropped, *shelved)}
            | {o.id: o for pair in (*outdated, *same) for o in pair}
        )
        changes = [
            Change(
                ChangeKind.LINE, tuple(o.id for o in sources), stated(text, [o.id for o in sources])
            )
            for text, sources in lines
        ]
        changes += [Change(ChangeKind.SAME, (old.id,), stays=new.id) for old, new in same]
        changes += [Change(ChangeKind.OUTDATED, (old.id,), stays=new.id) for old, new in outdated]
        changes += [Change(ChangeKind.SHELVE, (o.id,)) for o in shelved]
        changes += [Change(ChangeKind.DROP, (o.id,)) for o in dropped]
        with transaction(self.db):
            cycle = cycles.start_cycle(self.db, "reflector", here, self.tick())
            assert cycle is not None
            store_reflection(
                self.db, cycle, Reflection(tuple(changes)), list(given.values()), self.tick()
            )
            assert cycles.finish_cycle(self.db, cycle, "succeeded", self.tick(), notes=notes)
        made = self.db.execute(
            "SELECT id FROM observations WHERE cycle_id = ? ORDER BY id", (cycle,)
        ).fetchall()
        return rows.observations(self.db, [row[0] for row in made])

    def remember(self, content: str) -> Observation:
        """Keep a note of the user's own."""
        with transaction(self.db):
            return keep_for_user(self.db, content, None, self.clock)

    def remember_for_model(self, content: str, said: Message | None = None) -> Observation:
        """Keep a note that the main model asked for, about what the user said."""
        with transaction(self.db):
            return keep_for_model(self.db, content, None, said, self.clock).note

    def relate(self, o: Observation) -> Observation:
        """Relate two entities, a note's first and last word; return the note."""
        words = o.content.split()
        return self.relate_as(o, words[0], words[-1])

    def relate_as(self, o: Observation, subject: str, object_: str) -> Observation:
        """Relate two entities by a note; one that is there already is taken."""
        ends = [self._entity(name) for name in (subject, object_)]
        self.db.execute(
            """INSERT INTO relations (subject_id, predicate, object_id, observation_id, created_at)
               VALUES (?, 'concerns', ?, ?, ?)""",
            (*ends, o.id, self.tick()),
        )
        return o

    def _entity(self, name: str) -> int | None:
        row = self.db.execute("SELECT id FROM entities WHERE name = ?", (name,)).fetchone()
        return (
            row[0]
            if row
            else self.db.execute("INSERT INTO entities (name) VALUES (?)", (name,)).lastrowid
        )

    def read(self, o: Observation) -> Observation:
        """Return an observation as it is now."""
        return rows.observation(self.db, o.id)

    def state(self, o: Observation) -> str:
        """Return an observation's state, `gone` when it was deleted."""
        found = rows.observations(self.db, [o.id])
        return found[0].state if found else "gone"

    def active(self) -> list[str]:
        """Return what is active, in order of its words."""
        return sorted(o.content for o in rows.active_in_scope(self.db, None))

    def window(self, here: int) -> list[str]:
        """Return the raw messages that the main model is shown."""
        messages = live_messages(self.db, here, get_watermarks(self.db, here).window)
        return [m.content for m in messages if is_shown(m)]

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        (n,) = self.db.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(n)

    def broken(self) -> list[str]:
        """Return breaches of the invariants, the indexes and the foreign keys."""
        with transaction(self.db):
            indexes = index_violations(self.db)
        dangling = [
            f"{row[0]} {row[1]} dangles" for row in self.db.execute("PRAGMA foreign_key_check")
        ]
        return violations(self.db) + take_in_violations(self.db) + indexes + dangling

    def bytes(self) -> bytes:
        """Return all that is in the file and its log."""
        files = (
            self.path.with_name(self.path.name + suffix) for suffix in ("", "-wal", "-journal")
        )
        return b"".join(file.read_bytes() for file in files if file.exists())


def stated(text: str, sources: Sequence[int]) -> ProposedObservation:
    """Return a high-priority statement."""
    return ProposedObservation(text, "high", "stated", "2026-03-01", None, tuple(sources))
