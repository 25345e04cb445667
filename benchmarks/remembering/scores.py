"""How good an answer is, as pure functions.

They give the dataset's token F1, the share of the answer's words, and intervals.
"""

import random
import re
import statistics
import string
from collections import Counter
from collections.abc import Sequence

from construct.language.index_words import stem

_RESAMPLES = 2000
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_ARTICLES = frozenset("a an the and".split())
_IDLE = _ARTICLES | frozenset(
    "i you he she it we they is are was were be been to of in on at for with by from or as that "
    "this his her their my your its yes no since likely would".split()
)
_ABSTAINS = re.compile(
    r"(?i)\bno (?:information|record|mention|memory)\b"
    r"|\bnot (?:mention|specif|state|provide|sure|know|aware|available)"
    r"|\b(?:do|did|does|have|has)(?:n['’]t| not) (?:\w+ )?"
    r"(?:have|know|mention\w*|say|said|tell|told|talk\w*|spoke\w*|"
    r"discuss\w*|remember|recall|see|find)\b"
    r"|\bnever (?:spoke|talked|mentioned|said|told|discussed)\b|\bunknown\b"
)


def tokens(text: str) -> list[str]:
    """Return the words as LoCoMo's evaluation compares them.

    They have no case, punctuation or articles, and are stemmed. Unlike there,
    `2023-05-07` is read as `7 May 2023`, since Construct's lines write dates like that.
    """
    spelt = _ISO.sub(_in_words, text).lower()
    bare = "".join(
        " " if c in "-–/" else c for c in spelt if c not in string.punctuation or c in "-/"
    )
    return [stem(word) for word in bare.split() if word not in _ARTICLES]


def _in_words(match: re.Match[str]) -> str:
    month = int(match[2])
    return f"{int(match[3])} {_MONTHS[month - 1]} {match[1]}" if 1 <= month <= 12 else match[0]


def abstains(reply: str) -> bool:
    """Tell whether a reply says that it does not know."""
    return bool(_ABSTAINS.search(reply))


def f1(reply: str, answer: str) -> float:
    """Return the harmonic mean of precision and recall over words."""
    said, wanted = tokens(reply), tokens(answer)
    shared = sum((Counter(said) & Counter(wanted)).values())
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0


def score(reply: str, answer: str | None, category: str) -> float:
    """Return the token F1 as LoCoMo counts it: of several parts each by itself."""
    if answer is None:
        return float(abstains(reply))
    if category != "multi-hop":
        return f1(reply, answer)
    parts = [part for part in reply.split(",") if part.strip()] or [""]
    wanted = [part for part in answer.split(",") if part.strip()]
    return statistics.fmean(max(f1(part, one) for part in parts) for one in wanted)


def share(text: str, answer: str) -> float:
    """Return the share of the answer's telling words that stand in a text."""
    wanted = set(tokens(answer))
    telling = {word for word in wanted if word not in _IDLE} or wanted
    return len(telling & set(tokens(text))) / len(telling) if telling else 0.0


def contained(reply: str, answer: str | None) -> float:
    """Return the share of the answer's words in a reply.

    Where there is no answer, whether the reply says so.
    """
    return float(abstains(reply)) if answer is None else share(reply, answer)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean; the same for the same values."""
    if not values:
        return 0.0, 0.0
    chance = random.Random(0)
    means = sorted(
        statistics.fmean(chance.choices(values, k=len(values))) for _ in range(_RESAMPLES)
    )
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]
