"""The memory tools of the main model: recall, source, remember and forget."""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from construct.errors import ConstructError
from construct.llm.types import Tool, ToolResult, ToolUse
from construct.memory import reading_tools
from construct.memory.config import MemoryConfig
from construct.memory.keeping import keep_for_model
from construct.memory.lookup import Rights
from construct.memory.reading_tools import Found, tool
from construct.memory.shown.forks import reach
from construct.store import messages
from construct.store.database import transaction
from construct.store.in_thread import Store
from construct.store.reply_context import ContextItem
from construct.text import shorten
from construct.vocabulary import Role, Scope

Forget = Callable[[int], Awaitable[str]]
"""Forgets an observation if the user agrees, and returns the answer for the model."""

_WRITING_TOOLS = (
    tool(
        "remember",
        "Keep one thing for good, in one self-contained sentence about the person or their "
        "world. Use it when they ask you to remember something, or state something that plainly "
        "must never be lost; ordinary talk is observed without you. Do not store what was only "
        "quoted, supposed or asked, unless they ask you to keep it. If you do not know which day "
        "or person they mean, ask first. They are shown what you kept, and can undo it.",
        {
            "content": {
                "type": "string",
                "description": "The sentence, with names, numbers and dates.",
            },
            "category": {
                "type": ["string", "null"],
                "description": "person, place, health, work, preference, plan or other.",
            },
        },
        ["content"],
    ),
    tool(
        "forget",
        "Delete an observation, the observations it was made from and all that rests on it, for "
        "good. Only when the person asks for it; they are asked to confirm. The messages behind "
        "it stay stored, withheld from you. If the person wants them emptied too, do not call "
        "this: they type `/forget 12 --words` instead. The number is the one that recall gave for "
        "it. A message is deleted by the person alone: `/forget message:6 --words`.",
        {"id": {"type": "integer", "description": "The observation's number."}},
        ["id"],
    ),
)


def tools_for(scope: str) -> tuple[Tool, ...]:
    """Return the memory tools. With the scope `user`, recall searches all conversations."""
    here = "in this conversation, or kept for good"
    where = "in all conversations with this user" if scope == Scope.USER else here
    return (*reading_tools.reading_tools(where), *_WRITING_TOOLS)


@dataclass(frozen=True, slots=True)
class ToolBox:
    """Runs the tool calls of one turn."""

    store: Store
    config: MemoryConfig
    conversation_id: int
    learns: bool
    """Whether `remember` may store anything."""
    forget: Forget | None = None
    """Forgets an observation if the user agrees; None if there is no way to ask."""
    answering: tuple[int, ...] = ()
    """Ids of messages that recall leaves out.

    These are the message being answered, and the replies to it that are being replaced.
    """
    keep_items: Callable[[Iterable[ContextItem]], None] = lambda _: None
    """Called with the memory items that a tool returned."""

    async def use(self, call: ToolUse) -> ToolResult:
        """Run one call. Errors become a result that the model can act on."""
        try:
            return ToolResult(call.id, await self._run(call))
        except ConstructError as error:
            return ToolResult(call.id, str(error), is_error=True)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            return ToolResult(
                call.id, f"The input of {call.name} is wrong: {error}.", is_error=True
            )

    async def _run(self, call: ToolUse) -> str:
        arguments = call.input
        match call.name:
            case name if name in reading_tools.NAMES:
                found = await self.store.call(self._read, call)
                self.keep_items(found.items)
                return "\n".join(found.lines)
            case "remember" if not self.learns:
                return "Memory is read-only now: nothing was stored. Say so."
            case "remember":
                content, category = arguments.get("content"), arguments.get("category")
                return await self.store.call(
                    self._remember, _as_text(content), _as_text(category or "")
                )
            case "forget" if self.forget is not None:
                return await self.forget(int(arguments["id"]))
            case "forget":
                command = f"construct memory forget {int(arguments['id'])}"
                return f"There is no terminal to confirm on. Tell the person to run: {command}"
        raise ValueError("there is no such tool")

    def _read(self, db: sqlite3.Connection, call: ToolUse) -> Found:
        scope = reach(db, self.config.scope, self.conversation_id)
        rights = Rights(scope, hidden_messages=self.answering)
        return reading_tools.use(db, self.config, rights, call.name, call.input)

    def _remember(self, db: sqlite3.Connection, content: str, category: str) -> str:
        with transaction(db):
            answering = [messages.get_message(db, i) for i in sorted(self.answering)]
            said = [m for m in answering if m.role == Role.USER]
            newest = said[-1] if said else None
            kept = keep_for_model(db, content, category, newest, self.config.clock)
        return f"Kept as {kept.id}: {kept.content}"


def _as_text(value: object) -> str:
    """Return an argument that must be text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError("`content` and `category` must be text")
    return value


def summary(call: ToolUse) -> str:
    """Return a call as one line for the screen."""
    argument = call.input.get("query") or call.input.get("content") or call.input.get("id")
    if argument is None:
        return call.name
    text = argument if isinstance(argument, str | int) else json.dumps(argument)
    return shorten(f"{call.name}: {text}", 100)
