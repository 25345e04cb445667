"""Code → coloured lines, one at a time.

A line's colours depend on the lines before it, never on those to come.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from typing import Any

from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer  # type: ignore[import-untyped]
from pygments.lexers import get_all_lexers, get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Comment, Token, string_to_tokentype  # type: ignore[import-untyped]
from rich.style import Style
from rich.text import Text

from construct.views.themes import Theme

_LONGEST = 1000  # characters; a longer line is data, and lexers can be slow on purpose-made ones
_DEEPEST = 100

Tokens = list[tuple[Any, str]]


class CodeBlock:
    """The lines of one code block, coloured as they come."""

    def __init__(self, language: str, theme: Theme) -> None:
        self._lexer = _lexer(language)
        self._theme = theme
        self._stack = ["root"]
        self._in_comment = False
        self._blank = 0

    def copy(self) -> "CodeBlock":
        """Return a copy to try lines on."""
        other = copy(self)
        other._stack = list(self._stack)
        return other

    def add(self, code: Sequence[str]) -> list[Text]:
        """Return the coloured lines of `code`.

        Blank ones wait for one that is not, so none trail.
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
        if self._lexer is None or len(line) > _LONGEST:
            return Text(line)
        text = Text()
        for kind, value in self._tokens(line):
            text.append(value.replace("\n", ""), _style(self._theme, kind))
        # A lexer that loses or adds text may not change what is read.
        return text if text.plain == line else Text(line)

    def _tokens(self, line: str) -> Tokens:
        """Return the tokens of `line`, minding comments that last for several lines.

        Most lexers know these only as a whole; so it is tried whether an end of comment
        would end one here.
        """
        if self._in_comment:
            comment, end, code = line.partition("*/")
            self._in_comment = not end
            return [(Comment, comment + end), *(self._lex(code) if end else [])]
        if "/*" not in line or not _slash_comments(self._lexer):
            return self._lex(line)
        before = list(self._stack)
        tokens = [token for token in self._lex(line + "\n*/") if token[1] != "\n"]
        self._in_comment = (
            bool(tokens) and tokens[-1][0] in Comment and tokens[-1][1].endswith("\n*/")
        )
        if self._in_comment:
            return [*tokens[:-1], (Comment, tokens[-1][1].removesuffix("\n*/"))]
        self._stack = before
        return self._lex(line)

    def _lex(self, line: str) -> Tokens:
        try:
            if isinstance(self._lexer, RegexLexer):
                return [token for token in self._lex_on(line + "\n") if token[1]]
        except Exception:  # noqa: BLE001 - foreign code, untrusted text; some lexers know no context at all
            self._stack = ["root"]
        return _lex_alone(self._lexer, line)

    def _lex_on(self, line: str) -> Iterator[tuple[Any, str]]:
        """Yield the tokens of `line`, in the state the line before it left."""
        context = LexerContext(line, 0, list(self._stack))
        for _, kind, value in ExtendedRegexLexer.get_tokens_unprocessed(
            self._lexer, context=context
        ):
            yield kind, value
        self._stack = context.stack if len(context.stack) <= _DEEPEST else ["root"]


def _lex_alone(lexer: Any, line: str) -> Tokens:
    try:
        return [
            (kind, value) for _, kind, value in lexer.get_tokens_unprocessed(line + "\n") if value
        ]
    except Exception:  # noqa: BLE001 - as above: a line without colours is better than a lost reply
        return [(Token, line)]


@cache
def _lexer(language: str) -> Any:
    """Return the lexer that is called `language`, or None.

    Plug-ins are not looked for: that takes long.
    """
    name = language.lower()
    return get_lexer_by_name(name) if name in _known() else None


@cache
def _known() -> frozenset[str]:
    everything: Iterable[tuple[str, tuple[str, ...], object, object]] = get_all_lexers(
        plugins=False
    )
    return frozenset(alias.lower() for _, aliases, *_ in everything for alias in aliases) - {"text"}


@cache
def _slash_comments(lexer: Any) -> bool:
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
