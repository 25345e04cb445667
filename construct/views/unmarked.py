"""Markdown without its marks, for where a reply is only quoted."""

import re

_MARKUP = [
    (re.compile(pattern, re.MULTILINE), plain)
    for pattern, plain in (
        (r"^ {0,3}(?:```|~~~).*$", ""),
        (r"^ {0,3}(?:#{1,6} +|> ?|[-*+] +)+", ""),
        (r"^ {0,3}\|?(?: *:?-{2,}:? *\|)+ *:?-*:? *$", ""),
        (r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"\1"),
        (r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])", r"\1"),
        (r"(?<!\w)__(?=\S)([^\n]+?)(?<=\S)__(?!\w)", r"\1"),
        (r"`([^`\n]+)`", r"\1"),
        (r"!?\[([^\]\n]+)\]\([^)\s]*\)", r"\1"),
    )
]
"""What is a mark of Markdown and no word, and what stays of it."""


def without_markup(text: str) -> str:
    """Return Markdown as plain words."""
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    return text
