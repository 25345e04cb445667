"""The reflector by rule: repetitions merged, low lines dropped, what changed taken back; it invents nothing."""

import re
from collections.abc import Sequence

from construct.memory.language.alike import is_of_a_day, same_fact, says_more
from construct.memory.language.dates import in_past
from construct.memory.language.sentences import HOUSEHOLD
from construct.memory.language.terms import terms
from construct.memory.language.values import ATTRIBUTE
from construct.memory.learning.proposals import PRIORITIES, Condensation, Draft
from construct.store.records import Observation

_LOW_KEPT = 10
_MOST_OUTDATED = 3
_WHO = r"(?:I|We|User|The user)(?:['’](?:m|ve|re))?(?: (?:just|recently|finally|now|currently|have|has|am|is|are))*"
_PLACE = r"(?P<value>(?-i:[A-Z])[\w'’-]*(?: (?-i:[A-Z])[\w'’-]*)*)(?P<rest>.*)"
_ATTRIBUTE = rf"(?:{ATTRIBUTE}|name|phone|car|goal|deadline|team)"
_STATES = (
    re.compile(rf"(?i){_WHO} (?:moved to|live in|lives in|living in|relocated to|based in) {_PLACE}$"),
    re.compile(rf"(?i){_WHO} (?:works? (?:at|for)|working (?:at|for)|joined|started (?:working )?at) {_PLACE}$"),
    re.compile(
        rf"(?i)(?:My|Our|(?:The )?User['’]s|The(?= {HOUSEHOLD}\b)) (?P<key>(?:\w+ )?{_ATTRIBUTE}) is (?:now )?"
        r"(?P<value>[^,;.!]{1,60})(?P<rest>.*)"
    ),
)
_MORE = re.compile(
    r"(?i)[\s,.!]|\b(?:now|currently|right now|at the moment|these days|recently|yesterday|today|(?:last|this) \w+)\b"
)
_CORRECTS = re.compile(r"(?i)^(?:(?:no|nope|sorry|actually|correction|wait|oops|I meant?)\b[\s,:;.!–—-]+)+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NOT_NOW = re.compile(r"(?i)\d{4}|years? ago|\b(?:when|back in|until|for|then|before|temporar\w+|but|was|used)\b")


def _once(one: Observation, other: Observation) -> bool:
    """Tell whether two lines may be of one time: what happened on two days happened twice."""
    same = one.observation_date == other.observation_date
    return same or not any(in_past(o.content) or is_of_a_day(o.content) for o in (one, other))


def _groups(observations: Sequence[Observation]) -> list[list[Observation]]:
    """Return lines in groups of one fact each; the first of a group says the most, the newest of those that do."""
    found: dict[tuple[str, str | None, frozenset[str]], list[list[Observation]]] = {}
    for one in observations:
        alike = found.setdefault((one.stance, one.referenced_date, terms(one.content)), [])
        for group in alike:
            best = group[0]
            if same_fact(best.content, one.content) and _once(best, one):
                group.insert(len(group) if says_more(best.content, one.content) else 0, one)
                break
        else:
            alike.append([one])
    return [group for alike in found.values() for group in alike if len(group) > 1]


def _merged(group: Sequence[Observation]) -> Draft:
    best, newest = group[0], max(one.observation_date for one in group)
    priority = min((one.priority for one in group), key=PRIORITIES.index)
    sources = tuple(sorted(one.id for one in group))
    return Draft(best.content, priority, best.stance, newest, best.referenced_date, sources)


def _state(one: Observation) -> tuple[str, str, bool] | None:
    """Return of what a line gives the present state, what it is, and whether the line says no more than that."""
    content = _CORRECTS.sub("", one.content)
    for pattern in _STATES if one.stance == "stated" else ():
        if (match := pattern.match(content)) and not _NOT_NOW.search(match["rest"]):
            key = match.groupdict().get("key") or str(_STATES.index(pattern))
            return key.casefold(), match["value"].casefold(), not _MORE.sub("", match["rest"])
    return None


def _changes(old: str, key: str, new: str, by: str) -> bool:
    """Tell whether a line that says a new state takes back an old one: a move, what is now, a number put right."""
    if old == new:
        return False
    if key.isdigit() or " is now " in by:
        return True
    numbers = [_NUMBER.findall(value) for value in (old, new)]
    units = {unit for value in (old, new) if (unit := _MORE.sub("", _NUMBER.sub("", value)))}
    return bool(_CORRECTS.match(by)) and all(numbers) and numbers[0] != numbers[1] and len(units) < 2


def _outdated(observations: Sequence[Observation]) -> tuple[tuple[int, int], ...]:
    """Return pairs of a line and the newest that says where the user lives or works, or what is theirs, now."""
    states = [(one, state) for one in observations if (state := _state(one))]
    newest = {state[0]: (one, state[1]) for one, state in states}
    pairs: list[tuple[int, int]] = []
    for one, (key, value, alone) in reversed(states):
        by, now = newest[key]
        changes = _changes(value, key, now, by.content)
        later = by.observation_date >= one.observation_date
        if changes and later and alone and sum(pair[1] == by.id for pair in pairs) < _MOST_OUTDATED:
            pairs.append((one.id, by.id))
    return tuple(pairs)


def condense(observations: Sequence[Observation]) -> Condensation:
    """Reflect by rule: repetitions merged, old low lines dropped, replaced states outdated; given in order of age."""
    free = [one for one in observations if not one.is_protected]
    groups = _groups(free)
    merged = {one.id for group in groups for one in group}
    rest = [one for one in free if one.id not in merged]
    dropped = tuple([one.id for one in rest if one.priority == "low"][:-_LOW_KEPT])
    outdated = _outdated([one for one in rest if one.id not in dropped])
    return Condensation(tuple(_merged(group) for group in groups), dropped, outdated)
