"""What a shell offers on TAB: the ids there are, with what they stand for.

A shell evaluates what it is offered, so the words beside an id are letters, digits and blanks alone.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import typer

from construct.config import load_settings
from construct.errors import ConstructError
from construct.store import observations as rows
from construct.store import talk
from construct.store.database import open_database
from construct.text import shorten

Offers = list[tuple[str, str]]

_MOST_OFFERED = 50
_WIDTH = 60
_UNSAFE = re.compile(r"[^\w ,.?’-]+")


def conversation_ids(context: typer.Context, incomplete: str) -> Offers:
    """Return the conversations whose number begins so, the one last talked in first."""
    return _offered(context, incomplete, _conversations)


def observation_ids(context: typer.Context, incomplete: str) -> Offers:
    """Return the observations whose number begins so, the newest first."""
    return _offered(context, incomplete, _observations)


def _conversations(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    from construct.repl.views.words import title_of

    yield from ((c.conversation.id, title_of(c)) for c in talk.conversations(db))


def _observations(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    yield from ((o.id, o.content) for o in reversed(rows.unsuperseded(db)))


def _offered(
    context: typer.Context, incomplete: str, find: Callable[[sqlite3.Connection], Iterable[tuple[int, str]]]
) -> Offers:
    """Return what is found; nothing where there is no database, or none that can be used."""
    try:
        path = load_settings(db=_named(context)).db
        if not path.exists():
            return []
        with closing(open_database(path)) as db:
            found = [(str(i), _plain(text)) for i, text in find(db) if str(i).startswith(incomplete)]
    except (ConstructError, sqlite3.Error, OSError):
        return []
    return found[:_MOST_OFFERED]


def _named(context: typer.Context) -> Path | None:
    named = context.find_root().params.get("db")
    return Path(named) if named else None


def _plain(text: str) -> str:
    return " ".join(_UNSAFE.sub(" ", shorten(text, _WIDTH).replace("'", "’")).split())
