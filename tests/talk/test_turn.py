"""What a turn decides when its reply has ended."""

from dataclasses import replace

import pytest

from construct.clock import from_text
from construct.llm.types import Reply, Request
from construct.memory.request_builder import unstored_message
from construct.memory.turn_context import TurnContext
from construct.store.messages import NewMessage
from construct.store.records import REFUSED
from construct.store.reply_context import ReplyContext
from construct.talk.turn import FirstRequest, ReplyInProgress, Turn

NOW = "2026-03-01T09:00:00+00:00"
NEW_ID = 7


def ended(question: str | None, earlier: str | None, stop_reason: str | None) -> ReplyInProgress:
    """Return a reply that ended so, to a question that ended so, with this earlier reply."""
    message = unstored_message(NewMessage("user", "Hello.", stop_reason=question), NOW, -1)
    turn = Turn(message, TurnContext(from_text(NOW)))
    if earlier is not None:
        first = unstored_message(NewMessage("assistant", "Hi.", status=earlier), NOW, -2)
        turn = replace(turn, replies=(first,))
    reply = ReplyInProgress(turn, FirstRequest(Request((), ()), ReplyContext(0, 0, ())))
    reply.finish(Reply("Hello, Ana.", stop_reason=stop_reason))
    return reply


@pytest.mark.parametrize(
    ("question", "earlier", "stop_reason", "left_out", "hidden"),
    [
        (None, None, "end_turn", False, []),
        (None, None, None, False, []),
        (None, None, REFUSED, True, []),
        (None, "complete", "end_turn", False, [-2]),
        (None, "complete", None, False, [NEW_ID]),
        (None, "complete", REFUSED, False, [NEW_ID]),
        (None, "interrupted", None, False, [-2]),
        (None, "interrupted", REFUSED, True, [-2]),
        (REFUSED, "interrupted", None, True, [-2]),
        (REFUSED, "interrupted", "max_tokens", False, [-2]),
    ],
)
def test_what_stays_in_sight(
    question: str | None,
    earlier: str | None,
    stop_reason: str | None,
    left_out: bool,
    hidden: list[int],
) -> None:
    """A refused message is left out until it is answered; a complete reply is not lost."""
    reply = ended(question, earlier, stop_reason)
    assert reply.leaves_out_turn is left_out
    assert reply.replies_to_hide(NEW_ID) == hidden
    kept = reply.message("claude")
    assert kept is not None
    assert kept.stop_reason == (REFUSED if left_out else stop_reason)
    assert kept.status == ("complete" if reply.is_complete else "interrupted")
