"""Parse the answer of the model that extracts the graph. No I/O.

The model decides what a memory means. The code checks what can be checked: each relation
must cite a memory that was sent, and that memory must name both entities.
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
"""Words for the user in memories: observations write "User", people write "I"."""

# Limits in characters.
_LONGEST_NAME = 80
_LONGEST_PREDICATE = 40
_LONGEST_TYPE = 30

# The field that lists aliases: "also: Bob, Bobby".
_ALSO = re.compile(r"also\b:? ?", re.IGNORECASE)


class UnreadableAnswerError(ValueError):
    """No relation in the answer could be parsed, so the attempt failed."""


@dataclass(frozen=True, slots=True)
class ProposedEntity:
    """A person or thing that the memories name."""

    names: tuple[str, ...]
    """The main name, then the aliases."""
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
    """The part of an answer that may be stored."""

    relations: tuple[ProposedRelation, ...]
    read: tuple[str, ...]
    """Anchors of the memories the answer covers: all, or those up to the last one cited."""
    is_whole: bool
    """False when the answer broke off."""
    notes: tuple[str, ...]
    """Sentences that say what was left out, and why."""


def read_answer(
    answer: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]] | None = None
) -> GraphProposal:
    """Return the part of an answer that may be stored; raises UnreadableAnswerError.

    `texts`: the memories that were sent, by anchor, oldest first. `known`: the names of
    the stored entities, as `names_by_key` gives them.
    """
    known = known or {}
    listed = section(answer, "relations")
    if listed is None:
        raise UnreadableAnswerError("the answer has no <relations> section")
    entities = _read_entities(answer, texts, known)
    relations: dict[ProposedRelation, None] = {}
    cited: set[str] = set()
    notes = []
    unreadable = 0
    for line in listed.lines:
        fields = _fields(line)
        anchors = anchors_in(fields[3:], texts)
        if not anchors:
            unreadable += 1
            continue
        cited.update(anchors)
        relation = _relation(fields, {anchor: texts[anchor] for anchor in anchors}, entities, known)
        if relation is None:
            reason = "the memory does not name both entities, or this is not a relation"
            notes.append(f"refused “{' '.join(fields[:3])}”: {reason}")
        else:
            relations[relation] = None
    if not cited and (listed.lines or not listed.is_closed):
        raise UnreadableAnswerError("no relation in the answer could be read")
    if unreadable:
        notes.append(f"lines that could not be read: {unreadable}")
    sent = tuple(texts)
    read = sent if listed.is_closed else sent[: 1 + max(map(sent.index, cited))]
    return GraphProposal(tuple(relations), read, listed.is_closed, tuple(notes))


def contains_name(text: str, name: str) -> bool:
    """Return whether a text contains a name: as whole words if its script has spaces."""
    return bool(_pattern(name).search(_folded(text)))


def _fields(line: str) -> list[str]:
    return [one_line(storable(unescape(field))) for field in line.lstrip("-*•–+| ").split("|")]


def _read_entities(
    answer: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> dict[str, ProposedEntity]:
    """Return the entities of an answer, by the key of each name the answer gives them.

    A name is kept if a memory contains it or if it is already stored. The first name
    kept becomes the main one.
    """
    listed = section(answer, "entities")
    read: list[tuple[list[str], list[str], str | None]] = []
    for line in listed.lines if listed else ():
        first, *others = _fields(line)
        types = [field.casefold() for field in others if field and not _ALSO.match(field)]
        also = ",".join(_ALSO.sub("", field, count=1) for field in others if _ALSO.match(field))
        written = [name for name in map(_clean_name, [first, *also.split(",")]) if name]
        accepted = [
            name
            for name in written
            if key(name) in known or any(contains_name(text, name) for text in texts.values())
        ]
        if accepted and is_user(accepted[0]):
            written = accepted = [USER]
        if accepted:
            read.append((written, accepted, types[0][:_LONGEST_TYPE] if types else None))
    main_keys = {key(USER), *(key(accepted[0]) for _, accepted, _ in read)}
    entities: dict[str, ProposedEntity] = {}
    for _, accepted, type_ in read:
        # The main name of one entity cannot be an alias of another.
        aliases = (name for name in accepted[1:] if key(name) not in main_keys)
        entities.setdefault(key(accepted[0]), ProposedEntity((accepted[0], *aliases), type_))
    for written, accepted, _ in read:
        for name in written:
            entities.setdefault(key(name), entities[key(accepted[0])])
    return entities


def _relation(
    fields: Sequence[str],
    texts: Mapping[str, str],
    entities: Mapping[str, ProposedEntity],
    known: Mapping[str, Sequence[str]],
) -> ProposedRelation | None:
    """Return the relation on a line, citing the first memory that names both entities.

    None if the line is not a relation or no memory names both.
    """
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
    if key(ends[0].names[0]) == key(ends[1].names[0]):
        return None
    names_of_ends = [[*end.names, *known.get(key(end.names[0]), ())] for end in ends]
    for anchor, text in texts.items():
        if all(any(contains_name(text, name) for name in names) for names in names_of_ends):
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
