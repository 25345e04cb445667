"""Words of a query that nothing holds, and the words spelt almost like them.

A search goes on without such a word, and with the word spelt most like it. The index files
words under their stems (language/index_words.py), so words spelt almost alike are looked
for in two steps: first the stems near the beginning of the word, by walking the index's
sorted terms and skipping every branch that can no longer come near; then the words in the
texts that are filed under these stems. Both are bounded: the work does not grow with the
file.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from construct.language.dates import may_name_time
from construct.language.index_words import fold, index_words, is_unspaced, stem
from construct.memory.recall.query import Query, analyse, is_cue, is_stop_word, outside_quotes
from construct.store import search as store
from construct.store.search import Filters

SHORTEST, LONGEST = (
    4,
    64,
)  # letters; shorter words have too many neighbours, longer ones the index does not stem
LONG = 8  # letters; from here on two slips are looked for where no word is one slip away
MOST_RESPELT = 4  # words of a query: more are another language, not slips
MOST_SEEKS = 3_000  # in the index for one query: a tenth of a second or so
MOST_STEMS = 30  # whose texts are read for one word
TEXTS, TEXTS_NARROWED = 8, 200  # read of each stem; more where filters may hide most of them
LONGEST_ENDING = 6  # letters that stemming takes off

_WORD = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")
_OWNED = re.compile(rf"({_WORD.pattern})(?:['’]s\b)?")


@dataclass(frozen=True, slots=True)
class Respelt:
    """A word that nothing holds, as typed, and the word that is searched in its place."""

    typed: str
    searched: str

    def __str__(self) -> str:
        return f"No “{self.typed}”; also searched “{self.searched}”."


@dataclass(slots=True)
class _Allowance:
    """How often the index may still be asked."""

    seeks: int = MOST_SEEKS


def as_said(
    db: sqlite3.Connection,
    asked: Query,
    unsaid: Sequence[str],
    filters: Filters,
    today: date | None = None,
) -> tuple[Query, tuple[Respelt, ...]]:
    """Return the query without words that nothing holds, and what is searched in their place.

    What the query asks beside its words (times, whose words, what it means) stays. `today`
    is what "yesterday" is counted from.
    """
    dropped = [word for word in unsaid if not is_cue(word)]
    if not dropped:
        return asked, ()
    allowance = _Allowance()
    tried = {word: nearest(db, word, filters, allowance) for word in dropped[:MOST_RESPELT]}
    respelt = tuple(
        Respelt(_typed(asked.text, word), written) for word, written in tried.items() if written
    )
    spelt = tuple(dict.fromkeys(index_words(" ".join(one.searched for one in respelt))))
    kept = _taken_out(asked.text, dropped)
    said = analyse(kept) if kept.strip() else replace(asked, words=(), bare=True)
    timed = _taken_out(asked.text, [word for word in dropped if not may_name_time(word)])
    times = analyse(timed, today) if timed.strip() else asked
    query = replace(
        said,
        words=() if said.bare and spelt else said.words,
        text=asked.text,
        dates=times.dates,
        asks_when=times.asks_when,
        unsaid=len(dropped),
        spelt=spelt,
    )
    return query, respelt


def _taken_out(text: str, dropped: Sequence[str]) -> str:
    """Return a query's text without these words, where they do not stand in quotation marks."""
    return outside_quotes(
        text, lambda part: _OWNED.sub(lambda m: "" if fold(m[1]) in dropped else m[0], part)
    )


def nearest(
    db: sqlite3.Connection, word: str, filters: Filters, allowance: _Allowance
) -> str | None:
    """Return the word spelt most like a folded word, as it is written in what can be found.

    None when none is near.
    """
    if not SHORTEST <= len(word) <= LONGEST or not word.isalpha() or is_unspaced(word):
        return None
    for slips in (1, 2) if len(word) >= LONG else (1,):
        found: set[tuple[str, str]] = set()
        for kind in filters.kinds():
            found |= _near(db, kind, word, slips, filters, allowance)
        if found:
            stems = [stem(form) for form, _ in found]
            rows: Counter[str] = Counter()
            for kind in store.KINDS:
                rows.update(store.frequencies(db, kind, stems))
            best = min(
                (distance(word, form), -rows[stem(form)], form, as_written)
                for form, as_written in found
            )
            return best[-1]
    return None


def distance(a: str, b: str) -> int:
    """Return how many slips lie between two words.

    A slip is a letter too many, missing or wrong, or two exchanged.
    """
    above = _Rows(a)
    for letter in b:
        above.add(letter, alike=False)
    return above.last[-1]


def _near(
    db: sqlite3.Connection,
    kind: str,
    word: str,
    slips: int,
    filters: Filters,
    allowance: _Allowance,
) -> set[tuple[str, str]]:
    """Return (folded, as written) of the words of a kind so few slips away."""
    # Two slips with a third at the first letter are rare, and looking for them would go
    # through the whole index.
    seek = store.term_seeker(db, kind)
    stems = sorted(_stems(seek, word, slips, "" if slips == 1 else word[0], allowance))[:MOST_STEMS]
    texts = TEXTS_NARROWED if filters.narrow() else TEXTS
    found: dict[str, str] = {}
    for _, term in stems:
        for entry in store.results(db, kind, store.rows_of_term(db, kind, term, texts), filters):
            for match in _WORD.finditer(entry.text):
                form = fold(match[0])
                if stem(form) == term and distance(word, form) <= slips and not is_stop_word(form):
                    found.setdefault(form, match[0].lower())
    return set(found.items())


def _typed(text: str, word: str) -> str:
    return next((m[0] for m in _WORD.finditer(text) if fold(m[0]) == word), word)


class _Rows:
    """The edit distance between a word and the letters added so far, a row for each letter."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.letters = ""
        self.rows = [list(range(len(word) + 1))]

    @property
    def last(self) -> list[int]:
        return self.rows[-1]

    def back_to(self, length: int) -> None:
        """Take letters off until so many are left."""
        self.letters = self.letters[:length]
        del self.rows[length + 1 :]

    def add(self, letter: str, *, alike: bool) -> None:
        """Add a letter; `alike` lets the stem's i stand for a y."""
        above, word = self.last, self.word
        row = [above[0] + 1]
        for j, own in enumerate(word, 1):
            same = letter == own or (alike and letter == "i" and own == "y")
            best = min(above[j] + 1, row[-1] + 1, above[j - 1] + (not same))
            if self.letters and j > 1 and letter == word[j - 2] and self.letters[-1] == own:
                best = min(best, self.rows[-2][j - 2] + 1)
            row.append(best)
        self.rows.append(row)
        self.letters += letter

    def next_letters(self, slips: int) -> set[str] | None:
        """Return the letters with which the next row is still near enough.

        None for any letter.
        """
        last = self.last
        if min(last) < slips:
            return None
        letters = {own for j, own in enumerate(self.word) if last[j] <= slips}
        if len(self.rows) > 1:
            pairs = zip(self.word, self.word[1:], self.rows[-2], strict=False)
            letters |= {
                first
                for first, second, so_far in pairs
                if so_far < slips and second == self.letters[-1]
            }
        return letters | ({"i"} if "y" in letters else set())


def _stems(
    seek: Callable[[str], str | None], word: str, slips: int, prefix: str, allowance: _Allowance
) -> Iterator[tuple[int, str]]:
    """Yield (distance, term) of the terms with a prefix that are near a beginning of the word.

    `seek` gives the first term that is not before a text.
    """
    rows = _Rows(word)
    at: str | None = prefix
    while at is not None and allowance.seeks > 0:
        allowance.seeks -= 1
        term = seek(at)
        if term is None or not term.startswith(prefix):
            return
        shared = next(
            (i for i, (a, b) in enumerate(zip(term, rows.letters, strict=False)) if a != b), None
        )
        rows.back_to(min(len(term), len(rows.letters)) if shared is None else shared)
        for letter in term[len(rows.letters) :]:
            rows.add(letter, alike=True)
            if min(rows.last) > slips:
                break
        if min(rows.last) > slips:
            beyond = rows.letters[-1]
            rows.back_to(len(rows.letters) - 1)
            at = _next(rows, slips, beyond)
            continue
        rests = range(min(LONGEST_ENDING, len(word) - 1) + 1)
        if (
            len(rows.letters) == len(term)
            and min(rows.last[len(word) - rest] for rest in rests) <= slips
        ):
            yield min(rows.last[len(word) - rest] * 2 + rest for rest in rests), term
        at = _next(rows, slips, "")


def _next(rows: _Rows, slips: int, beyond: str) -> str | None:
    """Return where to look next, past the letters so far and `beyond`."""
    letters = rows.next_letters(slips)
    if letters is None:
        return rows.letters + (_later(beyond) if beyond else "\x01")
    later = [letter for letter in letters if letter > beyond]
    if later:
        return rows.letters + min(later)
    return rows.letters[:-1] + _later(rows.letters[-1]) if rows.letters else None


def _later(letter: str) -> str:
    """Return the character after a letter; there are none between U+D7FF and U+E000."""
    after = ord(letter) + 1
    return chr(0xE000 if after == 0xD800 else min(after, 0x10FFFF))
