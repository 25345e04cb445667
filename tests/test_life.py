"""The invented life of data/samples/life.jsonl and what its owner may expect.

It is played turn by turn with both workers.
"""

import asyncio
import fcntl
import json
import random
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from construct.clock import Clock, to_text
from construct.language.moments import parse_moment
from construct.language.words import words
from construct.llm.providers import choose_models
from construct.memory import forgetting
from construct.memory.corrections import edit, pin
from construct.memory.trace import trace_observation
from construct.memory.undo import newest_cycle, undo
from construct.operations.history import diff
from construct.store import observations as rows
from construct.store.conversations import create_conversation, get_watermarks, list_conversations
from construct.store.database import open_database
from construct.store.invariants import index_violations, violations
from construct.store.messages import live_messages, messages_of
from construct.store.note_history import active_at
from construct.store.records import Observation
from construct.store.transfer.jsonl import export_jsonl
from construct.talk.companion import Companion
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from tests.support import fake_worker
from tests.support.context import context
from tests.support.fake_api import FakeApi, adversarial
from tests.support.fake_types import Answer, Json, last_user_text
from tests.support.talks import LOW, settings_for

LIFE = Path(__file__).parents[1] / "data" / "samples" / "life.jsonl"
LISBON = ZoneInfo("Europe/Lisbon")
WORKERS = ("model", "extractive")
SECRET = ("Zambujal", "hypnosis", "panic attacks")
OUTDATED = (("I live in Lisbon", "moved to Porto"),
            ("see the dentist", "dentist on 2026-03-30 went"),
            ("rent is 900", "rent is 950"))  # fmt: skip


@dataclass
class Lived:
    """A played life: the requests by their time, and the observer's input."""

    worker: str
    sent: dict[str, Json] = field(default_factory=dict)
    observed: list[str] = field(default_factory=list)

    def ambient(self, moment: str) -> str:
        """Return the last text block of the request sent at a time of the file."""
        return str(self.sent[moment]["messages"][-1]["content"][-1]["text"])


def spoken() -> list[dict[str, str]]:
    """Return the messages of the life."""
    return [json.loads(line) for line in LIFE.read_text("utf-8").splitlines()]


def attentive(body: Json) -> Answer:
    """Reflect competently, and name what a later line has outdated."""
    lines = fake_worker.read_lines(body)
    pairs = [
        f"{old.anchor} by {by.anchor}"
        for before, after in OUTDATED
        for old in lines
        for by in lines
        if before in old.text and after in by.text
    ]
    answer = fake_worker.reflector(body)
    return re.sub(
        r"<outdated>.*</outdated>", fake_worker.section("outdated", pairs), answer, flags=re.DOTALL
    )


def set_now(companion: Companion, moment: datetime) -> None:
    """Let it be another time, as CONSTRUCT_NOW does."""
    clock = Clock(moment, LISBON)
    companion.settings = replace(companion.settings, clock=clock)
    companion.memory_config = replace(companion.memory_config, clock=clock)
    companion.worker.config = companion.memory_config


@asynccontextmanager
async def companion_of(
    folder: Path, api: FakeApi, worker: str, moment: str
) -> AsyncIterator[Companion]:
    """Open a companion with low thresholds at some time of the life."""
    more = {
        **LOW,
        "CONSTRUCT_OBSERVER_THRESHOLD": "150",
        "CONSTRUCT_TZ": "Europe/Lisbon",
        "CONSTRUCT_NOW": moment,
    }
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
    lived = Lived(worker)
    lines = [line for line in spoken() if line["role"] == "user"]
    homes: dict[str, int] = {}
    with FakeApi() as api:
        api.reflector = attentive
        async with companion_of(folder, api, worker, lines[0]["created_at"]) as c:
            for _, session in groupby(
                lines, key=lambda line: (line["conversation"], line["created_at"][:10])
            ):
                for line in session:
                    set_now(c, datetime.fromisoformat(line["created_at"]))
                    if line["conversation"] not in homes:
                        new = await c.store.call(
                            create_conversation, to_text(c.settings.clock.now())
                        )
                        homes[line["conversation"]] = new
                    here = homes[line["conversation"]]
                    assert (
                        await Responder(StoredLedger(c)).turn(here, line["content"], lambda _: None)
                    ).complete
                    await c.worker.run_due(here)
                    lived.sent[line["created_at"]] = api.of("chat")[-1].body
                await c.worker.run_due(here, leaving=True)
                await c.worker.run_due_at_rest()
        assert {r.status for r in api.requests} == {200}
        lived.observed = [last_user_text(r.body) for r in api.of("observer")]
    return lived


@pytest.fixture(scope="module", params=WORKERS)
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Lived]:
    """A life played once for all test processes: its database and its requests.

    The database is to be copied.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "popen-" in base.name else base) / f"life-{request.param}"
    folder.mkdir(exist_ok=True)
    record = folder / "lived.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not record.exists():
            record.write_text(json.dumps(asdict(asyncio.run(live(folder, request.param)))))
    return folder / "construct.db", Lived(**json.loads(record.read_text()))


@pytest.fixture
def lived(played: tuple[Path, Lived]) -> Lived:
    """What was sent while the life was played."""
    return played[1]


@pytest.fixture
def db(played: tuple[Path, Lived], tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the life's database.

    Whatever is done to it, the invariants hold afterwards.
    """
    for file in played[0].parent.glob("construct.db*"):
        shutil.copy(file, tmp_path)
    with closing(open_database(tmp_path / "construct.db")) as db:
        yield db
        assert violations(db) == []
        assert index_violations(db) == []


def active(db: sqlite3.Connection) -> list[Observation]:
    """Return what is believed now."""
    return rows.active_in_scope(db, None)


def holding(found: Iterable[Observation], *parts: str) -> list[Observation]:
    """Return the observations that say one of the parts."""
    return [o for o in found if any(part in o.content for part in parts)]


def moment(text: str) -> str:
    """Return the end of a day in Lisbon as it is stored."""
    return to_text(parse_moment(text, Clock(None, LISBON), end_of_day=True))


def test_what_matters_is_known_at_the_end(db: sqlite3.Connection, lived: Lived) -> None:
    """The allergy, the sister, the cats and the new home are active.

    Little is left unobserved.

    That the old home is none any more takes a model to see.
    """
    found = active(db)
    for fact in (
        "allergic to peanuts",
        "sister Inês is a nurse",
        "two cats",
        "moved to Porto",
        "rent is 950",
    ):
        assert holding(found, fact), fact
    assert bool(holding(found, "live in Lisbon")) == (lived.worker == "extractive")
    assert not holding([o for o in found if o.stance == "stated"], "chef")
    assert {
        o.stance for o in holding(found, "allergic to peanuts", "moved to Porto", "rent is 950")
    } == {"stated"}
    for summary in list_conversations(db):
        marks = get_watermarks(db, summary.conversation.id)
        left = live_messages(db, summary.conversation.id, marks.observed)
        assert sum(m.token_count for m in left) <= 201


def test_what_is_no_fact_is_none(db: sqlite3.Connection) -> None:
    """The joke, the questions and the mail are stated nowhere.

    Another person's fact stays that person's.
    """
    found = rows.all_observations(db)
    for no_fact in ("hire a chef", "colder than Lisbon", "register the cats"):
        assert not {o.stance for o in holding(found, no_fact)} & {"stated", "planned", "inferred"}
    mail = next(m for line in list_conversations(db) for m in messages_of(db, line.conversation.id)
                if "Recover Services" in m.content and m.role == "user")  # fmt: skip
    rest = [o for o in found if any(m.id == mail.id for m in trace_observation(db, o.id).messages)]
    assert {o.stance for o in holding(rest, "Recover", "5000", "claims")} <= {"quoted"}
    assert not holding([o for o in found if o.stance != "quoted"], "5000", "this sum since 2019")
    for fact, whose in (
        ("20000", "Rui"),
        ("shellfish", "Duarte"),
        ("vegan", "Tiago"),
        ("cello", "Duarte"),
    ):
        assert all(whose in o.content for o in holding(found, fact)), fact


def test_why_leads_to_the_words(db: sqlite3.Connection, lived: Lived) -> None:
    """Every observation of every generation leads to messages of the file.

    It says nothing that they do not say.
    """
    file = {
        (line["content"], to_text(datetime.fromisoformat(line["created_at"]))) for line in spoken()
    }
    found = rows.all_observations(db)
    for o in found:
        trace = trace_observation(db, o.id)
        assert trace.messages
        assert {(m.content, m.created_at) for m in trace.messages} <= file
        said = {w for m in trace.messages for w in words(m.content)}
        assert set(words(o.content)) - said <= {"user", "said", "lt"}
        assert all(s.generation < o.generation for s in trace.sources)
    assert {o.generation for o in found} >= ({0, 1} if lived.worker == "model" else {0})


async def test_undoing_everything_brings_the_words_back(
    db: sqlite3.Connection, lived: Lived, tmp_path: Path
) -> None:
    """With every cycle undone nothing is active, and requests hold every message."""
    clock = Clock(datetime.fromisoformat("2026-06-22T09:00:00+01:00"), LISBON)
    while newest_cycle(db):
        undo(db, clock)
    assert rows.unsuperseded(db) == []
    assert active_at(db, moment("2026-06-22")) == []
    with FakeApi() as api:
        async with companion_of(tmp_path, api, lived.worker, "2026-06-22T09:00:00+01:00") as c:
            for summary in list_conversations(db):
                here = summary.conversation.id
                assert get_watermarks(db, here).window == 0
                request = await c.store.call(c.builder.preview, here)
                raw = [
                    getattr(block, "text", "") for part in request.messages for block in part.blocks
                ]
                assert [m.content for m in messages_of(db, here)] == [t for t in raw if is_said(t)]


def is_said(text: str) -> bool:
    """Tell whether a block is somebody's text.

    A pause, an ambient block and a stand-in are not.
    """
    return not re.match(r"<ambient>|\[[^\n]* later, [^\n]*\]$|\(your next message\)$", text)


def test_the_past_is_as_it_was(db: sqlite3.Connection, lived: Lived) -> None:
    """In March it was Lisbon and 900.

    Since then both changed, and the diff names what took their place.
    """
    march, june = moment("2026-03-15"), moment("2026-06-21")
    assert holding(active_at(db, march), "live in Lisbon")
    assert not holding(active_at(db, march), "moved to Porto", "married", "swim")
    found = diff(context(db), march, june)
    pairs = [(old.content, new.content) for old, new in found.changed]
    moved = any("live in Lisbon" in old and "moved to Porto" in new for old, new in pairs)
    assert moved == (lived.worker == "model")
    assert holding(found.learned, "Inês is getting married")
    assert not holding(found.gone, "peanuts", "Inês", "cats", "Porto")
    assert not holding(found.learned, "peanuts")
    nothing = diff(context(db), june, june)
    assert (nothing.learned, nothing.changed, nothing.gone) == ((), (), ())


def test_a_confidence_withdrawn_leaves_no_byte(db: sqlite3.Connection, tmp_path: Path) -> None:
    """What is forgotten with its text is in no file and no new export.

    The WAL does not have it either. Everything else is still known.
    """
    clock = Clock(datetime.fromisoformat("2026-06-22T09:00:00+01:00"), LISBON)
    before = {o.id for o in active(db)}
    assert holding(active(db), *SECRET)
    while held := holding(rows.all_observations(db), *SECRET):
        assert not forgetting.forget(
            db, ("observation", held[0].id), clock, words=True
        ).pending_erasure
    with (tmp_path / "export.jsonl").open("w", encoding="utf-8") as file:
        export_jsonl(db, file.write)
    left = {f.name: f.read_bytes().lower() for f in tmp_path.iterdir() if f.is_file()}
    assert {"construct.db", "export.jsonl"} <= left.keys()
    assert [
        (name, word)
        for word in SECRET
        for name, data in left.items()
        if word.lower().encode() in data
    ] == []
    assert len(before - {o.id for o in active(db)}) <= 2
    assert holding(active(db), "allergic to peanuts")


async def test_edits_and_pins_survive_ten_careless_reflections(
    tmp_path: Path, played: tuple[Path, Lived]
) -> None:
    """What the user wrote or pinned stays active word for word.

    That holds whatever the reflector proposes.
    """
    for file in played[0].parent.glob("construct.db*"):
        shutil.copy(file, tmp_path)
    with FakeApi() as api, closing(open_database(tmp_path / "construct.db")) as db:
        clock = Clock(datetime.fromisoformat("2026-06-22T09:00:00+01:00"), LISBON)
        pinned = pin(db, holding(active(db), "allergic to peanuts")[0].id)
        mine = edit(
            db,
            holding(active(db), "rent is 950")[0].id,
            "User pays 955 euros for the flat in Porto",
            clock,
        )
        here = list_conversations(db)[0].conversation.id
        async with companion_of(tmp_path, api, "model", "2026-06-22T09:00:00+01:00") as c:
            for seed in range(10):
                api.reflector = adversarial.adversarial_reflector(random.Random(seed))
                await c.worker.run_now(here)
        assert len(api.of("reflector")) >= 10
        kept = {
            o.id: (o.content, o.stance, o.state) for o in rows.observations(db, [pinned.id, mine])
        }
        assert kept == {
            pinned.id: (pinned.content, "stated", "active"),
            mine: ("User pays 955 euros for the flat in Porto", "stated", "active"),
        }
        assert violations(db) == []


DUE = (
    ("2026-02-08T18:10:00+00:00", None, "Évora"),
    ("2026-02-13T22:15:00+00:00", "Due tomorrow", "Évora"),
    ("2026-02-16T08:20:00+00:00", "Outcome unknown (2 days ago)", "Évora"),
    ("2026-03-15T11:00:00+00:00", None, "Évora"),
    ("2026-03-28T23:52:00+00:00", "Due in 2 days", "dentist"),
    ("2026-03-29T00:07:00+00:00", "Due tomorrow", "dentist"),
    ("2026-03-29T02:20:00+01:00", "Due tomorrow", "dentist"),
    ("2026-03-29T23:40:00+01:00", "Due tomorrow", "dentist"),
    ("2026-03-30T00:15:00+01:00", "Due today", "dentist"),
    ("2026-04-02T18:45:00+01:00", None, "dentist"),  # the message itself tells how it went
    ("2026-04-19T12:30:00+01:00", None, "dentist"),
    ("2026-06-08T21:12:00+01:00", "Due tomorrow", "swimming"),
    ("2026-06-10T21:50:00+01:00", None, "swimming lessons begin"),
)
"""What the ambience says of a plan.

00:15 on 30 March is 23:15 of the day before in UTC.
"""


def test_plans_are_due_by_the_wall_clock(lived: Lived) -> None:
    """Across midnight and daylight saving.

    A plan nobody speaks of again is not taken for done.
    """
    for sent, words_before, plan in DUE:
        lines = [
            line
            for line in lived.ambient(sent).splitlines()
            if re.match("Due|Outcome", line) and plan in line
        ]
        days = [re.sub(r" at \d\d:\d\d$", "", line.partition(": ")[0]) for line in lines]
        assert days == ([words_before] if words_before else []), sent
    assert "Now: Sunday 2026-03-29 02:20" in lived.ambient("2026-03-29T02:20:00+01:00")


def test_long_pauses_are_marked(lived: Lived) -> None:
    """Before the words that follow, and in the ambience."""
    body = lived.sent["2026-02-24T19:05:00+00:00"]
    blocks = [block["text"] for block in body["messages"][-1]["content"]]
    assert blocks[0] == "[6 weeks later, 2026-02-24 19:05]"
    assert "Last message: 6 weeks ago" in blocks[-1]
    assert (
        "later" not in lived.sent["2026-02-24T19:12:00+00:00"]["messages"][-1]["content"][0]["text"]
    )
    hour = lived.ambient("2026-03-29T02:20:00+01:00")
    assert "Last message: 1 hour ago" in hour
