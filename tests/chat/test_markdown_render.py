"""What Markdown looks like on the terminal."""

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.styles import Style as PromptStyle
from pygments.lexers import get_all_lexers  # type: ignore[import-untyped]
from rich.color import Color, ColorSystem
from rich.color_triplet import ColorTriplet
from rich.style import Style

from construct.views.markdown import render_markdown
from construct.views.markdown_code import CodeBlock
from construct.views.markdown_render import column_widths
from construct.views.themes import DARK, LIGHT, NEUTRAL, PLAIN, Theme, choose_theme, prompt_style

URL = "https://example.com/" + "a" * 80

SOURCE = '''def backup(path):
    """Copy.

    for while
    """
    return path /* no comment */
/* a comment
   goes on */ x = 1
'''

RENDERED = {
    "a paragraph's lines are one, and hard breaks are kept": ("a\nb  \nc\\\nd", "a b\nc\nd"),
    "headings stand at the left without marks": ("# A\n\nB\n-\n\n### C ###", "A\n\nB\n\nC"),
    "formulas stay as they are": (
        "$a*b*c$ and \\(x\\_1\\) and $\\{1,2\\}$",
        "$a*b*c$ and \\(x\\_1\\) and $\\{1,2\\}$",
    ),
    "formulas of several lines do too": (
        "So:\n$$\na_1\n+ b*c*d\n$$\n\n\\[ a \\\\ b\n= c \\]\n\n$$ never *ends*\n- x",
        "So:\n\n$$\na_1\n+ b*c*d\n$$\n\n\\[ a \\\\ b\n= c \\]\n\n$$ never *ends*\n- x",
    ),
    "prices are no formulas": ("*$5* and *$7*, $8-$9", "$5 and $7, $8-$9"),
    "backslashes are kept": (r"\$5 \*a\* x\_1 1\.", r"\$5 \*a\* x\_1 1\."),
    "stars between factors and in paths are stars": (
        "2*3*4, a**b**c, f(*args, **kw)\nsrc/*/x/*.py and **/*.md",
        "2*3*4, a**b**c, f(*args, **kw)\nsrc/*/x/*.py and **/*.md",
    ),
    "other stars are emphasis": (
        "*a*, (*b*), **Haus**tür, 这是**重点**内容,\n**a**/**b**",
        "a, (b), Haustür, 这是重点内容, a/b",
    ),
    "a bar in code separates no cells": (
        "|a|b|\n|-|-|\n|`ls | wc`|1|\n|x\\|y|2|",
        "a         b\n───────────\nls | wc   1\nx|y       2",
    ),
    "no cell of a long row is lost": (
        "|a|b|\n|-|-|\n|1|2|3|\n|4|5| |",
        "a   b\n───────\n1   2|3\n4   5",
    ),
    "lists are as close as they were written": ("- a\n- b\n\n- c", "• a\n• b\n\n• c"),
    "what is in an item is as close as it was written": (
        "- a\n  - b\n\n  c\n\n      d",
        "• a\n  • b\n\n  c\n\n    d",
    ),
    "lists count on from their first number": ("9. a\n1. b\n1. c", "9. a\n10. b\n11. c"),
    "a list keeps its kind of numbers": ("1) a\n2) b", "1) a\n2) b"),
    "long items hang": ("- " + "word " * 9, "• word word word word word word word\n  word word"),
    "an empty item has its bullet": ("-\n- b", "•\n• b"),
    "check boxes are kept": ("- [ ] a\n- [x] b", "• [ ] a\n• [x] b"),
    "quotes have a bar": ("> a\n> > b\n>\n> - c", "▌ a\n▌ ▌ b\n▌\n▌ • c"),
    "code is indented, and blank lines at its end are dropped": (
        "```\n\na  \n\tb\n\n\n```",
        "\n  a\n      b",
    ),
    "a line of code is left to the terminal to wrap": (
        "```\n" + "a b " * 20 + "\n```",
        "  " + ("a b " * 20).strip(),
    ),
    "a URL is left to the terminal to wrap": (f"see {URL} x", f"see\n{URL}\nx"),
    "Chinese is wrapped, not before a full stop": (
        "中文字符测试，" * 4,
        "中文字符测试，中文字符测试，中文字符测\n试，中文字符测试，",
    ),
    "a link shows its target": ("[a](http://b)", "a (http://b)"),
    "a link cannot pass for another": (
        "[http://a.com](http://b.com)",
        "http://a.com (http://b.com)",
    ),
    "a link that is its target is shown once": ("<http://a.com> <a@b.c>", "http://a.com a@b.c"),
    "an image shows its source": ("![a *b*](http://c)", "a *b* (http://c)"),
    "references and definitions are text": (
        "[a][b]\n\n[b]: http://c\n[d]: e",
        "[a][b]\n\n[b]: http://c\n[d]: e",
    ),
    "HTML is text": ("<div>a</div> <!-- b -->", "<div>a</div> <!-- b -->"),
    "but for line breaks": ("a <br/> b", "a\nb"),
    "HTML blocks are text": ("<script>\nx\n</script>", "<script> x </script>"),
    "columns stand side by side": (
        "|a|b|\n|-|-:|\n|cc|1|\n|d|22|",
        "a     b\n───────\ncc    1\nd    22",
    ),
    "columns without room for their words do not": (
        "|first|second|third|\n|-|-|-|\n|international|organisations|misunderstand|\n|a|b|c|",
        "first: international\nsecond: organisations\nthird: misunderstand\n\n"
        "first: a\nsecond: b\nthird: c",
    ),
    "a table may have no rows": ("|a|\n|-|\n\nb", "a\n─\n\nb"),
    "too many brackets are text": ("[" * 400 + "](", "[" * 400 + "]("),
    "too many quotes are text": (">" * 30 + "a", "▌ " * 24 + ">>>>>>a"),
}

PIECES = [
    "alpha",
    "beta",
    "gamma",
    "# ",
    "- ",
    "1. ",
    "> ",
    "\n\n",
    "\n",
    "  ",
    "```\n",
    "**",
    "`",
    "<b>",
    "]",
    "(",
    "[",
]


@pytest.mark.parametrize(("source", "expected"), RENDERED.values(), ids=RENDERED.keys())
def test_rendered(source: str, expected: str) -> None:
    """On a plain terminal of 38 columns the table above is true."""
    assert render_markdown(source, 38, PLAIN) == expected + "\n"


@pytest.mark.parametrize(
    "source",
    [
        "\x1b]8;;http://evil\x07text\x1b]8;;\x07",
        "[a](http://b)",
        "&#27;]0;title&#7; &#x9b;31m &#x202e;",
        "<http://a/%1b%5d0;x%07>",
        "```\n\x1b[2J\n```",
        "```\x1b[2J\nx",
        "|a\x1b[2J|\n|-|\n|\x9b2J&#27;|",
        "![\x1b](http://\x1b)",
        "`\x1b[2J`",
    ],
)
def test_terminal_is_safe(source: str) -> None:
    """Only our own colours reach the terminal: no links, titles, movements."""
    rendered = re.sub("\x1b\\[[0-9;]*m", "", render_markdown(source, 40))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", rendered)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_no_word_is_lost(pieces: list[str]) -> None:
    """Every word is there in its order, but for a fence's language."""
    source = " ".join(pieces)
    words = re.findall("alpha|beta|gamma", re.sub("```[^\n]*", "", source))
    assert (
        re.findall("alpha|beta|gamma", re.sub("\\s", "", render_markdown(source, 200, PLAIN)))
        == words
    )


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60), st.integers(1, 60))
def test_lines_are_clean(source: str, width: int) -> None:
    """No line ends in spaces, so that what is copied is clean.

    An empty text has no lines.
    """
    lines = render_markdown(source, width, PLAIN).split("\n")
    assert all(line == line.rstrip(" ") for line in lines)
    assert lines[-1] == ""


def test_many_levels_lose_nothing() -> None:
    """Deep nesting does not swallow the rest, as markdown-it's own limit would."""
    assert render_markdown("- " * 60 + "a\n\n- b\n\nrest\n", 80, PLAIN).endswith(
        "a\n\n• b\n\nrest\n"
    )


def test_code_is_coloured_line_by_line() -> None:
    """Strings and comments of several lines keep their colour on each line."""
    lines = render_markdown(f"```python\n{SOURCE}```", 80).split("\n")
    assert lines[3] == "  \x1b[32m    for while\x1b[0m"
    lines = render_markdown("```js\n/* a\n * for\n */ let x = '/*';\nlet y;\n```", 80).split("\n")
    assert lines[1] == "  \x1b[2m * for\x1b[0m"
    assert "\x1b[35mlet\x1b[0m" in lines[2]
    assert "\x1b[35mlet\x1b[0m" in lines[3]


def test_every_language_is_readable() -> None:
    """Whatever the language is said to be, the text of the code is unchanged."""
    for _, aliases, *_ in list(get_all_lexers(plugins=False))[::9]:
        shown = "\n".join(
            line.plain
            for line in CodeBlock((aliases or ("none",))[0], NEUTRAL).add(SOURCE.splitlines())
        )
        assert shown == SOURCE.rstrip()


def test_long_lines_of_code_are_not_coloured() -> None:
    """A very long line is data, and is not given to a lexer."""
    assert (
        render_markdown("```python\n" + "x=1;" * 1000 + "\n```", 80) == "  " + "x=1;" * 1000 + "\n"
    )


def colours(theme: Theme) -> set[Color]:
    """Return the colours that a theme uses."""
    found = (Style.parse(style).color for style in [*theme.styles.values(), *theme.code.values()])
    return {colour for colour in found if colour is not None}


def brightness(colour: ColorTriplet) -> float:
    """Return the relative luminance of a colour, as WCAG has it."""
    parts = (part / 255 for part in colour)
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_styles_are_known_to_both_libraries() -> None:
    """Every style is one that rich and prompt_toolkit understand.

    The neutral ones in ANSI colours.
    """
    for theme in (NEUTRAL, DARK, LIGHT):
        assert colours(theme)
        assert PromptStyle.from_dict(prompt_style(theme)).style_rules
    assert all((colour.number or 0) < 16 for colour in colours(NEUTRAL))
    assert prompt_style(NEUTRAL)["heading2"] == "bold ansimagenta"


@pytest.mark.parametrize(
    ("theme", "grounds"),
    [(DARK, ["#000000", "#282c34", "#002b36"]), (LIGHT, ["#ffffff", "#fdf6e3", "#eff1f5"])],
    ids=["dark", "light"],
)
def test_colours_can_be_read(theme: Theme, grounds: list[str]) -> None:
    """On usual backgrounds each colour has a contrast of 4.5, with 256 colours too."""
    for ground in grounds:
        for colour in colours(theme):
            few = colour.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
            for shade in (colour.get_truecolor(), few):
                pair = sorted((brightness(shade), brightness(Color.parse(ground).get_truecolor())))
                assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("setting", "environ", "theme"),
    [
        ("auto", {"TERM": "xterm"}, NEUTRAL),
        ("auto", {"COLORFGBG": "15;0"}, DARK),
        ("auto", {"COLORFGBG": "0;default;15"}, LIGHT),
        ("auto", {"COLORFGBG": "default;default"}, NEUTRAL),
        ("light", {"COLORFGBG": "15;0"}, LIGHT),
        ("dark", {}, DARK),
        ("dark", {"TERM": "linux"}, NEUTRAL),
        ("dark", {"NO_COLOR": "1"}, PLAIN),
        ("dark", {"NO_COLOR": ""}, DARK),
    ],
)
def test_which_theme(setting: str, environ: dict[str, str], theme: Theme) -> None:
    """The setting decides, else what the terminal says of its background.

    NO_COLOR has the last word.
    """
    assert choose_theme(setting, environ) is theme


def test_environment_of_rich_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there are colours is the caller's decision alone."""
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    assert render_markdown("**a**", 80) == "\x1b[1ma\x1b[0m\n"


def test_words_in_a_table_stay_whole() -> None:
    """Where there is room for every word, none is parted.

    The widest column yields first.
    """
    table = "| Where | Train |\n|--|--|\n| Osaka to Kyoto | Shinkansen, 50 min |\n"
    assert render_markdown(table, 20, PLAIN).splitlines() == [
        "Where    Train",
        "─" * 20,
        "Osaka    Shinkansen,",
        "to       50 min",
        "Kyoto",
    ]


@pytest.mark.parametrize(
    ("columns", "room", "widths"),
    [
        ([["a"], ["b b b"]], 9, [1, 5]),
        ([["a"], ["b b b"]], 7, [1, 3]),
        ([["two words"], ["two words"]], 20, [9, 8]),
        ([["two words"], ["a b c d e f"]], 16, [7, 6]),
        ([["x" * 40], ["y"]], 30, [26, 1]),
        ([["x" * 40], ["yyyy"]], 22, None),
        ([["数据"], [""]], 10, [4, 1]),
    ],
)
def test_column_widths(columns: list[list[str]], room: int, widths: list[int] | None) -> None:
    """Narrow columns get what they need, wide ones the rest, none cuts a word."""
    assert column_widths(columns, room) == widths


def test_empty_cells_take_no_line() -> None:
    """In rows one below the other only what is there is named."""
    head = "|".join(f"heading{n}" for n in range(4))
    assert (
        render_markdown(f"|{head}|\n|-|-|-|-|\n|a||c||\n", 20, PLAIN)
        == "heading0: a\nheading2: c\n"
    )


def test_closing_marks_stay_with_wide_characters() -> None:
    """Western marks do not begin a line after Chinese or Japanese words either."""
    assert render_markdown("こんにちは!", 10, PLAIN).splitlines() == ["こんにち", "は!"]
