"""Untrusted text inside prompts: nothing in it may look like one of our tags, anchors or notes. Pure.

`escape` disarms what does, and `unescape` takes that back out of a worker's answer (contract.md, "Escaping").
"""

import re
import unicodedata

from construct.text import printable

TAGS = (
    "transcript", "known", "notes", "group", "memories", "names",
    "observations", "task", "next", "title", "forget",
    "reflections", "same", "outdated", "drop", "checks", "entities", "relations", "ambient",
)  # fmt: skip
"""The names of all tags that our prompts and the workers' answers use."""

_FILLER = "\u115f\u1160\u3164\uffa0"
_NOTHING = rf"(?:[^\w\n]|[{_FILLER}])"
_LETTER = "[MKOPmkopＭＫＯＰｍｋｏｐМКОРмкорΜΚΟΡμκορ]"  # Latin, fullwidth, Cyrillic, Greek
_DIGIT = "[\\d⁰¹²³⁴-⁹₀-₉①-⑳]"
_JUNK = re.compile(f"{_NOTHING}*")
_OPENING = re.compile(r"[\[［(]")
_ANCHOR = re.compile(rf"{_LETTER}{_NOTHING}*{_DIGIT}")
_BARE_ANCHOR = re.compile(rf"{_LETTER}\d+(?!\w)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LITTLE = _NOTHING + "{0,30}"
_ESCAPED_LINE = re.compile(
    rf"\\(?=[\[［(]{_LITTLE}{_LETTER}{_LITTLE}{_DIGIT}|{_BARE_ANCHOR.pattern}|[!~-] *{_DATE.pattern})"
)
_OPENS = re.compile("[<＜﹤]")
_ESCAPED_OPENS = re.compile("&lt;")
_LONGEST_JUNK = 60
"""Characters after a `<` that are searched for the beginning of a tag name."""


def escape(text: str) -> str:
    """Return untrusted text for a prompt: printable, `<` before our tag names as `&lt;`.

    A line that begins like an anchor or a note of ours gets a backslash before it. Tags and anchors are recognised
    through case, look-alike letters and invisible characters.
    """
    # printable() first would join lines at separators that it removes; splitlines()
    # knows them all.
    lines = (_escape_line(printable(line)) for line in text.splitlines())
    return _OPENS.sub(_escape_tag, "\n".join(lines))


def _escape_line(line: str) -> str:
    """Return a line with a backslash before what looks like an anchor or a note of ours at its beginning.

    What it begins with is looked at once: brackets and signs may be many thousands.
    """
    junk = _JUNK.match(line)
    end = junk.end() if junk else 0
    opening = _OPENING.search(line, 0, end)
    if opening and _ANCHOR.match(line, end):
        at = opening.start()
    elif _BARE_ANCHOR.match(line, end):
        at = end
    elif _DATE.match(line, end) and (stripped := line[:end].rstrip(" "))[-1:] in {"!", "~", "-"}:
        at = len(stripped) - 1
    else:
        return line
    return f"{line[:at]}\\{line[at:]}"


def inline(text: str) -> str:
    """Return untrusted text for a prompt as one line."""
    return " ".join(escape(text).split())


def unescape(text: str) -> str:
    """Return text that a worker copied from its prompt as it was before `escape`."""
    return _ESCAPED_LINE.sub("", _ESCAPED_OPENS.sub(_unescape_tag, text))


def _escape_tag(match: re.Match[str]) -> str:
    return "&lt;" if _names_a_tag(match) else match[0]


def _unescape_tag(match: re.Match[str]) -> str:
    return "<" if _names_a_tag(match) else match[0]


def _names_a_tag(match: re.Match[str]) -> bool:
    after = _OPENS.split(match.string[match.end() : match.end() + _LONGEST_JUNK], maxsplit=1)[0]
    letters = "".join(
        c for c in unicodedata.normalize("NFKC", after) if c.isalnum() and c not in _FILLER
    )
    return letters.casefold().startswith(TAGS)
