"""The memory tools of the main model: recall, source, remember and forget."""

import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from math import ceil
from typing import Any

from construct.clock import from_text
from construct.errors import ConstructError, NotFoundError
from construct.llm.types import Tool, ToolResult, ToolUse
from construct.memory.config import MemoryConfig
from construct.memory.promotion import remember
from construct.memory.recall.search import Hit, Results, search_memory
from construct.memory.shown.escaping import escape, inline
from construct.memory.shown.forks import reach
from construct.store import search, search_index
from construct.store.database import transaction
from construct.store.in_thread import Store
from construct.store.provenance import messages_behind
from construct.store.records import Message
from construct.store.reply_context import ContextItem
from construct.store.search import Filters
from construct.text import shorten
from construct.vocabulary import ItemKind, Match, MemoryOrigin, Role, Stance, Way

Forget = Callable[[int], Awaitable[str]]
"""Forgets an observation if the user agrees, and returns the answer for the model."""

_MAX_HITS = 8
"""The most results that `recall` returns."""
_PAGE = 6
"""Messages on a page of `source`."""
_MAX_CHARACTERS = 1_500
"""The most characters of each text that a tool returns."""


def _tool(name: str, description: str, properties: dict[str, object], required: list[str]) -> Tool:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return Tool(name, description, schema)


def _recall_tool(scope: str) -> Tool:
    where = (
        "in all conversations with this person"
        if scope == "user"
        else "in this conversation, or kept for good"
    )
    return _tool(
        "recall",
        f"Search everything that was ever said or noted {where}, best first. Use it when "
        "the person refers to something you do not see, or when exact words, numbers or dates "
        "matter. "
        "Give the words that would have been used at the time, not a question. A result need not "
        "have all of them, so give several at once. Each is headed by its kind, number and date. "
        "A memory is a fact that is kept apart from the observations. loose: lacks half the "
        "words or a quoted phrase, is similar in meaning, or is next to a match. related: "
        "found through the people, places and things in the query. respelt: has a "
        "word with a similar spelling.",
        {
            "query": {"type": "string", "description": "Words to look for."},
            "since": {"type": ["string", "null"], "description": "Earliest day, YYYY-MM-DD."},
            "until": {"type": ["string", "null"], "description": "Latest day, YYYY-MM-DD."},
            "kind": {
                "type": ["string", "null"],
                "enum": ["message", "observation", "memory", None],
            },
            "by": {
                "type": ["string", "null"],
                "enum": ["user", "assistant", None],
                "description": "Whose words: then only messages are searched.",
            },
        },
        ["query"],
    )


_OTHER_TOOLS = (
    _tool(
        "source",
        "Read the exact messages behind an observation, oldest first, a page at a time. "
        "The number is the one that recall gave for it.",
        {
            "observation": {"type": "integer", "description": "The observation's number."},
            "page": {"type": ["integer", "null"], "description": "Which page; 1 is the first."},
        },
        ["observation"],
    ),
    _tool(
        "remember",
        "Keep one thing for good, in one self-contained sentence about the person or their "
        "world. Use it when they ask you to remember something, or state something that plainly "
        "must never be lost; ordinary talk is observed without you. Do not store what was only "
        "quoted, supposed or asked, unless they ask you to keep it. You cannot change it "
        "afterwards: if you do not know which day or person they mean, ask first.",
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
    _tool(
        "forget",
        "Delete an observation, the observations it was made from and all that rests on it, for "
        "good. Only when the person asks for it; they are asked to confirm. The messages behind "
        "it stay stored, withheld from you. If the person wants them emptied too, do not call "
        "this: they type `/forget 12 --words` instead. The number is the one that recall gave for "
        "it. A memory that is kept apart, or a message, is deleted by the person alone: "
        "`/forget memory:6`, `/forget message:6 --words`.",
        {"id": {"type": "integer", "description": "The observation's number."}},
        ["id"],
    ),
)


def tools_for(scope: str) -> tuple[Tool, ...]:
    """Return the memory tools. With the scope `user`, recall searches all conversations."""
    return (_recall_tool(scope), *_OTHER_TOOLS)


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
            case "recall":
                results, missing = await self.store.call(self._search, arguments)
                self.keep_items(ContextItem(Way.RECALL, hit.kind, hit.id) for hit in results.hits)
                lines = [_hit_line(hit) for hit in results.hits] or ["Nothing was found."]
                lines += map(str, results.respelt)
                if missing:
                    lines.append(f"(Imported messages not searched yet: {missing:,}.)")
                return "\n".join(lines)
            case "source":
                observation_id = int(arguments["observation"])
                messages = await self.store.call(self._messages_behind, observation_id)
                return self._page(messages, max(1, int(arguments.get("page") or 1)))
            case "remember" if not self.learns:
                return "Memory is read-only now: nothing was stored. Say so."
            case "remember":
                return await self.store.call(
                    self._remember, str(arguments["content"]), arguments.get("category")
                )
            case "forget" if self.forget is not None:
                return await self.forget(int(arguments["id"]))
            case "forget":
                command = f"construct memory forget {int(arguments['id'])}"
                return f"There is no terminal to confirm on. Tell the person to run: {command}"
        raise ValueError("there is no such tool")

    def _search(self, db: sqlite3.Connection, arguments: Mapping[str, Any]) -> tuple[Results, int]:
        """Return the results, and how many imported messages are not in the index yet."""
        filters = Filters(
            since=_day(arguments.get("since")),
            until=_day(arguments.get("until")),
            kind=arguments.get("kind") or None,
            descent=reach(db, self.config.scope, self.conversation_id),
            role=Role(arguments["by"]) if arguments.get("by") else None,
            exclude=self.answering,
            zone=self.config.clock.zone,
            for_model=True,
        )
        today, meaning = self.config.clock.today(), self.config.meaning
        results = search_memory(
            db, str(arguments["query"]), filters, _MAX_HITS, today=today, meaning=meaning
        )
        return results, search_index.count_missing(db)

    def _messages_behind(self, db: sqlite3.Connection, observation_id: int) -> list[Message]:
        """Return the messages behind an observation that the model may read, oldest first.

        Raises NotFoundError if it may not read the observation.
        """
        descent = reach(db, self.config.scope, self.conversation_id)
        filters = Filters(descent=descent, all=True, for_model=True)
        if not search.results(db, ItemKind.OBSERVATION, [observation_id], filters):
            raise NotFoundError(f"There is no observation {observation_id}.")
        behind = messages_behind(db, [observation_id])
        found = search.results(db, ItemKind.MESSAGE, [m.id for m in behind], filters)
        readable = {entry.id for entry in found}
        return [m for m in behind if m.id in readable]

    def _page(self, messages: list[Message], page: int) -> str:
        shown = messages[(page - 1) * _PAGE : page * _PAGE]
        self.keep_items(ContextItem(Way.SOURCE, ItemKind.MESSAGE, m.id) for m in shown)
        pages = max(1, ceil(len(messages) / _PAGE))
        lines = [self._message_line(m) for m in shown]
        return "\n".join([*lines, f"(page {page} of {pages})"])

    def _message_line(self, m: Message) -> str:
        clock = self.config.clock
        when = clock.local(from_text(m.created_at)).strftime("%Y-%m-%d %H:%M")
        return f"message {m.id}, {when} {m.role}: {_cut(escape(m.text))}"

    def _remember(self, db: sqlite3.Connection, content: str, category: object) -> str:
        with transaction(db):
            kept = remember(
                db,
                content,
                str(category) if category else None,
                MemoryOrigin.ASSISTANT,
                self.config.clock,
            )
        return f"Kept as memory:{kept.id}: {kept.content}"


def summary(call: ToolUse) -> str:
    """Return a call as one line for the screen."""
    argument = (
        call.input.get("query")
        or call.input.get("content")
        or call.input.get("observation")
        or call.input.get("id")
    )
    text = argument if isinstance(argument, str | int) else json.dumps(argument)
    return shorten(f"{call.name}: {text}", 100)


def _hit_line(hit: Hit) -> str:
    head = f"{hit.kind} {hit.id}, {hit.date}"
    if hit.role:
        head += f" {hit.role}"
    notes = []
    if hit.stance and hit.stance != Stance.STATED:
        notes.append(hit.stance)
    if hit.match != Match.DIRECT:
        notes.append(hit.match)
    if notes:
        head += f" ({', '.join(notes)})"
    return f"{head}: {_cut(inline(hit.text))}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + " […]"


def _day(value: object) -> date | None:
    return date.fromisoformat(value[:10]) if isinstance(value, str) and value else None
