"""What `construct sync` prints, as text and as JSON."""

from collections.abc import Iterator
from typing import Any

from construct.clock import Clock
from construct.operations.sync import Synced
from construct.operations.sync_status import MachineStatus, SyncStatus
from construct.program import as_typed
from construct.text import one_line, printable
from construct.views.words import counted, listed, when

_OUT_OF_REACH = (
    "Old versions of its files that the folder's service keeps (history, trash, snapshots,"
    " backups) are out of reach: delete them there."
)


def synced_text(done: Synced) -> str:
    """Return what an exchange did, a line each."""
    return "\n".join(printable(line) for line in _synced_lines(done))


def _synced_lines(done: Synced) -> Iterator[str]:
    if done.key:
        yield "The key of this folder. Keep it; it is shown only now:"
        yield f"  {done.key}"
        yield f"On each other machine: {as_typed('sync FOLDER --key -')}"
    if done.renamed:
        yield f"Another machine has this one's name, so this one is “{done.machine}” now."
    yield came_in(done) or "Nothing new came in."
    if done.files:
        yield f"Replaced here, as changed elsewhere: {listed(done.files)}."
    if done.is_full:
        yield f"Wrote everything of {done.machine}."
    elif done.published:
        yield f"Wrote {counted(done.published, 'change')} of {done.machine}."
    for one in done.waiting:
        yield f"Waiting for {one_line(one.name)}: {one.why}."
    if done.forgot:
        yield f"Something was forgotten. {_OUT_OF_REACH}"
    if done.pending_erasure:
        yield (
            "What was forgotten is still in the file's free space: another process uses it."
            " The next start clears it."
        )


def came_in(done: Synced) -> str:
    """Return one line about what came in; empty if nothing did."""
    taken = done.taken
    counts = (
        (taken.conversations, "conversation"),
        (taken.messages, "message"),
        (taken.observations, "note"),
        (taken.changed, "change"),
    )
    parts = [counted(number, noun) for number, noun in counts if number]
    if taken.gone:
        parts.append("something to forget")
    return f"From your other machines: {listed(parts)}." if parts else ""


def synced_json(done: Synced) -> dict[str, Any]:
    """Return the JSON form of an exchange."""
    taken = done.taken
    return {
        "machine": done.machine,
        **({"key": done.key} if done.key else {}),
        "in": {
            "conversations": taken.conversations,
            "messages": taken.messages,
            "observations": taken.observations,
            "changed": taken.changed,
            "forgotten": len(taken.gone),
        },
        "out": done.published,
        "renamed": done.renamed,
        "waiting": [{"machine": one.name, "why": one.why} for one in done.waiting],
        "pending_erasure": done.pending_erasure,
    }


def status_text(found: SyncStatus, clock: Clock) -> str:
    """Return which machines are in step, a line each."""
    if found.folder is None:
        return f"No folder is set. {as_typed('sync FOLDER')} begins."
    lines = [f"Folder: {found.folder}" + ("" if found.is_there else " (not there now)")]
    if found.files:
        lines.append(f"It holds {counted(found.files, 'file')}, {found.size:,} bytes.")
    lines += [_machine_line(machine, clock) for machine in found.machines]
    if any(machine.behind for machine in found.machines):
        lines.append(
            f"Is a machine gone for good? {as_typed('sync retire NAME')} takes its files over."
        )
    lines.append(_OUT_OF_REACH)
    return "\n".join(printable(line) for line in lines)


def _machine_line(machine: MachineStatus, clock: Clock) -> str:
    parts = [one_line(machine.name)]
    if machine.is_self:
        parts.append("this machine")
    elif machine.seen_at:
        parts.append(f"last came in {when(machine.seen_at, clock)}")
    else:
        parts.append("nothing came in yet")
    if machine.behind:
        parts.append(f"still has what was forgotten on {listed(map(one_line, machine.behind))}")
    if machine.waiting:
        parts.append(f"waiting: {machine.waiting}")
    return f"  {parts[0]}: {', '.join(parts[1:])}"


def status_json(found: SyncStatus) -> dict[str, Any]:
    """Return the JSON form of the status."""
    return {
        "folder": None if found.folder is None else str(found.folder),
        "reachable": found.is_there,
        "files": found.files,
        "bytes": found.size,
        "machines": [
            {
                "name": machine.name,
                "directory": machine.uid,
                "this": machine.is_self,
                "seen_at": machine.seen_at,
                "not_followed": list(machine.behind),
                "waiting": machine.waiting or None,
            }
            for machine in found.machines
        ],
    }
