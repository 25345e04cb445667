"""A database with every kind of row, made by plain SQL.

It serves the tests of transfer, backup and invariants.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from construct.clock import Clock, from_text, to_text
from construct.errors import ConstructError, ExitStatus
from construct.store.attachments import digest
from construct.store.transfer.import_report import ImportReport
from construct.store.transfer.importing import import_file
from construct.store.transfer.jsonl import export_jsonl

START = "2026-03-01T09:00:00.000000+00:00"


@dataclass
class World:
    """Writes rows whose times go up by a minute.

    Their uids begin with a machine's name.
    """

    db: sqlite3.Connection
    machine: str = "a"
    now: datetime = field(default_factory=lambda: from_text(START))
    made: int = 0

    def has(self, table: str) -> bool:
        """Return whether the file's schema has a table."""
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        return self.db.execute(query, (table,)).fetchone() is not None

    def tick(self, minutes: int = 1) -> str:
        """Return the next moment."""
        self.now += timedelta(minutes=minutes)
        return to_text(self.now)

    def uid(self, kind: str) -> str:
        """Return the next uid."""
        self.made += 1
        return f"{self.machine}-{kind}-{self.made:04}"

    def insert(self, table: str, **values: object) -> int:
        """Insert a row and return its id."""
        marks = ", ".join("?" * len(values))
        cursor = self.db.execute(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})",
            tuple(values.values()),
        )
        return cursor.lastrowid or 0

    def conversation(self, title: str | None = "Dentist", **more: object) -> int:
        """Insert a conversation."""
        return self.insert(
            "conversations", uid=self.uid("c"), title=title, created_at=self.tick(), **more
        )

    def say(self, conversation: int, *words: str, **more: object) -> list[int]:
        """Insert messages, the user's and the assistant's in turn."""
        return [
            self.insert(
                "messages", uid=self.uid("m"), conversation_id=conversation, content=text,
                role="assistant" if i % 2 else "user", token_count=len(text),
                created_at=self.tick(), **more,
            )
            for i, text in enumerate(words)
        ]  # fmt: skip

    def attach(self, message: int, name: str, data: bytes) -> int:
        """Insert a text file of a message's."""
        return self.insert(
            "attachments", uid=self.uid("f"), message_id=message, position=0, name=name,
            media_type="text/plain", sha256=digest(data), size=len(data), token_count=len(data),
            data=data,
        )  # fmt: skip

    def cycle(
        self, kind: str, conversation: int | None, status: str = "succeeded", **more: object
    ) -> int:
        """Insert a cycle."""
        return self.insert(
            "cycles", uid=self.uid("y"), conversation_id=conversation, kind=kind, status=status,
            attempts=1, model="claude-haiku", started_at=self.tick(), finished_at=self.tick(),
            **more,
        )  # fmt: skip

    def observe(
        self, conversation: int, messages: list[int], *facts: str, commit: bool = True
    ) -> tuple[int, list[int]]:
        """Insert an observer cycle over messages, and move the watermarks."""
        cycle = self.cycle(
            "observer", conversation, first_message_id=messages[0], last_message_id=messages[-1]
        )
        ids = [
            self.fact(conversation, cycle, text, messages=messages[:2], commit=commit)
            for text in facts
        ]
        self.mark(
            conversation,
            messages[-1],
            *(("observed", "compacted", "window") if commit else ("observed",)),
        )
        return cycle, ids

    def mark(self, conversation: int, message: int, *names: str) -> None:
        """Set watermarks."""
        for name in names:
            self.db.execute(
                "INSERT OR REPLACE INTO watermarks VALUES (?, ?, ?, ?)",
                (conversation, name, message, self.tick()),
            )

    def fact(
        self,
        conversation: int | None,
        cycle: int,
        content: str,
        *,
        messages: Iterable[int] = (),
        sources: Iterable[int] = (),
        commit: bool = True,
        **more: object,
    ) -> int:
        """Insert an observation with what it comes from."""
        values = {
            "priority": "high", "stance": "stated", "observation_date": "2026-03-01",
            "referenced_date": "2026-03-05", "generation": 0, "token_count": 9,
            "created_at": self.tick(), "origin": "worker", **more,
        }  # fmt: skip
        observation = self.insert(
            "observations", uid=self.uid("o"), conversation_id=conversation, cycle_id=cycle,
            content=content, committed_at=self.tick() if commit else None, **values,
        )  # fmt: skip
        self.db.executemany(
            "INSERT INTO observation_messages (observation_id, message_id) VALUES (?, ?)",
            [(observation, m) for m in messages],
        )
        for source in sources:
            self.db.execute("INSERT INTO observation_sources VALUES (?, ?)", (observation, source))
            if self.has("questions"):
                self.db.execute(
                    """INSERT OR IGNORE INTO observation_messages
                       SELECT ?, message_id, 0 FROM observation_messages
                       WHERE observation_id = ?""",
                    (observation, source),
                )
        return observation

    def keep(self, content: str, **more: Any) -> int:
        """Insert a note of the user's own, or a memory in a file of an earlier version."""
        if not self.has("questions"):
            values = {"origin": "user", "created_at": self.tick(), **more}
            return self.insert("memories", uid=self.uid("e"), content=content, **values)
        return self.fact(
            None, self.cycle("edit", None), content, origin="user", kept=1,
            referenced_date=None, **more,
        )  # fmt: skip

    def relate(self, subject: int, object_: int, note: int, **more: object) -> int:
        """Insert a relation that a note, or a memory of an earlier version, states."""
        column = "observation_id" if self.has("questions") else "memory_id"
        values = {"predicate": "likes", "created_at": self.tick(), column: note, **more}
        return self.insert(
            "relations", uid=self.uid("r"), subject_id=subject, object_id=object_, **values
        )

    def replace(self, old: int, new: int, cycle: int, relation: str) -> None:
        """Link an observation to the one it replaced, as the file's schema has it."""
        if self.has("outdated"):
            self.insert("outdated", old_id=old, by_id=new, cycle_id=cycle)
        else:
            self.insert(
                "observation_replaced",
                observation_id=new,
                replaced_id=old,
                cycle_id=cycle,
                relation=relation,
            )

    def ask_to_forget(self, cycle: int, **named: object) -> int:
        """Insert an applied request to forget that waits for its answer.

        It is for an observation or a message.
        """
        question = {"uid": self.uid("q"), "cycle_id": cycle, "withheld_at": self.tick()}
        if not self.has("questions"):
            return self.insert("forget_requests", **question, **named)
        id_ = self.insert("questions", kind="forget", created_at=self.tick(), **question)
        self.insert("question_items", uid=self.uid("i"), question_id=id_, **named)
        return id_

    def supersede(self, observation: int, cycle: int) -> None:
        """Mark an observation as superseded."""
        self.db.execute(
            "UPDATE observations SET superseded_at = ?, superseded_by = ? WHERE id = ?",
            (self.tick(), cycle, observation),
        )


def furnish(db: sqlite3.Connection, machine: str = "a") -> World:
    """Fill a database with rows of every table, in every state."""
    w = World(db, machine)
    dentist = w.conversation("Dentist \x1b[31m& “Zähne” 歯医者", titled_by="user",
                             current_task="find a dentist", suggested_response="…",
                             last_request_at=START, cache_life="1h")  # fmt: skip
    other = w.conversation(None)
    old = w.say(other, "from long ago", "indeed", archived=1)
    said = w.say(
        dentist,
        "I have a dentist\nappointment",
        "When? 🦷",
        "March 5th\u202e at 9",
        "Noted",
        "and I like tea",
        "ok",
    )
    first, facts = w.observe(
        dentist, said[:4], "Dentist on March 5th at 9am", "Has teeth", "Asks much"
    )
    _, pending = w.observe(dentist, said[4:], "Likes tea", commit=False)
    reflector = w.cycle(
        "reflector", None, base_tokens=120, notes=json.dumps(["kept back: “Asks much”"])
    )
    both = w.fact(None, reflector, "Dentist and teeth", sources=facts[:2], generation=1)
    for fact in facts[:2]:
        w.supersede(fact, reflector)
    edit = w.cycle("edit", dentist)
    edited = w.fact(
        dentist, edit, "Asks a lot", messages=said[:2], origin="user", pinned=1, stance="assistant"
    )
    w.supersede(facts[2], edit)
    undone = w.cycle("observer", other, "reverted", first_message_id=old[0], last_message_id=old[1],
                     reverted_at=w.tick(), held_message_id=old[1])  # fmt: skip
    gone = w.fact(other, undone, "never mind", messages=old, commit=False)
    w.supersede(gone, undone)
    w.cycle(
        "observer",
        other,
        "failed",
        first_message_id=old[0],
        last_message_id=old[1],
        error="overloaded",
    )
    w.cycle("graph", None, "abandoned", error="the process stopped")
    w.replace(facts[1], both, reflector, "outdated")
    w.replace(facts[2], edited, edit, "edit")
    fork = w.conversation("fork", parent_id=dentist, forked_at_message_id=said[3],
                          forked_window_message_id=said[1])  # fmt: skip
    w.say(
        fork,
        "what if it were April?",
        "Then April.",
        "half",
        model="claude-sonnet",
        stop_reason="end_turn",
    )
    w.say(
        fork, "tool", blocks='[{"type": "text", "text": "tool"}]', status="interrupted", retried=1
    )
    w.say(other, "live and unobserved", "yes", "secret", withheld=1)
    graph = w.cycle("graph", None)
    kept = w.keep("tea", category="taste")
    if w.has("memories"):
        promoted = w.insert("memories", uid=w.uid("e"), content="Likes tea", origin="observation",
                            observation_id=pending[0], created_at=w.tick(),
                            cycle_id=graph)  # fmt: skip
    else:
        promoted = pending[0]
        db.execute("UPDATE observations SET graph_cycle_id = ? WHERE id = ?", (graph, promoted))
    user = w.insert(
        "entities",
        uid=w.uid("n"),
        name="the user",
        type="person",
        aliases='["me", "Ünal"]',
        cycle_id=graph,
    )
    tea = w.insert("entities", uid=w.uid("n"), name="tea", type=None, cycle_id=graph)
    w.relate(user, tea, promoted, superseded_at=w.tick(), cycle_id=graph)
    w.relate(tea, user, kept, cycle_id=graph)
    w.insert("usage", uid=w.uid("u"), created_at=w.tick(), purpose="chat", model="claude-sonnet",
             input_tokens=7, cache_read_tokens=3, output_tokens=2, cost_usd=0.1 + 0.2,
             conversation_id=dentist)  # fmt: skip
    w.insert(
        "usage",
        uid=w.uid("u"),
        created_at=w.tick(),
        purpose="observer",
        model="local",
        cost_usd=None,
        cycle_id=first,
    )
    if w.has("forget_requests") or w.has("questions"):
        _withhold_something(w, dentist, facts[2], said[5])
        w.insert("observation_borrowed", observation_id=edited, lender_id=facts[0])
    if w.has("questions"):
        _fill_what_is_new_in_13(w, facts[1], said[0], reflector, edit)
    for block, observation in enumerate((both, edited), 1):
        w.insert("shown", conversation_id=dentist, observation_id=observation, block=block)
    db.execute(
        "INSERT INTO tombstones (message_uid, created_at) VALUES (?, ?)",
        (f"{machine}-gone", w.tick()),
    )
    w.insert("sessions", conversation_id=fork, owner='{"host": "changeling"}', heartbeat=1.0)
    db.execute("INSERT INTO token_factors VALUES ('m', 1.5, 3)")
    return w


def _withhold_something(w: World, conversation: int, observation: int, message: int) -> None:
    """Add what is new in schema 8: requests to forget, and dates of a month or year."""
    db = w.db
    cycle = db.execute(
        "SELECT max(id) FROM cycles WHERE kind = 'observer' AND status = 'succeeded'"
    ).fetchone()[0]
    db.execute(
        "UPDATE observations SET withheld = 1, referenced_date = '2026' WHERE id = ?",
        (observation,),
    )
    db.execute(
        "UPDATE observations SET referenced_date = '2026-03' WHERE id = ?", (observation - 1,)
    )
    w.ask_to_forget(cycle, observation_id=observation)
    answered = w.ask_to_forget(cycle, message_id=message)
    table = "questions" if w.has("questions") else "forget_requests"
    db.execute(f"UPDATE {table} SET answered_at = ? WHERE id = ?", (w.tick(), answered))
    w.insert("usage", uid=w.uid("u"), created_at=w.tick(), purpose="verifier", model="local",
             conversation_id=conversation, cycle_id=cycle)  # fmt: skip


def _fill_what_is_new_in_13(
    w: World, observation: int, message: int, reflector: int, edit: int
) -> None:
    """Add flags, values, questions of other kinds, times of plans, and whose words are whose."""
    w.insert("observation_flags", observation_id=observation, flag="shelved", set_by=reflector,
             ended_by=edit)  # fmt: skip
    w.insert("observation_flags", observation_id=observation, flag="doubtful", set_by=edit)
    w.insert("tracked_values", uid=w.uid("v"), name="coffee spending", amount=4.5, unit="EUR",
             day="2026-03-01", message_id=message, cycle_id=reflector)  # fmt: skip
    question = w.insert("questions", uid=w.uid("q"), kind="list", text="Sings alto",
                        noted_on="2025-01-02", source="memories.json",
                        created_at=w.tick())  # fmt: skip
    assert question
    w.db.execute(
        """UPDATE observations SET referenced_time = '09:30', recurs = 'weekly',
               recurs_except = '["2026-03-12"]', label = 'Dentist', remind_at = '2026-03-04 20:00'
           WHERE id = ?""",
        (observation,),
    )
    w.db.execute(
        "UPDATE messages SET utc_offset = 60, pasted = '[[0, 4]]', outside = 'before' WHERE id = ?",
        (message,),
    )


def run_something(w: World, conversation: int) -> None:
    """Leave a running cycle that has written what an adversarial worker would."""
    cycle = w.insert("cycles", uid=w.uid("y"), conversation_id=conversation, kind="reflector",
                     status="running", started_at=w.tick(),
                     owner='{"host": "changeling", "pid": 7}', heartbeat=1.0,
                     phase="checking")  # fmt: skip
    (source,) = w.db.execute(
        "SELECT min(id) FROM observations WHERE superseded_at IS NULL"
    ).fetchone()
    half = w.fact(
        conversation,
        cycle,
        "half-finished hippopotamus",
        sources=[source],
        generation=1,
        commit=False,
    )
    w.supersede(source, cycle)
    w.insert("shown", conversation_id=conversation, observation_id=half, block=1)
    w.replace(source, half, cycle, "same")
    question = w.insert("questions", uid=w.uid("q"), kind="forget", cycle_id=cycle,
                        created_at=w.tick())  # fmt: skip
    w.insert("question_items", uid=w.uid("i"), question_id=question, observation_id=source)


def exported(db: sqlite3.Connection) -> str:
    """Return a database as JSONL."""
    parts: list[str] = []
    export_jsonl(db, parts.append)
    return "".join(parts)


def bring(
    db: sqlite3.Connection, folder: Path, text: str | bytes, now: str = START
) -> ImportReport:
    """Import text as a file."""
    path = folder / "import.jsonl"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return import_file(db, path, Clock(fixed=from_text(now), zone=UTC))


def refusal(db: sqlite3.Connection, folder: Path, text: str | bytes) -> str:
    """Return why an import fails, having seen that it changed nothing."""
    before = exported(db)
    with pytest.raises(ConstructError) as caught:
        bring(db, folder, text)
    assert caught.value.status == ExitStatus.FAILED
    assert not db.in_transaction
    assert exported(db) == before
    lines = str(caught.value).splitlines()
    assert 1 <= len(lines) <= 2
    assert "Nothing was imported" in lines[-1]
    return lines[0]


def message(words: object = "hello", **more: object) -> str:
    """Return a hand-made line."""
    line = {
        "type": "message",
        "conversation": "T",
        "role": "user",
        "content": words,
        "created_at": START,
        **more,
    }
    return json.dumps({key: value for key, value in line.items() if value is not ...}) + "\n"
