"""Render a reply as JSON, and explain a reply that is incomplete."""

from dataclasses import asdict
from typing import Any

from construct.errors import ContextOverflowError, with_note
from construct.program import in_shell
from construct.talk.events import COMPLETE_STOP_REASONS, MAX_TOKENS, TurnResult

_MESSAGE_IS_KEPT = "Your message will be sent with the next one; in a chat, /drop takes it out."
_MESSAGE_IS_LEFT_OUT = (
    "Later requests still leave your message out; in a chat, /retry sends it again."
)
_EARLIER_REPLY_STAYS = "The earlier reply stays."
_MESSAGE_IS_TOO_LARGE = (
    "Until you take this message out, earlier ones may be left out of requests; "
    "in a chat, /drop takes it out."
)


def notebook_answers() -> str:
    """Return the note that no model answers, though nobody chose the notebook."""
    return f"No model is set up, so the notebook answers. {in_shell('setup')} chooses a model."


def why_broken(result: TurnResult) -> str:
    """Return why a reply is incomplete, and what to do.

    Names the shell's commands; the chat replaces them with its own.
    """
    if result.error is not None:
        if result.keeps_reply:
            return with_note(str(result.error), _EARLIER_REPLY_STAYS)
        if result.left_out:
            return with_note(str(result.error), _MESSAGE_IS_LEFT_OUT)
        is_too_large = isinstance(result.error, ContextOverflowError)
        note = _MESSAGE_IS_TOO_LARGE if is_too_large else _MESSAGE_IS_KEPT
        return with_note(str(result.error), note)
    if result.stop_reason == "refusal":
        left_out = " Later requests leave your message out." if result.left_out else ""
        return f"The model declined to answer this.{left_out}\nRephrase it, or try another model."
    if result.is_blank and result.stop_reason in COMPLETE_STOP_REASONS:
        earlier = f" {_EARLIER_REPLY_STAYS}" if result.keeps_reply else ""
        return f"{_blank(result)}{earlier} Ask again (in a chat, /retry), or try another model."
    what_stays = _EARLIER_REPLY_STAYS if result.keeps_reply else "What arrived is kept."
    if result.stop_reason == "model_context_window_exceeded":
        return (
            f"The reply did not fit the model's context window. {what_stays}\n"
            + ContextOverflowError.ADVICE
        )
    return (
        f"The reply broke off. {what_stays}\n"
        f"Ask again (in a chat, /retry), or run {in_shell('doctor')}."
    )


def _blank(result: TurnResult) -> str:
    if result.stop_reason == MAX_TOKENS:
        return "The reply is blank: it reached its limit before the first word."
    return "The reply is blank."


def cut_off(result: TurnResult) -> str | None:
    """Return the note for a reply that ends at the model's limit, None for any other."""
    if result.complete and result.stop_reason == MAX_TOKENS:
        return "The reply reached its limit; ask the model to go on for the rest."
    return None


def reply_json(result: TurnResult) -> dict[str, Any]:
    """Return a reply as JSON."""
    return {
        "reply": result.text,
        "conversation": result.conversation_id,
        "message_id": result.message_id,
        "stop_reason": result.stop_reason,
        "usage": asdict(result.usage),
    }
