"""Which rows and fields are kept in step, built on the format of an export.

Each field has two SQL expressions over its table (`t`): its value here, from which a
checksum is made, and its value as other machines are told it, with uids for ids. What
belongs to one machine is left out: `compacted` and `window`, what was shown, usage, the
state of a prompt cache. `observed` follows from the cycles, and which observation is
superseded from the claims (outcome.py).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from construct.store.driver import Connection
from construct.store.transfer.checks import Check, SqlValue, optional, read_json, text, time, uid
from construct.store.transfer.format import KINDS, Field, Kind, reference
from construct.store.transfer.jsonl import expression

CHECKSUM_BYTES = 4
_FUNCTION = "sync_checksums"


@dataclass(frozen=True, slots=True)
class Link:
    """Links of an observation that are kept in step as one of its fields, a list of uids."""

    table: str
    column: str
    """The column with the linked row's id."""
    kind: str
    """The linked row's type."""
    where: str = "1"
    also: tuple[tuple[str, str], ...] = ()
    """Further columns and, for references, their type of row."""


@dataclass(frozen=True, slots=True)
class SyncField:
    """A field that is kept in step."""

    key: str
    here: str
    """SQL: its value in this database."""
    told: str
    """SQL: its value as other machines are told it."""
    check: Check
    column: str = ""
    """The column it is stored in; empty for links."""
    ref: str = ""
    """The type of row that it refers to."""
    is_needed: bool = False
    """Whether a row without this reference is left out."""
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class SyncKind:
    """One type of row that is kept in step."""

    type: str
    table: str
    uid: str
    """SQL: what names the row on every machine."""
    fields: tuple[SyncField, ...]
    where: str
    order: str
    is_keyed: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its fields, in the order of their checksums."""
        return tuple(field.key for field in self.fields)

    @property
    def checksums(self) -> str:
        """SQL: the checksums of its fields."""
        return f"{_FUNCTION}({', '.join(field.here for field in self.fields)})"


def register(db: Connection) -> None:
    """Make the SQL function for checksums known to a connection."""
    db.create_function(_FUNCTION, -1, _checksums, deterministic=True)


def _checksums(*values: SqlValue) -> bytes:
    return b"".join(
        crc32(value if isinstance(value, bytes) else repr(value).encode()).to_bytes(CHECKSUM_BYTES)
        for value in values
    )


def changed_keys(kind: SyncKind, before: bytes, now: bytes) -> list[str]:
    """Return the fields whose checksums differ."""
    cuts = range(0, len(now), CHECKSUM_BYTES)
    return [
        key
        for key, cut in zip(kind.keys, cuts, strict=True)
        if before[cut : cut + CHECKSUM_BYTES] != now[cut : cut + CHECKSUM_BYTES]
    ]


_IS_OVERRULED = "t.id IN (SELECT cycle_id FROM sync_overruled)"
_LOCAL = {
    "conversation": {"last_request_at", "cache_life"},
    "observation": {"superseded_at", "superseded_by", "read_by"},
}
"""The fields that belong to one machine, or follow from others."""
_WHERE = {"cycle": "t.status <> 'running' AND t.kind <> 'graph'"}
_NEVER_CHANGES = {("attachment", "data")}
"""Too large to be read whenever something may have changed."""
# A cycle that is overruled here succeeded where it ran, and that is what is told.
_TOLD_OTHERWISE = {
    ("cycle", "status"): f"iif({_IS_OVERRULED}, 'succeeded', t.status)",
    ("cycle", "reverted_at"): f"iif({_IS_OVERRULED}, NULL, t.reverted_at)",
}
_LINKS = {
    "messages": Link("observation_messages", "message_id", "message", "direct = 1"),
    "through": Link("observation_messages", "message_id", "message", "direct = 0"),
    "sources": Link("observation_sources", "source_id", "observation"),
    "borrowed": Link("observation_borrowed", "lender_id", "observation"),
    "replaced": Link(
        "observation_replaced",
        "replaced_id",
        "observation",
        "cycle_id IN (SELECT id FROM cycles WHERE status <> 'running')",
        (("cycle_id", "cycle"), ("relation", "")),
    ),
}


def _field(kind: Kind, field: Field) -> SyncField:
    told = _TOLD_OTHERWISE.get((kind.type, field.key))
    here = "0" if (kind.type, field.key) in _NEVER_CHANGES else f"t.{field.column}"
    return SyncField(
        field.key,
        told or here,
        told or expression(kind, field),
        field.check,
        field.column,
        field.ref,
        bool(field.ref) and not field.later and field.default is not None,
    )


def _links(value: Any) -> str:
    """Check a list of links: lists of words, the first of which is a uid."""
    links = read_json(value) if isinstance(value, str) else None
    if not isinstance(links, list):
        raise ValueError("must be the text of a JSON list")  # noqa: TRY004 (a file's value)
    for link in links:
        for word in link if isinstance(link, list) else [None]:
            uid(word)
    return json.dumps(links)


def _link_field(key: str, link: Link) -> SyncField:
    names = [link.column, *(name for name, _ in link.also)]
    kinds = [link.kind, *(kind for _, kind in link.also)]
    told = [
        f"(SELECT uid FROM {KINDS[kind].table} WHERE id = l.{name})" if kind else f"l.{name}"
        for name, kind in zip(names, kinds, strict=True)
    ]
    rows = f"FROM {link.table} AS l WHERE observation_id = t.id AND {link.where}"
    order, word = ", ".join(names), " || '.' || ".join(names)
    return SyncField(
        key,
        f"(SELECT group_concat(word) FROM (SELECT {word} AS word {rows} ORDER BY {order}))",
        f"(SELECT json_group_array(json(link)) FROM (SELECT json_array({', '.join(told)}) AS link"
        f" {rows} ORDER BY {order}))",
        _links,
        link=link,
    )


def _kind(kind: Kind, fields: Iterable[Field], links: Iterable[SyncField] = ()) -> SyncKind:
    named = [f for f in fields if f.key not in _LOCAL.get(kind.type, ())]
    sync_fields = tuple(_field(kind, field) for field in named)
    identity = "t.uid"
    if not kind.keyed:
        # The rows that it belongs to name it, with what tells it from others of theirs.
        parts = [f.told for f in sync_fields if f.is_needed or f.key == "flag"]
        identity = " || ' ' || ".join(parts)
    if kind.type == "tombstone":
        identity = "t.message_uid"
    where = _WHERE.get(kind.type, kind.where)
    return SyncKind(
        kind.type, kind.table, identity, (*sync_fields, *links), where, kind.order, kind.keyed
    )


_CLAIM = Kind(
    "claim",
    "sync_claims",
    (
        reference("observation", "observation", needed=True),
        reference("cycle", "cycle", needed=True),
        Field("superseded_at", optional(time), default=None),
    ),
    keyed=False,
    order="observation_id, cycle_id",
)
_FILE = Kind("file", "sync_files", (Field("content", text),), order="t.uid")
_NAMES = (
    "conversation", "message", "attachment", "cycle", "observation", "flag", "question",
    "question_item", "value",
)  # fmt: skip
SYNC_KINDS: dict[str, SyncKind] = {
    kind.type: kind
    for kind in (
        *(
            _kind(
                KINDS[name],
                KINDS[name].fields,
                (_link_field(*link) for link in _LINKS.items()) if name == "observation" else (),
            )
            for name in _NAMES
        ),
        _kind(_CLAIM, _CLAIM.fields),
        _kind(_FILE, _FILE.fields),
        _kind(KINDS["tombstone"], KINDS["tombstone"].fields),
    )
}
"""The types of rows that are kept in step; rows come after those they refer to."""
