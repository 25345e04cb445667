"""Whether a sentence gives a newer value of what another one gives: "rent is 1300" of "rent is 1200". Pure.

Only of what there is one of at a time: where someone lives or works, a price, a code, an age.
What may stand side by side (cats, friends, the codes of two lockers) is never taken for one.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from construct.memory.language.alike import same_fact, tidy, turns_of
from construct.memory.language.terms import fold, terms, tokens
from construct.memory.language.wordlists import word_set

_ATTRIBUTE = (
    r"(?:rent|salary|wage|income|budget|price|fee|cost|weight|height|age|balance|mortgage|size|dose|dosage|code|pin|"
    r"password|passcode|number|address|e-?mail|postcode|zip|username|nickname|job|title|role|boss|manager|landlord|"
    r"doctor|dentist|employer|diet|schedule|shift|time ?zone|plate|birthday|favou?rite \w+)"
)
_OF_WHAT = r"(?: (?:of|for|at|in|to|on)(?: \S+){1,5}?)?"
_IS = (
    r"(?:is|are|has been|was changed to|has changed to|changed to|went (?:up|down) to|rose to|dropped to|"
    r"increased to|:|=)(?: (?:now|currently))?"
)
_VALUE = r"(?P<value>[^\s,;.!?]+(?:[ .][^\s,;.!?]+){0,5})"
_PLACE = r"(?:lives?|living|is living|am living|is based|am based|based|moved|has moved|have moved|relocated)"
_JOB = r"(?:works?|is working|am working|is employed|am employed|joined|has joined|started working|started)"
_COSTS = r"(?P<key>\S+(?: \S+){0,4} (?:weighs?|earns?|costs?|measures?))"
_FRAMES = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("lives", rf"(?P<key>\S+(?: \S+)?) {_PLACE} (?:to|in|at|near) {_VALUE}"),
        ("works", rf"(?P<key>\S+(?: \S+)?) {_JOB} (?:(?:at|for|with) )?{_VALUE}"),
        ("partner", rf"(?P<key>\S+) (?:is|am|got) (?:married to|engaged to|dating) {_VALUE}"),
        ("age", r"(?P<key>\S+) (?:is|am|turned) (?P<value>\d{1,3})(?: years old)?"),
        ("name", rf"(?P<key>(?:my|user['’]s)(?: full| first| last)? name) {_IS} {_VALUE}"),
        ("is", rf"(?P<key>(?:\S+ ){{0,6}}{_ATTRIBUTE}{_OF_WHAT}) {_IS}(?: (?:on|at))? {_VALUE}"),
        ("is", rf"(?P<key>(?:\S+ ){{0,8}}{_ATTRIBUTE}) (?P<value>\S*\d\S*)"),
        ("costs", _COSTS + r" (?P<value>\D{0,2}\d\S*(?: \S+){0,4})"),
    )
)
_LONGEST = 300
_AROUND = re.compile(
    r"(?i),? (?:now|currently|right now|at the moment|these days|as of (?:today|now)|recently|yesterday|today|"
    r"(?:since|this|last) \w+)$"
)
_REPLACED = re.compile(r"(?i)\s*\([^()]*\b(?:before|previously|formerly|was|were|instead of|until|used to)\b[^()]*\)$")
"""What an observer adds when something changes: "User moved to Porto (lived in Lisbon before)"."""
_NOT_NOW = re.compile(
    r"(?i)\b(?:when|back in|until|then|before|temporar\w+|but|used|if|and|or|both|either|years? ago|in \d{4})\b"
)
_MORE = re.compile(r"(?i)\bwith\b")
_SEVERAL = word_set(
    "sister sisters brother brothers sibling siblings friend friends son sons daughter daughters child children kid "
    "kids cousin cousins aunt uncle grandson granddaughter nephew niece colleague colleagues neighbour "
    "neighbor cat cats dog dogs pet pets student students client clients flatmate roommate one"
)
"""Of whom there may be more than one: what is said of one of them may not be said of the same one twice."""
_VERBS = {
    "lives": ("lives", "living", "moved", "based", "relocated"),
    "works": ("works", "joined", "employed", "started"),
    "partner": ("married", "engaged", "dating"),
    "age": ("is", "am", "turned"),
}
_DIRECTIONS = word_set("up down over under from since more less")
_NOT_IN_KEY = word_set("a an the now currently also of has have is got new my mine our user's")
_SELF = word_set("i user i'm i've me")


@dataclass(frozen=True, slots=True)
class _State:
    """What a sentence says is so now: of what, and which value."""

    key: tuple[str, ...]
    value: str

    @property
    def numbers(self) -> frozenset[str]:
        """The tokens of the value with a digit."""
        return frozenset(w for w in self.words if any(c.isdigit() for c in w))

    @property
    def words(self) -> frozenset[str]:
        """The words of the value."""
        return frozenset(fold(m.group()) for m in tokens(self.value))


def newer_value(old: str, new: str) -> bool:
    """Tell whether two sentences give different values for the very same thing; which is newer is the caller's."""
    before, now = _state(old), _state(new)
    if before is None or now is None or before.key != now.key or same_fact(old, new):
        return False
    if before.numbers or now.numbers:
        rest, rest_now = before.words - before.numbers, now.words - now.numbers
        alike = rest == rest_now or not rest or not rest_now
        return alike and bool(before.numbers and now.numbers) and not _within(before.numbers, now.numbers)
    return not _within(before.words, now.words)


def says_no_more(text: str) -> bool:
    """Tell whether a sentence with a value is about that alone: who lives in Lisbon with Ana has Ana in Porto too."""
    state = _state(text)
    return state is not None and not _MORE.search(state.value)


def sought(text: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the words that another value for the same has all of, and those it has one of; None where none can be."""
    state = _state(text)
    if state is None:
        return None
    name, *key = state.key
    return tuple(w for w in key if w != "user"), _VERBS.get(name, ())


@lru_cache(256)
def _state(text: str) -> _State | None:
    text = _AROUND.sub("", _REPLACED.sub("", " ".join(tidy(text).split())))
    text = re.sub(r"(?i)^the (?=user\b)", "", text)
    if turns_of(text) - _DIRECTIONS:
        return None
    for name, pattern in _FRAMES if len(text) <= _LONGEST else ():
        match = pattern.fullmatch(text)
        if match is None or _NOT_NOW.search(match["value"]) or not _has_value(name, match["value"], text):
            continue
        key = _key(match["key"])
        return _State((name, *key), match["value"]) if _SEVERAL.isdisjoint(key) else None
    return None


def _has_value(name: str, value: str, text: str) -> bool:
    """Tell whether a value is one: of places, employers and partners only a name is."""
    named = terms(text) & {fold(m.group()) for m in tokens(value)}
    return bool(named) if name in {"lives", "works", "partner"} else any(True for _ in tokens(value))


def _key(text: str) -> list[str]:
    """Return what a value is of, as words in no order: "the code of locker 3" is "locker 3 code"."""
    raw = (m.group().casefold().replace("’", "'") for m in tokens(text))
    return sorted("user" if word in _SELF else fold(word) for word in raw if word not in _NOT_IN_KEY)


def _within(a: frozenset[str], b: frozenset[str]) -> bool:
    """Tell whether one value has all of the other: it is given more exactly, not changed."""
    return not a or not b or a <= b or b <= a
