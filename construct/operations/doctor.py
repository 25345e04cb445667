"""`construct doctor`: check that everything works, and say what to do where it does not."""

import asyncio
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from construct.config import Settings
from construct.errors import ConstructError
from construct.llm.providers import Models, choose_models
from construct.llm.types import ChatMessage, Model, Request, Text
from construct.load_settings import nearest_setting
from construct.memory.recall.indexing import by_another_model, is_for_another_model
from construct.memory.recall.meaning import meaning_for
from construct.operations.indexing import by_words_alone, working_meaning
from construct.program import as_typed
from construct.store.attachments import attachment_violations
from construct.store.converting import plain_copy
from construct.store.copy_before_migration import find_copy_before_migration
from construct.store.driver import Connection
from construct.store.encryption import is_encrypted
from construct.store.invariants import (
    file_violations,
    index_violations,
    take_in_violations,
    violations,
)
from construct.store.purge import is_pending
from construct.store.sync.machines import followers, machines
from construct.store.vectors import count_without
from construct.text import shorten
from construct.user_rules import read_rules
from construct.vocabulary import Provider

_MODEL_SECONDS = 5.0
"""The longest that a server is waited for, to find its models and to get a word from one."""
_MAX_PROBLEMS = 5
"""How many problems of one kind are listed."""


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check."""

    name: str
    ok: bool
    detail: str


def check_files(db: Connection, settings: Settings) -> list[Check]:
    """Check settings, the database and search.

    Takes the settings, because there is no context if CONSTRUCT_SEMANTIC_MODEL is wrong.
    """
    return [
        _settings(settings),
        *_database(db),
        *_erasure(db),
        *_copy_before_migration(settings),
        *_machines(db),
        *_encryption(settings),
        _meaning(db, settings),
    ]


async def check_chosen_models(settings: Settings) -> list[Check]:
    """Check the models that the settings ask for, as `check_models` does."""
    began = time.monotonic()
    try:
        models = choose_models(settings)
    except ConstructError as error:
        return [Check("credentials", False, str(error).replace("\n", " "))]
    try:
        return await check_models(settings, models, _MODEL_SECONDS - (time.monotonic() - began))
    finally:
        await models.close()


async def check_models(
    settings: Settings, models: Models, seconds: float = _MODEL_SECONDS
) -> list[Check]:
    """Check the credentials, and whether the main model answers.

    A server has so many seconds for a word; a model in this process takes as long as it does.
    """
    credentials = _credentials(settings, models)
    if models.is_notebook:
        return [credentials]
    try:
        async with asyncio.timeout(None if models.provider is Provider.LOCAL else seconds):
            return [credentials, await _answer(models.main)]
    except TimeoutError:
        detail = (
            f"{models.main.name} did not answer within {_MODEL_SECONDS:.0f} seconds. If its"
            " server is still loading it, try again in a minute."
        )
        return [credentials, Check("model", False, detail)]


async def _answer(model: Model) -> Check:
    """Check whether a model answers."""
    stream = model.stream(Request((), (ChatMessage("user", (Text("Say ok."),)),), max_tokens=16))
    try:
        async for _ in stream:
            break
    except ConstructError as error:
        return Check("model", False, str(error).replace("\n", " "))
    finally:
        await stream.aclose()
    return Check("model", True, f"{model.name} answers")


def _encryption(settings: Settings) -> list[Check]:
    """Report an encrypted database. Fails if the copy that a migration made is still plain."""
    if not is_encrypted(settings.db):
        return []
    if copy := plain_copy(settings.db):
        advice = f"{copy} is not encrypted: delete it if you do not need it"
        return [Check("encryption", False, advice)]
    return [Check("encryption", True, "the database is encrypted")]


def _settings(settings: Settings) -> Check:
    """Report the settings that are given, and unknown ones. Fails if the rules cannot be read."""
    try:
        read_rules(settings.memory_rules)
    except ConstructError as error:
        return Check("settings", False, str(error).replace("\n", " "))
    in_force = f"database {settings.db}, memory {settings.memory}, scope {settings.scope}"
    unknown = [
        f"no such setting: {shorten(name, 60)} (did you mean {nearest_setting(name)}?)"
        for name in settings.unknown
    ]
    return Check("settings", True, "; ".join([in_force, *_given(settings), *unknown]))


def _given(settings: Settings) -> Iterator[str]:
    """Yield what each source sets. A secret is only named."""
    by_source = attrgetter("source")
    for source, given in groupby(sorted(settings.given, key=by_source), by_source):
        texts = (
            one.name if one.text is None else f"{one.name}={shorten(one.text, 60)}" for one in given
        )
        yield f"from {source}: {', '.join(texts)}"


def _credentials(settings: Settings, models: Models) -> Check:
    worker = f"memory worker {models.worker_name}"
    if models.is_notebook:
        hint = f"no model replies, only the notebook. Run {as_typed('setup')} to choose one"
        return Check("credentials", True, f"{hint}; {worker}")
    detail = f"main model {models.main.name}, {worker}"
    is_openai = models.provider is Provider.OPENAI
    given = settings.openai if is_openai else settings
    if given.is_address_from_env_file:
        detail += "; the address comes from .env, so a key from elsewhere is not sent there"
    return Check("credentials", True, detail)


def _database(db: Connection) -> list[Check]:
    damage, index = file_violations(db), index_violations(db)
    broken = violations(db) + take_in_violations(db) + attachment_violations(db)
    return [
        _found("integrity", damage, "undamaged", "Restore a backup."),
        _found(
            "invariants",
            broken,
            "nothing is lost or out of place",
            "Restore a backup, and please report this.",
        ),
        _found(
            "search index",
            index,
            "up to date",
            "To make a new index, export everything and import it into a new database.",
        ),
    ]


def _erasure(db: Connection) -> list[Check]:
    """Fail if what was deleted is still in the file, although this start tried to clear it."""
    if not is_pending(db):
        return []
    detail = (
        "what was deleted is still in the file: another program is using the file, or the disk "
        f"is full. Close that program or make room, then run {as_typed('doctor')} again."
    )
    return [Check("deleted", False, detail)]


def _found(name: str, problems: Sequence[str], all_well: str, advice: str) -> Check:
    """Return a check with its first problems and what to do about them."""
    if not problems:
        return Check(name, True, all_well)
    return Check(name, False, " ".join([*problems[:_MAX_PROBLEMS], advice]))


def _copy_before_migration(settings: Settings) -> list[Check]:
    copy = find_copy_before_migration(settings.db) if settings.db.exists() else None
    if copy is None:
        return []
    removal = f"`rm {shlex.quote(str(copy))}` removes it, and so does forgetting something"
    detail = f"{copy} is the database as it was before the last update; {removal}"
    return [Check("copy", True, detail)]


def _machines(db: Connection) -> list[Check]:
    """Name the machines that still have what was forgotten on others. That is no failure."""
    known = machines(db)
    if not known:
        return []
    late = followers(known)
    names = [shorten(m.name, 40) for m in known if m.uid in late]
    if not names:
        return [Check("machines", True, "all have followed what was forgotten")]
    detail = f"{', '.join(names)} still has what was forgotten on another machine in its files"
    return [Check("machines", True, f"{detail}; {as_typed('sync status')} says more")]


def _meaning(db: Connection, settings: Settings) -> Check:
    """Report whether search also uses meaning. Searching by words alone is not a failure."""
    try:
        if meaning_for(settings) is None:
            return Check("meaning", True, by_words_alone())
        model = working_meaning(settings).embedder.name
        if is_for_another_model(db, model):
            return Check("meaning", True, by_another_model())
        missing = count_without(db, model)
    except ConstructError as error:
        return Check("meaning", False, str(error).replace("\n", " "))
    state = "every entry has its vector"
    if missing:
        entries = "1 entry has" if missing == 1 else f"{missing:,} entries have"
        state = f"{entries} no vector yet: {as_typed('reindex')} adds what is missing"
    return Check("meaning", True, f"search uses words and meaning; {state}")
