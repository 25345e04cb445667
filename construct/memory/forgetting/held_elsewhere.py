"""Finds what else holds what is forgotten: titles, tasks, cycles' notes, tool results.

Pure: rows go in, and what they become or which of them are concerned comes out.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from construct.language.fact_match import fact_names, revealing_words, reveals, states_fact
from construct.memory.shown.escaping import escape
from construct.store.records import REMOVED
from construct.store.references import CycleNotes, Thread

_LEAST_QUOTE = 12
"""Characters; what is shorter is no telling quotation."""
_MOST_COLONS = 4
"""As many as the head of a tool's result can hold:
`message 1, 2026-03-01 user (loose: only part of the words): …`."""


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return what is in any of the sets."""
    return frozenset().union(*sets)


def states_any(text: str, facts: Iterable[str]) -> bool:
    """Tell whether a text says any of these facts."""
    return any(states_fact(text, fact) for fact in facts)


def threads_without(
    threads: Iterable[Thread], homes: Collection[int], texts: Sequence[str]
) -> list[Thread]:
    """Return the threads that hold what the texts say, with those parts taken out.

    What the observer wrote in a conversation it comes from (`homes`) goes for a single
    word of it. What the user wrote goes, and what stands in other conversations, only
    where it names or says it.
    """
    revealing = union(map(revealing_words, texts))
    names = union(map(fact_names, texts))

    def kept(thread: Thread, text: str | None, *, by_user: bool = False) -> str | None:
        if thread.id in homes and reveals(text, names if by_user else revealing):
            return None
        return None if text is None or states_any(text, texts) else text

    found = []
    for thread in threads:
        title = kept(thread, thread.title, by_user=thread.titled_by == "user")
        cleared = thread._replace(
            title=title,
            titled_by=thread.titled_by if title == thread.title else None,
            current_task=kept(thread, thread.current_task),
            suggested_response=kept(thread, thread.suggested_response),
        )
        if cleared != thread:
            found.append(cleared)
    return found


def notes_without(cycles: Iterable[CycleNotes], texts: Iterable[str]) -> list[CycleNotes]:
    """Return the cycles whose notes or error hold it, with those removed."""
    revealing = union(map(revealing_words, texts))
    found = []
    for cycle in cycles:
        notes = tuple(REMOVED if reveals(note, revealing) else note for note in cycle.notes)
        error = REMOVED if reveals(cycle.error, revealing) else cycle.error
        cleared = CycleNotes(cycle.id, notes, error)
        if cleared != cycle:
            found.append(cleared)
    return found


def replies_holding(
    rounds: Iterable[tuple[int, str]], texts: Sequence[str], said: Sequence[str]
) -> list[int]:
    """Return the replies of which a tool round names it, says it or quotes it.

    `texts` say it themselves, `said` are the words of the messages that it comes from.
    """
    names = union(map(fact_names, texts))
    told = (*texts, *said)
    # Most blocks hold none of the words, which is told without reading their JSON.
    escaped = [json.dumps(part)[1:-1] for part in union(map(revealing_words, told))]
    found = []
    for message_id, blocks in rounds:
        folded = blocks.casefold()
        if any(part in folded for part in escaped) and any(
            reveals(line, names) or states_any(line, told) for line in _lines_in(json.loads(blocks))
        ):
            found.append(message_id)
    return found


def replies_quoting(rounds: Iterable[tuple[int, str]], said: Iterable[str]) -> list[int]:
    """Return the replies of which a tool round quotes what was said."""
    everything = " ".join(_one_line(escape(text)) for text in said)
    return [
        message_id
        for message_id, blocks in rounds
        if any(_is_quoted(line, everything) for line in _lines_in(json.loads(blocks)))
    ]


def _is_quoted(line: str, said: str) -> bool:
    """Tell whether a tool's line, or what follows one of its first colons, was said."""
    parts = _one_line(line).split(": ", _MOST_COLONS)
    quoted = (": ".join(parts[at:]).strip(" …[]") for at in range(len(parts)))
    return any(len(text) >= _LEAST_QUOTE and text in said for text in quoted)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _lines_in(data: object) -> Iterator[str]:
    """Yield the lines of all text in a JSON value."""
    if isinstance(data, str):
        yield from data.splitlines()
    elif isinstance(data, Mapping):
        yield from _lines_in(list(data.values()))
    elif isinstance(data, list):
        for value in data:
            yield from _lines_in(value)
