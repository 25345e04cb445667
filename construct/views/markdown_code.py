"""Colour code line by line, so that it can be printed as it streams in.

A line's colours do not depend on later lines.
"""

from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any

from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer  # type: ignore[import-untyped]
from pygments.lexers import get_all_lexers, get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Comment, Token, string_to_tokentype  # type: ignore[import-untyped]
from rich.style import Style
from rich.text import Text

from construct.views.themes import Theme

_MAX_LINE_LENGTH = 1000
"""Longer lines are data and stay plain; some lexers take very long for crafted ones."""
_MAX_LEXER_STATES = 100

Tokens = list[tuple[Any, str]]


class CodeBlock:
    """Colours the lines of one code block in order."""

    def __init__(self, language: str, theme: Theme) -> None:
        self._lexer = _lexer(language)
        self._theme = theme
        self._stack = ["root"]
        self._in_comment = False
        self._blank = 0

    def copy(self) -> "CodeBlock":
        """Return an independent copy, to render lines that may change."""
        other = copy(self)
        other._stack = list(self._stack)
        return other

    def add(self, code: Sequence[str]) -> list[Text]:
        """Return the coloured lines of `code`.

        Blank lines are held back until another line follows, so that none are trailing.
        """
        lines: list[Text] = []
        for line in code:
            coloured = self._colour(line.expandtabs(4).rstrip())
            if not coloured:
                self._blank += 1
                continue
            lines += [*(Text() for _ in range(self._blank)), coloured]
            self._blank = 0
        return lines

    def _colour(self, line: str) -> Text:
        if self._lexer is None or len(line) > _MAX_LINE_LENGTH:
            return Text(line)
        text = Text()
        for kind, value in self._tokens(line):
            text.append(value.replace("\n", ""), _style(self._theme, kind))
        # Some lexers lose or add characters. Then the plain line is right.
        return text if text.plain == line else Text(line)

    def _tokens(self, line: str) -> Tokens:
        """Return the tokens of `line`, in or outside a comment of several lines.

        Most lexers match such a comment as a whole. To find out whether one is open at
        the end of the line, the line is lexed with "*/" appended.
        """
        if self._in_comment:
            comment, end, code = line.partition("*/")
            self._in_comment = not end
            return [(Comment, comment + end), *(self._lex(code) if end else [])]
        if "/*" not in line or not _has_slash_comments(self._lexer):
            return self._lex(line)
        before = list(self._stack)
        tokens = [token for token in self._lex(line + "\n*/") if token[1] != "\n"]
        kind, value = tokens[-1] if tokens else (Token, "")
        self._in_comment = kind in Comment and value.endswith("\n*/")
        if self._in_comment:
            return [*tokens[:-1], (Comment, value.removesuffix("\n*/"))]
        self._stack = before
        return self._lex(line)

    def _lex(self, line: str) -> Tokens:
        try:
            if isinstance(self._lexer, RegexLexer):
                return self._lex_in_state(line + "\n")
        # Third-party lexers read untrusted text, and some do not support a context.
        except Exception:  # noqa: BLE001
            self._stack = ["root"]
        return _lex_alone(self._lexer, line)

    def _lex_in_state(self, line: str) -> Tokens:
        """Return the tokens of `line`, lexed in the state after the previous line."""
        context = LexerContext(line, 0, list(self._stack))
        lexed = ExtendedRegexLexer.get_tokens_unprocessed(self._lexer, context=context)
        tokens = [(kind, value) for _, kind, value in lexed if value]
        self._stack = context.stack if len(context.stack) <= _MAX_LEXER_STATES else ["root"]
        return tokens


def _lex_alone(lexer: Any, line: str) -> Tokens:
    try:
        return [
            (kind, value) for _, kind, value in lexer.get_tokens_unprocessed(line + "\n") if value
        ]
    except Exception:  # noqa: BLE001 - as above: better a plain line than a lost reply
        return [(Token, line)]


@cache
def _lexer(language: str) -> Any:
    """Return the lexer named `language`, or None. Plug-ins are slow to search."""
    name = language.lower()
    return get_lexer_by_name(name) if name in _lexer_names() else None


@cache
def _lexer_names() -> frozenset[str]:
    aliases: set[str] = set()
    for _, lexer_aliases, _, _ in get_all_lexers(plugins=False):
        aliases.update(alias.lower() for alias in lexer_aliases)
    return frozenset(aliases - {"text"})


@cache
def _has_slash_comments(lexer: Any) -> bool:
    """Return whether the language has comments like `/* this */`."""
    tokens = _lex_alone(lexer, "/* a\n b */")
    return tokens[0][0] in Comment and tokens[0][1] == "/* a\n b */"


@cache
def _style(theme: Theme, kind: Any) -> Style:
    while kind is not Token:
        style = _styles(theme).get(kind)
        if style is not None:
            return style
        kind = kind.parent
    return Style.null()


@cache
def _styles(theme: Theme) -> dict[Any, Style]:
    return {string_to_tokentype(name): Style.parse(style) for name, style in theme.code.items()}
