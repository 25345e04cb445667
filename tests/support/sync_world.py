"""Machines that are kept in step, and a carrier between their folders that is late and careless."""

import random
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from unittest import mock

from construct.config import Settings, Thresholds
from construct.errors import ConstructError, NotFoundError
from construct.memory import corrections, forgetting, undo
from construct.memory.config import MemoryConfig
from construct.memory.shown import forks
from construct.operations.context import Context
from construct.operations.sync import Synced, sync
from construct.store import observations as rows
from construct.store.conversations import rename_conversation
from construct.store.database import transaction
from construct.store.records import Observation
from construct.store.sync import keys
from construct.store.sync.folder import read_lists, read_segment
from construct.store.sync.machines import is_written_elsewhere, this_machine
from construct.store.transfer.importing import import_file
from construct.store.transfer.jsonl import export_jsonl
from construct.vocabulary import ItemKind
from tests.memory.builders import Life, stated
from tests.support.database import new_database


class SyncedLife(Life):
    """A life on one machine, with its own copy of the folder."""

    def __init__(self, place: Path, name: str, minutes: int = 0) -> None:
        """`minutes`: how far its clock is ahead."""
        (place / name).mkdir()
        super().__init__(place / name, "construct.db")
        self.name = name
        self.folder = place / name / "folder"
        self.folder.mkdir()
        self.now += timedelta(minutes=minutes)

    @property
    def ctx(self) -> Context:
        """The context of operations."""
        clock = self.clock
        settings = Settings(self.path, self.path.parent, clock=clock)
        return Context(
            self.db, settings, MemoryConfig(Thresholds(), "user", clock, daily_usd=1.0), None
        )

    def sync(self, key: str | None = None) -> Synced:
        """Exchange with this machine's copy of the folder."""
        return sync(self.ctx, self.folder, key)

    def join(self, first: "SyncedLife") -> Synced:
        """Join the machines of another one, whose copy of the folder is copied first."""
        (key, *_) = keys.read_keys(first.path)
        carry_all([first, self])
        return self.sync(key)

    @property
    def own(self) -> Path:
        """This machine's directory in its copy of the folder."""
        me = this_machine(self.db)
        assert me is not None
        return self.folder / me.uid

    def conversations(self) -> list[int]:
        """Return the ids of all conversations."""
        return [i for (i,) in self.db.execute("SELECT id FROM conversations ORDER BY id")]

    def speakable(self, here: int) -> int:
        """Return the conversation to speak in: a fork, if another machine writes this one."""
        if not is_written_elsewhere(self.db, here):
            return here
        self.compact(here)
        return forks.fork(self.db, here, self.clock)

    def read_all(self) -> list[Observation]:
        """Return all observations."""
        ids = self.db.execute("SELECT id FROM observations").fetchall()
        return rows.observations(self.db, [i for (i,) in ids])

    def memory(self) -> list[tuple[object, ...]]:
        """Return what must be the same on all machines: what is active, and what was said."""
        return self.db.execute(
            """SELECT 'note', uid, content, pinned, committed_at IS NOT NULL
               FROM observations WHERE superseded_at IS NULL
               UNION ALL
               SELECT c.uid, m.uid, m.content, m.withheld, m.archived
               FROM messages AS m JOIN conversations AS c ON c.id = conversation_id
               UNION ALL SELECT 'cycle', uid, status, kind, 0 FROM cycles WHERE kind <> 'graph'
               UNION ALL SELECT 'file', uid, content, 0, 0 FROM sync_files
               UNION ALL SELECT 'title', uid, title, current_task, 0 FROM conversations
               UNION ALL SELECT 'question', uid, kind, answer, 0 FROM questions
               ORDER BY 1, 2"""
        ).fetchall()

    def all_bytes(self) -> bytes:
        """Return the database's bytes, and what the folder's files say once decrypted."""
        known = keys.read_keys(self.path)
        lists, _ = read_lists(self.folder, known)
        parts = [self.bytes()]
        for one in lists:
            for segment in one.segments:
                data = read_segment(self.folder, one.machine, segment, known)
                parts.append(zlib.decompress(data))
        return b"".join(parts)


def carry_all(machines: list[SyncedLife]) -> None:
    """Bring everything everywhere: each machine's directory as that machine has it."""
    for source in machines:
        for target in machines:
            if source is target:
                continue
            if (source.folder / "folder.age").exists():
                shutil.copy(source.folder / "folder.age", target.folder / "folder.age")
            if this_machine(source.db) is None:
                continue
            if source.own.exists():
                shutil.rmtree(target.folder / source.own.name, ignore_errors=True)
                shutil.copytree(source.own, target.folder / source.own.name)


def settle(machines: list[SyncedLife], rounds: int = 4) -> None:
    """Let all machines exchange until nothing is new."""
    for _ in range(rounds):
        for machine in machines:
            carry_all(machines)
            machine.sync()
    carry_all(machines)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let uids and names of files depend on a seed alone, so that a walk can be taken again."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        new_database(Path(folder) / "x.db").close()  # it is made once, with uids of its own
    with (
        mock.patch("os.urandom", dice.randbytes),
        mock.patch("secrets.token_hex", lambda size=8: dice.randbytes(size).hex()),
    ):
        yield


@dataclass
class Walk:
    """Random steps of several machines."""

    place: Path
    seed: int
    machines: list[SyncedLife] = field(default_factory=list)
    forgotten: set[str] = field(default_factory=set)
    """Words that were forgotten for good."""
    log: list[str] = field(default_factory=list)
    made: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.machines = [SyncedLife(self.place, name, i) for i, name in enumerate("abc")]
        if self.seed % 2:
            self.go_on_apart()
        self.machines[0].sync()
        for machine in self.machines[1:]:
            machine.join(self.machines[0])
        self.old: list[tuple[str, str, bytes]] = []
        """Files that were once in a folder: machine's directory, name, content."""

    def go_on_apart(self) -> None:
        """Let all machines go on with the same conversations before they are in step."""
        first, *others = self.machines
        for _ in range(2):
            here = first.talk()
            for _ in range(3):
                self.learn(first, here)
        path = self.place / "export.jsonl"
        with path.open("w") as file:
            export_jsonl(first.db, file.write)
        for machine in others:
            import_file(machine.db, path, machine.clock)
        for machine in self.machines:
            for here in machine.conversations()[: self.random.randrange(3)]:
                self.say(machine, here)
                self.learn(machine, here)

    def word(self) -> str:
        """Return a new word that stands nowhere else."""
        self.made += 1
        letters = "bdfgklmnprstvz"
        number, text = self.made * 7919 + self.seed, ""
        for i in range(6):
            text += letters[number % 14] + "aeiou"[(number + i) % 5]
            number //= 14
        return f"{text.capitalize()}{self.made}"

    def steps(self, count: int) -> None:
        """Take random steps, each on a random machine."""
        deeds: list[tuple[int, Callable[[SyncedLife], None]]] = [
            (12, self.say), (10, self.learn), (5, self.reflect), (6, self.edit), (3, self.pin),
            (3, self.rename), (3, self.fork), (3, self.forget), (1, self.delete), (5, self.undo),
            (4, self.import_file), (3, self.remember), (14, self.exchange), (16, self.carry),
            (3, self.outdate), (2, self.pend),
        ]  # fmt: skip
        weights = [weight for weight, _ in deeds]
        for _ in range(count):
            (deed,) = self.random.choices([deed for _, deed in deeds], weights)
            machine = self.random.choice(self.machines)
            self.log.append(f"{machine.name} {deed.__name__}")
            deed(machine)

    def here(self, machine: SyncedLife) -> int:
        """Return a conversation to speak in, often a new one."""
        known = machine.conversations()
        if not known or self.random.random() < 0.15:
            return machine.talk()
        recent = known[-6:] if self.random.random() < 0.7 else known
        return machine.speakable(self.random.choice(recent))

    def say(self, machine: SyncedLife, here: int | None = None) -> None:
        """Say something that is not observed."""
        machine.exchange(here or self.here(machine), f"I met {self.word()} today")

    def learn(self, machine: SyncedLife, here: int | None = None) -> None:
        """Say something, observe and commit it."""
        here = here or self.here(machine)
        said = machine.exchange(here, text := f"My friend is called {self.word()}")
        machine.observe(here, (f"User's f{text[4:]}", [said]))
        machine.compact(here)

    def pend(self, machine: SyncedLife) -> None:
        """Say something and observe it."""
        here = self.here(machine)
        said = machine.exchange(here, f"I saw {(word := self.word())}")
        machine.observe(here, (f"User saw {word}", [said]))

    def outdate(self, machine: SyncedLife) -> None:
        """Observe something that replaces a known note."""
        known = [o for o in self.active(machine) if not o.is_protected]
        if not known:
            return
        old = self.random.choice(known[-8:])
        here = self.here(machine)
        said = machine.exchange(here, f"Now it is {(word := self.word())}")
        machine.observe(
            here, replace(stated(f"User knows {word} now", [said.id]), replaces=(old.id,))
        )
        machine.compact(here)

    def active(self, machine: SyncedLife) -> list[Observation]:
        """Return what is active on a machine."""
        return rows.active_in_scope(machine.db, None)

    def reflect(self, machine: SyncedLife) -> None:
        """Condense two notes, and sometimes drop one."""
        known = [o for o in self.active(machine) if not o.is_protected][-8:]
        if len(known) < 3:
            return
        chosen = self.random.sample(known, 2)
        others = [o for o in known if o not in chosen]
        dropped = [self.random.choice(others)] if self.random.random() < 0.3 else []
        words = " and ".join(o.content.split()[-1] for o in chosen)
        machine.reflect((f"User has friends {words}", chosen), dropped=dropped)

    def edit(self, machine: SyncedLife) -> None:
        """Change a note."""
        if known := self.active(machine):
            chosen = self.random.choice(known[-10:])
            corrections.edit(machine.db, chosen.id, f"User's mate is {self.word()}", machine.clock)

    def pin(self, machine: SyncedLife) -> None:
        """Pin a note, or unpin it."""
        if known := self.active(machine):
            chosen = self.random.choice(known[-10:])
            corrections.pin(machine.db, chosen.id, off=bool(chosen.pinned))

    def rename(self, machine: SyncedLife) -> None:
        """Rename a conversation."""
        if known := machine.conversations():
            with transaction(machine.db):
                rename_conversation(machine.db, self.random.choice(known), self.word())

    def fork(self, machine: SyncedLife) -> None:
        """Fork a conversation."""
        if known := machine.conversations():
            forks.fork(machine.db, self.random.choice(known), machine.clock)

    def forget(self, machine: SyncedLife) -> None:
        """Forget a note with its words."""
        known = self.active(machine)
        if not known:
            return
        chosen = self.random.choice(known)
        plan = forgetting.plan_forget(machine.db, (ItemKind.OBSERVATION, chosen.id), words=True)
        self.note_forgotten(o.content for o in plan.observations if not o.generation)
        self.note_forgotten(m.content for m in plan.messages)
        forgetting.forget(machine.db, (ItemKind.OBSERVATION, chosen.id), machine.clock, words=True)

    def note_forgotten(self, texts: Iterable[str]) -> None:
        """Note the words of these texts as forgotten."""
        for text in texts:
            self.forgotten.update(re.findall(r"[A-Z][a-z]{11}[0-9]+", text))

    def delete(self, machine: SyncedLife) -> None:
        """Delete a conversation."""
        if known := machine.conversations():
            chosen = self.random.choice(known)
            plan = forgetting.plan_deletion(machine.db, chosen)
            self.note_forgotten(o.content for o in plan.observations if not o.generation)
            self.note_forgotten(
                text
                for (text,) in machine.db.execute(
                    "SELECT content FROM messages WHERE conversation_id = ?", (chosen,)
                )
            )
            forgetting.delete_conversation(machine.db, chosen, machine.clock)

    def undo(self, machine: SyncedLife) -> None:
        """Take back the newest cycle."""
        with suppress(NotFoundError):
            undo.undo(machine.db, machine.clock)

    def import_file(self, machine: SyncedLife) -> None:
        """Import one of three files, which grow."""
        number = self.random.randrange(3)
        path = self.place / "import.jsonl"
        path.write_text(
            "".join(
                f'{{"type": "message", "conversation": "Old {number}", "role": "user",'
                f' "content": "Long ago {number} {i}", "created_at":'
                f' "2025-03-0{i + 1}T10:00:00+00:00"}}\n'
                for i in range(self.random.randrange(2, 7))
            )
        )
        with suppress(ConstructError):  # the user went on with it here
            import_file(machine.db, path, machine.clock)

    def remember(self, machine: SyncedLife) -> None:
        """Keep a note of the user's own."""
        machine.remember(f"The safe is at {self.word()}")

    def exchange(self, machine: SyncedLife) -> None:
        """Exchange with the folder, and check the invariants."""
        machine.sync()
        assert machine.broken() == []

    def carry(self, machine: SyncedLife) -> None:
        """Bring some of a machine's files to another, late, in any order, cut off or twice."""
        target = self.random.choice([m for m in self.machines if m is not machine])
        for home in sorted(p for p in machine.folder.iterdir() if p.is_dir()):
            if home == target.own:
                continue
            goal = target.folder / home.name
            goal.mkdir(exist_ok=True)
            for file in sorted(home.iterdir()):
                data = file.read_bytes()
                chance = self.random.random()
                if len(self.old) < 300 or self.random.random() < 0.1:
                    self.old.append((home.name, file.name, data))
                if chance < 0.6:
                    (goal / file.name).write_bytes(data)
                elif chance < 0.7:
                    (goal / file.name).write_bytes(data[: len(data) // 2])
        for gone in sorted(goal.iterdir()) if self.random.random() < 0.3 else ():
            if not (machine.folder / goal.name / gone.name).exists():
                gone.unlink()
        if self.old and self.random.random() < 0.3:  # something old comes back
            directory, name, data = self.random.choice(self.old)
            (target.folder / directory).mkdir(exist_ok=True)
            (target.folder / directory / name).write_bytes(data)

    def finish(self) -> None:
        """Let everything arrive, and check that all machines agree."""
        settle(self.machines)
        first = self.machines[0].memory()
        for machine in self.machines[1:]:
            assert machine.memory() == first
        for machine in self.machines:
            assert machine.broken() == []
            there = machine.all_bytes()
            assert [word for word in sorted(self.forgotten) if word.encode() in there] == []
