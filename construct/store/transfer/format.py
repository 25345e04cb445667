"""The format of a JSONL export: the types of line and their fields, for export and import.

References between rows use uids. Ids are exported too, but kept only when importing
into an empty database, so that `memory why 12` means the same after a restore. Every
value is checked (checks.py) before it is used in SQL.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from construct.store.transfer.checks import (
    Check,
    SqlValue,
    amount,
    base64_data,
    clock_moment,
    clock_time,
    day,
    day_month_or_year,
    finite,
    flag,
    json_list,
    message_blocks,
    minutes_east,
    one_of,
    optional,
    spans,
    text,
    time,
    uid,
    whole,
)
from construct.vocabulary import (
    CycleKind,
    CycleStatus,
    Flag,
    MessageStatus,
    Origin,
    Outside,
    Priority,
    QuestionKind,
    Recurrence,
    Replacement,
    Role,
    Stance,
    WatermarkName,
)

_REQUIRED = object()


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
    owner_column: str = ""
    """The column that names that row, by default the one called after its type."""


def reference(
    key: str, to: str, column: str = "", *, needed: bool = False, later: bool = False
) -> Field:
    """Return a field with the uid of another row."""
    column = column or f"{key}_id"
    if needed:
        return Field(key, uid, column, ref=to)
    return Field(key, optional(uid), column, None, to, later)


def optional_field(key: str, check: Check = text, column: str = "") -> Field:
    """Return a field that may be null or missing."""
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
                optional_field("title"),
                optional_field("titled_by", one_of("user", "observer")),
                Field("created_at", time),
                reference("parent", "conversation", later=True),
                reference("forked_at", "message", "forked_at_message_id", later=True),
                reference("forked_window", "message", "forked_window_message_id", later=True),
                Field("forked_by_sync", flag, default=0),
                optional_field("current_task"),
                optional_field("suggested_response"),
                optional_field("last_request_at", time),
                optional_field("cache_life"),
            ),
        ),
        Kind(
            "message",
            "messages",
            (
                reference("conversation", "conversation", needed=True),
                Field("role", one_of(*Role)),
                Field("content", text),
                optional_field("blocks", message_blocks),
                Field("status", one_of(*MessageStatus), default=MessageStatus.COMPLETE),
                Field("archived", flag, default=0),
                Field("token_count", number),
                Field("created_at", time),
                optional_field("stop_reason"),
                optional_field("model"),
                Field("retried", flag, default=0),
                Field("withheld", flag, default=0),
                optional_field("utc_offset", minutes_east),
                optional_field("pasted", spans),
                optional_field("outside", one_of(*Outside)),
            ),
        ),
        Kind(
            "attachment",
            "attachments",
            (
                reference("message", "message", needed=True),
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
                reference("conversation", "conversation"),
                Field("kind", one_of(*CycleKind)),
                Field("status", one_of(*_FINISHED)),
                reference("first_message", "message"),
                reference("last_message", "message"),
                optional_field("model"),
                Field("input_tokens", number, default=0),
                Field("output_tokens", number, default=0),
                Field("attempts", number, default=0),
                Field("started_at", time),
                optional_field("finished_at", time),
                optional_field("error"),
                optional_field("notes", json_list(str)),
                optional_field("base_tokens", number),
                optional_field("reverted_at", time),
                reference("held_message", "message"),
            ),
            where="status <> 'running'",
        ),
        Kind(
            "observation",
            "observations",
            (
                reference("conversation", "conversation"),
                Field("content", text),
                Field("priority", one_of(*Priority)),
                Field("stance", one_of(*Stance)),
                Field("observation_date", day),
                optional_field("referenced_date", day_month_or_year),
                Field("generation", number),
                reference("cycle", "cycle", needed=True),
                Field("token_count", number),
                Field("pinned", flag, default=0),
                Field("created_at", time),
                optional_field("committed_at", time),
                optional_field("superseded_at", time),
                reference("superseded_by", "cycle", "superseded_by"),
                Field("origin", one_of(*Origin), default=Origin.WORKER),
                Field("kept", flag, default=0),
                optional_field("category"),
                optional_field("referenced_time", clock_time),
                optional_field("recurs", one_of(*Recurrence)),
                optional_field("recurs_except", json_list(str)),
                optional_field("label"),
                optional_field("remind_at", clock_moment),
                reference("read_by", "cycle", "graph_cycle_id"),
                optional_field("asked_at", time),
                Field("withheld", flag, default=0),
            ),
            where=f"cycle_id NOT IN {_RUNNING}",
        ),
        Kind(
            "replaced",
            "observation_replaced",
            (
                reference("observation", "observation", needed=True),
                reference("replaced", "observation", needed=True),
                reference("cycle", "cycle", needed=True),
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
                reference("observation", "observation", needed=True),
                reference("lender", "observation", needed=True),
            ),
            keyed=False,
            order="observation_id, lender_id",
            owner="observation",
        ),
        Kind(
            "flag",
            "observation_flags",
            (
                reference("observation", "observation", needed=True),
                Field("flag", one_of(*Flag)),
                reference("set_by", "cycle", "set_by", needed=True),
                reference("ended_by", "cycle", "ended_by"),
            ),
            keyed=False,
            order="observation_id, flag, set_by",
            owner="cycle",
            owner_column="set_by",
        ),
        Kind(
            "question",
            "questions",
            (
                Field("kind", one_of(*QuestionKind)),
                reference("cycle", "cycle"),
                optional_field("text"),
                optional_field("noted_on", day),
                optional_field("source"),
                Field("created_at", time),
                optional_field("withheld_at", time),
                optional_field("asked_at", time),
                optional_field("answered_at", time),
                optional_field("answer"),
                reference("answered_by", "cycle", "answered_by"),
            ),
            where=f"ifnull(cycle_id, 0) NOT IN {_RUNNING}",
        ),
        Kind(
            "question_item",
            "question_items",
            (
                reference("question", "question", needed=True),
                reference("observation", "observation"),
                reference("message", "message"),
                Field("along", flag, default=0),
            ),
            where=f"""question_id IN (
                SELECT id FROM questions WHERE ifnull(cycle_id, 0) NOT IN {_RUNNING})""",
        ),
        Kind(
            "value",
            "tracked_values",
            (
                Field("name", text),
                Field("amount", finite),
                optional_field("unit"),
                Field("day", day),
                reference("message", "message", needed=True),
                reference("cycle", "cycle", needed=True),
                optional_field("superseded_at", time),
                reference("superseded_by", "cycle", "superseded_by"),
            ),
            where=f"cycle_id NOT IN {_RUNNING}",
        ),
        Kind(
            "entity",
            "entities",
            (
                Field("name", text),
                optional_field("entity_type", text, "type"),
                Field("aliases", json_list(str), default="[]"),
                reference("cycle", "cycle"),
            ),
        ),
        Kind(
            "relation",
            "relations",
            (
                reference("subject", "entity", needed=True),
                Field("predicate", text),
                reference("object", "entity", needed=True),
                reference("observation", "observation", needed=True),
                Field("created_at", time),
                optional_field("superseded_at", time),
                reference("cycle", "cycle"),
            ),
            where=f"""observation_id IN (
                SELECT id FROM observations WHERE cycle_id NOT IN {_RUNNING})""",
        ),
        Kind(
            "usage",
            "usage",
            (
                Field("created_at", time),
                Field("purpose", text),
                Field("model", text),
                *(Field(key, number, default=0) for key in COUNTS),
                optional_field("cost_usd", amount),
                reference("conversation", "conversation"),
                reference("cycle", "cycle"),
            ),
        ),
        Kind(
            "watermark",
            "watermarks",
            (
                reference("conversation", "conversation", needed=True),
                Field("name", one_of(*WatermarkName)),
                reference("message", "message", needed=True),
                Field("updated_at", time),
            ),
            keyed=False,
            order="conversation_id, name",
        ),
        Kind(
            "shown",
            "shown",
            (
                reference("conversation", "conversation", needed=True),
                reference("observation", "observation", needed=True),
                Field("block", number),
            ),
            keyed=False,
            order="conversation_id, observation_id",
            owner="conversation",
        ),
        Kind(
            "tombstone",
            "tombstones",
            (
                Field("message", uid, "message_uid"),
                Field("created_at", time),
                Field("is_deleted", flag, default=0),
            ),
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
