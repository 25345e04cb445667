"""Find where forgotten text remains: in titles, notes of cycles and tool results."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from construct.language.fact_match import fact_names, revealing_words, reveals, states_fact
from construct.language.terms import content_words
from construct.llm.types import ToolUse
from construct.memory.shown.escaping import unescape
from construct.memory.shown.tool_rounds import stored_rounds
from construct.references import Reference
from construct.store.forgotten_text import ConversationNotes, CycleNotes
from construct.store.records import REMOVED, Message
from construct.vocabulary import ItemKind

_MIN_QUOTE = 12
"""Characters of the shortest text that counts as a quotation."""
_LONG_QUOTE = 40
"""Characters by which longer quotations are told apart."""
_MAX_COLONS = 4
"""Colons that may come before the text in a line of a tool's result. Earlier versions
wrote `message 1, 2026-03-01 user (loose: has only some of the words): …`."""

# The beginning of a line of a tool's result: "- 3, 2026-03-01, …" or "- message:5, …".
# Earlier versions wrote "observation 3, 2026-03-01: …".
_KINDS = "|".join(ItemKind)
_ITEM = re.compile(rf"(?:({_KINDS}) |- (?:({_KINDS}):)?)(\d+),")


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the union of the sets."""
    return frozenset().union(*sets)


def states_any(text: str, facts: Iterable[str]) -> bool:
    """Return whether a text says any of these facts."""
    return any(states_fact(text, fact) for fact in facts)


def cleared_conversation_notes(
    all_notes: Iterable[ConversationNotes], homes: Collection[int], texts: Sequence[str]
) -> list[ConversationNotes]:
    """Return the conversations whose notes reveal the texts, with those notes removed.

    In the conversations that the texts come from (`homes`), a single revealing word is
    enough to remove a note of the observer, and a name to remove one of the user. In
    others a note is removed only if it states one of the texts.
    """
    revealing = union(map(revealing_words, texts))
    names = union(map(fact_names, texts))

    def kept(notes: ConversationNotes, text: str | None, *, by_user: bool = False) -> str | None:
        if notes.id in homes and reveals(text, names if by_user else revealing):
            return None
        return None if text is None or states_any(text, texts) else text

    changed = []
    for notes in all_notes:
        title = kept(notes, notes.title, by_user=notes.titled_by == "user")
        cleared = notes._replace(
            title=title,
            titled_by=notes.titled_by if title == notes.title else None,
            current_task=kept(notes, notes.current_task),
            suggested_response=kept(notes, notes.suggested_response),
        )
        if cleared != notes:
            changed.append(cleared)
    return changed


def cleared_cycle_notes(cycles: Iterable[CycleNotes], texts: Sequence[str]) -> list[CycleNotes]:
    """Return the cycles whose notes or error reveal or state the texts, with those removed."""
    revealing = union(map(revealing_words, texts))

    def cleared_text(text: str) -> str:
        return REMOVED if reveals(text, revealing) or states_any(text, texts) else text

    changed = []
    for cycle in cycles:
        notes = tuple(map(cleared_text, cycle.notes))
        cleared = CycleNotes(cycle.id, notes, cycle.error and cleared_text(cycle.error))
        if cleared != cycle:
            changed.append(cleared)
    return changed


def remembered_texts(messages: Iterable[Message]) -> list[str]:
    """Return the texts that the model stored with its `remember` tool in these replies."""
    texts = []
    for message in messages:
        for part in stored_rounds(message.blocks):
            calls = [b for b in part.blocks if isinstance(b, ToolUse) and b.name == "remember"]
            texts += [str(call.input.get("content", "")) for call in calls]
    return texts


def replies_revealing(
    rounds: Iterable[tuple[int, str]],
    items: Mapping[Reference, str],
    texts: Sequence[str],
    said: Sequence[str],
) -> list[int]:
    """Return the ids of replies whose tool rounds show, reveal or state what to forget.

    `texts`: what is forgotten. `items`: the same and what it comes from, by reference.
    `said`: the messages it comes from.
    """
    names = union(map(fact_names, texts))
    forgotten = (*texts, *said)
    return [
        message_id
        for message_id, blocks in rounds
        if any(
            _shows(line, items) or reveals(line, names) or states_any(line, forgotten)
            for line in _lines_in(json.loads(blocks))
        )
    ]


def replies_quoting(
    rounds: Iterable[tuple[int, str]], items: Mapping[Reference, str], texts: Iterable[str]
) -> list[int]:
    """Return the ids of replies with a tool round that shows an item or quotes a text.

    A quotation is a whole line of a text, or a part of at least a dozen characters.
    """
    quoting = set()
    parts: dict[str, set[int]] = defaultdict(set)  # by what may be a quotation
    for message_id, blocks in rounds:
        for line in _lines_in(json.loads(blocks)):
            if _shows(line, items):
                quoting.add(message_id)
            for part in _possible_quotations(line):
                parts[part].add(message_id)
    for part in _quoted(parts.keys(), map(_unescaped, texts)):
        quoting |= parts[part]
    return sorted(quoting)


def _quoted(parts: Set[str], texts: Iterable[str]) -> Iterator[str]:
    """Yield those of the parts that quote a text."""
    # By their beginnings, to find them fast. Many parts begin alike, so a long part is
    # filed under a longer beginning.
    beginning: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        if len(part) >= _MIN_QUOTE:
            beginning[part[: _LONG_QUOTE if len(part) >= _LONG_QUOTE else _MIN_QUOTE]].append(part)
    for text in texts:
        yield from filter(content_words, parts & {*map(_bare, text.splitlines())})
        joined = _one_line(text)
        for at in range(len(joined)):
            for length in (_MIN_QUOTE, _LONG_QUOTE):
                alike = beginning.get(joined[at : at + length], ())
                yield from (part for part in alike if joined.startswith(part, at))


def _shows(line: str, items: Mapping[Reference, str]) -> bool:
    """Return whether a line of a tool's result shows one of the items.

    Its text is compared too: in an imported reply the ids are those of another database.
    """
    found = _ITEM.match(line)
    if found is None:
        return False
    kind = ItemKind(found[1] or found[2] or ItemKind.OBSERVATION)
    text = items.get((kind, int(found[3])))
    return text is not None and _bare(line.split(": ", 1)[-1]) in _one_line(_unescaped(text))


def _possible_quotations(line: str) -> Iterator[str]:
    """Yield a tool's line, and what follows each of its first colons."""
    parts = _one_line(line).split(": ", _MAX_COLONS)
    for start in range(len(parts)):
        if part := _bare(": ".join(parts[start:])):
            yield part


def _bare(text: str) -> str:
    """Return a text on one line without the marks of an excerpt."""
    return _one_line(text).strip(" …[]")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _unescaped(text: str) -> str:
    """Return a text without the escapes of a tool's result."""
    return unescape(text).replace("&lt;", "<")


def _lines_in(data: object) -> Iterator[str]:
    """Yield the lines of all texts in a JSON value, unescaped.

    `source` writes a message as a JSON string in one line. That is yielded as one line,
    and then each of its own lines.
    """
    if isinstance(data, str):
        for line in data.splitlines():
            head, _, words = line.partition(": ")
            message = _from_json(words)
            yield _unescaped(line) if message is None else f"{head}: {_one_line(message)}"
            yield from (message or "").splitlines()
    elif isinstance(data, Mapping):
        yield from _lines_in(list(data.values()))
    elif isinstance(data, list):
        for value in data:
            yield from _lines_in(value)


def _from_json(text: str) -> str | None:
    """Return the text that a JSON string stands for; None if it is not one."""
    if not text.startswith('"'):
        return None
    try:
        return str(json.loads(text))
    except ValueError:
        return None
