"""Call a worker model, and record the calls and problems of one cycle."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from construct.errors import ModelError, ModelRejectedError
from construct.llm.catalog import cost_usd
from construct.llm.types import Model, WorkReply, WorkRequest
from construct.store.usage import Call
from construct.tokens import Usage

_MAX_LINE_LENGTH = 10_000
"""Characters. A longer line means that the model repeats itself."""
_SAMPLE_LENGTH = 200
"""Characters of a sample."""
_SAMPLES = 50
_MIN_SAMPLES = 10
"""Answers shorter than this many samples are not checked."""
_REPEATED_SHARE = 0.4
"""An answer repeats itself if more than this share of its samples occur again."""


_THINK = re.compile("< *think *>", re.IGNORECASE)
_END_OF_THOUGHT = re.compile("< */ *think *>", re.IGNORECASE)


async def _ignore_call(_purpose: str) -> None:
    pass


@dataclass(slots=True)
class Account:
    """The calls made so far for one cycle, and the problems it had."""

    purpose: str
    on_call: Callable[[str], Awaitable[None]] = _ignore_call
    """Called with the purpose of each call before it is made."""
    calls: list[Call] = field(default_factory=list)
    attempts: int = 0
    problems: list[str] = field(default_factory=list)
    is_cancelled: bool = False
    """Whether the work was cancelled when most of it was done: it is stored all the same."""

    @property
    def usage(self) -> Usage:
        """The usage of all calls together."""
        return sum((call.usage for call in self.calls), Usage())


async def ask(
    model: Model, request: WorkRequest, account: Account, purpose: str = ""
) -> WorkReply | None:
    """Call the worker model and return its answer, which may have broken off.

    None if there was no answer or the model refused; the account notes why. `purpose`
    is recorded with the usage; the default is the account's own.
    """
    purpose = purpose or account.purpose
    await account.on_call(purpose)
    if purpose == account.purpose:
        account.attempts += 1

    def record(usage: Usage) -> None:
        account.calls.append(Call(purpose, model.name, usage, cost_usd(model.name, usage, "5m")))

    try:
        reply = await model.complete(replace(request, cancelled=record))
    except ModelRejectedError as error:
        account.problems.append(str(error).splitlines()[0])
        return None
    except ModelError as error:  # the advice is for somebody who talks to the model
        account.problems.append(error.without_advice)
        return None
    record(reply.usage)
    if reply.trouble:
        account.problems.append(reply.trouble)
    if reply.stop_reason == "refusal":
        account.problems.append("the worker refused to answer")
        return None
    spoken = after_thinking(reply.text)
    if spoken is None:
        account.problems.append("the worker was still thinking when its answer ended")
        return None
    return replace(reply, text=spoken)


def after_thinking(answer: str) -> str | None:
    """Return what follows the last `</think>` of an answer; None if it ends in a thought."""
    opened = max((tag.end() for tag in _THINK.finditer(answer)), default=0)
    closed = max((tag.end() for tag in _END_OF_THOUGHT.finditer(answer)), default=0)
    return None if opened > closed else answer[closed:]


def repeats_itself(answer: str) -> str | None:
    """Return why an answer looks like endless repetition, or None if it does not.

    An answer repeats itself if a line is longer than `_MAX_LINE_LENGTH`, or if more than
    40% of about 50 samples of 200 characters occur again. Mastra's observer samples
    answers the same way.
    """
    if any(len(line) > _MAX_LINE_LENGTH for line in answer.splitlines()):
        return "the answer has a line that does not end"
    text = " ".join(answer.split())
    if len(text) < _MIN_SAMPLES * _SAMPLE_LENGTH:
        return None
    starts = range(0, len(text) - _SAMPLE_LENGTH, max(1, (len(text) - _SAMPLE_LENGTH) // _SAMPLES))
    samples = [text[start : start + _SAMPLE_LENGTH] for start in starts]
    repeated = sum(
        text.find(sample) < start or text.find(sample, start + 1) > 0
        for start, sample in zip(starts, samples, strict=True)
    )
    return "the answer repeats itself" if repeated > _REPEATED_SHARE * len(samples) else None


def sound_part(answer: str) -> str:
    """Return an answer, cut if it repeats itself.

    The cut is before the first line that repeats an earlier one, or with which the answer
    begins to repeat itself. Without its closing tag the answer counts as broken off.
    """
    if repeats_itself(answer) is None:
        return answer
    seen: set[str] = set()
    kept: list[str] = []
    for line in answer.splitlines(keepends=True):
        words = " ".join(line.split())
        if words in seen or repeats_itself("".join([*kept, line])):
            break
        seen |= {words} - {""}
        kept.append(line)
    return "".join(kept)
