"""`ask`: one message, one reply, then the memory work that has come due."""

import asyncio
import logging
import shutil
import sys
from dataclasses import dataclass

from construct.cli.environment import Environment, complain, pick_conversation, print_json, standard_input
from construct.cli.progress import waiting
from construct.companion import Companion
from construct.errors import ExitStatus, UsageError, with_note
from construct.llm.providers import choose_models
from construct.repl.plain import PlainReply
from construct.text import PrintableStream, as_pasted, is_blank, storable
from construct.turns import TurnResult

_GOES_ALONG = "Your message goes along with the next one; in the chat, /drop takes it out."
_MEMORY_SECONDS = 60
_VECTOR_BATCHES = 4  # what a talk adds; the backlog of an import is left to the chat, or to `reindex`
log = logging.getLogger("construct.ask")


@dataclass(frozen=True, slots=True)
class Question:
    """One `ask`."""

    text: str | None
    conversation: int | None
    new: bool
    model: str | None
    as_json: bool
    wait: bool


def ask(env: Environment, question: Question) -> int:
    """Send one message, print the reply, then do the memory work that has come due."""
    words = _words(question.text)
    models = choose_models(env.settings)
    if question.model is not None:
        models = models.with_model(question.model)
    with env.database() as db:
        conversation_id = pick_conversation(db, env.settings, question.conversation, new=question.new)
    companion = Companion(env.settings, models)
    return asyncio.run(_ask(companion, conversation_id, words, question))


def _words(text: str | None) -> str:
    """Return the message: TEXT, piped input, or TEXT with the piped input below it as pasted material."""
    typed = "" if text in (None, "-") else text
    piped = standard_input() or ""
    if is_blank(typed):
        typed, piped = piped, ""
    if is_blank(typed):
        raise UsageError("There is nothing to ask: give a text, or pipe one in.")
    parts = [storable(typed).strip("\n")]
    if not is_blank(piped):
        parts.append(as_pasted(storable(piped).strip("\n")))
    return "\n\n".join(parts)


async def _ask(companion: Companion, conversation_id: int, words: str, question: Question) -> int:
    try:
        at_rest = companion.learns and await companion.worker.went_cold(conversation_id)
        if question.as_json:
            result = await companion.turn(conversation_id, words, lambda event: None)
            print_json(_as_json(result))
        else:
            reply = PlainReply(_stream())
            result = await companion.turn(conversation_id, words, reply.listen)
            reply.end(result)
        sys.stdout.flush()
        if not result.complete:
            complain(_why_broken(result))
        if question.wait:
            await _finish_memory(companion, conversation_id, at_rest=at_rest)
        return ExitStatus.OK if result.complete else ExitStatus.FAILED
    finally:
        await companion.close()


async def _finish_memory(companion: Companion, conversation_id: int, *, at_rest: bool) -> None:
    """Do what is due, a minute at most; Ctrl-C leaves it, and failing does not matter to the reply."""
    try:
        async with asyncio.timeout(_MEMORY_SECONDS), waiting("finishing memory: Ctrl-C leaves it for the next start"):
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
    """Return what makes a reply fit for standard output: broken between words on a terminal, else as it comes."""
    if not sys.stdout.isatty():
        return PrintableStream()
    from construct.repl.wrapping import WrappedStream

    return WrappedStream(shutil.get_terminal_size().columns)


def _as_json(result: TurnResult) -> dict[str, object]:
    u = result.usage
    return {
        "reply": result.text,
        "conversation": result.conversation_id,
        "message_id": result.message_id,
        "stop_reason": result.stop_reason,
        "usage": {
            "input_tokens": u.input_tokens,
            "cache_read_tokens": u.cache_read_tokens,
            "cache_write_tokens": u.cache_write_tokens,
            "output_tokens": u.output_tokens,
        },
    }


def _why_broken(result: TurnResult) -> str:
    if result.error is not None:
        return with_note(str(result.error), _GOES_ALONG)
    if result.stop_reason == "refusal":
        return (
            "The model declined to answer this. Your message is stored, and later requests leave it out.\n"
            "Rephrase it, or try another model with --model."
        )
    if result.stop_reason == "model_context_window_exceeded":
        return (
            "The reply did not fit the model's context window; what came is kept.\n"
            "Run `construct compact`, then ask again."
        )
    return "The reply broke off; what came is kept.\nAsk again, or check the connection with `construct doctor`."
