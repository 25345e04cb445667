"""What is said of a reply that is not whole, and a reply as JSON."""

from dataclasses import asdict
from typing import Any

from construct.errors import with_note
from construct.turn import TurnResult

_GOES_ALONG = "Your message will be sent with the next one; in a chat, /drop takes it out."


def why_broken(result: TurnResult) -> str:
    """Return why a reply is not whole, and what to do.

    A chat turns the shell's commands into its own.
    """
    if result.error is not None:
        return with_note(str(result.error), _GOES_ALONG)
    if result.stop_reason == "refusal":
        left_out = " Later requests leave your message out." if result.left_out else ""
        return f"The model declined to answer this.{left_out}\nRephrase it, or try another model."
    if result.stop_reason == "model_context_window_exceeded":
        return (
            "The reply did not fit the model's context window; what came is kept.\n"
            "Run `construct compact`, then ask again."
        )
    return (
        "The reply broke off; what came is kept.\n"
        "Ask again (in a chat, /retry), or run `construct doctor`."
    )


def reply_json(result: TurnResult) -> dict[str, Any]:
    """Return a reply for programs."""
    return {
        "reply": result.text,
        "conversation": result.conversation_id,
        "message_id": result.message_id,
        "stop_reason": result.stop_reason,
        "usage": asdict(result.usage),
    }
