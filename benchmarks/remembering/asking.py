"""Plays a life through the real program, then asks about it, once for each way.

Every question goes the way a turn goes, over a copy of the file, so that none sees
another.
"""

import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.remembering.lives import Exchange, Life, Question
from benchmarks.remembering.models import KeptModel, Script
from construct import prompts
from construct.clock import Clock, to_text
from construct.config import Settings, Thresholds
from construct.errors import ModelError
from construct.llm.providers import Models
from construct.llm.types import Model, Request
from construct.memory.request_builder import SMALL_WINDOW
from construct.memory.shown.context import block_text, request_tokens
from construct.store.conversations import create_conversation, current_conversation
from construct.store.database import open_database, transaction
from construct.store.messages import NewMessage, add_message
from construct.talk.companion import Companion
from construct.talk.events import TurnResult
from construct.talk.private_ledger import PrivateLedger
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from construct.vocabulary import EXTRACTIVE

RECENT, FULL, RECALL, OBSERVATIONS, CONSTRUCT = (
    "recent",
    "full",
    "recall",
    "observations",
    "construct",
)
WAYS = {
    RECENT: "the last 20 messages",
    FULL: "the whole conversation, cut to the reader's window",
    RECALL: "the passages recalled before each turn, nothing else",
    OBSERVATIONS: "the observations, nothing else",
    CONSTRUCT: "Construct as shipped",
}
_NO_LIMIT = 1e9
_EVERYTHING = 1_000_000
_FRAME = """

{who}This is a test of your memory. Answer each question in a few words, with nothing around \
them: a name, a thing, a list with commas, or a date such as "7 May 2023". Work "yesterday" and \
"last week" out to a date. When it was never spoken of, answer "No information"."""
_WHO = "The user is {user}; you are {other}, and your own words in the talk are {other}'s. "


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question asked one way."""

    life: str
    question: str
    way: str
    reply: str
    shown: str
    """What the model was shown, the system text and the question apart."""
    tokens: int
    """Of the first request, estimated."""
    error: ModelError | None


@dataclass(frozen=True, slots=True)
class Files:
    """A life's databases: one in which nothing was learned, one as it would be."""

    plain: Path
    lived: Path


@dataclass(frozen=True, slots=True)
class Room:
    """What a reader has room for."""

    window: int
    budget: int = Thresholds().budget
    """Tokens of observations at most."""


def settings_for(db: Path, life: Life, moment: datetime, memory: str, room: Room) -> Settings:
    """Return the settings of one session; the persona stands beside the database."""
    persona = prompts.prompt("small" if room.window < SMALL_WINDOW else "companion")
    who = _WHO.format(user=life.user, other=life.other) if life.user else ""
    (db.parent / "companion.md").write_text(persona + _FRAME.format(who=who), "utf-8")
    return Settings(
        db=db, config_dir=db.parent, clock=Clock(moment, UTC), memory=memory,
        worker_daily_usd=_NO_LIMIT, recent_messages=_EVERYTHING,
        thresholds=Thresholds(budget=room.budget),
    )  # fmt: skip


async def play(
    life: Life, folder: Path, worker: Model | None, room: Room, step: Callable[[], None]
) -> Files:
    """Live a life twice, learning and not.

    `room` is the reader's, `step` is called after each session.
    """
    files = Files(folder / "plain.db", folder / "lived.db")
    for db, memory in ((files.plain, "off"), (files.lived, "on")):
        for session in life.sessions:
            script = Script(room.window)
            settings = settings_for(db, life, session.begins, memory, room)
            companion = Companion(settings, _models(script, worker, settings))
            try:
                await _sit(companion, script, session.exchanges)
            finally:
                await companion.close()
            step()
    return files


def cycles(db: Path) -> Counter[str]:
    """Return who did the memory work of a life: cycles by kind and worker.

    Where a model failed, the worker is the extractive one.
    """
    with closing(open_database(db)) as opened:
        found = opened.execute(
            "SELECT kind, model, count(*) FROM cycles WHERE status = 'succeeded' GROUP BY 1, 2"
        )
        return Counter({f"{kind} by {model}": n for kind, model, n in found})


async def _sit(companion: Companion, script: Script, exchanges: tuple[Exchange, ...]) -> None:
    """Go through one session as the REPL would.

    Memory work runs after each turn, and when the user leaves.
    """
    conversation_id = await companion.store.call(current_conversation)
    if conversation_id is None:
        now = to_text(companion.settings.clock.now())
        conversation_id = await companion.store.call(create_conversation, now)
    for exchange in exchanges:
        script.next = exchange.heard
        if exchange.said:
            await Responder(StoredLedger(companion)).turn(
                conversation_id, exchange.said, lambda _: None
            )
        else:
            await _hear(companion, conversation_id, exchange.heard)
        if companion.settings.learns:
            await companion.worker.run_due(conversation_id)
    if companion.settings.learns:
        await companion.worker.run_due(conversation_id, leaving=True)


async def _hear(companion: Companion, conversation_id: int, words: str) -> None:
    """Store words of the other's that answer nothing."""

    def store(db: sqlite3.Connection) -> None:
        with transaction(db):
            now = to_text(companion.settings.clock.now())
            add_message(db, conversation_id, NewMessage("assistant", words), now)

    await companion.store.call(store)


async def ask(
    life: Life, question: Question, way: str, files: Files, reader: KeptModel, room: Room
) -> Answer:
    """Ask one question one way."""
    source = files.lived if way in {OBSERVATIONS, CONSTRUCT} else files.plain
    copy = source.with_name("asked.db")
    shutil.copyfile(source, copy)
    settings = _settings_of(way, copy, life, room)
    companion = Companion(settings, _models(reader, None, settings))
    reader.requests.clear()
    try:
        result = await _turn(companion, way, question.text)
    finally:
        await companion.close()
        copy.unlink()
    first, last = reader.requests[0], reader.requests[-1]
    size = sum(request_tokens(first).values())
    return Answer(
        life.name, question.id, way, result.text, _shown(last, question.text), size, result.error
    )


def _settings_of(way: str, db: Path, life: Life, room: Room) -> Settings:
    memory = {RECENT: "off", FULL: "off", RECALL: "read-only"}.get(way, "on")
    settings = settings_for(db, life, life.asked_at, memory, room)
    return replace(settings, recent_messages=20) if way == RECENT else settings


async def _turn(companion: Companion, way: str, words: str) -> TurnResult:
    """Take one turn.

    With observations alone it is the first of a new conversation, so that it brings no
    passages.
    """
    if way == OBSERVATIONS:
        return await Responder(PrivateLedger(companion)).turn(None, words, lambda _: None)
    now = to_text(companion.settings.clock.now())
    make = create_conversation if way == RECALL else lambda db, _: current_conversation(db)
    conversation_id = await companion.store.call(make, now)
    assert conversation_id is not None
    return await Responder(StoredLedger(companion)).turn(conversation_id, words, lambda _: None)


def _models(main: Model, worker: Model | None, settings: Settings) -> Models:
    return Models(main, worker, worker.name if worker else EXTRACTIVE, settings)


def _shown(request: Request, question: str) -> str:
    texts = (block_text(block) for message in request.messages for block in message.blocks)
    return "\n".join(text for text in texts if text != question)
