"""An example of the observer's work, for models too small to do what they are only told. Pure, but for one file."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from construct.memory.language.terms import terms, words
from construct.memory.language.wordlists import TIME_WORDS
from construct.memory.learning.proposals import Extraction
from construct.prompts import prompt
from construct.store.records import Message


def observer_example(closing: str) -> tuple[str, str]:
    """Return a transcript, with what stands behind it, and the answer to it."""
    asked, answered = _parts()
    return f"{asked}\n\n{closing}", answered


def without_example(found: Extraction, messages: Sequence[Message]) -> Extraction:
    """Return the extraction without what tells of the example: it has a name of its answer that nobody said here."""
    foreign = _example_names().difference(*(words(message.content) for message in messages))

    def own(text: str | None) -> str | None:
        return text if text and foreign.isdisjoint(words(text)) else None

    return replace(
        found,
        drafts=tuple(draft for draft in found.drafts if own(draft.content)),
        current_task=own(found.current_task),
        suggested_response=own(found.suggested_response),
        title=own(found.title),
    )


@cache
def _example_names() -> frozenset[str]:
    answer = json.loads(_parts()[1])
    found = frozenset[str]().union(*(terms(line["content"]) for line in answer["observations"]))
    return frozenset(name for name in found.difference(TIME_WORDS) if name.isalpha())


def _parts() -> tuple[str, str]:
    asked, answered = prompt("observer-example").split("\n---\n")
    return asked, answered
