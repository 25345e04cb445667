"""Parse the answer of the model that extracts the graph. No I/O.

The model decides what a note means. The code checks what can be checked: each relation
must cite a note that was sent, and that note must name both entities.
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
"""Words for the user in notes: workers write "User", people write "I"."""

_MAX_NAME = 80
"""The most characters a name may have. Longer ones are not read."""
_MAX_PREDICATE = 40
"""The most characters a predicate may have. Relations with a longer one are not read."""
_MAX_TYPE = 30
"""The most characters an entity's type may have. Longer ones are cut."""

# The field that lists aliases: "also: Bob, Bobby"
_ALSO = re.compile(r"also\b:? ?", re.IGNORECASE)


class UnreadableAnswerError(ValueError):
    """No relation in the answer could be parsed, so the attempt failed."""


@dataclass(frozen=True, slots=True)
class ProposedEntity:
    """A person or thing that the notes name."""

    names: tuple[str, ...]
    """The main name, then the aliases."""
    type: str | None = None


@dataclass(frozen=True, slots=True)
class _EntityLine:
    """An entity as a line of the answer names it."""

    written: Sequence[str]
    """All names on the line."""
    accepted: Sequence[str]
    """Those that a note contains or that are already stored."""
    type: str | None


@dataclass(frozen=True, slots=True)
class ProposedRelation:
    """A relation between two entities, and the anchor of the note that states it."""

    subject: ProposedEntity
    predicate: str
    object: ProposedEntity
    anchor: str


@dataclass(frozen=True, slots=True)
class GraphProposal:
    """The part of an answer that may be stored."""

    relations: tuple[ProposedRelation, ...]
    entities: tuple[ProposedEntity, ...]
    """All entities that the notes name, those without a relation too."""
    read: tuple[str, ...]
    """Anchors of the notes the answer covers.

    All of them, or, if the answer broke off, those up to the last one cited.
    """
    is_whole: bool
    """False when the answer broke off."""
    notes: tuple[str, ...]
    """Phrases that say what was left out, and why."""


def read_answer(
    answer: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]] | None = None
) -> GraphProposal:
    """Return the part of an answer that may be stored.

    `texts`: the notes that were sent, by anchor, oldest first. `known`: the names of
    the stored entities, as `names_by_key` gives them. Raises UnreadableAnswerError.
    """
    known = known or {}
    relations_section = section(answer, "relations")
    if relations_section is None:
        raise UnreadableAnswerError("the answer has no <relations> section")
    entities = _read_entities(answer, texts, known)
    relations: dict[ProposedRelation, None] = {}
    cited: set[str] = set()
    notes = []
    unreadable = 0
    for line in relations_section.lines:
        fields = _fields(line)
        anchors = anchors_in(fields[3:], texts)
        if not anchors:
            unreadable += 1
            continue
        cited.update(anchors)
        relation = _relation(fields, {anchor: texts[anchor] for anchor in anchors}, entities, known)
        if relation is None:
            reason = "the note does not name both entities, or this is not a relation"
            notes.append(f"refused “{' '.join(fields[:3])}”: {reason}")
        else:
            relations[relation] = None
    if not cited and (relations_section.lines or not relations_section.is_closed):
        raise UnreadableAnswerError("no relation in the answer could be read")
    if unreadable:
        notes.append(f"lines that could not be read: {unreadable}")
    read = tuple(texts)
    if not relations_section.is_closed:
        last_cited = max(map(read.index, cited))
        read = read[: last_cited + 1]
    distinct = tuple(dict.fromkeys(entities.values()))
    return GraphProposal(
        tuple(relations), distinct, read, relations_section.is_closed, tuple(notes)
    )


def contains_name(text: str, name: str) -> bool:
    """Return whether a text contains a name: as whole words if its script has spaces."""
    return bool(_pattern(name).search(_folded(text)))


def _fields(line: str) -> list[str]:
    """Return the fields of a line such as `Ana | lives in | Porto | P1`."""
    return [one_line(storable(unescape(field))) for field in line.lstrip("-*•–+| ").split("|")]


def _read_entities(
    answer: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> dict[str, ProposedEntity]:
    """Return the entities of an answer, by the key of each name the answer gives them.

    A name is kept if a note contains it or if it is already stored. The first name
    kept becomes the main one.
    """
    entities_section = section(answer, "entities")
    entity_lines: list[_EntityLine] = []
    for line in entities_section.lines if entities_section else ():
        entity_line = _entity_line(line, texts, known)
        if entity_line.accepted:
            entity_lines.append(entity_line)
    main_keys = {key(USER), *(key(entity.accepted[0]) for entity in entity_lines)}
    entities: dict[str, ProposedEntity] = {}
    for entity in entity_lines:
        main_name, *others = entity.accepted
        # The main name of one entity cannot be an alias of another.
        aliases = (name for name in others if key(name) not in main_keys)
        entities.setdefault(key(main_name), ProposedEntity((main_name, *aliases), entity.type))
    for entity in entity_lines:
        for name in entity.written:
            entities.setdefault(key(name), entities[key(entity.accepted[0])])
    return entities


def _entity_line(
    line: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> _EntityLine:
    first, *others = _fields(line)
    types = [field.casefold() for field in others if field and not _ALSO.match(field)]
    type_ = types[0][:_MAX_TYPE] if types else None
    aliases = ",".join(_ALSO.sub("", field, count=1) for field in others if _ALSO.match(field))
    written = [name for name in map(_clean_name, [first, *aliases.split(",")]) if name]
    accepted = [
        name
        for name in written
        if key(name) in known or any(contains_name(text, name) for text in texts.values())
    ]
    return _EntityLine(written, accepted, type_)


def _relation(
    fields: Sequence[str],
    texts: Mapping[str, str],
    entities: Mapping[str, ProposedEntity],
    known: Mapping[str, Sequence[str]],
) -> ProposedRelation | None:
    """Return the relation on a line, citing the first note that names both entities.

    None if the line is not a relation or no note names both.
    """
    subject, object_ = _clean_name(fields[0]), _clean_name(fields[2])
    predicate = fields[1]
    if (
        subject is None
        or object_ is None
        or not index_words(predicate)
        or len(predicate) > _MAX_PREDICATE
    ):
        return None
    start = entities.get(key(subject), ProposedEntity((subject,)))
    end = entities.get(key(object_), ProposedEntity((object_,)))
    start_key, end_key = key(start.names[0]), key(end.names[0])
    if start_key == end_key:
        return None
    start_names = [*start.names, *known.get(start_key, ())]
    end_names = [*end.names, *known.get(end_key, ())]
    for anchor, text in texts.items():
        if _contains_any_name(text, start_names) and _contains_any_name(text, end_names):
            return ProposedRelation(start, predicate, end, anchor)
    return None


def _contains_any_name(text: str, names: Sequence[str]) -> bool:
    return any(contains_name(text, name) for name in names)


@lru_cache(2048)
def _folded(text: str) -> str:
    return fold(unicodedata.normalize("NFC", text))


@lru_cache(2048)
def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern that finds a name in a folded text."""
    if is_user(name):
        return _USER_WORDS
    words = index_words(name)
    if is_unspaced(name) or not words:
        return re.compile(re.escape(_folded(name)))
    return re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, words)) + r"(?![^\W_])")


def _clean_name(written: str) -> str | None:
    """Return a name without punctuation around it, or None if it is not a name."""
    name = written.strip(" .,;:!?\"“”'")
    if name.casefold() in SELF:
        return USER
    # A text without content words is not a name; neither is an empty one.
    has_content = not NOTE_STOP_WORDS.issuperset(index_words(name))
    return name if has_content and len(name) <= _MAX_NAME else None
