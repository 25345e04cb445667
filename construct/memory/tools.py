"""The memory tools of the main model: recall, source, remember and forget."""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from construct.errors import ConstructError
from construct.llm.types import Tool, ToolResult, ToolUse
from construct.memory import reading_tools
from construct.memory.config import MemoryConfig
from construct.memory.keeping import ModelNote, keep_for_model, keep_reminder
from construct.memory.lookup import Rights
from construct.memory.reading_tools import Found, tool
from construct.memory.shown.date_marks import read_moment
from construct.memory.shown.forks import hidden_from, reach
from construct.memory.totals_tool import totals_lines
from construct.store import messages
from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.in_thread import Store
from construct.store.outside_text import any_from_outside
from construct.store.records import Message, Observation
from construct.store.reply_context import ContextItem
from construct.text import shorten
from construct.vocabulary import Origin, Role, Scope, Stance

Forget = Callable[[int], Awaitable[str]]
"""Forgets an observation if the user agrees, and returns the answer for the model."""

Accept = Callable[[str], Awaitable[bool]]
"""Asks the user whether a note is their own word, while a text from outside is in sight."""

_AS_QUOTED = (
    " It counts as a text's word, since the request holds text that is not the person's own. "
    "Say so, and that `/edit {id}` makes it theirs."
)

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
        "remind",
        "Remind the person of something at a day and time. Use it when they ask to be reminded; "
        "if they name no time, choose one that fits, and say which. They are shown what you "
        "stored, and can undo it.",
        {
            "text": {
                "type": "string",
                "description": "What to remind of, in a few words and in their language.",
            },
            "when": {
                "type": "string",
                "description": "YYYY-MM-DD HH:MM, by the clock on their wall.",
            },
        },
        ["text", "when"],
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


MEMORY_TOOLS = frozenset({*reading_tools.NAMES, "totals", *(t.name for t in _WRITING_TOOLS)})
"""The names of all memory tools."""


_TOTALS = tool(
    "totals",
    "Add up amounts that the person follows, such as weight or spending: sum and mean by week "
    "and in all. Use it for every question about such an amount, and never add up yourself.",
    {
        "name": {"type": "string", "description": "What to add up; all of it if missing."},
        "since": {"type": "string", "description": "Earliest day: 2026-03-01, or 30d."},
    },
    [],
)


def tools_for(scope: str, tracked: Sequence[str] = ()) -> tuple[Tool, ...]:
    """Return the memory tools. With the scope `user`, recall searches all conversations.

    `tracked`: what the user's rules follow; without any there is no tool to add it up.
    """
    here = "in this conversation, or kept for good"
    where = "in all conversations with this user" if scope == Scope.USER else here
    totals = (_TOTALS,) if tracked else ()
    return (*reading_tools.reading_tools(where), *totals, *_WRITING_TOOLS)


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
    accept: Accept | None = None
    """Asks whether what is to be kept is the user's own; None if there is no way to ask."""
    holds_outside_text: bool = False
    """Whether the request holds text from outside, apart from the items `given`."""
    given: Callable[[], Iterable[ContextItem]] = tuple
    """Returns the memory items that the model has been given in this turn."""
    answering: tuple[int, ...] = ()
    """Ids of messages that recall leaves out.

    These are the message being answered, and the replies to it that are being replaced.
    """
    keep_items: Callable[[Iterable[ContextItem]], None] = lambda _: None
    """Called with the memory items that a tool returned."""
    on_kept: Callable[[str], None] = lambda _: None
    """Called with one line for the user about what was kept."""

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
            case "totals":
                return await self.store.call(self._totals, call)
            case "remember" | "remind" if not self.learns:
                return "Memory is read-only now: nothing was stored. Say so."
            case "remember":
                content, category = arguments.get("content"), arguments.get("category")
                text, note_category = _as_text(content), _as_text(category or "")
                is_own = await self._is_users_own(text)
                kept = await self.store.call(self._remember, text, note_category, is_own)
                line = f"{kept.note.id}: {kept.note.content}"
                if not kept.is_new:
                    return f"Already noted as {line}"
                self.on_kept(f"Kept as {line}")
                return f"Kept as {line}" + _stance_note(kept.note)
            case "remind":
                text = _as_text(arguments.get("text"))
                moment = self._moment(_as_text(arguments.get("when")))
                is_own = await self._is_users_own(f"{text} ({moment:%Y-%m-%d %H:%M})")
                note = await self.store.call(self._remind, text, moment, is_own)
                self.on_kept(_reminder_line(note))
                return _reminder_line(note) + _stance_note(note)
            case "forget" if self.forget is not None:
                return await self.forget(int(arguments["id"]))
            case "forget":
                command = f"construct memory forget {int(arguments['id'])}"
                return f"There is no terminal to confirm on. Tell the person to run: {command}"
        raise ValueError("there is no such tool")

    def _read(self, db: Connection, call: ToolUse) -> Found:
        scope = reach(db, self.config.scope, self.conversation_id)
        hidden = hidden_from(db, self.conversation_id)
        rights = Rights(scope, hidden_messages=self.answering, hidden_observations=hidden)
        return reading_tools.use(db, self.config, rights, call.name, call.input)

    def _totals(self, db: Connection, call: ToolUse) -> str:
        scope = reach(db, self.config.scope, self.conversation_id)
        return "\n".join(totals_lines(db, self.config.clock, scope, call.input))

    async def _is_users_own(self, note: str) -> bool:
        """Return whether a note to be kept is the user's own word; asks where that is unsure."""
        given = self.given()
        if not (self.holds_outside_text or await self.store.call(any_from_outside, given)):
            return True
        return self.accept is not None and await self.accept(note)

    def _remember(self, db: Connection, content: str, category: str, is_own: bool) -> ModelNote:
        stance = Stance.STATED if is_own else Stance.QUOTED
        with transaction(db):
            said = self._newest_of_user(db)
            return keep_for_model(db, content, category, said, self.config.clock, stance)

    def _remind(self, db: Connection, text: str, moment: datetime, is_own: bool) -> Observation:
        stance, clock = Stance.PLANNED if is_own else Stance.QUOTED, self.config.clock
        with transaction(db):
            said = self._newest_of_user(db)
            return keep_reminder(db, text, moment, Origin.ASSISTANT, said, clock, stance)

    def _moment(self, when: str) -> datetime:
        """Return when to remind, by the clock on the wall. Raises ValueError."""
        moment, now = read_moment(when), self.config.clock.wall()
        if moment is None:
            raise ValueError("`when` must be a time such as 2026-03-05 09:30")
        remind_at = datetime.fromisoformat(moment)
        if remind_at <= now:
            raise ValueError(f"{moment} is past: it is {now:%Y-%m-%d %H:%M} now")
        return remind_at

    def _newest_of_user(self, db: Connection) -> Message | None:
        """Return the user's message that is being answered."""
        answering = [messages.get_message(db, i) for i in sorted(self.answering)]
        said = [m for m in answering if m.role == Role.USER]
        return said[-1] if said else None


def _reminder_line(kept: Observation) -> str:
    if kept.stance == Stance.QUOTED:
        return f"Kept as {kept.id}, without a reminder: {kept.content}"
    return f"Will remind of {kept.id} at {kept.remind_at}: {kept.content}"


def _stance_note(kept: Observation) -> str:
    """Return what to add to a tool's answer about a note that is a text's word."""
    return _AS_QUOTED.format(id=kept.id) if kept.stance == Stance.QUOTED else ""


def _as_text(value: object) -> str:
    """Return an argument that must be text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError("its arguments must be text")
    return value


def summary(call: ToolUse) -> str:
    """Return a call as one line for the screen."""
    argument = call.input.get("query") or call.input.get("content")
    argument = argument or call.input.get("text") or call.input.get("id")
    if argument is None:
        return call.name
    text = argument if isinstance(argument, str | int) else json.dumps(argument)
    return shorten(f"{call.name}: {text}", 100)
