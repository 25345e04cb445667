"""Whether a condensed line still says of each thing what its sources say of it.

"Anna is 40, Ben is 30" has every term of "Anna is 30" and "Ben is 40", and says something
else. Terms alone cannot see that; the clauses they stand in can.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from construct.memory.language.clauses import Clause, Word, opening, read
from construct.memory.language.terms import fold, is_number, stem, tokens


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
    draft, units = read(content, sources)
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
    draft, units = read(content, sources)
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
    return [clause.keys - {"user"} for clause in read(content, [])[0]]


def unknown_subject(content: str, sources: Sequence[str]) -> str | None:
    """Return a name that begins a sentence of `content` and stands in no source, else None."""
    said = {fold(m.group()) for text in sources for m in tokens(text)}
    stems = {stem(word) for word in said}
    return next((n for n in opening(content) if n not in said and stem(n) not in stems), None)


def same_matter(a: str, b: str) -> bool:
    """Tell whether two lines may be about the same: not when they are plainly about two, and share no word."""
    draft, units = read(a, [b])
    if not draft or not units:
        return False
    first, second = draft[0], units[0]
    if first.subject is None or second.subject is None or first.subject == second.subject:
        return True
    shared = frozenset[str]().union(*(c.keys for c in draft)) & frozenset[str]().union(*(u.keys for u in units))
    return bool(shared - {"user"}) and not (first.leads and second.leads)


def _is_of_another(clause: Clause, i: int, homes: list[Clause], units: Sequence[Clause], named: frozenset[str]) -> bool:
    """Tell whether the word is said of somebody of whom no source says it."""
    if (i == 0 and clause.leads) or _ends_a_name(clause, i, homes):
        return False
    subjects, key = clause.subjects(i), clause.words[i].key
    if subjects:
        beside = {w.key for w in clause.words[int(clause.leads) : i] if w.kind == "name"}
        return key not in subjects and not any(
            subjects & _whom(home, key, units) | beside & home.keys for home in homes
        )
    # Nobody is named: it will be taken for the user's.
    return all(h.leads and h.subject != "user" and h.subject not in named for h in homes)


def _ends_a_name(clause: Clause, i: int, homes: list[Clause]) -> bool:
    """Tell whether the word goes on a name as it does in a source: "Rua Augusta" is one, and says nothing of Rua."""
    if i == 0 or {w.kind for w in clause.words[i - 1 : i + 1]} != {"name"}:
        return False
    keys = clause.words[i - 1].key, clause.words[i].key
    return any(keys == (a.key, b.key) for home in homes for a, b in pairwise(home.words))


def _whom(home: Clause, key: str, units: Sequence[Clause]) -> frozenset[str]:
    """Return of whom a source's clause may say a word: who is named before it.

    Where nobody is, or only whose it is: who is named behind it, or in clauses that share a word.
    """
    return frozenset[str]().union(*(_whom_at(home, i, units) for i, w in enumerate(home.words) if w.key == key))


def _whom_at(home: Clause, i: int, units: Sequence[Clause]) -> frozenset[str]:
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
    clause: Clause, word: Word, homes: list[Clause], units: Sequence[Clause], elsewhere: frozenset[str]
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
        company -= clause.of_kind("name")
    for unit in units:
        others = (unit.keys & keys) - with_it
        if not others or company - unit.keys:
            continue
        rivals = unit.of_kind(word.kind)
        here, missing = rivals & keys, rivals - keys
        if (
            missing
            and (not here or (len(here) == 1 and here <= others))
            and (word.kind != "word" or missing & elsewhere)
        ):
            return True
    return False


def _is_turned(word: Word, homes: list[Clause]) -> bool:
    """Tell whether the word stands behind the preposition of another: "from Porto to Faro", and they came from Faro."""
    if not word.behind or word.kind not in {"name", "value"}:
        return False
    return all(
        w.behind not in {"", word.behind}
        and any(r.behind == word.behind and r.kind == word.kind and r.key != word.key for r in home.words)
        for home in homes
        for w in home.words
        if w.key == word.key
    )


def _keeps_company(clause: Clause, homes: list[Clause]) -> bool:
    return any(not home.company or home.company & clause.keys for home in homes)
