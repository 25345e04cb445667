"""Parse a query into words, phrases and cues, and find them in texts. No I/O."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import accumulate, chain

from construct.language.index_words import (
    UNSPACED,
    fold,
    index_words,
    one_width,
    other_spellings,
    root,
    stem,
    with_whole_numbers,
    word_forms,
)
from construct.language.named_periods import may_name_time, named_periods
from construct.language.periods import Period
from construct.language.wordlists import STOP_WORDS
from construct.language.written_days import EAST_ASIAN_DAY
from construct.text import one_line

MAX_WORDS = 48
"""Words of a query that are searched for; a longer query is a pasted page."""
MAX_PIECES = 100
"""Pieces of a query that are searched for, limited for the same reason."""
MAX_PAIRED = 6
"""Words that `gated` looks for in pairs."""
MAX_DAYS = 10
"""A longer time that a query names is not read in full: its words find what is meant."""
_WORD_BREAK = 40
"""How many characters either end of an excerpt may move, to fall on a space."""

# `"next week"`, in the quotation marks of several languages
_PHRASE = re.compile(r'"([^"]*)"|“([^”]*)”|«([^»]*)»|„([^“”]*)[“”]')
_WORD = re.compile(r"[^\W_]+")
EMOJI = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")
# In "Do you remember what I said", the "you" is not the subject, and in "Can you find me the
# recipe" neither the "you" nor the "me" is. "What would you suggest" asks for something new.
_REQUEST = re.compile(
    r"(?:^|,)[^\w,]*(?:do you (?:still )?(?:please )?(?:remember|recall|know|think)|"
    r"(?:can|could|would|will) you(?: still)?(?: please)?(?: \w+ me)?|"
    r"(?:please )?(?:tell|remind) me|you know)\b|"
    r"\b(?:can|could|would|will|should|might) you\b",
    re.IGNORECASE,
)
# "did you" in "What did you say about my boat?"
_HAPPENED = frozenset(map(stem, "happen talk say tell do discuss mention chat speak".split()))
_SUBJECT = re.compile(
    r"\b(?:did|do|have|had|was|were|am|are|will|should|could|can|would)\s+(i|you)\b", re.IGNORECASE
)
# The sentence that takes back what was said just before
_CORRECTION = re.compile(
    r"\W*(?:no|wait|sorry|actually|correction|i mean|or rather|scratch that|nein|moment|doch nicht|"
    r"eigentlich|perdón|perdona|digo|mejor dicho|non|pardon|en fait|plutôt|não|aliás|quer dizer|"
    r"anzi|scusa|nie|właściwie|нет|точнее|вернее|いや|不对|不對)\b[^.!?。]*[.!?。]?",
    re.IGNORECASE,
)
_SPEAKERS = {
    "user": re.compile(r"\b(?:i|me|my|mine|myself|the user|user's)\b", re.IGNORECASE),
    "assistant": re.compile(
        r"\b(?:you|your|yours|yourself|the assistant|assistant's)\b", re.IGNORECASE
    ),
}
_WHEN = re.compile(
    r"\b(?:when|how (?:long|old|recently)|(?:what|which) (?:date|day|week|month|year|time))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query."""

    words: tuple[str, ...]
    """Folded content words, one form of each. If there are none, the stop words."""
    phrases: tuple[str, ...]
    """Quoted words, which must be adjacent and in this order.

    Other regular forms of them match too, but irregular ones do not.
    """
    pieces: tuple[str, ...]
    """What may be inside a word: pairs of characters in scripts without spaces, and emoji.

    So are words that no entry has by themselves, such as parts of compounds.
    """
    possible_names: frozenset[str]
    """The capitalised words, or all words if none is capitalised."""
    role: str | None
    """Whose words are meant (`user` or `assistant`), judged by "I" and "you"; None if unclear."""
    asks_when: bool
    """Whether the query asks for a time, with "when" or "how long"."""
    dates: tuple[Period, ...]
    """The times that the query names."""
    only_stop_words: bool
    """Whether the query has no content words."""
    text: str = ""
    unknown_count: int = 0
    """Number of words that occur nowhere; `words` does not have them."""
    respelt: tuple[str, ...] = ()
    """Words searched for instead of misspelt ones (spelling.py)."""

    @property
    def has_more_than_phrases(self) -> bool:
        """Whether the query has both phrases and words outside them."""
        quoted = set(" ".join(self.phrases).split())
        return bool(quoted) and not quoted.issuperset(self.words)


def analyse(text: str, today: date | None = None) -> Query:
    """Parse a query; `today` is the day from which "yesterday" is counted.

    Raises ValueError if the query is blank.
    """
    if not text.strip():
        raise ValueError("The query is blank.")
    usual_text = with_whole_numbers(one_width(text))
    spaced_text = UNSPACED.sub(" ", usual_text)
    all_words = index_words(spaced_text)
    content_words = _content_words(all_words)[:MAX_WORDS]
    phrases = []
    for match in _PHRASE.finditer(text):
        quoted = next((group for group in match.groups() if group), "")
        phrases.append(" ".join(index_words(quoted)))
    pieces = chain.from_iterable(map(_pairs, UNSPACED.findall(EAST_ASIAN_DAY.sub(" ", usual_text))))
    if not content_words:
        pieces = chain(pieces, EMOJI.findall(text))
    return Query(
        words=_one_of_each_root(content_words or all_words[:MAX_WORDS]),
        phrases=tuple(dict.fromkeys(phrase for phrase in phrases if phrase)),
        pieces=tuple(dict.fromkeys(pieces))[:MAX_PIECES],
        possible_names=_possible_names(spaced_text),
        role=_role(_REQUEST.sub("", text)),
        asks_when=bool(_WHEN.search(text)),
        dates=named_periods(text, today),
        only_stop_words=not content_words,
        text=text,
    )


def content_words(text: str) -> list[str]:
    """Return the folded words of a text without the stop words of its language."""
    return _content_words(index_words(text))


def outside_quotes(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to a query's text outside quotation marks."""
    parts: list[str] = []
    end = 0
    for match in _PHRASE.finditer(text):
        parts += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(text[end:])])


def asked_days(query: Query, today: date) -> list[tuple[date, date]]:
    """Return the days or short periods that a query names, as first and last days."""
    spans = [period.latest(today) for period in query.dates]
    return [(first, last) for first, last in spans if (last - first).days < MAX_DAYS]


def without_time(query: Query) -> tuple[str, ...]:
    """Return the query's words without those that name its time or ask what happened."""
    return tuple(
        word for word in query.words if not may_name_time(word) and stem(word) not in _HAPPENED
    )


def is_cue(word: str) -> bool:
    """Return whether a folded word shows whose words are meant, as "my" and "your" do."""
    # With "the", because "user" and "assistant" are cues only as "the user" and so on.
    return any(pattern.search(f"the {word}") for pattern in _SPEAKERS.values())


def is_stop_word(word: str) -> bool:
    """Return whether a folded word is a stop word in any language."""
    return any(word in stops for stops in _stop_words().values())


def all_of(phrases: Iterable[str]) -> str:
    """Return an FTS5 expression that requires all of the phrases; empty without phrases."""
    return " AND ".join(f'"{phrase}"' for phrase in phrases)


def any_of(words: Iterable[str]) -> str:
    """Return an FTS5 expression that requires any of the words; empty without words."""
    return " OR ".join(map(_any_form, words))


def with_one_of(word: str, others: Sequence[str]) -> str:
    """Return an FTS5 expression that requires a word and one of the others."""
    return f"{_any_form(word)} AND ({any_of(others)})"


def gated(words: Sequence[str], frequency: Mapping[str, int], required: int, weighed: int) -> str:
    """Return an FTS5 expression that limits how many rows of a large database are ranked.

    Ranking costs time for each row. So a row must have one of the rarest words, or two of
    the less rare ones: rows with two of them are few, and often what is meant. The rarest
    words have up to `required` rows together, and all words that are searched for have up
    to `weighed`; still more common words are left out. The rarest word is always searched
    for, even if it exceeds both limits. Words that no row has are ignored.
    """
    rarest_first = sorted(
        (word for word in words if frequency.get(word, 0)), key=lambda word: frequency[word]
    )
    if not rarest_first:
        return any_of(words)
    rows_so_far = list(accumulate(frequency[word] for word in rarest_first))
    rarest_count = max(1, sum(rows <= required for rows in rows_so_far))
    searched_count = max(rarest_count, sum(rows <= weighed for rows in rows_so_far))
    rarest, searched = rarest_first[:rarest_count], rarest_first[:searched_count]
    less_rare = searched[rarest_count:][:MAX_PAIRED]
    if not less_rare:
        return any_of(searched)
    alternatives = [any_of(rarest)]
    for i, word in enumerate(less_rare[:-1], 1):
        alternatives.append(f"({with_one_of(word, less_rare[i:])})")
    return f"({' OR '.join(alternatives)}) AND ({any_of(searched)})"


def _any_form(word: str) -> str:
    quoted = [f'"{form}"' for form in (*word_forms(word), *other_spellings(word))]
    return quoted[0] if len(quoted) == 1 else f"({' OR '.join(quoted)})"


def akin(word: str, form: str) -> bool:
    """Return whether two words with the same stem are related: "in" and "Inês" are not."""
    return min(len(word), len(form)) > 2 or abs(len(word) - len(form)) < 2


@cache
def _stop_words() -> dict[str, frozenset[str]]:
    return {language: frozenset(map(fold, stops)) for language, stops in STOP_WORDS.items()}


def _content_words(words: list[str]) -> list[str]:
    """Return the words without the stop words of their likeliest language.

    That is the language whose stop words occur most often among them.
    """
    counts = {
        language: sum(word in stop_words for word in words)
        for language, stop_words in _stop_words().items()
    }
    stop_words = _stop_words()[max(counts, key=lambda language: counts[language])]
    return [word for word in words if word not in stop_words]


def _one_of_each_root(words: list[str]) -> tuple[str, ...]:
    by_root: dict[str, str] = {}
    for word in words:
        by_root.setdefault(root(word), word)
    return tuple(by_root.values())


def capitalised_words(text: str) -> frozenset[str]:
    """Return the folded words of a text that begin with a capital."""
    words = [word for word in _WORD.findall(text) if word[:1].isupper()]
    return frozenset(index_words(" ".join(words)))


def _possible_names(text: str) -> frozenset[str]:
    """Return the folded words that may be names: the capitalised ones, or all if none is."""
    return capitalised_words(text) or frozenset(index_words(text))


def _pairs(run: str) -> list[str]:
    """Return the pairs of adjacent characters, or the character if there is only one."""
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


def _role(text: str) -> str | None:
    """Return whose words a query means, judged by "I" and "you"; None if it is not clear."""
    subjects = {match[1].lower() for match in _SUBJECT.finditer(text)}
    if len(subjects) == 1:
        return "user" if subjects == {"i"} else "assistant"
    mentioned = [role for role, pattern in _SPEAKERS.items() if pattern.search(text)]
    return mentioned[0] if len(mentioned) == 1 else None


def word_spans(
    line: str, words: Sequence[str], pieces: Sequence[str] = ()
) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each of the words, in any form, and of each of the pieces."""
    forms = chain.from_iterable(map(word_forms, words))
    by_stem = {stem(form): form for form in forms}
    for match in _WORD.finditer(line):
        word = fold(match[0])
        form = by_stem.get(stem(word))
        if form and akin(word, form):
            yield match.span()
    for piece in pieces:
        yield from (match.span() for match in re.finditer(re.escape(piece), line))


def excerpt(text: str, words: Sequence[str], size: int, pieces: Sequence[str] = ()) -> str:
    """Return the `size` characters of a text with the most words of the query, as one line."""
    line = one_line(text)
    if len(line) <= size:
        return line
    quoted = _quoted_lines(text, line)
    positions = sorted(start for start, _ in word_spans(line, words, pieces))

    def words_from(start: int) -> int:
        return bisect_left(positions, start + size) - bisect_left(positions, start)

    starts = [max(0, position - size // 4) for position in positions] or [0]
    start = max(starts, key=words_from)
    end = min(len(line), start + size)
    # The match begins `size // 4` characters after the start, and must stay in the excerpt.
    reach = min(_WORD_BREAK, size // 4)
    if start and " " in line[start : start + reach]:
        start = line.find(" ", start) + 1
    if end < len(line) and " " in line[end - reach : end]:
        end = line.rfind(" ", start, end)
    # "My flight is at nine. No, wait, at ten."
    if correction := _CORRECTION.match(line, line.rfind(". ", start, end) + 1 or end):
        end = max(end, min(correction.end(), end + size // 2))
    # The `>` of a quoted line is kept when its beginning is cut off.
    mark = "> " if any(first < start < last for first, last in quoted) else ""
    return mark + ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _quoted_lines(text: str, joined: str) -> list[tuple[int, int]]:
    """Return where the lines that begin with `>` are in a text joined to one line."""
    spans, position = [], 0
    for part in filter(None, map(one_line, text.splitlines())):
        if not joined.startswith(part, position):
            return []
        if part.startswith(">"):
            spans.append((position, position + len(part)))
        position += len(part) + 1
    return spans
