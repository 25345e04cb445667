"""What stands on the lines of a JSONL export: one list for writing them and for reading them.

A row is named by its uid wherever another refers to it; its id is written beside, and used
again only where the database was empty, so that `memory why 12` means the same after a
restore. Every value of a line is checked here before it comes near SQL.
"""

import base64
import json
import math
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
    Relation,
    Role,
    Stance,
    WatermarkName,
)

SqlValue = str | int | float | bytes | None
Check = Callable[[Any], SqlValue]
_BIGGEST = 1 << 53
_REQUIRED = object()


def text(value: Any) -> str:
    """Return text as it can be stored."""
    if not isinstance(value, str):
        raise ValueError("must be text")  # noqa: TRY004 (a file's value is wrong, not a caller's type)
    return storable(value)


def uid(value: Any) -> str:
    """Return an identity: a short word without spaces."""
    if not isinstance(value, str) or not re.fullmatch(r"[!-~]{1,200}", value):
        raise ValueError("must be a word of at most 200 ASCII characters")
    return value


def whole(least: int) -> Check:
    """Return a check for a whole number that is not below another."""

    def check(value: Any) -> int:
        if type(value) is not int or not least <= value <= _BIGGEST:
            raise ValueError(f"must be a whole number, {least} or more")
        return value

    return check


def flag(value: Any) -> int:
    """Return 0 or 1; false and true are taken too."""
    if not isinstance(value, int) or value not in (0, 1):
        raise ValueError("must be 0 or 1")
    return int(value)


def amount(value: Any) -> float:
    """Return an amount of money."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise ValueError("must be a number, 0 or more")
    return float(value)


def time(value: Any) -> str:
    """Return a time in UTC.

    One that says so already stays letter for letter as it is.
    """
    with suppress(TypeError, ValueError, OverflowError):
        # `fromisoformat` takes any separator, ESC too
        if re.fullmatch(r"[0-9TWZtz:.,+ -]{8,40}", value):
            moment = from_text(value)
            return str(value) if value.endswith("+00:00") else to_text(moment)
    raise ValueError("must be a time such as 2026-03-01T14:30:00+01:00")


def day(value: Any) -> str:
    """Return a date."""
    with suppress(TypeError, ValueError):
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            return date.fromisoformat(value).isoformat()
    raise ValueError("must be a date such as 2026-03-01")


def day_month_or_year(value: Any) -> str:
    """Return a day, a month or a year that the calendar has."""
    with suppress(TypeError, ValueError):
        if re.fullmatch(r"[0-9]{4}(?:-[0-9]{2}){0,2}", value):
            date.fromisoformat(value + "0000-01-01"[len(value) :])
            return str(value)
    raise ValueError("must be a date such as 2026-03-01, a month such as 2026-03 or a year")


def one_of(*words: str) -> Check:
    """Return a check for one of these words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError("must be " + " or ".join(f'"{word}"' for word in words))
        return value

    return check


def json_list(of: type) -> Check:
    """Return a check for the text of a JSON list of such elements."""

    def check(value: Any) -> str:
        found = read_json(text(value))
        if not isinstance(found, list) or not all(isinstance(element, of) for element in found):
            raise ValueError("must be the text of a JSON list")
        if re.search("[\ud800-\udfff]", json.dumps(found, ensure_ascii=False)):
            raise ValueError("must hold text that can be written")  # lone surrogates, escaped twice
        return text(value)

    return check


def base64_data(value: Any) -> bytes:
    """Return the bytes that base64 stands for."""
    with suppress(TypeError, ValueError):
        return base64.b64decode(value, validate=True)
    raise ValueError("must be base64")


def message_blocks(value: Any) -> SqlValue:
    """Return a message's blocks: a JSON list of objects, or what a notebook's reply quotes."""
    found = read_json(text(value))
    if not isinstance(found, dict):
        return json_list(dict)(value)
    quotes = found.get("quotes")
    if found.keys() != {"type", "quotes"} or found["type"] != "notebook":
        raise ValueError("must be the text of a JSON list, or a notebook's reply")
    if not isinstance(quotes, list):
        raise ValueError('must hold a list of uids as "quotes"')  # noqa: TRY004 (a file's value)
    return json.dumps({"type": "notebook", "quotes": [uid(name) for name in quotes]})


def optional(check: Check) -> Check:
    """Return a check that lets null pass."""
    return lambda value: None if value is None else check(value)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)  # a new one a line takes as long


def read_json(words: str) -> Any:
    """Return what JSON says.

    Raises ValueError for whatever is none, NaN and bottomless nesting too.
    """
    try:
        return _DECODER.decode(words)
    except RecursionError:
        raise ValueError("nested too deeply") from None


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a line, and the column it is kept in: of the same name unless told otherwise."""

    key: str
    check: Check
    column: str = ""
    default: Any = _REQUIRED
    ref: str = ""
    """The type of line that the value, a uid, names."""
    later: bool = False
    """What is named may stand further down."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", self.column or self.key)


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of line and the table it is kept in."""

    type: str
    table: str
    fields: tuple[Field, ...]
    keyed: bool = True
    """Whether its rows have an id and a uid."""
    where: str = "1"
    """Which rows are exported: nothing of running cycles is."""
    order: str = "id"
    owner: str = ""
    """The type of row that one without a uid comes along with, when that is new."""


def _ref(
    key: str, to: str, column: str = "", *, needed: bool = False, later: bool = False
) -> Field:
    column = column or f"{key}_id"
    if needed:
        return Field(key, uid, column, ref=to)
    return Field(key, optional(uid), column, None, to, later)


def _maybe(key: str, check: Check = text, column: str = "") -> Field:
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
                _maybe("title"),
                _maybe("titled_by", one_of("user", "observer")),
                Field("created_at", time),
                _ref("parent", "conversation", later=True),
                _ref("forked_at", "message", "forked_at_message_id", later=True),
                _ref("forked_window", "message", "forked_window_message_id", later=True),
                _maybe("current_task"),
                _maybe("suggested_response"),
                _maybe("last_request_at", time),
                _maybe("cache_life"),
            ),
        ),
        Kind(
            "message",
            "messages",
            (
                _ref("conversation", "conversation", needed=True),
                Field("role", one_of(*Role)),
                Field("content", text),
                _maybe("blocks", message_blocks),
                Field("status", one_of(*MessageStatus), default=MessageStatus.COMPLETE),
                Field("archived", flag, default=0),
                Field("token_count", number),
                Field("created_at", time),
                _maybe("stop_reason"),
                _maybe("model"),
                Field("retried", flag, default=0),
                Field("withheld", flag, default=0),
            ),
        ),
        Kind(
            "attachment",
            "attachments",
            (
                _ref("message", "message", needed=True),
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
                _ref("conversation", "conversation"),
                Field("kind", one_of(*CycleKind)),
                Field("status", one_of(*_FINISHED)),
                _ref("first_message", "message"),
                _ref("last_message", "message"),
                _maybe("model"),
                Field("input_tokens", number, default=0),
                Field("output_tokens", number, default=0),
                Field("attempts", number, default=0),
                Field("started_at", time),
                _maybe("finished_at", time),
                _maybe("error"),
                _maybe("notes", json_list(str)),
                _maybe("base_tokens", number),
                _maybe("reverted_at", time),
                _ref("held_message", "message"),
            ),
            where="status <> 'running'",
        ),
        Kind(
            "observation",
            "observations",
            (
                _ref("conversation", "conversation"),
                Field("content", text),
                Field("priority", one_of(*Priority)),
                Field("stance", one_of(*Stance)),
                Field("observation_date", day),
                _maybe("referenced_date", day_month_or_year),
                Field("generation", number),
                _ref("cycle", "cycle", needed=True),
                Field("token_count", number),
                Field("pinned", flag, default=0),
                Field("created_at", time),
                _maybe("committed_at", time),
                _maybe("superseded_at", time),
                _ref("superseded_by", "cycle", "superseded_by"),
                Field("origin", one_of("worker", "user"), default="worker"),
                _maybe("asked_at", time),
                Field("withheld", flag, default=0),
            ),
            where=f"cycle_id NOT IN {_RUNNING}",
        ),
        Kind(
            "replaced",
            "observation_replaced",
            (
                _ref("observation", "observation", needed=True),
                _ref("replaced", "observation", needed=True),
                _ref("cycle", "cycle", needed=True),
                Field("relation", one_of(*Relation)),
            ),
            keyed=False,
            order="observation_id, replaced_id, cycle_id",
            owner="cycle",
        ),
        Kind(
            "borrowed",
            "observation_borrowed",
            (
                _ref("observation", "observation", needed=True),
                _ref("lender", "observation", needed=True),
            ),
            keyed=False,
            order="observation_id, lender_id",
            owner="observation",
        ),
        Kind(
            "forget_request",
            "forget_requests",
            (
                _ref("cycle", "cycle"),
                _ref("observation", "observation"),
                _ref("message", "message"),
                Field("along", flag, default=0),
                _maybe("withheld_at", time),
                _maybe("answered_at", time),
            ),
            where=f"ifnull(cycle_id, 0) NOT IN {_RUNNING}",
        ),
        Kind(
            "memory",
            "memories",
            (
                Field("content", text),
                _maybe("category"),
                Field("origin", one_of(*MemoryOrigin)),
                _ref("observation", "observation"),
                Field("created_at", time),
                _maybe("superseded_at", time),
                _ref("superseded_by", "memory", "superseded_by", later=True),
                _ref("cycle", "cycle"),
            ),
            where="ifnull(observation_id, 0) NOT IN"
            f" (SELECT id FROM observations WHERE cycle_id IN {_RUNNING})",
        ),
        Kind(
            "entity",
            "entities",
            (
                Field("name", text),
                _maybe("entity_type", text, "type"),
                Field("aliases", json_list(str), default="[]"),
                _ref("cycle", "cycle"),
            ),
        ),
        Kind(
            "relation",
            "relations",
            (
                _ref("subject", "entity", needed=True),
                Field("predicate", text),
                _ref("object", "entity", needed=True),
                _ref("memory", "memory", needed=True),
                Field("created_at", time),
                _maybe("superseded_at", time),
                _ref("cycle", "cycle"),
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
                _maybe("cost_usd", amount),
                _ref("conversation", "conversation"),
                _ref("cycle", "cycle"),
            ),
        ),
        Kind(
            "watermark",
            "watermarks",
            (
                _ref("conversation", "conversation", needed=True),
                Field("name", one_of(*WatermarkName)),
                _ref("message", "message", needed=True),
                Field("updated_at", time),
            ),
            keyed=False,
            order="conversation_id, name",
        ),
        Kind(
            "shown",
            "shown",
            (
                _ref("conversation", "conversation", needed=True),
                _ref("observation", "observation", needed=True),
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
"""In the order in which they are written: what is named comes first."""

OUTDATED = Kind(
    "outdated",
    "observation_replaced",
    (
        _ref("old", "observation", "replaced_id", needed=True),
        _ref("by", "observation", "observation_id", needed=True),
        _ref("cycle", "cycle", needed=True),
    ),
    keyed=False,
)
"""What files of version 1 have instead of `replaced`.

The cycle's kind tells the relation.
"""


def kinds_of(version: int) -> Mapping[str, Kind]:
    """Return the types of line that a file of this version may hold."""
    return KINDS | {OUTDATED.type: OUTDATED} if version == 1 else KINDS


def parse(kind: Kind, record: Mapping[str, Any]) -> dict[str, SqlValue]:
    """Return a line's values by key, checked; raises ValueError naming the key."""
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


class RefusedError(Exception):
    """A file that cannot be imported: at which line or in which conversation, and why."""

    def __init__(
        self, where: str, why: object, advice: str = "Correct the file, or export it again"
    ) -> None:
        super().__init__(where, why)
        self.where, self.why, self.advice = where, why, advice


def foreign() -> RefusedError:
    """Return the refusal of what no program that we know has exported."""
    why = "it is neither an export of Construct, ChatGPT or Claude, nor lines of messages"
    return RefusedError("", why, "ChatGPT and Claude call theirs conversations.json")
