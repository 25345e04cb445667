"""Usage: tokens and money of each call, and each model's token factor."""

import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from construct.store.sql import insert, new_uid, scalar
from construct.tokens import Usage

_SAMPLE_MINIMUM = 200
_WEIGHT = 0.3
_FACTOR_RANGE = (0.5, 4.0)


@dataclass(frozen=True, slots=True)
class Call:
    """One model call, as it is stored."""

    purpose: str
    model: str
    usage: Usage
    cost_usd: float | None


def book_usage(
    db: sqlite3.Connection,
    call: Call,
    now: str,
    conversation_id: int | None = None,
    cycle_id: int | None = None,
) -> None:
    """Store the usage of one call. Its conversation may have been deleted meanwhile."""
    row = {
        "uid": new_uid(), "created_at": now, "purpose": call.purpose, "model": call.model,
        **asdict(call.usage), "cost_usd": call.cost_usd,
        "conversation_id": scalar(
            db, "SELECT id FROM conversations WHERE id = ?", (conversation_id,)
        ),
        "cycle_id": scalar(db, "SELECT id FROM cycles WHERE id = ?", (cycle_id,)),
    }  # fmt: skip
    insert(db, "usage", row)


def book_off_record(db: sqlite3.Connection, call: Call, midnight: str) -> None:
    """Add a call off the record to its day's one row.

    What was spent counts, not when or how often.
    """
    more = asdict(call.usage) | {"cost_usd": call.cost_usd}
    sums = ", ".join(f"{name} = {name} + :{name}" for name in more)
    added = db.execute(
        f"""UPDATE usage SET {sums}
            WHERE created_at = :day AND purpose = :purpose AND model = :model
                AND conversation_id IS NULL AND cycle_id IS NULL
                AND id > (SELECT max(id) FROM usage) - 5000  -- a day's; times have no index""",
        {**more, "day": midnight, "purpose": call.purpose, "model": call.model},
    ).rowcount
    if not added:
        book_usage(db, call, midnight)


def spent_on_memory(db: sqlite3.Connection, since: str = "", until: str = "~") -> float:
    """Return the dollars that memory work cost between two stored times."""
    # This condition is the one of an index: chat is not in it.
    query = """SELECT total(cost_usd) FROM usage
               WHERE purpose <> 'chat' AND created_at >= ? AND created_at < ?"""
    return scalar(db, query, (since, until))


@dataclass(frozen=True, slots=True)
class UsageLine:
    """Usage summed over a purpose and a model."""

    purpose: str
    model: str
    calls: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float | None


def usage_lines(db: sqlite3.Connection, since: str = "") -> list[UsageLine]:
    """Return usage by purpose and model.

    A line's cost is None when no call of it had a known price.
    """
    rows = db.execute(
        """SELECT purpose, model, count(*), sum(input_tokens), sum(cache_read_tokens),
                  sum(cache_write_tokens), sum(output_tokens), sum(cost_usd)
           FROM usage WHERE created_at >= ? GROUP BY purpose, model ORDER BY purpose, model""",
        (since,),
    )
    return [UsageLine(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one call took, and when."""

    created_at: str
    purpose: str
    tokens: int
    """Prompt and reply, whether from the cache or not."""
    cost_usd: float | None


def spent_by_call(db: sqlite3.Connection) -> list[Spent]:
    """Return what each call took, oldest first."""
    rows = db.execute(
        """SELECT created_at, purpose,
                  input_tokens + cache_read_tokens + cache_write_tokens + output_tokens, cost_usd
           FROM usage ORDER BY created_at, id"""
    )
    return [Spent(*row) for row in rows]


def spent_on_stored_talk(db: sqlite3.Connection) -> float:
    """Return what the stored conversations have cost, with all memory work."""
    return float(
        scalar(
            db,
            """SELECT total(cost_usd) FROM usage
               WHERE purpose <> 'chat' OR conversation_id IS NOT NULL""",
        )
    )


@dataclass(frozen=True, slots=True)
class Spoken:
    """What counts for the cost of a message."""

    conversation_id: int
    role: str
    tokens: int
    created_at: str
    model: str | None
    """Of a reply: what made it."""
    retried: int


def spoken_messages(db: sqlite3.Connection) -> Iterator[Spoken]:
    """Yield the messages written here, conversation by conversation, in order.

    Imported messages cost nothing.
    """
    rows = db.execute(
        """SELECT conversation_id, role, token_count, created_at, model, retried FROM messages
           WHERE archived = 0 ORDER BY conversation_id, id"""
    )
    yield from (Spoken(*row) for row in rows)


def token_factor(db: sqlite3.Connection, model: str) -> float:
    """Return actual / estimated prompt tokens for a model.

    1.0 while nothing is known.
    """
    return float(scalar(db, "SELECT factor FROM token_factors WHERE model = ?", (model,)) or 1.0)


def learn_token_factor(db: sqlite3.Connection, model: str, estimated: int, actual: int) -> None:
    """Move a model's factor towards what a call showed: a clamped moving average."""
    if estimated < _SAMPLE_MINIMUM or actual < _SAMPLE_MINIMUM:
        return
    low, high = _FACTOR_RANGE
    sample = min(high, max(low, actual / estimated))
    db.execute(
        """INSERT INTO token_factors (model, factor, samples) VALUES (?, ?, 1)
           ON CONFLICT (model) DO UPDATE SET
               factor = factor + ? * (excluded.factor - factor), samples = samples + 1""",
        (model, sample, _WEIGHT),
    )
