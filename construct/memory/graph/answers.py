"""Reads a graph extractor's answer and keeps what the memories bear out. Pure.

The model decides what a memory means. Code checks only what it can prove: a relation names a
memory that was sent, that memory names both ends, and it does not deny the relation.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from construct.memory.language.stem import fold, is_unspaced, words
from construct.memory.language.terms import STOP_WORDS, negates
from construct.memory.shown.escaping import unescape
from construct.memory.shown.lines import anchors_in, section
from construct.text import one_line, storable

USER = "User"
SELF = frozenset({"user", "the user", "i", "me", "myself", "my"})
"""Other ways to write the user's name."""

_USER_WORDS = re.compile(
    r"\b(?:user|i|me|my|mine|myself|we|us|our|eu|meu|minha|yo|mi|ich|mein|meine|je|mon|io|mio|ik|mijn|я|мой|моя)\b|[我私]"
)
"""How a memory names the user: observations write "User", people write "I", some in other languages."""

_MOST_LINES = 400
_LONGEST_NAME = 80
_LONGEST_PREDICATE = 40
_LONGEST_TYPE = 30

_ONE_AT_A_TIME = {
    "home": {"lives in", "lives at", "resides in", "based in"},
    "work": {"works at", "works for", "employed by", "employed at"},
    "studies": {"studies at"},
    "partner": {"married to", "engaged to", "dating"},
    "boss": {"reports to"},
    "age": {"aged", "has age"},
}
"""Present-tense predicates of which a subject has one at a time. Past ones ("worked at") are never settled."""

_BULLET = re.compile(r"(?:[-*•–+]|\d+[.)]) ")
_ALSO = re.compile(r"also\b:? ?", re.IGNORECASE)


class UnreadableAnswerError(ValueError):
    """The answer holds no relations that can be read; the attempt has failed."""


@dataclass(frozen=True, slots=True)
class ProposedEntity:
    """Somebody or something that the memories name."""

    name: str
    type: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Name and aliases."""
        return (self.name, *self.aliases)


@dataclass(frozen=True, slots=True)
class ProposedRelation:
    """A relation between two names, and the anchor of the memory that states it."""

    subject: str
    predicate: str
    object: str
    anchor: str


@dataclass(frozen=True, slots=True)
class GraphProposal:
    """What may be stored of an answer."""

    entities: tuple[ProposedEntity, ...]
    """Those that a relation names."""
    relations: tuple[ProposedRelation, ...]
    read: tuple[str, ...]
    """Anchors of the memories that the answer covers: all, or up to the last one named before it broke off."""
    is_whole: bool
    """False when the answer broke off."""
    notes: tuple[str, ...] = ()
    """What was refused, and why."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A relation line as the model wrote it; its anchors are those that were sent."""

    subject: str
    predicate: str
    object: str
    anchors: tuple[str, ...]


def read_answer(
    answer: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]] | None = None
) -> GraphProposal:
    """Return what may be stored of an answer; raises UnreadableAnswerError.

    `texts`: the memories that were sent, by anchor, oldest first. `known`: all names of each
    stored entity, by the key of each of them (`names_by_key`).
    """
    found = section(answer, "relations")
    if found is None:
        raise UnreadableAnswerError("the answer has no <relations> section")
    texts = {anchor: unicodedata.normalize("NFC", text) for anchor, text in texts.items()}
    read = [_read_line(line, texts) for line in found.lines[:_MOST_LINES]]
    lines = [line for line in read if line is not None]
    if not lines and (found.lines or not found.is_closed):
        raise UnreadableAnswerError("no relation in the answer could be read")
    checker = _Checker(_read_entities(answer, texts, known or {}), texts, known or {})
    for line in lines:
        checker.check(line)
    if unreadable := len(found.lines) - len(lines):
        checker.notes.append(f"lines that could not be read: {unreadable}")
    return GraphProposal(
        entities=checker.entities(),
        relations=tuple(checker.relations.values()),
        read=tuple(texts) if found.is_closed else _up_to_last_named(texts, lines),
        is_whole=found.is_closed,
        notes=tuple(checker.notes),
    )


def key(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return " ".join(words(name)) or name.casefold().strip()


def names_by_key(entities: Iterable[Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return all names of each entity, by the key of each; where two share one, its first bearer's.

    `entities`: the names of each, its own name first.
    """
    given = list(entities)
    found = {key(names[0]): names for names in reversed(given)}
    for names in given:
        for name in names:
            found.setdefault(key(name), names)
    return found


def is_user(name: str) -> bool:
    """Return whether it is the name that stands for the user."""
    return key(name) == key(USER)


def one_at_a_time(predicate: str) -> str | None:
    """Return which kind of relation it is if a subject has only one of that kind at a time, else None."""
    core = " ".join(word for word in words(predicate) if word not in {"is", "now", "currently"})
    return next((kind for kind, predicates in _ONE_AT_A_TIME.items() if core in predicates), None)


def contains_name(text: str, name: str) -> bool:
    """Return whether a text holds a name, as whole words where its script has spaces."""
    return bool(_spans(unicodedata.normalize("NFC", text), [name]))


def _fields(line: str) -> list[str]:
    return [one_line(storable(unescape(field))) for field in _BULLET.sub("", line, count=1).strip("| ").split("|")]


def _read_line(line: str, texts: Mapping[str, str]) -> _Line | None:
    """Return a relation line, or None when it has another form or names no memory that was sent."""
    fields = _fields(line)
    anchors = anchors_in(fields[3:], texts)
    if len(fields) < 4 or not anchors:
        return None
    return _Line(fields[0], fields[1], fields[2], tuple(anchors))


def _read_entities(
    answer: str, texts: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> dict[str, ProposedEntity]:
    """Return the entities of an answer by the key of each name it has for them.

    A name is kept if a memory has it or it is known already. If the first one is neither, the next that is
    stands for the entity.
    """
    found = section(answer, "entities")
    by_own_name: dict[str, ProposedEntity] = {}
    written: dict[str, str] = {}
    for line in found.lines[:_MOST_LINES] if found else ():
        first, *others = _fields(line)
        kinds = [field for field in others if not _ALSO.match(field)]
        also = [_ALSO.sub("", field, count=1) for field in others if _ALSO.match(field)]
        given = [first, *",".join(also).split(",")]
        names = [name for name in map(_clean_name, given) if name]
        sound = [name for name in names if key(name) in known or _is_in_any(texts, name)]
        if not sound:
            continue
        own, *aliases = (USER,) if is_user(sound[0]) else sound
        by_own_name.setdefault(key(own), ProposedEntity(own, _clean_type(kinds), tuple(aliases)))
        for name in [own] if is_user(own) else names:
            written.setdefault(key(name), key(own))
    for own_key, entity in by_own_name.items():  # an alias is nobody else's own name
        aliases = [a for a in entity.aliases if key(a) not in by_own_name and not is_user(a)]
        by_own_name[own_key] = ProposedEntity(entity.name, entity.type, tuple(aliases))
    return {name: by_own_name[own] for name, own in written.items()} | by_own_name


def _is_in_any(texts: Mapping[str, str], name: str) -> bool:
    return any(contains_name(text, name) for text in texts.values())


class _Checker:
    """Collects the relations that the memories bear out."""

    def __init__(
        self,
        proposed: Mapping[str, ProposedEntity],
        texts: Mapping[str, str],
        known: Mapping[str, Sequence[str]],
    ) -> None:
        self.relations: dict[tuple[str, ...], ProposedRelation] = {}
        self.notes: list[str] = []
        self._proposed = proposed
        self._texts = texts
        self._known = known

    def check(self, line: _Line) -> None:
        """Keep a relation, or note why not."""
        subject, object_ = self._end(line.subject), self._end(line.object)
        said = f"“{line.subject} {line.predicate} {line.object}”"
        if subject is None or object_ is None or key(subject.name) == key(object_.name):
            self.notes.append(f"refused {said}: it does not relate two names")
            return
        if not words(line.predicate) or len(line.predicate) > _LONGEST_PREDICATE:
            self.notes.append(f"refused {said}: it is no relation")
            return
        anchor = self._home(line.anchors, subject, object_)
        if anchor is None:
            self.notes.append(f"refused {said}: its memory does not name both")
        elif self._denies(self._texts[anchor], subject, object_) and not negates(line.predicate):
            self.notes.append(f"refused {said}: its memory denies it")
        else:
            relation = ProposedRelation(subject.name, line.predicate, object_.name, anchor)
            said_by = key(subject.name), line.predicate.casefold(), key(object_.name), anchor
            self.relations[said_by] = relation

    def entities(self) -> tuple[ProposedEntity, ...]:
        """Return the entities that the kept relations name."""
        ends = [r.subject for r in self.relations.values()]
        ends += [r.object for r in self.relations.values()]
        found = {key(end): self._proposed.get(key(end), ProposedEntity(end)) for end in ends}
        return tuple(found.values())

    def _end(self, written: str) -> ProposedEntity | None:
        name = _clean_name(written)
        return None if name is None else self._proposed.get(key(name), ProposedEntity(name))

    def _home(self, anchors: Iterable[str], *ends: ProposedEntity) -> str | None:
        """Return the first of the memories that names both ends."""
        for anchor in anchors:
            if all(_spans(self._texts[anchor], self._names(end)) for end in ends):
                return anchor
        return None

    def _denies(self, text: str, subject: ProposedEntity, object_: ProposedEntity) -> bool:
        """Return whether a word of denial stands between the ends, where they are nearest.

        Places where the subject comes first count before others: in "Ana works at Acme, and
        Rui does not work at Acme" the first Acme, nearest to Rui, is not what is said of him.
        """
        gaps = []
        for a in _spans(text, self._names(subject)):
            for b in _spans(text, self._names(object_)):
                start, end = min(a[1], b[1]), max(a[0], b[0])
                gaps.append((a[0] > b[0], end - start, text[start:end]))
        _, _, between = min(gaps)
        return negates(between)

    def _names(self, end: ProposedEntity) -> list[str]:
        return [*end.names, *self._known.get(key(end.name), ())]


def _up_to_last_named(texts: Mapping[str, str], lines: Sequence[_Line]) -> tuple[str, ...]:
    anchors = list(texts)
    last = max(anchors.index(anchor) for line in lines for anchor in line.anchors)
    return tuple(anchors[: last + 1])


def _spans(text: str, names: Iterable[str]) -> list[tuple[int, int]]:
    """Return where a text holds one of these names."""
    folded = fold(text)  # as long as the text, so that the spans fit both
    return [match.span() for name in names for match in _pattern(name).finditer(folded)]


@lru_cache(2048)
def _pattern(name: str) -> re.Pattern[str]:
    if is_user(name):
        return _USER_WORDS
    parts = words(name)
    if is_unspaced(name) or not parts:
        return re.compile(re.escape(fold(unicodedata.normalize("NFC", name))))
    return re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, parts)) + r"(?![^\W_])")


def _clean_name(written: str) -> str | None:
    """Return a name that is fit to be stored, or None."""
    name = written.strip(" .,;:!?\"“”'")
    if name.casefold() in SELF:
        return USER
    if not name or len(name) > _LONGEST_NAME or not any(c.isalnum() for c in name):
        return None
    return None if words(name) and STOP_WORDS.issuperset(words(name)) else name


def _clean_type(kinds: Sequence[str]) -> str | None:
    kind = kinds[0].casefold() if kinds else ""
    return kind if kind and len(kind) <= _LONGEST_TYPE else None
