"""`ask`: one message, one reply, then the memory work that has come due."""

import asyncio
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from construct.chat.plain import PlainReply
from construct.cli.environment import Environment
from construct.cli.progress import waiting
from construct.cli.streams import complain, print_json, standard_input
from construct.errors import ConstructError, ExitStatus, UsageError
from construct.log import logger
from construct.operations.conversations import continue_here, create
from construct.operations.opening import open_chat
from construct.pasted import Span
from construct.talk.companion import Companion
from construct.talk.events import Event, Noticed
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from construct.tasks import in_daemon_thread
from construct.text import PrintableStream, is_blank, storable
from construct.views.reply import cut_off, notebook_answers, reply_json, why_broken
from construct.views.words import forked_from_elsewhere

if TYPE_CHECKING:
    from construct.attachments import Attachment

_MEMORY_SECONDS = 60
"""How long memory work after the reply may take."""
_VECTOR_BATCHES = 4
"""Pieces of index work done after a reply: enough for one turn, not for an import."""
log = logger("ask")


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
    """Send one message, print the reply, and with `wait` do the memory work that is due.

    Returns the exit status.
    """
    attachments: tuple[Attachment, ...] = ()
    if files:
        from construct.attachments import read_attachment

        attachments = tuple(map(read_attachment, files))
    message, pasted = _message(text, attachments)
    opening = open_chat(env.settings, conversation, new=new, model=model, private=False)
    with env.context() as ctx:
        chosen = opening.conversation_id or create(ctx).id
        continued = continue_here(ctx, chosen)
    conversation_id = continued.conversation_id
    if continued.writer:
        complain(forked_from_elsewhere(continued.writer, chosen, conversation_id))
    if opening.models.is_notebook and env.settings.provider == "auto":
        complain(notebook_answers())
    companion = Companion(env.settings, opening.models)
    return asyncio.run(
        _ask(companion, conversation_id, message, attachments, pasted, as_json=as_json, wait=wait)
    )


def _message(text: str | None, attachments: "Sequence[Attachment]") -> tuple[str, tuple[Span, ...]]:
    """Return TEXT or piped input, or TEXT with piped input, and which part is pasted."""
    typed = "" if text in (None, "-") else text
    piped = standard_input() or ""
    if is_blank(typed):
        typed, piped = piped, ""
    if is_blank(typed) and attachments:
        return "", ()  # files alone are a message too
    if is_blank(typed):
        raise UsageError("Nothing to send. Give a message, or pipe one in.")
    own = storable(typed).strip("\n")
    if is_blank(piped):
        return own, ()
    piped = storable(piped).strip("\n")
    start = len(own) + 2
    return f"{own}\n\n{piped}", ((start, start + len(piped)),)


async def _ask(
    companion: Companion,
    conversation_id: int,
    message: str,
    attachments: "Sequence[Attachment]",
    pasted: Sequence[Span],
    *,
    as_json: bool,
    wait: bool,
) -> int:
    try:
        learns = companion.settings.learns
        after_pause = learns and await companion.worker.went_cold(conversation_id)
        reply = PlainReply(_stream())

        def listen(event: Event) -> None:
            if isinstance(event, Noticed):
                complain(event.text)
            elif not as_json:
                reply.listen(event)

        responder = Responder(StoredLedger(companion))
        try:
            result = await responder.turn(conversation_id, message, listen, attachments, pasted)
        finally:  # after Ctrl-C too: what has arrived is kept, so all of it is shown
            reply.end(None)
        if as_json:
            print_json(reply_json(result))
        sys.stdout.flush()
        if not result.complete:
            complain(why_broken(result))
        elif note := cut_off(result):
            complain(note)
        if wait:
            await _finish_memory(companion, conversation_id, after_pause=after_pause)
        return ExitStatus.OK if result.complete else ExitStatus.FAILED
    finally:
        await companion.close()


async def _finish_memory(companion: Companion, conversation_id: int, *, after_pause: bool) -> None:
    """Do the memory work that is due, then index: for at most a minute, or until Ctrl-C.

    An error is only said: the reply has been given.
    """
    try:
        async with (
            asyncio.timeout(_MEMORY_SECONDS),
            waiting("finishing memory work… Ctrl-C leaves it for later"),
        ):
            if companion.settings.learns:
                await companion.worker.run_due(conversation_id, leaving=after_pause)
                await companion.worker.run_due_at_rest(exclude=conversation_id)
            for _ in range(_VECTOR_BATCHES):
                if not await companion.worker.index():
                    break
            if companion.settings.sync_folder is not None:
                from construct.operations.sync import exchange_quietly

                await in_daemon_thread(partial(exchange_quietly, companion.settings))
    except (TimeoutError, asyncio.CancelledError):
        log.info("memory work left for later")
    except ConstructError as error:
        complain(f"memory: {str(error).splitlines()[0]}")
    except Exception as error:  # noqa: BLE001 - whatever fails, the reply was given
        log.warning("memory work failed: %s", type(error).__name__)


def _stream() -> PrintableStream:
    """Return the filter that makes the reply printable and, on a terminal, wraps its lines."""
    if not sys.stdout.isatty():
        return PrintableStream()
    from construct.views.wrapping import WrappedStream

    return WrappedStream(shutil.get_terminal_size().columns)
