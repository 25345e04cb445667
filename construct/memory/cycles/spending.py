"""What the memory worker has cost in the user's day, and may cost."""

import sqlite3

from construct.clock import to_text
from construct.memory.cycles.situation import Terms
from construct.store import books

_PURPOSES = ("observer", "reflector", "verifier", "graph")


def spent_today(db: sqlite3.Connection, terms: Terms) -> float:
    """Return the US dollars that memory work has cost since midnight; what a wrong clock booked later is no part."""
    return books.spent_between(db, to_text(terms.clock.midnight()), to_text(terms.clock.midnight(1)), _PURPOSES)


def spent_ever(db: sqlite3.Connection) -> float:
    """Return the US dollars that memory work has cost in all."""
    return books.spent_between(db, "", "~", _PURPOSES)


def is_over_limit(db: sqlite3.Connection, terms: Terms) -> bool:
    """Tell whether the worker has cost what it may cost in the user's day."""
    return spent_today(db, terms) >= terms.daily_usd
