"""Whether two sentences state the same fact, or one a newer value of the other. Pure.

Both judge with caution: two memories of one fact do no harm, one of two facts is a loss.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from construct.memory.language.stem import is_unspaced, stem
from construct.memory.language.terms import STOP_WORDS, fold, is_negation, negates, opening_names, terms, tokens
from construct.memory.language.wordlists import word_set

_LEAD = re.compile(
    r"^(?:(?:by the way|btw|fyi|well|oh|yes|ok|okay|so|also|and|please)\b[,:]?\s*)*"
    r"(?:(?:remember|note|don['’]t forget|keep in mind|just so you know)(?:\s+that)?\b[,:]?\s*)?",
    re.IGNORECASE,
)
_TAIL = re.compile(r"[\s,]*\b(?:by the way|please|remember that)[\s.!]*$", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_TITLE = re.compile(r"\b(Dr|Mr|Mrs|Ms|St|Prof)\.(?= )")
_HOUR = re.compile(r"(\d)\s+(am|pm)\b", re.IGNORECASE)
_SOME_DAY = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|ago|again|just|(?:last|next|this) "
    r"(?:morning|afternoon|evening|night|weekend|week|month|year|summer|winter|spring|autumn|fall|\w+day))\b",
    re.IGNORECASE,
)

_WHO = {
    **dict.fromkeys(word_set("i i'm i've i'd i'll me myself user"), "user"),
    **dict.fromkeys(word_set("my mine user's"), "user's"),
    **dict.fromkeys(word_set("he he's him his"), "he"),
    **dict.fromkeys(word_set("she she's her hers"), "she"),
    **dict.fromkeys(word_set("they they're them their theirs"), "they"),
    **dict.fromkeys(word_set("we we're we've us our ours"), "we"),
    **dict.fromkeys(word_set("you you're you've your yours"), "you"),
}
_TURNING = word_set(
    "if might may maybe perhaps almost nearly hardly barely used stopped stop stops quit former formerly ex anymore "
    "longer only would could should will shall can unless until except instead from before after since against over "
    "under above below off out than more most less least up down between through during both half was were did had "
    "plans wants hopes another second third too rarely sometimes often always usually"
)
"""Words that turn a sentence into another: these must be the same in both."""
_COLOUR = word_set(
    "really very quite just also currently now presently nowadays still actually definitely certainly simply so please "
    "extremely strongly highly badly severely seriously totally completely called named name"
)
_PREPOSITIONS = dict.fromkeys(word_set("in at on"), "in") | {w: w for w in word_set("to for with by of about")}
_SYNONYMS = {
    stem(word): stem(group.split()[0])
    for group in (
        "live reside|flat apartment|mum mom mother|dad father|child kid|job occupation profession|colour color|"
        "favourite favorite|movie film|bike bicycle|phone telephone|car automobile|buy purchase|doctor physician"
    ).split("|")
    for word in group.split()
}
_ENDINGS = re.compile(r"(?<=\w{3})[aeiy]$")
_PREFIX_SHARE = 0.75
_LEAST_PREFIX = 3


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence as it is compared."""

    squashed: str
    """All of it, in one case of letters."""
    keys: tuple[str, ...]
    """Stems of the words that carry meaning, and who is spoken of, in order."""
    order: tuple[str, ...]
    """All words in order, folded."""
    turns: frozenset[str]
    prepositions: tuple[tuple[str, str], ...]
    terms: frozenset[str]
    openings: frozenset[str]

    @property
    def telling(self) -> list[str]:
        """The stems without who is spoken of, in order."""
        return [key for key in self.keys if key not in _WHO.values()]

    @property
    def meaning(self) -> frozenset[str]:
        """The same in no order."""
        return frozenset(self.telling)


def same_fact(a: str, b: str) -> bool:
    """Tell whether two sentences state one fact in other words, one of them perhaps with a detail added at its end."""
    x, y = _said(a), _said(b)
    if x.squashed == y.squashed:
        return True
    if x.turns != y.turns or is_unspaced(a) or is_unspaced(b) or not _names_agree(x, y):
        return False
    # Of two words the order tells nothing ("a peanut allergy"), of more who does what to whom.
    alike = x.meaning == y.meaning and (len(x.meaning) < 3 or x.telling == y.telling)
    return bool(x.meaning) and (alike or _goes_on(x, y) or _goes_on(y, x))


def says_more(new: str, old: str) -> bool:
    """Tell whether, of two sentences that state the same fact, the new one has a detail that the old one lacks."""
    return _said(new).meaning > _said(old).meaning


def is_of_a_day(text: str) -> bool:
    """Tell whether a sentence is true of the day only on which it was said: "today", "last week"."""
    return bool(_SOME_DAY.search(text))


def tidy(text: str) -> str:
    """Return a sentence without what is said around it, its numbers written alike."""
    text = _TAIL.sub("", _LEAD.sub("", text.strip(), count=1)).strip(" .!。！")
    return _TITLE.sub(r"\1", _HOUR.sub(r"\1\2", _THOUSANDS.sub("", text)))


def turns_of(text: str) -> frozenset[str]:
    """Return the words of a sentence that would turn another one: denials, hedges, what is past or asked."""
    return _said(text).turns


@lru_cache(256)
def _said(text: str) -> _Said:
    text = tidy(text)
    raw = [m.group().casefold().replace("’", "'") for m in tokens(text)]
    turns = {"not"} if negates(text) else set[str]()
    keys, prepositions = [], []
    before = ""
    for word in raw:
        folded = fold(word)
        turns |= _turn(word, folded)
        if word in _WHO:
            keys.append(_WHO[word])
        elif folded not in STOP_WORDS and folded not in _COLOUR and not is_negation(folded):
            keys.append(_key(folded))
            prepositions.append((folded, before))
            before = ""
        if folded in _PREPOSITIONS:
            before = _PREPOSITIONS[folded]
    if text.endswith("?"):
        turns.add("?")
    order = tuple(_WHO.get(word, fold(word)) for word in raw)
    squashed = " ".join(text.casefold().split())
    return _Said(squashed, tuple(keys), order, frozenset(turns), tuple(prepositions), terms(text), opening_names(text))


def _turn(word: str, folded: str) -> set[str]:
    if word.endswith("'ll"):
        return {"will"}
    if word.endswith("'d"):
        return {"would"}
    return {folded} & _TURNING


def _key(word: str) -> str:
    """Return the stem of a word, told apart by tense: who worked there may work there no more."""
    root = stem(word)
    root = _ENDINGS.sub("", _SYNONYMS.get(root, root))
    return f"{root}+ed" if word.endswith("ed") and not any(c.isdigit() for c in word) else root


def _names_agree(x: _Said, y: _Said) -> bool:
    """Tell whether both have the same names and numbers in the same order, each behind the same preposition."""
    names = x.terms | y.terms
    names |= {w for w in x.openings if _key(w) not in y.keys} | {w for w in y.openings if _key(w) not in x.keys}
    # A name that opens a sentence is no term there.
    if _in_order(x, names) != _in_order(y, names):
        return False
    mine, theirs = dict(x.prepositions), dict(y.prepositions)
    return all(not mine.get(n) or not theirs.get(n) or mine[n] == theirs[n] for n in names)


def _in_order(said: _Said, names: frozenset[str]) -> list[str]:
    """Return the names, and who is spoken of, as they follow each other; the user, when first, goes without saying."""
    who = frozenset(_WHO.values())
    found = ["user" if word == "user's" else word for word in said.order if word in names or word in who]
    return found[1:] if found[:1] == ["user"] else found


def _goes_on(shorter: _Said, longer: _Said) -> bool:
    """Tell whether the longer sentence says all of the shorter one first, and then little more."""
    if longer.keys[: len(shorter.keys)] != shorter.keys:
        return False
    return len(shorter.meaning) >= max(_LEAST_PREFIX, _PREFIX_SHARE * len(longer.meaning))
