"""Usage: the tokens and cost of each model call, and each model's token factor."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from construct.store.driver import Connection
from construct.store.sql import insert, new_uid, scalar
from construct.tokens import Usage

_MIN_SAMPLE_TOKENS = 200
"""Smaller prompts say too little about a model's token factor."""
_SAMPLE_WEIGHT = 0.3
"""Weight of a new sample in the moving average, between 0 and 1."""
_MIN_FACTOR, _MAX_FACTOR = 0.5, 4.0


@dataclass(frozen=True, slots=True)
class Call:
    """One model call, as it is stored."""

    purpose: str
    model: str
    usage: Usage
    cost_usd: float | None


def record_usage(
    db: Connection,
    call: Call,
    now: str,
    conversation_id: int | None = None,
    cycle_id: int | None = None,
) -> None:
    """Store the usage of one call.

    A conversation or cycle that has been deleted in the meantime is left out.
    """
    row = {
        "uid": new_uid(), "created_at": now, "purpose": call.purpose, "model": call.model,
        **_tokens(call.usage), "cost_usd": call.cost_usd,
        "conversation_id": scalar(
            db, "SELECT id FROM conversations WHERE id = ?", (conversation_id,)
        ),
        "cycle_id": scalar(db, "SELECT id FROM cycles WHERE id = ?", (cycle_id,)),
    }  # fmt: skip
    insert(db, "usage", row)


def record_private_usage(db: Connection, call: Call, midnight: str) -> None:
    """Add a call of private talk to the one row for its day, purpose and model.

    So what was spent is known, but not at what time or in how many calls.
    """
    amounts = _tokens(call.usage) | {"cost_usd": call.cost_usd}
    sums = ", ".join(f"{name} = {name} + :{name}" for name in _tokens(call.usage))
    # A call without a known price leaves the sum of the others as it is.
    sums += ", cost_usd = coalesce(cost_usd + :cost_usd, cost_usd, :cost_usd)"
    updated = db.execute(
        f"""UPDATE usage SET {sums}
            WHERE created_at = :day AND purpose = :purpose AND model = :model
                AND conversation_id IS NULL AND cycle_id IS NULL
                AND id > (SELECT max(id) FROM usage) - 5000  -- created_at has no index""",
        {**amounts, "day": midnight, "purpose": call.purpose, "model": call.model},
    ).rowcount
    if not updated:
        record_usage(db, call, midnight)


def _tokens(usage: Usage) -> dict[str, object]:
    """Return the columns with a call's tokens. What its searches cost is in the cost."""
    return {name: value for name, value in asdict(usage).items() if name != "web_searches"}


def spent_on_memory(db: Connection, since: str = "", until: str = "~") -> float:
    """Return the dollars that memory work cost from one stored time to another.

    By default, for all time: "~" sorts after every stored time.
    """
    # The first condition must be the one of the partial index usage_of_work.
    query = """SELECT total(cost_usd) FROM usage
               WHERE purpose <> 'chat' AND created_at >= ? AND created_at < ?"""
    return scalar(db, query, (since, until))


def unpriced_tokens_of_memory(db: Connection, since: str, until: str) -> int:
    """Return the tokens, read and written, of memory work whose price is unknown."""
    query = """SELECT total(input_tokens + cache_read_tokens + cache_write_tokens + output_tokens)
               FROM usage WHERE purpose <> 'chat' AND created_at >= ? AND created_at < ?
               AND cost_usd IS NULL"""
    return int(scalar(db, query, (since, until)))


@dataclass(frozen=True, slots=True)
class UsageLine:
    """Usage summed over the calls with one purpose and one model."""

    purpose: str
    model: str
    calls: int
    """Those of private talk on one day count as one."""
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float | None


def usage_lines(db: Connection, since: str = "") -> list[UsageLine]:
    """Return usage by purpose and model.

    A line's cost is None if no call in it had a known price.
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
    """The tokens and cost of one call, or of a day's calls in private talk."""

    created_at: str
    purpose: str
    tokens: int
    """Prompt and reply together, cached or not."""
    cost_usd: float | None


def spent_by_call(db: Connection) -> list[Spent]:
    """Return the tokens and cost of each call, oldest first."""
    rows = db.execute(
        """SELECT created_at, purpose,
                  input_tokens + cache_read_tokens + cache_write_tokens + output_tokens, cost_usd
           FROM usage ORDER BY created_at, id"""
    )
    return [Spent(*row) for row in rows]


def spent_on_stored_conversations(db: Connection) -> float:
    """Return the dollars that stored conversations and all memory work have cost."""
    query = """SELECT total(cost_usd) FROM usage
               WHERE purpose <> 'chat' OR conversation_id IS NOT NULL"""
    return float(scalar(db, query))


@dataclass(frozen=True, slots=True)
class PricedMessage:
    """The columns of a message that its cost depends on."""

    conversation_id: int
    role: str
    tokens: int
    created_at: str
    model: str | None
    """The model that wrote a reply. None for the user's messages and other programs' replies."""
    retried: int


def priced_messages(db: Connection) -> Iterator[PricedMessage]:
    """Yield the unarchived messages, by conversation, oldest first.

    Imported messages are left out while they are archived.
    """
    rows = db.execute(
        """SELECT conversation_id, role, token_count, created_at, model, retried FROM messages
           WHERE archived = 0 ORDER BY conversation_id, id"""
    )
    yield from (PricedMessage(*row) for row in rows)


def token_factor(db: Connection, model: str) -> float:
    """Return the ratio of actual to estimated prompt tokens for a model, 1.0 if unknown."""
    return float(scalar(db, "SELECT factor FROM token_factors WHERE model = ?", (model,)) or 1.0)


def learn_token_factor(db: Connection, model: str, estimated: int, actual: int) -> None:
    """Update a model's token factor from one call: a clamped moving average."""
    if min(estimated, actual) < _MIN_SAMPLE_TOKENS:
        return
    sample = min(_MAX_FACTOR, max(_MIN_FACTOR, actual / estimated))
    db.execute(
        """INSERT INTO token_factors (model, factor, samples) VALUES (?, ?, 1)
           ON CONFLICT (model) DO UPDATE SET
               factor = factor + ? * (excluded.factor - factor), samples = samples + 1""",
        (model, sample, _SAMPLE_WEIGHT),
    )
