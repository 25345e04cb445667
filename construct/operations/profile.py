"""What is known of the user now, by subject."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from construct.clock import from_text
from construct.language.index_words import index_words
from construct.memory.graph.answers import is_user, key
from construct.memory.promotion import category_of
from construct.operations.context import Context
from construct.operations.memory import list_in_scope
from construct.store import graph
from construct.store.records import Memory, Observation
from construct.vocabulary import Stance

_SAYS_WHAT_IS = frozenset({Stance.STATED, Stance.PLANNED, Stance.INFERRED})
"""Stances that count as facts about the user. Questions, suppositions and quotations do not."""
_FEWEST_LINES = 2
"""A name mentioned in fewer lines than this gets no subject of its own."""
_LONGEST_NAME = 6
"""The longest name that is looked for, in words."""
_TITLES = {
    "other": "You and yours",
    "health": "Health",
    "work": "Work",
    "place": "Home and places",
    "person": "You and yours",
    "preference": "Likes and dislikes",
    "plan": "Plans",
}
"""The heading of each memory category, in display order."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One thing known of the user."""

    date: str
    of: Observation | Memory


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known about one subject, the newest first."""

    name: str
    lines: Sequence[ProfileLine]


def profile(ctx: Context) -> list[Subject]:
    """Return what is known of the user now: the categories, then the names said most."""
    lines = list(_known(ctx))
    names = {
        key(name): entity.name
        for entity in graph.entities(ctx.db)
        if not is_user(entity.name)
        for name in (*entity.aliases, entity.name)
    }
    named = [_names_in(line.of.content, names) for line in lines]
    counts = Counter(name for said in named for name in said)
    by_subject: defaultdict[str, list[ProfileLine]] = defaultdict(list)
    for line, said in zip(lines, named, strict=True):
        subjects = (name for name in said if counts[name] >= _FEWEST_LINES)
        by_subject[next(subjects, None) or _title(line.of)].append(line)
    return [
        Subject(name, sorted(lines, key=lambda line: (line.date, line.of.id), reverse=True))
        for name, lines in sorted(by_subject.items(), key=lambda one: _order(one[0], counts))
    ]


def _known(ctx: Context) -> Iterator[ProfileLine]:
    """Yield what holds now, of conversations in scope, that no one asked to forget."""
    found = list_in_scope(ctx)
    for o in found.observations:
        if o.stance in _SAYS_WHAT_IS and not o.withheld:
            yield ProfileLine(o.observation_date, o)
    for m in found.memories:
        yield ProfileLine(str(ctx.clock.local(from_text(m.created_at)).date()), m)


def _names_in(text: str, names: dict[str, str]) -> list[str]:
    """Return the known names in a text, in order, each once; the longest where they overlap."""
    said = index_words(text)
    found: dict[str, None] = {}
    start = 0
    while start < len(said):
        for size in range(min(_LONGEST_NAME, len(said) - start), 0, -1):
            name = names.get(" ".join(said[start : start + size]))
            if name is not None:
                found[name] = None
                break
        start += size
    return list(found)


def _title(line: Observation | Memory) -> str:
    """Return the category heading of a line that mentions no frequent name."""
    if isinstance(line, Memory):
        category = line.category or "other"
    elif line.stance == Stance.PLANNED:
        category = "plan"
    else:
        category = category_of(line.content)
    return _TITLES.get(category, category.capitalize())


def _order(name: str, counts: Counter[str]) -> tuple[int, int, str]:
    titles = list(_TITLES.values())
    place = titles.index(name) if name in titles else len(titles)
    return place, -counts[name], name
