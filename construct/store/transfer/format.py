"""The format of a JSONL export: the types of line and their fields, for export and import.

References between rows use uids. Ids are exported too, but kept only when importing
into an empty database, so that `memory why 12` means the same after a restore. Every
value is checked here before it is used in SQL.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any

from construct.clock import from_text, to_text
from construct.text import storable
from construct.vocabulary import (
    CycleKind,
    CycleStatus,
    MemoryOrigin,
    MessageStatus,
    Priority,
    Replacement,
    Role,
    Stance,
    WatermarkName,
)

SqlValue = str | int | float | bytes | None
Check = Callable[[Any], SqlValue]
"""Returns a value of a line as it is stored. Raises ValueError: "must be ..."."""
_MAX_INTEGER = 1 << 53
_REQUIRED = object()


def text(value: Any) -> str:
    """Return a text without characters that cannot be stored."""
    if not isinstance(value, str):
        raise ValueError("must be text")  # noqa: TRY004 (a file's value is wrong, not a caller's type)
    return storable(value)


def uid(value: Any) -> str:
    """Return a uid: printable ASCII characters without spaces."""
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{1,200}", value):
        raise ValueError("must be a word of at most 200 ASCII characters")
    return value


def whole(minimum: int) -> Check:
    """Return a check that allows whole numbers from `minimum` up."""

    def check(value: Any) -> int:
        if type(value) is not int or not minimum <= value <= _MAX_INTEGER:
            raise ValueError(f"must be a whole number, {minimum} or more")
        return value

    return check


def flag(value: Any) -> int:
    """Return a flag as 0 or 1; false and true are allowed too."""
    if not isinstance(value, int) or value not in (0, 1):
        raise ValueError("must be 0 or 1")
    return int(value)


def amount(value: Any) -> float:
    """Return an amount of money."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _MAX_INTEGER:  # NaN fails this too
        raise ValueError("must be a number, 0 or more")
    return float(value)


def time(value: Any) -> str:
    """Return a time in UTC. One that ends in +00:00 is returned unchanged."""
    with suppress(TypeError, ValueError, OverflowError):
        # fromisoformat() allows any separator, even an escape character
        if re.fullmatch(r"[0-9TWZtz:.,+ -]{8,40}", value):
            moment = from_text(value)
            return str(value) if value.endswith("+00:00") else to_text(moment)
    raise ValueError("must be a time such as 2026-03-01T14:30:00+01:00")


def day(value: Any) -> str:
    """Return a day as YYYY-MM-DD."""
    with suppress(TypeError, ValueError):
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            return date.fromisoformat(value).isoformat()
    raise ValueError("must be a date such as 2026-03-01")


def day_month_or_year(value: Any) -> str:
    """Return a valid day, month or year: YYYY-MM-DD, YYYY-MM or YYYY."""
    with suppress(TypeError, ValueError):
        if re.fullmatch(r"[0-9]{4}(?:-[0-9]{2}){0,2}", value):
            date.fromisoformat(value + "0000-01-01"[len(value) :])
            return str(value)
    raise ValueError("must be a date such as 2026-03-01, a month such as 2026-03 or a year")


def one_of(*words: str) -> Check:
    """Return a check that allows only these words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError("must be " + " or ".join(f'"{word}"' for word in words))
        return value

    return check


def _from_json(source: str) -> Any:
    """Parse the JSON that the text of a field holds."""
    try:
        return read_json(source)
    except ValueError:
        raise ValueError("must be the text of valid JSON") from None


def json_list(element_type: type) -> Check:
    """Return a check that allows the text of a JSON list with elements of this type."""

    def check(value: Any) -> str:
        elements = _from_json(text(value))
        if not isinstance(elements, list) or not all(isinstance(e, element_type) for e in elements):
            raise ValueError("must be the text of a JSON list")
        if re.search("[\ud800-\udfff]", json.dumps(elements, ensure_ascii=False)):
            raise ValueError("must not contain lone surrogates")  # they cannot be stored
        return text(value)

    return check


def base64_data(value: Any) -> bytes:
    """Return the bytes that a base64 text encodes.

    Bytes (from an SQLite file) are returned unchanged.
    """
    if isinstance(value, bytes):
        return value
    with suppress(TypeError, ValueError):
        return base64.b64decode(value, validate=True)
    raise ValueError("must be base64")


def message_blocks(value: Any) -> SqlValue:
    """Return a message's blocks: a JSON list of objects, or what a notebook's reply quotes."""
    blocks = _from_json(text(value))
    if not isinstance(blocks, dict):
        return json_list(dict)(value)
    quotes = blocks.get("quotes")
    if blocks.keys() != {"type", "quotes"} or blocks["type"] != "notebook":
        raise ValueError("must be the text of a JSON list, or a notebook's reply")
    with suppress(ValueError):
        if isinstance(quotes, list):
            return json.dumps({"type": "notebook", "quotes": [uid(name) for name in quotes]})
    raise ValueError('must have a list of uids as "quotes"')


def optional(check: Check) -> Check:
    """Return a check that also allows null."""
    return lambda value: None if value is None else check(value)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# Made only once, because that takes as long as parsing a line.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def read_json(source: str) -> Any:
    """Parse JSON. Raises ValueError if it is invalid, contains NaN or is nested too deeply."""
    try:
        return _DECODER.decode(source)
    except RecursionError:
        raise ValueError("nested too deeply") from None


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a line, and the column it is stored in (by default of the same name)."""

    key: str
    check: Check
    column: str = ""
    default: Any = _REQUIRED
    ref: str = ""
    """The type of line that the value refers to by uid; empty if it is not a reference."""
    later: bool = False
    """Whether the line it refers to may come later in the file."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", self.column or self.key)


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of line and the table it is stored in."""

    type: str
    table: str
    fields: tuple[Field, ...]
    keyed: bool = True
    """Whether the rows have an id and a uid."""
    where: str = "1"
    """SQL condition for the rows to export. Results of running cycles are left out."""
    order: str = "id"
    owner: str = ""
    """For rows without a uid: they are imported if the row of this type they belong to is new."""


def _reference(
    key: str, to: str, column: str = "", *, needed: bool = False, later: bool = False
) -> Field:
    column = column or f"{key}_id"
    if needed:
        return Field(key, uid, column, ref=to)
    return Field(key, optional(uid), column, None, to, later)


def _optional(key: str, check: Check = text, column: str = "") -> Field:
    return Field(key, optional(check), column, None)


number = whole(0)
_KEYS = (Field("id", whole(1)), Field("uid", uid))
COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_FINISHED = [status for status in CycleStatus if status is not CycleStatus.RUNNING]
_RUNNING = "(SELECT id FROM cycles WHERE status = 'running')"

KINDS: dict[str, Kind] = {
    kind.type: kind
    for kind in (
        Kind(
            "conversation",
            "conversations",
            (
                _optional("title"),
                _optional("titled_by", one_of("user", "observer")),
                Field("created_at", time),
                _reference("parent", "conversation", later=True),
                _reference("forked_at", "message", "forked_at_message_id", later=True),
                _reference("forked_window", "message", "forked_window_message_id", later=True),
                _optional("current_task"),
                _optional("suggested_response"),
                _optional("last_request_at", time),
                _optional("cache_life"),
            ),
        ),
        Kind(
            "message",
            "messages",
            (
                _reference("conversation", "conversation", needed=True),
                Field("role", one_of(*Role)),
                Field("content", text),
                _optional("blocks", message_blocks),
                Field("status", one_of(*MessageStatus), default=MessageStatus.COMPLETE),
                Field("archived", flag, default=0),
                Field("token_count", number),
                Field("created_at", time),
                _optional("stop_reason"),
                _optional("model"),
                Field("retried", flag, default=0),
                Field("withheld", flag, default=0),
            ),
        ),
        Kind(
            "attachment",
            "attachments",
            (
                _reference("message", "message", needed=True),
                Field("position", number),
                Field("name", text),
                Field("media_type", text),
                Field("sha256", text),
                Field("size", number),
                Field("token_count", number),
                Field("data", base64_data),
            ),
        ),
        Kind(
            "cycle",
            "cycles",
            (
                _reference("conversation", "conversation"),
                Field("kind", one_of(*CycleKind)),
                Field("status", one_of(*_FINISHED)),
                _reference("first_message", "message"),
                _reference("last_message", "message"),
                _optional("model"),
                Field("input_tokens", number, default=0),
                Field("output_tokens", number, default=0),
                Field("attempts", number, default=0),
                Field("started_at", time),
                _optional("finished_at", time),
                _optional("error"),
                _optional("notes", json_list(str)),
                _optional("base_tokens", number),
                _optional("reverted_at", time),
                _reference("held_message", "message"),
            ),
            where="status <> 'running'",
        ),
        Kind(
            "observation",
            "observations",
            (
                _reference("conversation", "conversation"),
                Field("content", text),
                Field("priority", one_of(*Priority)),
                Field("stance", one_of(*Stance)),
                Field("observation_date", day),
                _optional("referenced_date", day_month_or_year),
                Field("generation", number),
                _reference("cycle", "cycle", needed=True),
                Field("token_count", number),
                Field("pinned", flag, default=0),
                Field("created_at", time),
                _optional("committed_at", time),
                _optional("superseded_at", time),
                _reference("superseded_by", "cycle", "superseded_by"),
                Field("origin", one_of("worker", "user"), default="worker"),
                _optional("asked_at", time),
                Field("withheld", flag, default=0),
            ),
            where=f"cycle_id NOT IN {_RUNNING}",
        ),
        Kind(
            "replaced",
            "observation_replaced",
            (
                _reference("observation", "observation", needed=True),
                _reference("replaced", "observation", needed=True),
                _reference("cycle", "cycle", needed=True),
                Field("relation", one_of(*Replacement)),
            ),
            keyed=False,
            order="observation_id, replaced_id, cycle_id",
            owner="cycle",
        ),
        Kind(
            "borrowed",
            "observation_borrowed",
            (
                _reference("observation", "observation", needed=True),
                _reference("lender", "observation", needed=True),
            ),
            keyed=False,
            order="observation_id, lender_id",
            owner="observation",
        ),
        Kind(
            "forget_request",
            "forget_requests",
            (
                _reference("cycle", "cycle"),
                _reference("observation", "observation"),
                _reference("message", "message"),
                Field("along", flag, default=0),
                _optional("withheld_at", time),
                _optional("answered_at", time),
            ),
            where=f"ifnull(cycle_id, 0) NOT IN {_RUNNING}",
        ),
        Kind(
            "memory",
            "memories",
            (
                Field("content", text),
                _optional("category"),
                Field("origin", one_of(*MemoryOrigin)),
                _reference("observation", "observation"),
                Field("created_at", time),
                _optional("superseded_at", time),
                _reference("superseded_by", "memory", "superseded_by", later=True),
                _reference("cycle", "cycle"),
            ),
            where="ifnull(observation_id, 0) NOT IN"
            f" (SELECT id FROM observations WHERE cycle_id IN {_RUNNING})",
        ),
        Kind(
            "entity",
            "entities",
            (
                Field("name", text),
                _optional("entity_type", text, "type"),
                Field("aliases", json_list(str), default="[]"),
                _reference("cycle", "cycle"),
            ),
        ),
        Kind(
            "relation",
            "relations",
            (
                _reference("subject", "entity", needed=True),
                Field("predicate", text),
                _reference("object", "entity", needed=True),
                _reference("memory", "memory", needed=True),
                Field("created_at", time),
                _optional("superseded_at", time),
                _reference("cycle", "cycle"),
            ),
        ),
        Kind(
            "usage",
            "usage",
            (
                Field("created_at", time),
                Field("purpose", text),
                Field("model", text),
                *(Field(key, number, default=0) for key in COUNTS),
                _optional("cost_usd", amount),
                _reference("conversation", "conversation"),
                _reference("cycle", "cycle"),
            ),
        ),
        Kind(
            "watermark",
            "watermarks",
            (
                _reference("conversation", "conversation", needed=True),
                Field("name", one_of(*WatermarkName)),
                _reference("message", "message", needed=True),
                Field("updated_at", time),
            ),
            keyed=False,
            order="conversation_id, name",
        ),
        Kind(
            "shown",
            "shown",
            (
                _reference("conversation", "conversation", needed=True),
                _reference("observation", "observation", needed=True),
                Field("block", number),
            ),
            keyed=False,
            order="conversation_id, observation_id",
            owner="conversation",
        ),
        Kind(
            "tombstone",
            "tombstones",
            (Field("message", uid, "message_uid"), Field("created_at", time)),
            keyed=False,
            order="message_uid",
        ),
    )
}
"""The types of line in the order of the file.

Rows come after those they refer to, except where `Field.later` is true.
"""
KEYED = [kind for kind in KINDS.values() if kind.keyed]
"""The types of line whose rows have a uid."""

OUTDATED = Kind(
    "outdated",
    "observation_replaced",
    (
        _reference("old", "observation", "replaced_id", needed=True),
        _reference("by", "observation", "observation_id", needed=True),
        _reference("cycle", "cycle", needed=True),
    ),
    keyed=False,
)
"""The type of line that files of version 1 have instead of `replaced`.

The relation follows from the kind of cycle.
"""


def kinds_of(version: int) -> Mapping[str, Kind]:
    """Return the types of line that a file of this version may contain."""
    return KINDS | {OUTDATED.type: OUTDATED} if version == 1 else KINDS


def parse(kind: Kind, record: Mapping[str, Any]) -> dict[str, SqlValue]:
    """Return the checked values of a line by key. The ValueError for a bad one names its key."""
    fields = (*_KEYS, *kind.fields) if kind.keyed else kind.fields
    return {field.key: _value(field, record) for field in fields}


def _value(field: Field, record: Mapping[str, Any]) -> SqlValue:
    value = record.get(field.key, field.default)
    if value is _REQUIRED:
        raise ValueError(f'"{field.key}" is missing')
    try:
        return field.check(value)
    except ValueError as error:
        raise ValueError(f'"{field.key}" {error}') from None
