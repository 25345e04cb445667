"""The files that a line names with `@`, read in threads while the line is typed.

The line decides what is attached: deleting a word detaches its file, and a line that
comes back brings its files with it. A path that was pasted or detached stays text, even
if undo or yank brings it back, until Tab attaches it, it is typed again, or the line is
sent or cleared.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from construct.chat.mentions import (
    Mention,
    can_be_named,
    mention_of,
    mentions,
    pasted_paths,
    without_mentions,
)
from construct.errors import AttachmentError
from construct.pasted import Span
from construct.text import shorten
from construct.views.words import counted

if TYPE_CHECKING:
    from construct.attachments import Attachment

_PAUSE_SECONDS = 0.12
"""Pause in typing after which the disk is looked at."""
_SHORTEST_NAME = 8
"""Columns of a file's name that a chip keeps, however narrow the terminal is."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message ready to be sent."""

    words: str
    attachments: tuple["Attachment", ...] = ()
    missing: tuple[str, ...] = ()
    """The paths that it names with `@` where there is no file. They are sent as words."""
    pasted: tuple[Span, ...] = ()
    """The parts of the words that were pasted."""


@dataclass(frozen=True, slots=True)
class Chip:
    """The label of a file that will be sent with the line, or why it cannot be."""

    text: str
    is_error: bool = False
    name: str = ""
    """The part of `text` that may be shortened."""

    def fitting(self, width: int) -> str:
        """Return the text, with the name shortened to fit into `width` columns."""
        room = max(_SHORTEST_NAME, width - len(self.text) + len(self.name))
        return self.text.replace(self.name, shorten(self.name, room), 1) if self.name else self.text


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was when it was last looked at."""

    path: str
    version: tuple[int, ...]
    chip: Chip
    attachment: "Attachment | None" = None


@dataclass(frozen=True, slots=True)
class _Offer:
    """The files named in a pasted text, which Tab attaches."""

    pasted: str
    paths: tuple[str, ...]

    @property
    def words(self) -> str:
        """The hint that says what Tab does."""
        count = len(self.paths)
        return f"Tab attaches {Path(self.paths[0]).name if count == 1 else f'{count} files'}"


class Attaching:
    """The files of the line being typed."""

    def __init__(self, redraw: Callable[[], None]) -> None:
        self._redraw = redraw
        self._files: dict[str, _File] = {}  # by path, the newest last
        self._pictures: dict[str, Attachment] = {}  # from the clipboard, by name
        self._picture_count = 0
        self._plain: set[str] = set()  # paths that stay text: pasted, or detached
        self._offer: _Offer | None = None
        self._looking: asyncio.Task[None] | None = None
        self._offering: asyncio.Task[None] | None = None

    def watch(self, text: str) -> None:
        """After a pause, look for the files that the line names now."""
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if self._wanted(text):
            self._looking = asyncio.create_task(self._look_soon(text), name="attach")

    def typed(self, text: str, cursor: int) -> None:
        """Attach the file whose path was just typed up to `cursor`.

        The path may have been plain text before. Only the path of the whole word counts:
        a comma typed after a pasted path does not attach it.
        """
        paths = {word.path for word in mentions(text) if word.start < cursor <= word.end}
        if not self._plain.isdisjoint(paths):
            self._plain -= paths
            self.watch(text)

    def chips(self, text: str) -> list[Chip]:
        """Return a chip for each file of the line, newest last."""
        return [file.chip for file in self._named_in(text)]

    def detach_newest(self, text: str) -> bool:
        """Detach the line's newest file; its path stays as text. False when there is none."""
        named = self._named_in(text)
        if named:
            self._plain.add(named[-1].path)
        return bool(named)

    def read(self, text: str) -> asyncio.Task[Outgoing] | None:
        """Start reading the line's files as they are now, and return the task.

        The task raises AttachmentError when a file cannot be attached. None when no `@`
        word of the line may name a file.
        """
        wanted = self._wanted(text)
        return asyncio.create_task(self._outgoing(text, wanted), name="read") if wanted else None

    def sent(self) -> frozenset[str]:
        """Start a new line. Return the paths that were plain text in the line just sent."""
        plain = frozenset(self._plain)
        self._plain.clear()
        return plain

    def cleared(self) -> None:
        """Start a new line instead of one that was cleared."""
        self._plain.clear()
        self._offer = None

    def taken_back(self, plain: Iterable[str]) -> None:
        """Return to a line that was sent. `plain` is what `sent` returned for it."""
        self._plain |= set(plain)

    def add_picture(self, picture: "Attachment") -> str:
        """Keep a picture from the clipboard. Return the `@` word that names it."""
        self._picture_count += 1
        number = self._picture_count
        name = f"{picture.name}-{number}" if number > 1 else picture.name
        self._pictures[name] = replace(picture, name=name)
        self._plain.discard(name)
        return mention_of(name)

    def forget_pictures_except_in(self, lines: Iterable[str]) -> None:
        """Forget the pictures from the clipboard that none of these lines names."""
        named = set[str]().union(*(_paths(mentions(line)) for line in lines))
        self._pictures = {name: file for name, file in self._pictures.items() if name in named}
        self._files = {
            path: file for path, file in self._files.items() if file.version or path in named
        }

    def pasted(self, text: str, line: str) -> None:
        """Offer to attach the files named in a text that is about to be pasted into the line."""
        attached = _paths(self._wanted(line))
        named = [mention for mention in mentions(text) if attached.isdisjoint(mention.paths)]
        self._plain |= _paths(named)
        self._offer = None
        words = [mention.paths for mention in named] or [(path,) for path in pasted_paths(text)]
        if words:
            self._offering = asyncio.create_task(self._make_offer(text, words), name="offer")

    def offer(self, text: str) -> str:
        """Return the hint about files offered for the line, empty if there are none."""
        if self._offer is None or self._offer.pasted not in text:
            return ""
        attached = {file.path for file in self._named_in(text)}
        return "" if attached.issuperset(self._offer.paths) else self._offer.words

    def take_offer(self, text: str) -> str:
        """Return the line with the offered files attached."""
        offer, self._offer = self._offer, None
        if offer is None:
            return text
        if named := mentions(offer.pasted):
            self._plain -= _paths(named)
            return text
        before, _, after = text.rpartition(offer.pasted)
        gap = " " if before[-1:].strip() else ""
        gap_after = " " if after[:1].strip() else ""
        return before + gap + " ".join(map(mention_of, offer.paths)) + gap_after + after

    async def _outgoing(self, text: str, wanted: list[Mention]) -> Outgoing:
        found = await self._look(wanted)
        self._files |= found  # a line that is given back has its chips at once
        names: dict[Mention, str] = {}
        attached: dict[str, Attachment] = {}
        missing: list[str] = []
        for mention in wanted:
            reading = _reading(mention, found)
            if reading is None:
                missing += [mention.readings[-1].path] if mention.is_path else []
                continue
            file = found[reading.path]
            if file.attachment is None:
                raise AttachmentError(file.chip.text)
            attached[file.path] = file.attachment
            names[reading] = file.attachment.name
        return Outgoing(without_mentions(text, names), tuple(attached.values()), tuple(missing))

    async def _make_offer(self, text: str, words: Iterable[Iterable[str]]) -> None:
        """Offer the files among the pasted words, each given as the paths that it may mean."""
        found = await asyncio.to_thread(
            lambda: [next(filter(_version, paths), None) for paths in words]
        )
        named = dict.fromkeys(path for path in found if path and can_be_named(path))
        if named:
            self._offer = _Offer(text, tuple(named))
            self._redraw()

    async def _look_soon(self, text: str) -> None:
        await asyncio.sleep(_PAUSE_SECONDS)
        before = list(self._files)
        found = await self._look(self._wanted(text))
        self._files = {path: found[path] for path in [*before, *found] if path in found}
        self._redraw()

    async def _look(self, wanted: list[Mention]) -> dict[str, _File]:
        return await asyncio.to_thread(_read_all, wanted, dict(self._files), dict(self._pictures))

    def _wanted(self, text: str) -> list[Mention]:
        if text.startswith("/") and not text.startswith("//"):
            return []
        return [mention for mention in mentions(text) if self._plain.isdisjoint(mention.paths)]

    def _named_in(self, text: str) -> list[_File]:
        readings = (_reading(mention, self._files) for mention in self._wanted(text))
        named = {reading.path for reading in readings if reading}
        return [file for path, file in self._files.items() if path in named]


def _paths(found: Iterable[Mention]) -> set[str]:
    """Return all paths that the words may mean."""
    return set[str]().union(*(mention.paths for mention in found))


def _reading(mention: Mention, files: Mapping[str, _File]) -> Mention | None:
    """Return the reading of a word that names a file, or None."""
    return next((reading for reading in mention.readings if reading.path in files), None)


def _read_all(
    wanted: list[Mention], known: Mapping[str, _File], pictures: Mapping[str, "Attachment"]
) -> dict[str, _File]:
    """Return the files and clipboard pictures that the words name, by path. Runs in a thread."""
    found = {}
    for mention in wanted:
        for path in mention.paths:
            if file := _read(path, known.get(path), pictures.get(path)):
                found[path] = file
                break
    return found


def _read(path: str, known: _File | None, picture: "Attachment | None") -> _File | None:
    """Return the file at a path: `known` if it has not changed, None if there is none."""
    version = () if picture else _version(path)
    if version is None:
        return None
    if known and known.version == version:
        return known
    from construct.attachments import read_attachment

    try:
        attachment = picture or read_attachment(Path(path).expanduser())
    except AttachmentError as error:
        return _File(path, version, Chip(str(error), is_error=True))
    words = f"{attachment.line[:-1]}, {counted(attachment.tokens, 'token')}]"
    return _File(path, version, Chip(words, name=attachment.name), attachment)


def _version(path: str) -> tuple[int, ...] | None:
    """Return values that change with the file. None if it is not a regular file."""
    try:
        status = os.stat(Path(path).expanduser())  # noqa: PTH116 - `~` may name nobody
    except (OSError, ValueError, RuntimeError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
