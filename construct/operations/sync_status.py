"""Which machines are in step, and which have not yet followed what was forgotten."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from construct import age
from construct.operations.context import Context
from construct.store.sync import folder, keys, machines


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """How far a machine is in step."""

    name: str
    uid: str
    """The name of its directory in the folder."""
    is_self: bool
    seen_at: str | None
    """When something of it last came in here."""
    behind: tuple[str, ...] = ()
    """The machines that forgot something which is still in its own segments."""
    waiting: str = ""
    """Why something of it could not be taken in yet; empty if all was."""


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """The folder, and the machines that exchange through it."""

    folder: Path | None
    """The folder that is remembered; None if none is."""
    is_there: bool
    machines: tuple[MachineStatus, ...] = ()
    """This one first; empty before the first exchange."""
    files: int = 0
    size: int = 0
    """How many files the folder holds, and their bytes."""


def sync_status(ctx: Context) -> SyncStatus:
    """Return which machines are in step, without an exchange."""
    place = ctx.settings.sync_folder
    known = machines.machines(ctx.db)
    is_there = place is not None and place.is_dir()
    unread: dict[str, str] = {}
    files = size = 0
    if place is not None and is_there:
        files, size = folder.used(place)
        if in_use := keys.read_keys(ctx.settings.db):
            age.require("sync")
            with suppress(OSError):
                _, missing = folder.read_lists(place, in_use)
                unread = {one.machine: one.why for one in missing}
    late = machines.followers(known)
    return SyncStatus(
        place,
        is_there,
        tuple(
            MachineStatus(
                m.name, m.uid, bool(m.is_self), m.seen_at, late.get(m.uid, ()),
                unread.get(m.uid, ""),
            )
            for m in known
            if m.retired_by is None and (m.is_self or m.manifest)
        ),
        files,
        size,
    )  # fmt: skip
