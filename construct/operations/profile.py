"""The user's profile: what is known now, grouped by subject."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from construct.language.index_words import index_words
from construct.memory.graph.names import is_user, key
from construct.operations.context import Context
from construct.operations.memory import list_in_scope
from construct.store import graph
from construct.store.records import Observation
from construct.vocabulary import Stance

_FACTUAL_STANCES = frozenset({Stance.STATED, Stance.PLANNED, Stance.INFERRED})
"""Stances that count as facts about the user.

Questions, suppositions, quotations and the assistant's words do not.
"""
_MIN_MENTIONS = 2
"""How many lines must mention a name before it becomes a subject."""
_MAX_NAME_WORDS = 6
"""The longest name to look for in a line, in words."""
_HEADINGS = {
    "other": "You and yours",
    "health": "Health",
    "work": "Work",
    "place": "Home and places",
    "person": "You and yours",
    "preference": "Likes and dislikes",
    "plan": "Plans",
}
"""The heading for each category, in display order. Two share one."""
_CATEGORY_PATTERNS = {
    "health": r"allerg\w+|asthma|diabet\w+|doctor|dentist|medic\w+|surgery|pregnan\w+|"
    r"intoleran\w+|vegan|vegetarian|ill",
    "plan": r"will|plans? to|going to|appointment|booked|flight|meeting|deadline|tomorrow",
    "preference": r"likes?|loves?|hates?|dislikes?|prefers?|enjoys?|favou?rite|rather",
    "work": r"works?|job|boss|colleagues?|employer|salary|company|office|project|teaches",
    "person": r"wife|husband|partner|mother|mum|mom|father|dad|parents?|sisters?|brothers?|"
    r"sons?|daughters?|child\w*|kids?|friends?|married|name is|called|birthday",
    "place": r"lives? in|lives? at|moved to|address|born in|based in|house|flat|apartment",
}
"""Patterns of whole words by which a category is guessed. The first that matches counts."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One thing known about the user."""

    date: str
    item: Observation


@dataclass(frozen=True, slots=True)
class Subject:
    """A category or a name, with what is known about it, newest first."""

    name: str
    lines: Sequence[ProfileLine]


def profile(ctx: Context) -> list[Subject]:
    """Return what is known about the user, by subject.

    The usual categories come first, then names, the most mentioned first, then the user's
    own categories.

    A line goes to the first name it mentions that other lines mention too, or else to the
    category it belongs to.
    """
    lines = list(_known(ctx))
    names = _known_names(ctx)
    names_by_line = [_names_in(line.item.content, names) for line in lines]
    mentions = Counter(chain.from_iterable(names_by_line))
    by_subject: defaultdict[str, list[ProfileLine]] = defaultdict(list)
    for line, line_names in zip(lines, names_by_line, strict=True):
        frequent = [name for name in line_names if mentions[name] >= _MIN_MENTIONS]
        subject = frequent[0] if frequent else _heading(line.item)
        by_subject[subject].append(line)
    return [
        Subject(name, _newest_first(by_subject[name]))
        for name in sorted(by_subject, key=lambda name: _order(name, mentions))
    ]


def _known(ctx: Context) -> Iterator[ProfileLine]:
    """Yield the facts in scope, without those withheld from the model."""
    for o in list_in_scope(ctx).observations:
        if o.stance in _FACTUAL_STANCES and not o.withheld:
            yield ProfileLine(o.observation_date, o)


def _known_names(ctx: Context) -> dict[str, str]:
    """Return the name of each entity but the user, by its folded name and aliases."""
    names: dict[str, str] = {}
    for entity in graph.entities(ctx.db):
        if not is_user(entity.name):
            names |= {key(name): entity.name for name in (*entity.aliases, entity.name)}
    return names


def _names_in(text: str, names: dict[str, str]) -> list[str]:
    """Return the known names in a text, in order, each once; the longest where they overlap."""
    words = index_words(text)
    found: dict[str, None] = {}
    start = 0
    while start < len(words):
        for size in range(min(_MAX_NAME_WORDS, len(words) - start), 0, -1):
            name = names.get(" ".join(words[start : start + size]))
            if name is not None:
                found[name] = None
                break
        start += size
    return list(found)


def _newest_first(lines: Sequence[ProfileLine]) -> list[ProfileLine]:
    return sorted(lines, key=lambda line: (line.date, line.item.id), reverse=True)


def _heading(o: Observation) -> str:
    """Return the heading of the category that an observation belongs to."""
    by_rule = "plan" if o.stance == Stance.PLANNED else _category_of(o.content)
    category = o.category or by_rule
    return _HEADINGS.get(category.casefold(), category.capitalize())


def _category_of(content: str) -> str:
    """Guess the category of a sentence from a few plain words, or return `other`."""
    for category, pattern in _CATEGORY_PATTERNS.items():
        if re.search(rf"(?i)\b(?:{pattern})\b", content):
            return category
    return "other"


def _order(name: str, mentions: Counter[str]) -> tuple[int, int, str]:
    headings = list(_HEADINGS.values())
    place = headings.index(name) if name in headings else len(headings)
    return place, -mentions[name], name
