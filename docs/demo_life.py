"""Generates data/demo.jsonl, the life that `construct demo` shows.

    uv run python -m docs.demo_life

docs/demo/life.txt is the script: what is said, and what the workers make of it. The
real program plays it turn by turn, with models that answer from the script, and exports
it.
"""

import asyncio
import re
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from construct.clock import Clock, to_text
from construct.llm.providers import choose_models
from construct.memory.corrections import edit, pin
from construct.memory.keeping import keep_for_user
from construct.store.conversations import create_conversation
from construct.store.database import open_database, transaction
from construct.store.transfer.jsonl import export_jsonl
from construct.talk.companion import Companion
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from tests.support.fake_api import FakeApi
from tests.support.fake_types import Json, last_user_words
from tests.support.fake_worker import (
    Line,
    graph_answer,
    observer_answer,
    read_known,
    read_lines,
    read_memories,
    read_transcript,
    reflector_answer,
)
from tests.support.talks import LOW, settings_for

SCRIPT = Path(__file__).parent / "demo" / "life.txt"
TARGET = Path(__file__).parents[1] / "data" / "demo.jsonl"
ZONE = ZoneInfo("Europe/London")
SETTINGS = {
    **LOW,
    "CONSTRUCT_OBSERVER_THRESHOLD": "150",
    "CONSTRUCT_TZ": ZONE.key,
    "MEMORY_WORKER_MODEL": "claude-haiku-5-5",
}
_PART = re.compile(r"\[([^]]+)\]")
_REPLACES = re.compile(r" \| replaces (.*)$")
_BETWEEN_TURNS = timedelta(minutes=3)


@dataclass
class Said:
    """A message of Mara's, the reply, its observations, and what she does next."""

    title: str
    at: datetime
    text: str
    reply: str = ""
    notes: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)


@dataclass
class Script:
    """The whole life."""

    said: list[Said] = field(default_factory=list)
    reflections: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    entities: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)


def read(text: str) -> Script:
    """Parse the text of a script."""
    script = Script()
    _, *sections = re.split(r"^== ", text, flags=re.MULTILINE)
    for section in sections:
        head, *lines = re.sub(r"\n  ", "\n\t", section).splitlines()
        match head:
            case "reflections":
                script.reflections = [line[2:] for line in lines if line.startswith("= ")]
                script.dropped = [line[3:-1] for line in lines if line.startswith("x ")]
            case "graph":
                script.relations = [line for line in lines if line.count(" | ") == 3]
                script.entities = [line for line in lines if line.count(" | ") in {1, 2}]
            case _:
                _read_sitting(script, head, lines)
    return script


def _read_sitting(script: Script, head: str, lines: list[str]) -> None:
    title, day, time = head.rsplit(" ", 2)
    at = datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=ZONE)
    for line in filter(None, lines):
        sign, rest = line[:2], line[2:]
        last = script.said[-1] if script.said else None
        if sign == "> ":
            script.said.append(Said(title, at, rest))
            at += _BETWEEN_TURNS
        elif last is None:
            raise ValueError(line)
        elif line.startswith("\t"):
            last.text += "\n" + line[1:]
        elif sign == "< ":
            last.reply = rest
        elif sign == "* ":
            last.acts.append(rest)
        else:
            last.notes.append(line)


def observe(body: Json, script: Script) -> str:
    """Answer as the script's observer."""
    known = read_known(body)
    lines = []
    for heard in read_transcript(body):
        for said in script.said:
            if heard.role == "user" and heard.text.startswith(said.text.splitlines()[0]):
                lines += [_observed(line, heard.anchor, heard.date, known) for line in said.notes]
    return observer_answer(lines)


def _observed(line: str, anchor: str, day: str, known: list[Line]) -> str:
    replaced = _PART.findall(found[1]) if (found := _REPLACES.search(line)) else []
    sign, fact = line[0], _REPLACES.sub("", line[2:])
    targets = [k.anchor for words in replaced for k in known if words in k.text]
    for words in replaced:
        if not any(words in k.text for k in known):
            print(f"not known: {words}")
    mark = f" | replaces {' '.join(targets)}" if targets else ""
    return f"{sign} {day} {anchor} {fact}{mark}"


def reflect(body: Json, script: Script) -> str:
    """Answer as the script's reflector."""
    notes = read_lines(body)
    signs = {"high": "!", "medium": "-", "low": "~"}
    made = []
    for reflection in script.reflections:
        parts = [n for words in _PART.findall(reflection) for n in notes if words in n.text]
        if len({part.anchor for part in parts}) == len(_PART.findall(reflection)):
            anchors = " ".join(part.anchor for part in parts)
            sign = signs[min((part.priority for part in parts), key=list(signs).index)]
            day = max(part.date for part in parts)
            made.append(f"{sign} {day} {anchors} {_PART.sub('', reflection).strip()}")
    dropped = [n.anchor for words in script.dropped for n in notes if words in n.text]
    return reflector_answer(made, drop=dropped)


def draw(body: Json, script: Script) -> str:
    """Answer as the script's graph extractor."""
    memories = read_memories(body)
    found = [
        f"{relation.rpartition(' | ')[0]} | {anchor}"
        for relation in script.relations
        for anchor, text in memories.items()
        if relation.rpartition(" | ")[2] in text
    ]
    named = [e for e in script.entities if any(f" {e.split(' | ')[0]} " in f"{f} " for f in found)]
    named += [e for e in script.entities if any(f.startswith(e.split(" | ")[0]) for f in found)]
    return graph_answer(dict.fromkeys(named), found)


async def live(folder: Path, api: FakeApi, script: Script) -> None:
    """Say everything at its time.

    A conversation is left when the day or the conversation changes.
    """
    by_length = sorted(script.said, key=lambda said: -len(said.text))
    replies = {said.text: said.reply for said in by_length}
    api.chat = lambda body: next(
        reply for said, reply in replies.items() if said in last_user_words(body)
    )
    api.observer = lambda body: observe(body, script)
    api.reflector = lambda body: reflect(body, script)
    api.graph = lambda body: draw(body, script)
    homes: dict[str, int] = {}
    acts: list[str] = []
    settings = settings_for(folder, api, **SETTINGS, CONSTRUCT_NOW=script.said[0].at.isoformat())
    c = Companion(settings, choose_models(settings))
    try:
        for said, after in zip(script.said, [*script.said[1:], None], strict=True):
            set_now(c, said.at)
            if said.title not in homes:
                now = to_text(c.settings.clock.now())
                homes[said.title] = await c.store.call(create_conversation, now, said.title)
            here = homes[said.title]
            await Responder(StoredLedger(c)).turn(here, said.text, lambda _: None)
            await c.worker.run_due(here)
            acts += said.acts
            if after is None or (after.title, after.at.date()) != (said.title, said.at.date()):
                await c.worker.catch_up(here)
                await c.worker.run_due(here, leaving=True)
                await c.worker.run_due_at_rest()
                while acts:
                    await c.store.call(do, acts.pop(0), c)
    finally:
        await c.close()


def set_now(companion: Companion, moment: datetime) -> None:
    """Set the time, as CONSTRUCT_NOW does."""
    clock = Clock(moment, ZONE)
    companion.settings = replace(companion.settings, clock=clock)
    companion.memory_config = replace(companion.memory_config, clock=clock)
    companion.worker.config = companion.memory_config


def do(db: sqlite3.Connection, act: str, companion: Companion) -> None:
    """Do what Mara does herself: edit, pin or remember."""
    clock = companion.settings.clock
    command, _, rest = act.partition(" ")
    if command == "remember":
        with transaction(db):
            keep_for_user(db, rest, None, clock)
        return
    words, _, text = rest.partition(" => ")
    (noted,) = db.execute(
        "SELECT id FROM observations WHERE content LIKE ? AND superseded_at IS NULL",
        (f"%{words[1:].rstrip(']')}%",),
    ).fetchone()
    if command == "edit":
        edit(db, noted, text, clock)
    else:
        pin(db, noted)


def main() -> None:
    """Play the life and export it."""
    script = read(SCRIPT.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder, FakeApi() as api:
        asyncio.run(live(Path(folder), api, script))
        (file,) = Path(folder).glob("*.db")
        with closing(open_database(file)) as db, TARGET.open("w", encoding="utf-8") as target:
            export_jsonl(db, target.write)
    print(TARGET)


if __name__ == "__main__":
    main()
