"""The invented life of data/samples/life.jsonl, lived turn by turn with both workers, and what its owner may expect."""

import json
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from construct.clock import Clock, to_text
from construct.companion import Companion
from construct.llm.providers import choose_models
from construct.memory import forget as forgetting
from construct.memory.edits import edit, pin
from construct.memory.history import as_of, diff, parse_moment
from construct.memory.recall import search
from construct.memory.trace import why
from construct.memory.undo import newest_cycle, undo
from construct.store import observations as rows
from construct.store import talk
from construct.store.database import open_database
from construct.store.invariants import index_violations, violations
from construct.store.records import Observation
from construct.store.transfer import export_jsonl
from tests.support import fake_worker
from tests.support.fake_api import FakeApi, careless
from tests.support.fake_types import Answer, Json
from tests.support.talks import LOW, settings_for

LIFE = Path(__file__).parents[1] / "data" / "samples" / "life.jsonl"
LISBON = ZoneInfo("Europe/Lisbon")
WORKERS = ("model", "extractive")
SECRET = ("Zambujal", "hypnosis", "panic attacks")
OUTDATED = (("I live in Lisbon", "moved to Porto"), ("see the dentist", "dentist on 2026-03-30 went"),
            ("rent is 900", "rent is 950"))  # fmt: skip


@dataclass
class Lived:
    """A life as it was played: the folder with its database, and every request by the time it was sent."""

    folder: Path
    sent: dict[str, Json] = field(default_factory=dict)
    observed: list[str] = field(default_factory=list)

    def ambient(self, moment: str) -> str:
        """Return the last text block of the request that was sent at a time of the file."""
        return str(self.sent[moment]["messages"][-1]["content"][-1]["text"])


def spoken() -> list[dict[str, str]]:
    """Return the messages of the life."""
    return [json.loads(line) for line in LIFE.read_text("utf-8").splitlines()]


def attentive(body: Json) -> Answer:
    """Reflect as the competent reflector does, and name what a later line has made outdated."""
    value: dict[str, Any] = dict(fake_worker.reflector(body))  # type: ignore[arg-type]
    lines = fake_worker.read_lines(body)
    value["outdated"] = [
        {"old": old.anchor, "by": by.anchor}
        for before, after in OUTDATED
        for old in lines
        for by in lines
        if before in old.text and after in by.text
    ]
    return value


def set_now(companion: Companion, moment: datetime) -> None:
    """Let it be another time, as CONSTRUCT_NOW does."""
    clock = Clock(moment, LISBON)
    companion.settings = replace(companion.settings, clock=clock)
    companion.terms = replace(companion.terms, clock=clock)
    companion.worker.terms = companion.terms


@asynccontextmanager
async def companion_of(folder: Path, api: FakeApi, worker: str, moment: str) -> AsyncIterator[Companion]:
    """Open a companion with low thresholds at some time of the life."""
    more = {**LOW, "CONSTRUCT_OBSERVER_THRESHOLD": "150", "CONSTRUCT_TZ": "Europe/Lisbon", "CONSTRUCT_NOW": moment}
    if worker == "extractive":
        more["MEMORY_WORKER_MODEL"] = "extractive"
    settings = settings_for(folder, api, **more)
    companion = Companion(settings, choose_models(settings))
    try:
        yield companion
    finally:
        await companion.close()


async def live(folder: Path, worker: str) -> Lived:
    """Play the user's lines: a session a day, left at its end."""
    lived = Lived(folder)
    lines = [line for line in spoken() if line["role"] == "user"]
    homes: dict[str, int] = {}
    with FakeApi() as api:
        api.reflector = attentive
        async with companion_of(folder, api, worker, lines[0]["created_at"]) as c:
            for _, session in groupby(lines, key=lambda line: (line["conversation"], line["created_at"][:10])):
                for line in session:
                    set_now(c, datetime.fromisoformat(line["created_at"]))
                    if line["conversation"] not in homes:
                        new = await c.store.call(talk.create_conversation, to_text(c.settings.clock.now()))
                        homes[line["conversation"]] = new
                    here = homes[line["conversation"]]
                    assert (await c.turn(here, line["content"], lambda _: None)).complete
                    await c.worker.run_due(here)
                    lived.sent[line["created_at"]] = api.of("chat")[-1].body
                await c.worker.run_due(here, leaving=True)
                await c.worker.rest()
        assert {r.status for r in api.requests} == {200}
        lived.observed = [fake_worker.last_user_text(r.body) for r in api.of("observer")]
    return lived
