"""What all that is stored has cost, and what it would have: read together for whoever shows it."""

import sqlite3
from dataclasses import dataclass
from functools import cache, partial

from construct import prompts, tokens
from construct.config import Settings
from construct.memory.inspection.whatif import Estimate, estimate
from construct.store import books


@dataclass(frozen=True, slots=True)
class Books:
    """Usage in all, call by call, and compared with doing without a memory."""

    lines: list[books.UsageLine]
    spending: list[books.Spent]
    spent_on_talk: float
    """US dollars for the conversations that are still there, memory work included."""
    instead: Estimate | None


def read_books(db: sqlite3.Connection, settings: Settings) -> Books:
    """Return the books; goes through every message that is stored, so not for every turn."""
    factor = cache(partial(books.token_factor, db))
    system = tokens.count(prompts.persona(settings.config_dir))
    return Books(
        books.usage_lines(db),
        books.spent(db),
        books.spent_on_stored_talk(db),
        estimate(books.spoken(db), settings.recent_messages, system, factor),
    )
