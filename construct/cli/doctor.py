"""`construct doctor`: is everything in order, and if not, what to do."""

import asyncio
import shlex
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from construct.cli.environment import Environment, print_json, tell
from construct.cli.progress import searchable
from construct.config import Settings
from construct.errors import ConstructError, ExitStatus
from construct.store.copy_before_migration import find_copy_before_migration
from construct.store.invariants import file_violations, index_violations, violations
from construct.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    name: str
    ok: bool
    detail: str


def doctor(env: Environment, as_json: bool) -> int:
    """Check everything, print what was found; 1 when something is wrong."""
    settings = env.settings
    checks = [_settings(settings), _credentials(settings)]
    with env.looking() as db:
        searchable(db)
        checks += _database(db)
        checks += _copy_before_migration(settings)
        checks.append(_meaning(db, settings))
    if checks[1].ok:
        checks.append(asyncio.run(_model(settings)))
    ok = all(check.ok for check in checks)
    if as_json:
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        tell(lambda: _table(checks), "\n".join(f"{_mark(check)}  {check.name}: {check.detail}" for check in checks))
    return ExitStatus.OK if ok else ExitStatus.FAILED


def _mark(check: Check) -> str:
    return "ok " if check.ok else "BAD"


def _table(checks: Sequence[Check]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for check in checks:
        mark = Text(_mark(check), style="success" if check.ok else "error")
        table.add_row(mark, check.name, Text(printable(check.detail), overflow="fold"))
    return table


def _settings(settings: Settings) -> Check:
    """Tell the first things to know, and which names are misspelt: those may be another program's, and fail nothing."""
    unknown = f"; no such setting: {', '.join(settings.unknown)}" if settings.unknown else ""
    return Check("settings", True, f"database {settings.db}, memory {settings.memory}, scope {settings.scope}{unknown}")


def _credentials(settings: Settings) -> Check:
    from construct.llm.providers import choose_models

    try:
        models = choose_models(settings)
    except ConstructError as error:
        return Check("credentials", False, str(error).replace("\n", " "))
    detail = f"main model {models.main.name}, memory worker {models.worker_name}"
    if settings.is_address_from_env_file:
        detail += "; the address comes from .env, so a key from elsewhere is not sent there"
    return Check("credentials", True, detail)


def _database(db: sqlite3.Connection) -> list[Check]:
    damage, broken, index = file_violations(db), violations(db), index_violations(db)
    return [
        Check("integrity", not damage, f"{'; '.join(damage[:5])} Restore a backup." if damage else "ok"),
        Check("invariants", not broken, "; ".join(broken[:5]) or "all six hold"),
        Check("search index", not index, "; ".join(index[:5]) or "in step"),
    ]


def _copy_before_migration(settings: Settings) -> list[Check]:
    """Name the copy that an update of the database left; without one there is nothing to say."""
    copy = find_copy_before_migration(settings.db) if settings.db.exists() else None
    if copy is None:
        return []
    how = f"`rm {shlex.quote(str(copy))}` removes it, and so does forgetting something"
    return [Check("copy", True, f"{copy} is the database as it was before the last update; {how}")]


def _meaning(db: sqlite3.Connection, settings: Settings) -> Check:
    """Tell whether search goes by meaning too; that it does not is nothing wrong."""
    from construct.cli.reindex import absent, working_meaning
    from construct.memory.recall.indexing import OTHER_MODEL, is_others
    from construct.memory.recall.meaning import meaning_for
    from construct.store.vectors import count_without

    try:
        if meaning_for(settings) is None:
            return Check("meaning", True, absent())
        model = working_meaning(settings).embedder.name
        if is_others(db, model):
            return Check("meaning", True, f"search goes by words alone; {OTHER_MODEL}")
        missing = count_without(db, model)
    except ConstructError as error:
        return Check("meaning", False, str(error).replace("\n", " "))
    left = f"{missing} entries have no vector yet: `construct reindex`, or let a chat stay open" if missing else ""
    return Check("meaning", True, f"search goes by words and meaning; {left or 'every entry has its vector'}")


async def _model(settings: Settings) -> Check:
    """Ask the main model for one word."""
    from construct.llm.providers import choose_models
    from construct.llm.types import ChatMessage, Request, Text

    model = choose_models(settings).main
    stream = model.stream(Request((), (ChatMessage("user", (Text("Say ok."),)),), max_tokens=16))
    try:
        async for _ in stream:
            break
    except ConstructError as error:
        return Check("model", False, str(error).replace("\n", " "))
    finally:
        await stream.aclose()
        await model.close()
    return Check("model", True, f"{model.name} answers")
