"""Whether a condensed line still says of each thing what its sources say of it.

"Anna is 40, Ben is 30" has every term of "Anna is 30" and "Ben is 40", and says something
else. Terms alone cannot see that; the clauses they stand in can.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Literal

from construct.memory.terms import STOP_WORDS, begins_sentence, fold, is_negation, is_number, stem, tokens

Kind = Literal["user", "name", "value", "word"]

_USER = frozenset("user users i me my mine myself we us our ours".split())
_OWNING = frozenset("my mine our ours".split())
_PRONOUNS = frozenset("he she they it his her their its who whose which also".split())
_CALENDAR = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays""".split()
)
_JOINS = re.compile(r"and|AND|und|et|y|e|but|while|whereas|when|because|although|though")
_LABEL = re.compile(r"(?: said| says| stated| mentioned)?:")
_WEAK_BREAK = re.compile(r",|—|\s[-–]\s")
_BEHIND_NUMBER = re.compile(r"\d\.\s")
_STRONG_BREAK = re.compile(r"[;\n]")
_VERB = re.compile(
    r"[a-z]+(?:s|ed)|and|or|will|would|can|could|may|might|had|did|said|told|went|met|took|made|came|gave|got|bought|sold"
    r"|wrote|ran|knew|thought|found|left|lost|won|broke|built|felt|kept|sent|spent|paid|taught|saw|fell|began|became|had"
)
_LITTLE = frozenset("since till around near per via already still now one ago today every dr prof".split())
_PREPOSITIONS = frozenset("in with to from for at by of on since until till for".split())
_BEING = frozenset("is are was were be been am has have had".split())
_NO_NAMES = frozenset("currently recently usually previously formerly apparently probably generally always".split())


@dataclass(frozen=True, slots=True)
class _Word:
    key: str
    kind: Kind
    owns: bool
    """It stands in the possessive: what follows is not said of it."""
    behind: str = ""
    """The preposition before it."""


@dataclass(frozen=True, slots=True)
class _Clause:
    words: tuple[_Word, ...]
    inherited: frozenset[str]
    """Whom the clause before was about, where this one names nobody of its own."""
    denies: bool | None
    """None: a clause before denies, and that may go on."""
    sentence: tuple[str, int]

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(w.key for w in self.words)

    @property
    def names(self) -> frozenset[str]:
        return self.inherited | {w.key for w in self.words if w.kind in {"user", "name"}}

    @property
    def company(self) -> frozenset[str]:
        """What tells a number apart from others: no numbers or dates, and not the user."""
        return frozenset(w.key for w in self.words if w.kind in {"name", "word"})

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


def misbound(content: str, sources: Sequence[str]) -> str | None:
    """Return the first word of `content` that is said of something else than in its sources, else None.

    Three things are looked at, clause by clause. What is said of a name is said of it in a
    source. Nothing stands in the place of what the source has there instead. A number or a date
    keeps company that it has in a source.
    """
    return next(_misbound(content, sources), None)


def misbound_number(content: str, sources: Sequence[str]) -> str | None:
    """Return the first number or date of `content` that `misbound` would find, else None."""
    return next((key for key in _misbound(content, sources) if is_number(key)), None)


def _misbound(content: str, sources: Sequence[str]) -> Iterator[str]:
    draft, units = _read(content, sources)
    named = frozenset(name for clause in draft for name in clause.names)
    said = frozenset(key for clause in draft for key in clause.keys)
    for clause in draft:
        for i, word in enumerate(clause.words):
            homes = [u for u in units if word.key in u.keys]
            if homes and (
                _is_of_another(clause, i, homes, units, named)
                or _takes_a_place(clause, word, homes, units, elsewhere=said - clause.keys)
                or _is_turned(word, homes)
                or (word.kind == "value" and not _keeps_company(clause, homes))
            ):
                yield word.key


def flipped(content: str, sources: Sequence[str]) -> str | None:
    """Return a word that `content` denies and its sources do not, or the other way about; else None."""
    draft, units = _read(content, sources)
    for clause in draft:
        shared = [len((u.keys & clause.keys) - {"user"}) for u in units]
        best = max(shared, default=0)
        if not best or clause.denies is None:
            continue
        nearest = {u.denies for u, count in zip(units, shared, strict=True) if count == best}
        whole = [(u.keys - {"user"}, u.denies) for u in units if u.keys - {"user"} <= clause.keys]
        denied = [keys for keys, denies in whole if denies and keys]
        affirmed = [keys for keys, denies in whole if not denies]
        if clause.denies and nearest == {False} and not denied:
            return clause.words[-1].key
        if not clause.denies and (nearest == {True} or any(not any(k <= a for a in affirmed) for k in denied)):
            return clause.words[-1].key
    return None


def sayings(content: str) -> list[frozenset[str]]:
    """Return the words that tell something, clause by clause, without their inflection."""
    return [clause.keys - {"user"} for clause in _read(content, [])[0]]


def unknown_subject(content: str, sources: Sequence[str]) -> str | None:
    """Return a name that begins a sentence of `content` and stands in no source, else None."""
    said = {fold(m.group()) for text in sources for m in tokens(text)}
    stems = {stem(word) for word in said}
    return next((n for n in _opening(content) if n not in said and stem(n) not in stems), None)


def same_matter(a: str, b: str) -> bool:
    """Tell whether two lines may be about the same: not when they are plainly about two, and share no word."""
    draft, units = _read(a, [b])
    if not draft or not units:
        return False
    first, second = draft[0], units[0]
    if first.subject is None or second.subject is None or first.subject == second.subject:
        return True
    shared = frozenset[str]().union(*(c.keys for c in draft)) & frozenset[str]().union(*(u.keys for u in units))
    return bool(shared - {"user"}) and not (first.leads and second.leads)


def _is_of_another(clause: _Clause, i: int, homes: list[_Clause], units: list[_Clause], named: frozenset[str]) -> bool:
    """Tell whether the word is said of somebody of whom no source says it."""
    if i == 0 and clause.leads:
        return False
    subjects, key = clause.subjects(i), clause.words[i].key
    if subjects:
        return key not in subjects and not any(subjects & _whom(home, key, units) for home in homes)
    # Nobody is named: it will be taken for the user's.
    return all(h.leads and h.subject != "user" and h.subject not in named for h in homes)


def _whom(home: _Clause, key: str, units: list[_Clause]) -> frozenset[str]:
    """Return of whom a source's clause may say a word: who is named before it.

    Where nobody is, or only whose it is: who is named behind it, or in clauses that share a word.
    """
    return frozenset[str]().union(*(_whom_at(home, i, units) for i, w in enumerate(home.words) if w.key == key))


def _whom_at(home: _Clause, i: int, units: list[_Clause]) -> frozenset[str]:
    before = home.subjects(i)
    behind = frozenset(w.key for w in home.words[i + 1 :] if w.kind in {"user", "name"})
    if i == 0 and home.leads:
        return frozenset(name for unit in units if unit.sentence == home.sentence for name in unit.names)
    owners = [w for w in home.words[:i] if w.kind in {"user", "name"} and not w.behind]
    is_the_users = before == {"user"} and owners and all(w.owns for w in owners)
    if before and not is_the_users:
        return before
    words = {w.key for w in home.words if w.kind == "word"}
    return frozenset({"user"}).union(behind, *(u.names for u in units if words & u.keys))


def _takes_a_place(
    clause: _Clause, word: _Word, homes: list[_Clause], units: list[_Clause], elsewhere: frozenset[str]
) -> bool:
    """Tell whether the word stands beside another that has something else of its kind in the sources, missing here.

    Of plain words only if that stands elsewhere in the line: many are left out or put otherwise.
    """
    if word.kind == "user":
        return False
    keys = clause.keys
    near = homes if word.kind != "word" else [u for u in units if u.sentence in {home.sentence for home in homes}]
    with_it = frozenset[str]().union(*(unit.keys for unit in near))
    company = frozenset[str]().union(*(home.company for home in homes)) & keys - {word.key}
    if word.kind == "name":
        company -= {w.key for w in clause.words if w.kind == "name"}
    for other in clause.words:
        if other.key in with_it:
            continue
        for unit in units:
            if other.key not in unit.keys or company - unit.keys:
                continue
            rivals = {w.key for w in unit.words if w.kind == word.kind} - {other.key}
            if rivals and rivals.isdisjoint(keys) and (word.kind != "word" or rivals & elsewhere):
                return True
    return False


def _is_turned(word: _Word, homes: list[_Clause]) -> bool:
    """Tell whether the word stands behind the preposition of another: "from Porto to Faro", and they came from Faro."""
    if not word.behind or word.kind not in {"name", "value"}:
        return False
    found = [(home, w.behind) for home in homes for w in home.words if w.key == word.key]
    return all(
        before and any(w.behind == word.behind and w.kind == word.kind and w.key != word.key for w in home.words)
        for home, before in found
        if before != word.behind
    ) and all(before != word.behind for _, before in found)


def _keeps_company(clause: _Clause, homes: list[_Clause]) -> bool:
    return any(not home.company or home.company & clause.keys for home in homes)


def _read(content: str, sources: Sequence[str]) -> tuple[list[_Clause], list[_Clause]]:
    """Return the clauses of the line and of its sources; what is a name in one of them is so in all."""
    texts = (content, *sources)
    small = {stem(fold(m.group())) for text in texts for m in tokens(text) if m.group().islower()}
    names = {n for text in texts for n in _opening(text) if stem(n) not in small}
    names.update(fold(m.group()) for text in texts for m in tokens(text) if _is_inner_name(text, m))
    return list(_clauses(content, names)), [clause for text in sources for clause in _clauses(text, names)]


def _clauses(text: str, names: set[str]) -> Iterator[_Clause]:
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
        yield _Clause(tuple(raw.words), inherited, state, (text, sentence))
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
    words: list[_Word] = field(default_factory=list)


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
            clause = _Raw(anew, joins)
        if joins:
            continue
        folded = fold(match.group())
        clause.begins = clause.begins or folded
        clause.denies = clause.denies or (is_negation(folded) and not text[end:].startswith(" only "))
        if word := _word(match.group(), folded, names):
            if word.kind == "user" and _LABEL.match(text, end):
                continue
            clause.words.append(replace(word, behind=previous if previous in _PREPOSITIONS else ""))
        elif folded in _BEING:
            clause.bare = False
        previous = folded
    yield clause


def _word(token: str, folded: str, names: set[str]) -> _Word | None:
    if folded in _USER:
        return _Word("user", "user", folded in _OWNING or _is_possessive(token))
    if folded in STOP_WORDS or folded in _LITTLE or is_negation(folded):
        return None
    if is_number(folded) or folded in _CALENDAR:
        return _Word(folded, "value", False)
    if folded in names:
        return _Word(folded, "name", _is_possessive(token))
    return _Word(stem(folded), "word", False)


def _is_possessive(token: str) -> bool:
    return bool(re.search(r"['’ʼ]s?\Z", token))


def _is_inner_name(text: str, match: re.Match[str]) -> bool:
    token = match.group()
    return any(c.isupper() for c in token) and not begins_sentence(text, match) and _can_name(fold(token))


def _opening(text: str) -> Iterator[str]:
    """Yield the words that begin a sentence and stand there like a name: before a verb, a name, or owning something."""
    found = list(tokens(text))
    for match, following in zip_longest(found, found[1:]):
        token = match.group()
        if not token[0].isupper() or not begins_sentence(text, match) or not _can_name(fold(token)):
            continue
        near = following.group() if following and text[match.end() : following.start()].isspace() else ""
        if _is_possessive(token) or _VERB.fullmatch(near) or near[:1].isupper() or any(c.isupper() for c in token[1:]):
            yield fold(token)


def _can_name(folded: str) -> bool:
    return not (
        folded in STOP_WORDS or folded in _CALENDAR or folded in _NO_NAMES or is_number(folded) or is_negation(folded)
    )
