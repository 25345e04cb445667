"""Escape untrusted text in prompts, so that none of it looks like our tags or notes.

`unescape` restores the text in a worker's answer. No I/O.
"""

import re
import unicodedata

from construct.text import printable

TAGS = (
    "transcript", "known", "wishes", "current", "messages", "notes", "group", "change", "related",
    "memories", "names", "observations", "values", "task", "next", "title", "forget",
    "reflections", "same", "outdated", "shelve", "drop", "checks", "doubtful", "entities",
    "relations", "ambient", "think",
)  # fmt: skip
"""The names of all tags that our prompts and the workers' answers use."""

# Hangul fillers, which are invisible. Python counts them as letters.
_FILLER = "\u115f\u1160\u3164\uffa0"
_INVISIBLE = f"{_FILLER}\u2800"
# Symbols such as ℡ and Ⓚ, which a reader takes for letters.
_SIGNS_READ_AS_LETTERS = "℀-⅏Ⓐ-ⓩ㈀-㏿🄀-🅏"
# Any character but a letter, a digit, an underscore and a line end: a bracket, a joiner …
_IGNORED = rf"(?:[^\w\n{_SIGNS_READ_AS_LETTERS}]|[{_FILLER}])"
_LETTER = "[MKOPVmkopvＭＫＯＰＶｍｋｏｐｖМКОРѴмкорѵΜΚΟΡμκορ]"  # Latin, fullwidth, Cyrillic, Greek
_DIGIT = "[\\d⁰¹²³⁴-⁹₀-₉①-⑳]"
_IGNORED_START = re.compile(f"{_IGNORED}*")
_OPENING = re.compile(r"[\[［(]")
# `M3`, also as `м 3` with a Cyrillic letter.
_ANCHOR = re.compile(rf"{_LETTER}{_IGNORED}*{_DIGIT}")
# `[before]`, which stands in place of an anchor.
_BEFORE = re.compile(rf"before{_IGNORED}*(?!\w)", re.IGNORECASE)
# `K12` at the end of a word.
_BARE_ANCHOR = re.compile(rf"{_LETTER}\d+(?!\w)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
# A bounded number, since `unescape` looks for such lines after every backslash.
_SOME_IGNORED = _IGNORED + "{0,30}"
# A line that `escape` puts a backslash before: "[M3]", "K12" or "! 2026-01-15".
_ESCAPED_LINE = re.compile(
    rf"[\[［(]{_SOME_IGNORED}(?:{_LETTER}{_SOME_IGNORED}{_DIGIT}|(?i:before)(?!\w))"
    rf"|{_BARE_ANCHOR.pattern}|[!~-] *{_DATE.pattern}"
)
_LIKE_LATIN = str.maketrans("МКОРмкорΜΚΟΡμκορ", "MKOPmkopMKOPmkop")
_ANCHOR_CHARACTERS = 64
"""Characters at the start of a line that are searched for an anchor or a date."""
_BACKSLASH = re.compile(r"\\")
_OPENS = re.compile("[<＜﹤]")
_ESCAPED_OPENS = re.compile("&lt;")
_TAG_CHARACTERS = 60
"""Characters after a `<` that are searched for the beginning of a tag name."""


def escape(text: str) -> str:
    """Return untrusted text for a prompt: printable, and nothing in it like our markup.

    The `<` of one of our tags becomes `&lt;`, whatever the tag's case, and even if other
    characters stand between its letters (`_TAG_CHARACTERS` are searched). A line that
    begins like an anchor or a note of ours gets a backslash before that, even if it is
    written with look-alike letters or invisible characters.
    """
    # Split first: printable() makes spaces of some line separators, and would join lines there.
    lines = (_escape_line(printable(line)) for line in text.splitlines())
    return _OPENS.sub(_escape_tag, "\n".join(lines))


def _escape_line(line: str) -> str:
    """Return a line with a backslash where it begins like an anchor or a note.

    The patterns are matched after the ignored characters it begins with, which may be
    thousands.
    """
    start = _IGNORED_START.match(line)
    end = start.end() if start else 0
    opening = _OPENING.search(line, 0, end)
    seen = _as_seen(line[end : end + _ANCHOR_CHARACTERS])
    if opening and (_ANCHOR.match(line, end) or _ANCHOR.match(seen) or _BEFORE.match(seen)):
        position = opening.start()
    elif _BARE_ANCHOR.match(line, end) or _BARE_ANCHOR.match(seen):
        position = end
    elif _DATE.match(seen) and (sign := _last_sign(line[:end])) is not None:
        position = sign
    else:
        return line
    return f"{line[:position]}\\{line[position:]}"


def _last_sign(start: str) -> int | None:
    """Return the position of a note's sign, if it is the last visible character."""
    for position in reversed(range(len(start))):
        if seen := _as_seen(start[position]).strip():
            return position if seen in {"!", "~", "-"} else None
    return None


def _as_seen(text: str) -> str:
    """Return text as a reader sees it: `K¼` begins with K1."""
    if text.isascii():
        return text
    return "".join(
        c for c in unicodedata.normalize("NFKC", text).translate(_LIKE_LATIN)
        if c.isprintable() and c not in _INVISIBLE and unicodedata.category(c)[0] != "M"
    )  # fmt: skip


def inline(text: str) -> str:
    """Return untrusted text for a prompt as one line."""
    return " ".join(escape(text).split())


def unescape(text: str) -> str:
    """Undo `escape` in text that a worker copied from its prompt.

    Text that already had `&lt;task` or a backslash before an anchor is changed too: it
    becomes `<task`, or loses the backslash.
    """
    return _BACKSLASH.sub(_unescape_line, _ESCAPED_OPENS.sub(_unescape_tag, text))


def _unescape_line(match: re.Match[str]) -> str:
    after = match.string[match.end() : match.end() + _ANCHOR_CHARACTERS]
    line = after.split("\n", 1)[0]
    is_ours = _ESCAPED_LINE.match(after) or _ESCAPED_LINE.match(_as_seen(line))
    return "" if is_ours else match[0]


def _escape_tag(match: re.Match[str]) -> str:
    return "&lt;" if _names_a_tag(match) else match[0]


def _unescape_tag(match: re.Match[str]) -> str:
    return "<" if _names_a_tag(match) else match[0]


def _names_a_tag(match: re.Match[str]) -> bool:
    after = _OPENS.split(match.string[match.end() : match.end() + _TAG_CHARACTERS], maxsplit=1)[0]
    letters = "".join(
        c for c in unicodedata.normalize("NFKC", after) if c.isalnum() and c not in _FILLER
    )
    return letters.casefold().startswith(TAGS)
