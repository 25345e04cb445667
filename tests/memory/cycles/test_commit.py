"""What a compaction says that it changed."""

from construct.memory.cycles.commit import Compacted
from construct.store.messages import mark_retried
from tests.memory.builders import Life


def test_a_reply_that_was_not_shown_did_not_leave_the_window(life: Life) -> None:
    """A retried reply is counted neither in the window nor among what left it."""
    here = life.talk()
    life.say(here, "I live in Porto")
    first = life.say(here, "Where?", "assistant")
    mark_retried(life.db, [first.id])
    life.say(here, "How nice.", "assistant")
    life.observe(here)
    assert life.compact(here) == Compacted(committed=0, left_window=2)
