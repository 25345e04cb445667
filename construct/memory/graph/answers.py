"""Reads a graph extractor's answer. Pure.

The model decides what a memory means. Code checks what it can prove: a relation names a
memory that was sent, and that memory names both ends.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from construct.language.index_words import fold, index_words, is_unspaced
from construct.language.wordlists import NOTE_STOP_WORDS
from construct.memory.graph.names import SELF, USER, is_user, key
from construct.memory.shown.escaping import unescape
from construct.memory.shown.lines import anchors_in, section
from construct.text import one_line, storable

_USER_WORDS = re.compile(
    r"\b(?:user|i|me|my|mine|myself|we|us|our|eu|meu|minha|yo|mi|ich|mein|meine|je|mon|io|mio|"
    r"ik|mijn|я|мой|моя)\b|[我私]"
)
"""How a memory names the user: observations write "User", people write "I"."""

_LONGEST_NAME = 80
_LONGEST_PREDICATE = 40
_LONGEST_TYPE = 30

_ALSO = re.compile(r"also\b:? ?", re.IGNORECASE)


class UnreadableAnswerError(ValueError):
    """The answer holds no relations that can be read; the attempt has failed."""


@dataclass(frozen=True, slots=True)
class ProposedEntity:
    """Somebody or something that the memories name."""

    names: tuple[str, ...]
    """Its own name, then its aliases."""
    type: str | None = None


@dataclass(frozen=True, slots=True)
class ProposedRelation:
    """A relation between two entities, and the anchor of the memory that states it."""

    subject: ProposedEntity
    predicate: str
    object: ProposedEntity
    anchor: str


@dataclass(frozen=True, slots=True)
class GraphProposal:
    """What may be stored of an answer."""

    relations: tuple[ProposedRelation, ...]
    read: tuple[str, ...]
    """Anchors of the memories it covers: all, or up to the last one it named."""
    is_whole: bool
    """False when the answer broke off."""
    notes: tuple[str, ...]
    """What was left out, and why."""


def read_answer(
    answer: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]] | None = None
) -> GraphProposal:
    """Return what may be stored of an answer; raises UnreadableAnswerError.

    `texts`: the memories that were sent, by anchor, oldest first. `known`: all names of
    each stored entity, by the key of each of them (`names_by_key`).
    """
    known = known or {}
    found = section(answer, "relations")
    if found is None:
        raise UnreadableAnswerError("the answer has no <relations> section")
    entities = _read_entities(answer, texts, known)
    relations: dict[ProposedRelation, None] = {}
    named: set[str] = set()
    notes = []
    unreadable = 0
    for line in found.lines:
        fields = _fields(line)
        anchors = anchors_in(fields[3:], texts)
        if not anchors:
            unreadable += 1
            continue
        named.update(anchors)
        relation = _relation(fields, {anchor: texts[anchor] for anchor in anchors}, entities, known)
        if relation is None:
            reason = "its memory does not name both, or it is no relation"
            notes.append(f"refused “{' '.join(fields[:3])}”: {reason}")
        else:
            relations[relation] = None
    if not named and (found.lines or not found.is_closed):
        raise UnreadableAnswerError("no relation in the answer could be read")
    if unreadable:
        notes.append(f"lines that could not be read: {unreadable}")
    sent = tuple(texts)
    read = sent if found.is_closed else sent[: 1 + max(map(sent.index, named))]
    return GraphProposal(tuple(relations), read, found.is_closed, tuple(notes))


def contains_name(text: str, name: str) -> bool:
    """Return whether a text holds a name, as whole words where its script has spaces."""
    return bool(_pattern(name).search(_folded(text)))


def _fields(line: str) -> list[str]:
    return [one_line(storable(unescape(field))) for field in line.lstrip("-*•–+| ").split("|")]


def _read_entities(
    answer: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> dict[str, ProposedEntity]:
    """Return the entities of an answer by the key of each name it writes for them.

    A name is kept if a memory has it or it is known already. If the first one is
    neither, the next that is stands for the entity.
    """
    found = section(answer, "entities")
    read: list[tuple[list[str], list[str], str | None]] = []
    for line in found.lines if found else ():
        first, *others = _fields(line)
        kinds = [field.casefold() for field in others if field and not _ALSO.match(field)]
        also = ",".join(_ALSO.sub("", field, count=1) for field in others if _ALSO.match(field))
        written = [name for name in map(_clean_name, [first, *also.split(",")]) if name]
        sound = [
            n
            for n in written
            if key(n) in known or any(contains_name(text, n) for text in texts.values())
        ]
        if sound and is_user(sound[0]):
            written = sound = [USER]
        if sound:
            read.append((written, sound, kinds[0][:_LONGEST_TYPE] if kinds else None))
    own = {key(USER), *(key(sound[0]) for _, sound, _ in read)}
    entities: dict[str, ProposedEntity] = {}
    for _, sound, kind in read:  # an alias is nobody else's own name
        aliases = (name for name in sound[1:] if key(name) not in own)
        entities.setdefault(key(sound[0]), ProposedEntity((sound[0], *aliases), kind))
    for written, sound, _ in read:
        for name in written:
            entities.setdefault(key(name), entities[key(sound[0])])
    return entities


def _relation(
    fields: Sequence[str],
    texts: Mapping[str, str],
    entities: Mapping[str, ProposedEntity],
    known: Mapping[str, Sequence[str]],
) -> ProposedRelation | None:
    """Return the relation of a line, with the first memory that names both ends."""
    subject, object_ = _clean_name(fields[0]), _clean_name(fields[2])
    predicate = fields[1]
    if (
        subject is None
        or object_ is None
        or not index_words(predicate)
        or len(predicate) > _LONGEST_PREDICATE
    ):
        return None
    ends = [entities.get(key(name), ProposedEntity((name,))) for name in (subject, object_)]
    own = [key(end.names[0]) for end in ends]
    if own[0] == own[1]:
        return None
    names = [[*end.names, *known.get(own_key, ())] for end, own_key in zip(ends, own, strict=True)]
    for anchor, text in texts.items():
        if all(any(contains_name(text, name) for name in of_one) for of_one in names):
            return ProposedRelation(ends[0], predicate, ends[1], anchor)
    return None


@lru_cache(2048)
def _folded(text: str) -> str:
    return fold(unicodedata.normalize("NFC", text))


@lru_cache(2048)
def _pattern(name: str) -> re.Pattern[str]:
    if is_user(name):
        return _USER_WORDS
    parts = index_words(name)
    if is_unspaced(name) or not parts:
        return re.compile(re.escape(_folded(name)))
    return re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, parts)) + r"(?![^\W_])")


def _clean_name(written: str) -> str | None:
    name = written.strip(" .,;:!?\"“”'")
    if name.casefold() in SELF:
        return USER
    if (
        len(name) > _LONGEST_NAME
        or not index_words(name)
        or NOTE_STOP_WORDS.issuperset(index_words(name))
    ):
        return None
    return name
