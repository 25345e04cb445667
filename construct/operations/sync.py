"""Keep several machines in step through a folder that something else carries (store/sync/)."""

import json
import socket
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from construct import age
from construct.clock import Clock, to_text
from construct.config import Settings
from construct.env_file import write_settings
from construct.errors import ConstructError, NotFoundError, UsageError
from construct.memory import forgetting
from construct.memory.config import memory_config_for
from construct.operations import sync_files
from construct.operations.context import Context
from construct.program import as_typed
from construct.store import purge
from construct.store.database import make_folder, open_database, transaction
from construct.store.driver import Connection, errors
from construct.store.faults import explain
from construct.store.invariants import violations
from construct.store.sync import changes, exchange, folder, keys, machines, tables
from construct.store.sync.folder import SegmentList, Unread
from construct.store.sync.machines import Machine
from construct.store.sync.outcome import settle_outcome
from construct.store.sync.planning import Fetched, fetch
from construct.store.sync.records import Joined, Record, Stamp, unpack
from construct.store.sync.taking import Taken, take_in
from construct.text import one_line

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNLIMITED_WINDOW = 1_000_000
"""Tokens: no model is asked here."""
_TRIES = 3
"""How often to begin again when another process has exchanged in the meantime."""


class OfflineError(ConstructError):
    """The folder is not there now."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A machine of which something could not be taken in yet."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Synced:
    """What an exchange did."""

    machine: str
    """This machine's name."""
    key: str | None = None
    """The folder's new key, to be shown once."""
    taken: Taken = field(default_factory=Taken)
    published: int = 0
    """How many rows were told of."""
    is_full: bool = False
    """Whether the full state was written."""
    forgot: bool = False
    """Whether something was forgotten in it, here or elsewhere."""
    renamed: bool = False
    """Whether another machine has this one's former name."""
    waiting: tuple[Waiting, ...] = ()
    files: tuple[str, ...] = ()
    """The files beside the database that another machine had changed later."""
    pending_erasure: bool = False
    """True if the bytes of what was forgotten could not be cleared out yet."""


def sync(ctx: Context, place: Path, key: str | None = None, files: Collection[str] = ()) -> Synced:
    """Exchange changes with other machines through a folder.

    The first time, this makes the folder's key, or joins with the `key` of another machine.
    `files` names what to share beside the database, of `sync_files.NAMES`. Raises
    OfflineError, UsageError, ConstructError; then nothing was changed.
    """
    age.require("sync")
    is_first = key is None and not keys.read_keys(ctx.settings.db)
    if is_first and place.parent.is_dir() and not place.exists():
        make_folder(place)
    with _explaining(place):
        made, in_use = _keys(ctx, place, key)
        if not files:
            return replace(_exchange(ctx, place, in_use), key=made)
        sync_files.offer(ctx, files)
        done = _exchange(ctx, place, in_use)
        return replace(done, key=made, files=tuple(sync_files.take_over(ctx, files)))


def rotate(ctx: Context, place: Path) -> Synced:
    """Change the folder's key. The other machines need the new one. Raises as `sync` does."""
    age.require("sync")
    with _explaining(place):
        _, in_use = _keys(ctx, place, None)
        _exchange(ctx, place, in_use)  # what others wrote with the old key comes in first
        new = (age.new_key(), *in_use)
        keys.write_keys(ctx.settings.db, new)
        synced = _exchange(ctx, place, new)
        folder.write_folder_file(place, new[0])
        return replace(synced, key=new[0])


def retire(ctx: Context, place: Path, name: str) -> Synced:
    """Take over the segments of a machine that is gone.

    Raises NotFoundError if there is no such machine, and otherwise as `sync` does.
    """
    age.require("sync")
    with _explaining(place):
        _, in_use = _keys(ctx, place, None)
        _exchange(ctx, place, in_use)
        chosen = _named(machines.machines(ctx.db), name)
        if chosen.is_self:
            raise UsageError("That is this machine.\nRetire it from another one.")
        with transaction(ctx.db):
            me = machines.this_machine(ctx.db)
            assert me is not None
            exchange.take_over(ctx.db, chosen.id, me.id, me.counter + 1)
        synced = _exchange(ctx, place, in_use, rewrite=True)
        folder.remove_machine(place, chosen.uid)
        return synced


def _named(known: Sequence[Machine], name: str) -> Machine:
    found = [m for m in known if name in (m.name, m.uid) and m.retired_by is None]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} machines have that name: {', '.join(m.uid for m in found)}.\n"
            f"Give the one of its directory: {as_typed('sync status --json')} has both."
        )
    raise NotFoundError(
        f"There is no machine “{one_line(name)}”.\n{as_typed('sync status')} lists them."
    )


class _explaining:  # noqa: N801 (used like a function)
    """Turns errors of the folder into our own."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __enter__(self) -> None:
        if not self._place.is_dir():
            raise OfflineError(
                f"The folder {self._place} is not there.\n"
                "Check that it is mounted, or name another one."
            )

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise ConstructError(
                f"The folder {self._place} cannot be used: {error.strerror or error}.\n"
                "Check its permissions and free space. The next sync goes on from here."
            ) from error


# Keys


def _keys(ctx: Context, place: Path, given: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the key that was made, if one was, and all keys, the one in use first."""
    known = keys.read_keys(ctx.settings.db)
    if folder.is_incomplete(place):
        raise ConstructError(
            f"{place} is not complete yet.\nWait until all files are there, then try again."
        )
    if given is not None:
        key = age.read_key(given)
        if folder.is_empty(place):
            raise ConstructError(
                f"There is nothing in {place} yet to join.\n"
                "Wait until the files of the other machine are there, or leave out --key."
            )
        _try(place, (key,), "This is not the key of the folder. Nothing was changed.")
        joined = tuple(dict.fromkeys((key, *known)))
        if joined != known:
            keys.write_keys(ctx.settings.db, joined)
        return None, joined
    if folder.is_empty(place):
        made = None if known else age.new_key()
        in_use = known or (str(made),)
        keys.write_keys(ctx.settings.db, in_use)
        folder.write_folder_file(place, in_use[0])
        return made, in_use
    if not known:
        raise UsageError(
            f"{place} belongs to machines that are in step already.\n"
            f"Join them with their key: {as_typed('sync FOLDER --key -')}"
        )
    try:
        folder.try_keys(place, known)
    except age.WrongKeyError:
        if not _is_earlier_key(place, known):
            raise ConstructError(
                "The folder has another key: it was changed on another machine.\n"
                f"Give the new one: {as_typed('sync FOLDER --key -')}"
            ) from None
        folder.write_folder_file(place, known[0])  # changing the key was interrupted
    except age.DamagedFileError:
        raise _damaged(place) from None
    return None, known


def _is_earlier_key(place: Path, known: Sequence[str]) -> bool:
    for key in known[1:]:
        with suppress(age.WrongKeyError):
            folder.try_keys(place, (key,))
            return True
    return False


def _try(place: Path, candidates: Sequence[str], wrong: str) -> None:
    try:
        folder.try_keys(place, candidates)
    except age.WrongKeyError:
        raise UsageError(
            f"{wrong}\nThe machine that made the folder printed its key once."
        ) from None
    except age.DamagedFileError:
        raise _damaged(place) from None


def _damaged(place: Path) -> ConstructError:
    return ConstructError(
        f"{place / 'folder.age'} is damaged or not complete yet.\n"
        "Wait until it is copied, then try again."
    )


# The exchange


@dataclass(frozen=True, slots=True)
class _Incoming:
    """What was read of the folder."""

    lists: tuple[SegmentList, ...]
    fetched: tuple[Fetched, ...]
    records: tuple[tuple[str, Record], ...]
    """Each with the machine in whose log it is."""
    waiting: tuple[Unread, ...]
    based_on: tuple[object, ...]
    """What the database had taken in by then."""


def _exchange(ctx: Context, place: Path, in_use: Sequence[str], *, rewrite: bool = False) -> Synced:
    db = ctx.db
    tables.register(db)
    for _ in range(_TRIES):
        incoming = _read(db, place, in_use)
        synced = _store(ctx, place, in_use, incoming, rewrite=rewrite)
        if synced is not None:
            break
    else:
        raise ConstructError("Another process is exchanging with the folder.\nTry again later.")
    own = exchange.own_list(db)
    here = next((one for one in incoming.lists if one.machine == own.machine), None)
    if here != own:
        folder.write_list(place, own, in_use[0])
    folder.remove_unlisted(place, own)
    is_erased = purge.finish_erasure(db)
    return replace(synced, pending_erasure=not is_erased)


def _read(db: Connection, place: Path, in_use: Sequence[str]) -> _Incoming:
    """Read what is new in the folder. Nothing is changed."""
    me = machines.this_machine(db)
    based_on = _state(db)
    lists, unread = folder.read_lists(place, in_use)
    retired = exchange.retired_into(db, lists)
    lists = [one for one in lists if one.machine not in retired]
    mine = me.uid if me and me.uid not in retired else None
    fetched, waiting = fetch(
        lists,
        exchange.reached(db),
        mine if mine is None or not _has_double(db, me, lists) else None,
        lambda machine, segment: folder.read_segment(place, machine, segment, in_use),
    )
    records: list[tuple[str, Record]] = []
    whole: list[Fetched] = []
    for one in fetched:
        try:
            found = list(unpack(one.data, one.machine, one.segment.counter))
        except (ValueError, KeyError, TypeError, AttributeError):
            waiting.append(Unread(one.machine, "a segment cannot be understood"))
            continue
        records += [(one.machine, record) for record in found]
        whole.append(one)
    if len(whole) < len(fetched):  # others may build on it
        records, whole = [], []
    return _Incoming(tuple(lists), tuple(whole), tuple(records), (*unread, *waiting), based_on)


def _has_double(db: Connection, me: Machine | None, lists: Sequence[SegmentList]) -> bool:
    """Return whether the folder has segments under this machine's name that it did not write."""
    return me is not None and exchange.is_somebody_elses(db, me, lists)


def _state(db: Connection) -> tuple[object, ...]:
    return tuple((m.uid, m.counter, m.is_self) for m in machines.machines(db))


def _store(
    ctx: Context, place: Path, in_use: Sequence[str], incoming: _Incoming, *, rewrite: bool
) -> Synced | None:
    """Publish what changed here and take in what changed elsewhere, in one transaction.

    None if another process has done so since the folder was read.
    """
    db, clock = ctx.db, ctx.clock
    now = to_text(clock.now())
    with transaction(db):
        if _state(db) != incoming.based_on:
            return None
        db.execute("PRAGMA defer_foreign_keys = ON")
        me, renamed = exchange.identify(db, incoming.lists, _this_name())
        exchange.note_lists(db, incoming.lists, me, incoming.fetched, now)
        exchange.note_retired(db, incoming.lists)
        stamp = _stamp(db, clock, me)
        records = changes.find_changes(db, stamp, me.id)
        taken, followed = Taken(), False
        if incoming.records:
            joined = Joined(exchange.retired_into(db, incoming.lists))
            for machine, record in incoming.records:
                joined.add(machine, record)
            exchange.note_unknown(db, joined.machines)
            taken = take_in(db, joined)
            machines.note_time(db, joined.newest)
            if taken.gone or taken.to_forget:
                followed = True
                forgetting.follow(db, json.dumps(taken.gone), taken.to_forget, clock)
            stamp = _stamp(db, clock, me)
            records = records + changes.find_changes(db, stamp, me.id)
        settle_outcome(db, now)
        forgot = any(record.kind == "tombstone" for record in records)
        mine = next((one for one in incoming.lists if one.machine == me.uid), None)
        is_full = (
            rewrite or renamed or forgot or followed or mine is None or mine.has_old_key
            or not folder.are_whole(place, mine) or (bool(records) and exchange.is_full_due(db))
        )  # fmt: skip
        if is_full:
            exchange.publish_all(db, place, me, stamp, in_use[0], forgot=forgot, of_all=renamed)
        elif records:
            exchange.publish(db, place, me, stamp, records, in_use[0], forgot=forgot)
        if broken := violations(db):
            raise ConstructError(
                f"What came in does not fit together: {broken[0]}\n"
                "Nothing was changed. Please report it."
            )
    names = {m.uid: m.name for m in machines.machines(db)}
    return Synced(
        me.name,
        taken=taken,
        published=len(records),
        is_full=is_full,
        forgot=forgot or followed,
        renamed=renamed,
        waiting=tuple(Waiting(names.get(u.machine, u.machine), u.why) for u in incoming.waiting),
    )


def _stamp(db: Connection, clock: Clock, me: Machine) -> Stamp:
    microseconds = (clock.now() - _EPOCH) // (datetime.resolution)
    return Stamp(machines.next_time(db, microseconds), me.uid)


def _this_name() -> str:
    name = socket.gethostname().partition(".")[0].strip()
    return one_line(name)[:40] or "machine"


def remember(settings: Settings, place: Path) -> None:
    """Remember the folder in `config.env`, if it is another one. Raises ConstructError."""
    if settings.sync_folder == place:
        return
    path = settings.config_dir / "config.env"
    try:
        make_folder(settings.config_dir)
        write_settings(path, {"CONSTRUCT_SYNC": str(place)})
    except OSError as error:
        raise ConstructError(
            f"{path} cannot be written: {error.strerror or error}.\n"
            f"The exchange is done. Set CONSTRUCT_SYNC={place} to have it done by itself."
        ) from error


def exchange_quietly(settings: Settings) -> Synced | None:
    """Exchange through a connection of its own; None if that is not set up, or the folder away.

    A database without a key, such as that of a demo, is none of the machines in step. Raises
    ConstructError.
    """
    place = settings.sync_folder
    try:
        if place is None or not keys.read_keys(settings.db) or not place.is_dir():
            return None
    except OSError:
        return None
    memory = memory_config_for(settings, _UNLIMITED_WINDOW)
    try:
        with closing(open_database(settings.db, settings.memory_rules)) as db:
            return sync(Context(db, settings, memory), place)
    except OfflineError:
        return None
    except errors() as error:
        raise explain(error, settings.db) from error
