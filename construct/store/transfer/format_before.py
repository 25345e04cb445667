"""The types of line in exports of versions 1 and 2.

They are read into a database of schema 12, and migration 13 then makes of them what it
makes of every older database (store/schema_notes.py).
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from construct.store.transfer.checks import flag, one_of, text, time
from construct.store.transfer.format import KINDS, Field, Kind, optional_field, reference

NEXT_STEP = "m013_one_kind_of_note"
"""The migration that follows the schema of the databases that those exports were made from."""

_FORGET_REQUEST = Kind(
    "forget_request",
    "forget_requests",
    (
        reference("cycle", "cycle"),
        reference("observation", "observation"),
        reference("message", "message"),
        Field("along", flag, default=0),
        optional_field("withheld_at", time),
        optional_field("answered_at", time),
    ),
)
_MEMORY = Kind(
    "memory",
    "memories",
    (
        Field("content", text),
        optional_field("category"),
        Field("origin", one_of("user", "assistant", "observation")),
        reference("observation", "observation"),
        Field("created_at", time),
        optional_field("superseded_at", time),
        reference("superseded_by", "memory", "superseded_by", later=True),
        reference("cycle", "cycle"),
    ),
)
_OUTDATED = Kind(
    "outdated",
    "observation_replaced",
    (
        reference("old", "observation", "replaced_id", needed=True),
        reference("by", "observation", "observation_id", needed=True),
        reference("cycle", "cycle", needed=True),
    ),
    keyed=False,
)
"""Files of version 1 have these instead of `replaced`: the kind of cycle tells the relation."""


def _without(kind: str, names: Collection[str]) -> Kind:
    fields = (field for field in KINDS[kind].fields if field.key not in names)
    return replace(KINDS[kind], fields=tuple(fields))


def _relation() -> Kind:
    fields = (
        reference("memory", "memory", needed=True) if field.key == "observation" else field
        for field in KINDS["relation"].fields
    )
    return replace(KINDS["relation"], fields=tuple(fields))


_KINDS_2: Mapping[str, Kind] = {
    name: kind
    for name, kind in KINDS.items()
    if name not in {"flag", "question", "question_item", "value"}
} | {
    "message": _without("message", {"utc_offset", "pasted", "outside"}),
    "observation": _without(
        "observation",
        {
            "kept", "category", "referenced_time", "recurs", "recurs_except", "label",
            "remind_at", "read_by",
        },
    ),
    "forget_request": _FORGET_REQUEST,
    "memory": _MEMORY,
    "conversation": _without("conversation", {"forked_by_sync"}),
    "tombstone": _without("tombstone", {"is_deleted"}),
    "relation": _relation(),
}  # fmt: skip


def kinds_of(version: int) -> Mapping[str, Kind]:
    """Return the types of line that a file of version 1 or 2 may contain."""
    return {**_KINDS_2, _OUTDATED.type: _OUTDATED} if version == 1 else _KINDS_2
