"""What one machine tells the others: rows by uid, with values and when they were set."""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from construct.store.sync.tables import SYNC_KINDS
from construct.store.transfer.checks import SqlValue

FORMAT = 1
"""The version of segments and lists. Machines with different ones do not understand each other."""
_MAX_BYTES = 1 << 31
"""The largest segment that is unpacked."""


class Stamp(NamedTuple):
    """When a value was set, in microseconds, and by which machine. The larger one counts."""

    at: int
    by: str


@dataclass(frozen=True, slots=True)
class Record:
    """What a segment says of one row."""

    kind: str
    uid: str
    values: Mapping[str, SqlValue]
    changed: Stamp
    """When the values were set, except those in `stamps`."""
    born: Stamp | None = None
    """When the row was made; None if the record only changes it."""
    stamps: Mapping[str, Stamp] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Head:
    """What a segment says of itself."""

    machine: str
    counter: int
    stamp: Stamp


def pack(head: Head, records: Iterable[Record]) -> bytes:
    """Return a segment as it is encrypted: compressed lines of JSON."""
    lines = [
        {"format": FORMAT, "machine": head.machine, "counter": head.counter, "at": head.stamp.at}
    ]
    packer = zlib.compressobj()
    parts = [packer.compress(_line(lines[0]))]
    parts.extend(packer.compress(_line(_packed(record, head.stamp))) for record in records)
    return b"".join((*parts, packer.flush()))


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _packed(record: Record, now: Stamp) -> dict[str, Any]:
    values = {
        key: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for key, value in record.values.items()
    }
    packed: dict[str, Any] = {"kind": record.kind, "uid": record.uid, "values": values}
    if record.born is not None:
        packed["born"] = None if record.born == now else record.born
    if record.changed != now:
        packed["changed"] = record.changed
    if record.stamps:
        packed["stamps"] = record.stamps
    return packed


def unpack(data: bytes, machine: str, counter: int) -> Iterator[Record]:
    """Yield the records of a segment. Raises ValueError if it is not what it should be."""
    unpacker = zlib.decompressobj()
    try:
        lines = unpacker.decompress(data, _MAX_BYTES).split(b"\n")
    except zlib.error:
        raise ValueError("it is damaged") from None
    if not unpacker.eof:
        raise ValueError("it is cut off or too large")
    head = json.loads(lines[0])
    if (head["format"], head["machine"], head["counter"]) != (FORMAT, machine, counter):
        raise ValueError("it is another one than the list says")
    now = Stamp(int(head["at"]), machine)
    for line in lines[1:]:
        if line:
            yield _unpacked(json.loads(line), now)


def _unpacked(packed: Mapping[str, Any], now: Stamp) -> Record:
    kind = SYNC_KINDS[packed["kind"]]
    checks = {field.key: field.check for field in kind.fields}
    values = {key: checks[key](value) for key, value in packed["values"].items()}
    born = None
    if "born" in packed:
        born = _stamp(packed["born"]) if packed["born"] else now
    return Record(
        kind.type,
        str(packed["uid"]),
        values,
        _stamp(packed["changed"]) if "changed" in packed else now,
        born,
        {key: _stamp(value) for key, value in packed.get("stamps", {}).items()},
    )


def _stamp(value: Any) -> Stamp:
    at, by = value
    return Stamp(int(at), str(by))


@dataclass(slots=True)
class JoinedRow:
    """What all machines together say of one row."""

    values: dict[str, SqlValue] = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)
    born: Stamp | None = None
    made_last: Stamp | None = None
    """When it was made last: what was deleted may be imported again."""
    places: dict[str, int] = field(default_factory=dict)
    """By machine, which place the row has in its log."""


class Joined:
    """The records of any number of segments, in any order, as one."""

    def __init__(self, retired: Mapping[str, str]) -> None:
        """Start with nothing; `retired` maps machines to those that took over from them."""
        self.rows: dict[str, dict[str, JoinedRow]] = {kind: {} for kind in SYNC_KINDS}
        self.newest = 0
        """The latest time of a stamp."""
        self.machines: set[str] = set()
        """All machines that stamps name."""
        self._retired = retired
        self._places = 0

    def add(self, machine: str, record: Record) -> None:
        """Add a record of a machine's log, in the order of the log."""
        row = self.rows[record.kind].setdefault(record.uid, JoinedRow())
        self._places += 1
        row.places.setdefault(machine, self._places)
        if record.born is not None:
            born = self._now(record.born)
            row.born = born if row.born is None else min(row.born, born)
            row.made_last = born if row.made_last is None else max(row.made_last, born)
        for key, value in record.values.items():
            stamp = self._now(record.stamps.get(key, record.changed))
            if key not in row.stamps or stamp > row.stamps[key]:
                row.values[key], row.stamps[key] = value, stamp

    def _now(self, stamp: Stamp) -> Stamp:
        """Return a stamp with the machine that stands for its machine now."""
        self.newest = max(self.newest, stamp.at)
        by = stamp.by
        while by in self._retired:
            by = self._retired[by]
        self.machines.add(by)
        return Stamp(stamp.at, by)
