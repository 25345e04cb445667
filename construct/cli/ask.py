"""`ask`: one message, one reply, then the memory work that has come due."""

import asyncio
import logging
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from construct.chat.plain import PlainReply
from construct.cli.environment import Environment
from construct.cli.progress import waiting
from construct.cli.streams import complain, print_json, standard_input
from construct.companion import Companion
from construct.errors import ExitStatus, UsageError
from construct.operations.conversations import create
from construct.operations.opening import open_chat
from construct.responders import on_record
from construct.text import PrintableStream, as_pasted, is_blank, storable
from construct.turn import Event, Listener, Noticed
from construct.views.reply import reply_json, why_broken

if TYPE_CHECKING:
    from construct.attachments import Attachment

_MEMORY_SECONDS = 60
_VECTOR_BATCHES = 4
"""Enough for one turn. The backlog of an import is left to a chat, or to `reindex`."""
log = logging.getLogger("construct.ask")


def ask(
    env: Environment,
    text: str | None,
    *,
    conversation: int | None,
    new: bool,
    model: str | None,
    as_json: bool,
    wait: bool,
    files: Sequence[Path] = (),
) -> int:
    """Send one message, print the reply, then do the memory work that has come due."""
    attachments = _attachments(files) if files else ()
    words = _words(text, attachments)
    opening = open_chat(env.settings, conversation, new=new, model=model, private=False)
    with env.context() as ctx:
        conversation_id = opening.conversation_id or create(ctx).id
    companion = Companion(env.settings, opening.models)
    return asyncio.run(
        _ask(companion, conversation_id, words, attachments, as_json=as_json, wait=wait)
    )


def _attachments(files: Sequence[Path]) -> "tuple[Attachment, ...]":
    from construct.attachments import read_attachment

    return tuple(map(read_attachment, files))


def _words(text: str | None, attachments: "Sequence[Attachment]") -> str:
    """Return TEXT, piped input, or TEXT and below it piped input as pasted material."""
    typed = "" if text in (None, "-") else text
    piped = standard_input() or ""
    if is_blank(typed):
        typed, piped = piped, ""
    if is_blank(typed) and attachments:
        return ""  # a file without words is a message
    if is_blank(typed):
        raise UsageError("Nothing to ask. Give a text, or pipe one in.")
    parts = [storable(typed).strip("\n")]
    if not is_blank(piped):
        parts.append(as_pasted(storable(piped).strip("\n")))
    return "\n\n".join(parts)


async def _ask(
    companion: Companion,
    conversation_id: int,
    words: str,
    attachments: "Sequence[Attachment]",
    *,
    as_json: bool,
    wait: bool,
) -> int:
    try:
        at_rest = companion.learns and await companion.worker.went_cold(conversation_id)
        if as_json:
            result = await on_record(companion).turn(
                conversation_id, words, _heeded(lambda event: None), attachments
            )
            print_json(reply_json(result))
        else:
            reply = PlainReply(_stream())
            result = await on_record(companion).turn(
                conversation_id, words, _heeded(reply.listen), attachments
            )
            reply.end(result)
        sys.stdout.flush()
        if not result.complete:
            complain(why_broken(result))
        if wait:
            await _finish_memory(companion, conversation_id, at_rest=at_rest)
        return ExitStatus.OK if result.complete else ExitStatus.FAILED
    finally:
        await companion.close()


def _heeded(listen: Listener) -> Listener:
    """Return a listener that says on standard error what the user should know."""

    def heard(event: Event) -> None:
        complain(event.text) if isinstance(event, Noticed) else listen(event)

    return heard


async def _finish_memory(companion: Companion, conversation_id: int, *, at_rest: bool) -> None:
    """Do the memory work that is due, for a minute at most, or until Ctrl-C.

    Whether it fails does not matter to the reply.
    """
    try:
        async with (
            asyncio.timeout(_MEMORY_SECONDS),
            waiting("finishing memory: Ctrl-C leaves it for the next start"),
        ):
            if companion.learns:
                await companion.worker.run_due(conversation_id, leaving=at_rest)
                await companion.worker.rest(but=conversation_id)
            for _ in range(_VECTOR_BATCHES):
                if not await companion.worker.index():
                    break
    except (TimeoutError, asyncio.CancelledError):
        log.info("memory work left for the next start")
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the memory, the reply was given
        log.warning("memory work failed: %s", type(error).__name__)


def _stream() -> PrintableStream:
    if not sys.stdout.isatty():
        return PrintableStream()
    from construct.views.wrapping import WrappedStream

    return WrappedStream(shutil.get_terminal_size().columns)
