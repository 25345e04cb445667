"""What the graph extractor is sent: the memories to read, and names that are known already. Pure."""

from collections.abc import Iterable, Sequence

from construct import tokens
from construct.llm.types import Model, WorkRequest
from construct.memory.graph.answers import is_user
from construct.memory.language.terms import content_words
from construct.memory.learning.asking import repeats_itself
from construct.memory.shown.escaping import inline
from construct.prompts import prompt
from construct.store.graph import Entity
from construct.store.records import Memory

_REPLY_TOKENS = 8_192
_NAMES_TOKENS = 400
_MEMORY_TOKENS = 6_000


def memories_that_fit(memories: Sequence[Memory], model: Model) -> list[Memory]:
    """Return the first memories, one at least, that leave room for prompt and answer."""
    room = max(200, min(_MEMORY_TOKENS, model.context_window // 4))
    chosen = list(memories[:1])
    room -= sum(tokens.count(m.content) for m in chosen)
    for memory in memories[1:]:
        room -= tokens.count(memory.content)
        if room < 0:
            break
        chosen.append(memory)
    return chosen


def graph_request(model: Model, memories: Sequence[Memory], names: Iterable[str]) -> WorkRequest:
    """Return the request for one call; the memories are headed P1, P2 … in their order."""
    lines = [f"P{number} {inline(memory.content)}" for number, memory in enumerate(memories, 1)]
    user = "<memories>\n" + "\n".join(lines) + "\n</memories>"
    if shown := _fitting(names, min(_NAMES_TOKENS, model.context_window // 20)):
        user += "\n\n<names>\n" + "\n".join(shown) + "\n</names>"
    most = min(_REPLY_TOKENS, model.context_window // 3)
    return WorkRequest(system=prompt("graph"), user=user, max_tokens=most, hopeless=repeats_itself)


def known_names(entities: Sequence[Entity], predicates: Sequence[str], texts: Iterable[str]) -> list[str]:
    """Return known names and predicates, those first that share words with the texts.

    `entities`: oldest first; `predicates`: most used first.
    """
    stems = content_words("\n".join(texts))
    candidates = [(name, name) for name in predicates]
    candidates += [(entity.name, " ".join(entity.names)) for entity in reversed(entities) if not is_user(entity.name)]
    related = [name for name, words in candidates if content_words(words) & stems]
    return list(dict.fromkeys([*related, *(name for name, _ in candidates)]))


def _fitting(names: Iterable[str], room: int) -> list[str]:
    """Return the first names, each as one line, as many as `room` tokens hold."""
    lines = []
    for name in names:
        line = inline(name)
        room -= tokens.count(line + "\n")
        if room < 0:
            break
        lines.append(line)
    return lines
