"""The tools recall, source and agenda: one declaration and one form of result for all models.

Stored text may contain instructions meant for a model. So each item is exactly one line:
line breaks become spaces or are escaped in a JSON string, and every `<` is escaped.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from construct.clock import Clock
from construct.errors import UsageError
from construct.language.moments import parse_moment
from construct.llm.types import Tool
from construct.memory import lookup
from construct.memory.agenda import AgendaItem
from construct.memory.config import MemoryConfig
from construct.memory.lookup import Part, Query, Recalled, Rights, SourcePage
from construct.memory.recall.search import Hit
from construct.memory.shown.escaping import inline
from construct.references import parse_reference, written
from construct.store.driver import Connection
from construct.store.reply_context import ContextItem
from construct.text import one_line, printable
from construct.vocabulary import ItemKind, Match, Role, Way

_MAX_CHARACTERS = 1_500
"""The most characters of a result of `recall` or `agenda`."""
_JSON_ESCAPES = str.maketrans({"<": "\\u003c", "＜": "\\uff1c", "﹤": "\\ufe64"})
"""How the signs that may open a tag are written in a JSON string."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a tool found: a line for each result, and lines about all of them."""

    lines: Sequence[str]
    items: Sequence[ContextItem]
    """The memory items in these lines."""
    count: int
    """How many results these are."""


def tool(
    name: str, description: str, properties: Mapping[str, object], required: list[str]
) -> Tool:
    """Return a tool whose arguments are an object with these properties."""
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }
    return Tool(name, description, schema)


def reading_tools(where: str) -> tuple[Tool, ...]:
    """Return the tools; `where` says what is searched: "in all conversations"."""
    recall = tool(
        "recall",
        f"Search everything that was ever said or noted {where}, best first. Use it when the "
        "user refers to something you do not see, or when exact words, numbers or dates matter. "
        "A result need not have all the words, so give several at once. Each result is a line: "
        "its id, its day, its kind, which words of the query it has, who said it (or pasted it: "
        "somebody else's words) or whether it was stated, planned, asked, hypothetical, "
        "inferred or quoted, then the words. A loose match lacks half the words or a quoted "
        "phrase, is similar in meaning, or is next to a match. A related one was found "
        "through the people, places and things in the query; a respelt one has a word with a "
        "similar spelling.",
        {
            "query": {
                "type": "string",
                "description": "Words as they were used at the time, not a question.",
            },
            "since": {"type": "string", "description": "Earliest day: 2026-03-01, or 30d."},
            "until": {"type": "string", "description": "Latest day."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": lookup.MAX_HITS,
                "description": f"The most results; {lookup.DEFAULT_HITS} unless given.",
            },
            "kind": {"type": "string", "enum": [str(kind) for kind in ItemKind]},
            "by": {
                "type": "string",
                "enum": [str(role) for role in Role],
                "description": "Whose words: then only messages are searched.",
            },
        },
        ["query"],
    )
    return recall, _SOURCE, _AGENDA


_SOURCE = tool(
    "source",
    "Read exact words, a page at a time: of an observation the messages behind it, oldest "
    "first; of a message itself and, page by page, more of what was said around it.",
    {
        "id": {"type": "string", "description": "As recall gives it: 12, message:5."},
        "page": {"type": "integer", "description": "The first is 1."},
    },
    ["id"],
)
_AGENDA = tool(
    "agenda",
    "List what the user has ahead, by day, month or year, and their past plans whose outcome "
    "is unknown.",
    {},
    [],
)
NAMES = frozenset({"recall", "source", "agenda"})


def use(
    db: Connection,
    config: MemoryConfig,
    rights: Rights,
    name: str,
    arguments: Mapping[str, Any],
) -> Found:
    """Run one of the tools. Raises UsageError for wrong arguments, and NotFoundError."""
    match name:
        case "recall":
            query = _query(arguments, config.clock)
            return _found_hits(lookup.recall(db, config, rights, query))
        case "source":
            reference = parse_reference(_text(arguments, "id"))
            page = _number(arguments, "page", 1)
            return _found_source(lookup.source(db, config.clock, rights, reference, page))
        case "agenda":
            return _found_agenda(lookup.agenda(db, config.clock, rights))
    raise UsageError(f"There is no tool {name}.")


def _query(arguments: Mapping[str, Any], clock: Clock) -> Query:
    limit = _number(arguments, "limit", lookup.DEFAULT_HITS)
    if not 1 <= limit <= lookup.MAX_HITS:
        raise UsageError(f"`limit` must be from 1 to {lookup.MAX_HITS}.")
    return Query(
        words=_text(arguments, "query"),
        since=_day(arguments.get("since"), clock),
        until=_day(arguments.get("until"), clock),
        limit=limit,
        kind=_one_of(tuple(ItemKind), arguments, "kind"),
        role=_one_of(tuple(Role), arguments, "by"),
    )


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if value is None:
        raise UsageError(f"`{name}` is missing.")
    return str(value)


def _number(arguments: Mapping[str, Any], name: str, default: int) -> int:
    value = arguments.get(name)
    try:
        return default if value is None else int(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise UsageError(f"`{name}` must be a whole number.") from error


def _one_of(values: Sequence[str], arguments: Mapping[str, Any], name: str) -> str | None:
    value = arguments.get(name)
    if value and value not in values:
        raise UsageError(f"`{name}` must be one of {', '.join(values)}.")
    return value or None


def _day(value: object, clock: Clock) -> date | None:
    return clock.local(parse_moment(str(value), clock)).date() if value else None


def _found_hits(recalled: Recalled) -> Found:
    lines = [_hit_line(hit) for hit in recalled.hits] or ["Nothing was found."]
    lines += [one_line(str(respelt)) for respelt in recalled.respelt]
    if recalled.nowhere and recalled.hits:
        lines.append(f"Nothing holds: {inline(', '.join(recalled.nowhere))}.")
    if recalled.not_searched:
        lines.append(f"(Imported messages not searched yet: {recalled.not_searched:,}.)")
    items = [ContextItem(Way.RECALL, hit.kind, hit.id) for hit in recalled.hits]
    return Found(lines, items, len(items))


def _found_source(page: SourcePage) -> Found:
    lines = [_origin_line(page), *map(_part_line, page.parts)]
    if not page.parts:
        lines.append("There are no messages behind it, or none that can be read here.")
    lines.append(f"(page {page.page} of {page.pages})")
    entries = [page.entry, *(part.entry for part in page.parts)]
    items = [ContextItem(Way.SOURCE, entry.kind, entry.id) for entry in entries]
    return Found(lines, items, len(page.parts))


def _found_agenda(items: Sequence[AgendaItem]) -> Found:
    lines = [
        item_line([str(item.id), _when(item), item.state, item.note.stance], item.note.content)
        for item in items
    ]
    shown = [ContextItem(Way.RECALL, ItemKind.OBSERVATION, item.id) for item in items]
    return Found(lines or ["Nothing is on the agenda."], shown, len(shown))


def _when(item: AgendaItem) -> str:
    """Return a date with its time and repetition: `2026-03-10 18:00 weekly`."""
    return " ".join(filter(None, (item.when, item.time, item.recurs)))


def item_line(head: Sequence[str], text: str) -> str:
    """Return one item as one line: what it is, then its text."""
    words = inline(text)
    cut = words if len(words) <= _MAX_CHARACTERS else words[:_MAX_CHARACTERS] + " […]"
    return f"- {', '.join(head)}: {cut.replace('<', '&lt;')}"


def _hit_line(hit: Hit) -> str:
    head = [written((hit.kind, hit.id)), hit.date, hit.kind]
    if hit.holds:
        head.append(f"has {inline(' '.join(hit.holds))}")
    if role_or_stance := hit.role or hit.stance:
        head.append(f"{role_or_stance} pasted" if hit.is_pasted else role_or_stance)
    if hit.match != Match.DIRECT:
        head.append(f"{hit.match} match")
    return item_line(head, hit.text)


def _origin_line(page: SourcePage) -> str:
    entry = page.entry
    if entry.kind == ItemKind.MESSAGE:
        return "The message word for word and what was said around it, as JSON strings:"
    head = [written(page.reference), entry.day or entry.moment[:10], entry.kind]
    head += [entry.stance] if entry.stance else []
    return "Behind " + item_line(head, entry.text).removeprefix("- ")


def _part_line(part: Part) -> str:
    entry = part.entry
    head = [written((entry.kind, entry.id)), part.said_at]
    head += [entry.role] if entry.role else []
    head += [f"part {part.number} of {part.total}"] if part.total > 1 else []
    words = json.dumps(printable(part.text), ensure_ascii=False)
    return f"- {', '.join(head)}: {words.translate(_JSON_ESCAPES)}"
