"""Render a reply as JSON, and explain a reply that is incomplete."""

from dataclasses import asdict
from typing import Any

from construct.errors import ContextOverflowError, larger_window_advice, with_note
from construct.program import as_typed
from construct.talk.events import COMPLETE_STOP_REASONS, MAX_TOKENS, TurnResult

_EARLIER_REPLY_STAYS = "The earlier reply stays."


def notebook_answers() -> str:
    """Return the note that no model answers, though nobody chose the notebook."""
    return f"No model is set up, so the notebook answers. {as_typed('setup')} chooses a model."


def why_broken(result: TurnResult) -> str:
    """Return why a reply is incomplete, and what to do."""
    if result.error is not None:
        if result.keeps_reply:
            return with_note(str(result.error), _EARLIER_REPLY_STAYS)
        if result.left_out:
            again = (
                f"Later requests still leave your message out; {as_typed('/retry')} sends it again."
            )
            return with_note(str(result.error), again)
        note = "Your message will be sent with the next one"
        if isinstance(result.error, ContextOverflowError):
            note = "Until you take this message out, earlier ones may be left out of requests"
        return with_note(str(result.error), f"{note}; {as_typed('/drop')} takes it out.")
    if result.stop_reason == "refusal":
        left_out = " Later requests leave your message out." if result.left_out else ""
        return f"The model declined to answer this.{left_out}\nRephrase it, or try another model."
    if result.is_blank and result.stop_reason in COMPLETE_STOP_REASONS:
        earlier = f" {_EARLIER_REPLY_STAYS}" if result.keeps_reply else ""
        return f"{_blank(result)}{earlier} Ask again ({as_typed('/retry')}), or try another model."
    what_stays = _EARLIER_REPLY_STAYS if result.keeps_reply else "What arrived is kept."
    if result.stop_reason == "model_context_window_exceeded":
        return (
            f"The reply did not fit the model's context window. {what_stays}\n"
            + larger_window_advice()
        )
    return (
        f"The reply broke off. {what_stays}\n"
        f"Ask again ({as_typed('/retry')}), or run {as_typed('doctor')}."
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
