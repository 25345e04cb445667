"""Which segments can be taken in now: the most for which nothing that they build on is missing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from construct.store.sync.folder import Segment, SegmentList, Unread


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a machine's segments have been taken in."""

    counter: int
    sha256: str | None
    """The checksum of that segment."""
    manifest: int
    """The counter of its newest list that was seen."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A segment with its content, decrypted."""

    machine: str
    segment: Segment
    data: bytes


def fetch(
    lists: Sequence[SegmentList],
    reached: Mapping[str, Reached],
    me: str | None,
    read: Callable[[str, Segment], bytes],
) -> tuple[list[Fetched], list[Unread]]:
    """Read the segments that are new here, and return those that can be taken in together.

    `read` raises ValueError for a segment that is not there yet. Raises OSError.
    """
    waiting: list[Unread] = []
    new: dict[str, list[Fetched]] = {}
    for one in lists:
        if one.machine == me:
            continue
        found, why = _new_of(one, reached.get(one.machine), read)
        new[one.machine] = found
        if why:
            waiting.append(Unread(one.machine, why))
    taken = _without_missing(lists, reached, new, me)
    for machine, found in new.items():
        if len(taken[machine]) < len(found) and all(u.machine != machine for u in waiting):
            waiting.append(Unread(machine, "it builds on what is not here yet"))
    return [one for found in taken.values() for one in found], waiting


def _new_of(
    one: SegmentList, reached: Reached | None, read: Callable[[str, Segment], bytes]
) -> tuple[list[Fetched], str]:
    """Return a machine's new segments as far as they are there, and why not all are."""
    at = reached or Reached(0, None, 0)
    if one.counter < at.manifest:
        return [], "an older list of its segments has come back"
    segments = sorted(one.segments, key=lambda s: s.counter)
    counter = at.counter
    if any(s.counter == counter and s.sha256 != at.sha256 for s in segments):
        counter = 0  # two machines had this name for a while: read all of it again
    segments = [s for s in segments if s.counter > counter]
    full = [place for place, s in enumerate(segments) if s.is_full]
    segments = segments[full[-1] :] if full else segments
    found: list[Fetched] = []
    for segment in segments:
        if not segment.is_full and segment.counter != counter + 1:
            return found, "a segment is missing from its list"
        try:
            found.append(Fetched(one.machine, segment, read(one.machine, segment)))
        except ValueError as error:
            return found, str(error)
        counter = segment.counter
    return found, ""


def _without_missing(
    lists: Sequence[SegmentList],
    reached: Mapping[str, Reached],
    new: Mapping[str, Sequence[Fetched]],
    me: str | None,
) -> dict[str, list[Fetched]]:
    """Return the new segments without those that build on what is neither here nor among them."""
    taken = {machine: list(found) for machine, found in new.items()}
    retired = {
        machine: (one.machine, counter) for one in lists for machine, counter in one.retired.items()
    }

    def last(machine: str) -> int:
        here = reached[machine].counter if machine in reached else 0
        found = taken.get(machine)
        return max(here, found[-1].segment.counter) if found else here

    def has(machine: str, counter: int) -> bool:
        if machine == me or last(machine) >= counter:
            return True
        by, since = retired.get(machine, ("", 0))
        return bool(by) and (by == me or last(by) >= since)

    is_settled = False
    while not is_settled:
        is_settled = True
        for machine, found in taken.items():
            for place, one in enumerate(found):
                if not all(has(*needed) for needed in one.segment.after.items()):
                    taken[machine] = found[:place]
                    is_settled = False
                    break
    return taken
