"""Sentences by their clauses: who is named in each, what is said, and whether it is denied. Pure.

English is read best; what is read wrong is read so on both sides.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Literal

from construct.memory.language.terms import (
    STOP_WORDS,
    begins_sentence,
    fold,
    has_capital,
    is_negation,
    is_number,
    stem,
    tokens,
)
from construct.memory.language.wordlists import MONTHS, WEEKDAYS, word_set

Kind = Literal["user", "name", "value", "word"]

_USER = word_set("user users i me my mine myself we us our ours")
_OWNING = word_set("my mine our ours")
_PRONOUNS = word_set("he she they it his her their its who whose which also")
_CALENDAR = frozenset({*MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)})
_JOINS = re.compile(r"and|AND|und|et|y|e|but|while|whereas|when|because|although|though")
_LABEL = re.compile(r"(?: said| says| stated| mentioned)?:")
_WEAK_BREAK = re.compile(r",|—|\s[-–]\s")
_BEHIND_NUMBER = re.compile(r"\d\.\s")
_STRONG_BREAK = re.compile(r"[;\n]")
_VERB = re.compile(
    r"[a-z]+(?:s|ed)|and|or|will|would|can|could|may|might|had|did|said|told|went|met|took|made|came|gave|got|bought|sold"
    r"|wrote|ran|knew|thought|found|left|lost|won|broke|built|felt|kept|sent|spent|paid|taught|saw|fell|began|became|had"
)
_LITTLE = word_set("since till around near per via already still now one ago today every dr prof")
_PREPOSITIONS = word_set("in with to from for at by of on since until till for")
_BEING = word_set("is are was were be been am has have had")
_NO_NAMES = word_set("currently recently usually previously formerly apparently probably generally always")


@dataclass(frozen=True, slots=True)
class Word:
    """A word that tells something, by its key: folded, and plain words without their inflection."""

    key: str
    kind: Kind
    owns: bool
    """It stands in the possessive: what follows is not said of it."""
    behind: str
    """The preposition before it."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence that says one thing."""

    words: tuple[Word, ...]
    inherited: frozenset[str]
    """Whom the clause before was about, where this one names nobody of its own."""
    denies: bool | None
    """None: a clause before denies, and that may go on."""
    sentence: tuple[str, int]
    """Where it stands: the text, and the number of the sentence in it."""

    keys: frozenset[str] = field(init=False)
    """All its words."""
    names: frozenset[str] = field(init=False)
    """Who is named in it, or was before it and is still meant."""
    company: frozenset[str] = field(init=False)
    """What tells a number apart from others: no numbers or dates, and not the user."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", frozenset(w.key for w in self.words))
        object.__setattr__(self, "names", self.inherited | {w.key for w in self.words if w.kind in {"user", "name"}})
        object.__setattr__(self, "company", frozenset(w.key for w in self.words if w.kind in {"name", "word"}))

    def of_kind(self, kind: Kind) -> frozenset[str]:
        """Return its words of a kind."""
        return frozenset(w.key for w in self.words if w.kind == kind)

    @property
    def leads(self) -> bool:
        """Tell whether it begins with whom it is about."""
        return self.words[0].kind in {"user", "name"} and not self.words[0].owns

    @property
    def subject(self) -> str | None:
        """Whom it is plainly about: who begins it, or is named behind what is theirs ("User's sister Anna")."""
        first = self.words[0]
        if first.kind not in {"user", "name"}:
            return None
        theirs = (w.key for w in self.words if w.kind == "name" and not w.owns and not w.behind)
        return next(theirs, first.key) if first.owns else first.key

    def subjects(self, i: int) -> frozenset[str]:
        """Return of whom the word at `i` is said."""
        before = [w for w in self.words[:i] if w.kind in {"user", "name"} and not w.behind]
        own = {w.key for w in before if not w.owns} | {w.key for w in before[-1:]}
        return frozenset(own) or self.inherited


def read(content: str, sources: Sequence[str]) -> tuple[Sequence[Clause], Sequence[Clause]]:
    """Return the clauses of the line and of its sources; what is a name in one of them is so in all."""
    return _read(content, tuple(sources))


@lru_cache(maxsize=1)
def _read(content: str, sources: tuple[str, ...]) -> tuple[tuple[Clause, ...], tuple[Clause, ...]]:
    """Return the same; a line is asked about several things, one after the other, and reading it takes the longest."""
    texts = (content, *sources)
    small = {stem(fold(m.group())) for text in texts for m in tokens(text) if m.group().islower()}
    names = {n for text in texts for n in opening(text) if stem(n) not in small}
    names.update(fold(m.group()) for text in texts for m in tokens(text) if _is_inner_name(text, m))
    return tuple(_clauses(content, names)), tuple(clause for text in sources for clause in _clauses(text, names))


def _clauses(text: str, names: set[str]) -> Iterator[Clause]:
    carried, subject = frozenset[str](), frozenset[str]()
    denied: bool | None = False
    sentence = 0
    for raw in _joined(_raw_clauses(text, names)):
        leads = raw.words[0].kind in {"user", "name"} and not raw.words[0].owns
        alone = leads or (raw.anew and raw.begins not in _PRONOUNS)
        # "a sister Anna, a nurse" may be about either; "a sister Anna and is a nurse" is about the first.
        inherited = frozenset[str]() if alone else subject if raw.joined else carried
        state = True if raw.denies else None if not alone and denied is not False else False
        sentence += raw.anew
        yield Clause(tuple(raw.words), inherited, state, (text, sentence))
        own = [w.key for w in raw.words if w.kind in {"user", "name"} and not w.owns and not w.behind]
        carried = inherited | frozenset(own)
        subject = frozenset(own[:1]) or (frozenset() if alone else subject)
        denied = state


@dataclass(slots=True)
class _Raw:
    """A clause as it is read."""

    anew: bool
    """It begins a sentence."""
    joined: bool = False
    """A word such as "and" stands before it."""
    begins: str = ""
    denies: bool = False
    bare: bool = True
    """It has no verb of its own, as far as can be seen."""
    words: list[Word] = field(default_factory=list)


def _joined(raw: Iterator[_Raw]) -> list[_Raw]:
    """Return the clauses with words, each that is nothing but numbers and dates joined to the one before it."""
    found: list[_Raw] = []
    for clause in raw:
        if found and clause.bare and not clause.anew and all(w.kind == "value" for w in clause.words):
            found[-1].words.extend(clause.words)
        elif clause.words:
            found.append(clause)
    return found


def _raw_clauses(text: str, names: set[str]) -> Iterator[_Raw]:
    clause = _Raw(anew=True)
    end, previous = 0, ""
    for match in tokens(text):
        gap, end_before, end = text[end : match.start()], end, match.end()
        anew = bool(_STRONG_BREAK.search(gap)) or (match.start() > 0 and begins_sentence(text, match))
        anew = anew or bool(_BEHIND_NUMBER.match(text[max(0, end_before - 1) : match.start()]))
        joins = bool(_JOINS.fullmatch(match.group()))
        if anew or joins or _WEAK_BREAK.search(gap):
            yield clause
            clause, previous = _Raw(anew, joins), ""
        if joins:
            continue
        folded = fold(match.group())
        clause.begins = clause.begins or folded
        clause.denies = clause.denies or (is_negation(folded) and not text[end:].startswith(" only "))
        behind = previous if previous in _PREPOSITIONS else ""
        if word := _word(match.group(), folded, names, behind):
            if word.kind == "user" and _LABEL.match(text, end):
                continue
            clause.words.append(word)
        elif folded in _BEING:
            clause.bare = False
        previous = folded
    yield clause


def _word(token: str, folded: str, names: set[str], behind: str) -> Word | None:
    if folded in _USER:
        return Word("user", "user", folded in _OWNING or _is_possessive(token), behind)
    if folded in STOP_WORDS or folded in _LITTLE or is_negation(folded):
        return None
    if is_number(folded) or folded in _CALENDAR:
        return Word(folded, "value", False, behind)
    if folded in names:
        return Word(folded, "name", _is_possessive(token), behind)
    return Word(stem(folded), "word", False, behind)


def _is_possessive(token: str) -> bool:
    return bool(re.search(r"['’ʼ]s?\Z", token))


def _is_inner_name(text: str, match: re.Match[str]) -> bool:
    token = match.group()
    return has_capital(token) and not begins_sentence(text, match) and _can_name(fold(token))


def opening(text: str) -> Iterator[str]:
    """Yield the words that begin a sentence and stand there like a name: before a verb, a name, or owning something."""
    found = list(tokens(text))
    for match, following in zip_longest(found, found[1:]):
        token = match.group()
        if not token[0].isupper() or not begins_sentence(text, match) or not _can_name(fold(token)):
            continue
        near = following.group() if following and text[match.end() : following.start()].isspace() else ""
        if _is_possessive(token) or _VERB.fullmatch(near) or near[:1].isupper() or has_capital(token[1:]):
            yield fold(token)


def _can_name(folded: str) -> bool:
    return not (
        folded in STOP_WORDS or folded in _CALENDAR or folded in _NO_NAMES or is_number(folded) or is_negation(folded)
    )
