"""Asking a worker model, and keeping the account of every call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from construct.errors import ModelError
from construct.llm.catalog import cost_usd
from construct.llm.types import JsonRequest, Model
from construct.memory.learning.answers import UnusableAnswerError, parse_object
from construct.store.books import Call
from construct.tokens import Usage


@dataclass(slots=True)
class Account:
    """The calls made so far for one cycle, and what went wrong with them."""

    purpose: str
    calls: list[Call] = field(default_factory=list)
    attempts: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """All tokens together."""
        return sum((call.usage for call in self.calls), Usage())


async def ask(
    model: Model, request: JsonRequest, account: Account, part: str = "observations"
) -> Mapping[str, Any] | None:
    """Return the JSON object, with its list `part`, of a worker; None when the attempt failed, noted in the account."""
    account.attempts += 1
    try:
        reply = await model.complete_json(request)
    except ModelError as error:
        account.problems.append(str(error).splitlines()[0])
        return None
    account.calls.append(Call(account.purpose, model.name, reply.usage, cost_usd(model.name, reply.usage, "5m")))
    if reply.stop_reason not in {"end_turn", "stop_sequence", "stop"}:
        account.problems.append(f"the worker stopped with {reply.stop_reason or 'a broken connection'}")
        return None
    try:
        return parse_object(reply.text, part)
    except UnusableAnswerError as error:
        account.problems.append(str(error))
        return None
