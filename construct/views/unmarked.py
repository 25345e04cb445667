"""Strip Markdown from replies that are only quoted."""

import re

_MARKUP = [
    (re.compile(pattern, re.MULTILINE), plain)
    for pattern, plain in (
        (r"^ {0,3}(?:```|~~~).*$", ""),  # ```python
        (r"^ {0,3}(?:#{1,6} +|> ?|[-*+] +)+", ""),  # "## ", "> ", "- "
        (r"^ {0,3}\|?(?: *:?-{2,}:? *\|)+ *:?-*:? *$", ""),  # |:---|---:|
        (r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"\1"),  # **bold**
        (r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=\S)\*(?![\w*])", r"\1"),  # *italic*
        (r"(?<!\w)__(?=\S)([^\n]+?)(?<=\S)__(?!\w)", r"\1"),  # __bold__
        (r"`([^`\n]+)`", r"\1"),  # `code`
        (r"!?\[([^\]\n]+)\]\([^)\s]*\)", r"\1"),  # [text](url), ![text](url)
    )
]
"""Patterns of Markdown syntax, and what replaces each."""


def without_markup(text: str) -> str:
    """Return Markdown as plain text."""
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    return text
