"""Plain words on a terminal: lines are broken between words."""

import pytest

from construct.text import printable
from construct.views.wrapping import WrappedStream, wrapped

WRAPPED = {
    "words": ("The quick brown fox jumps over it.", "The quick\nbrown fox\njumps over\nit."),
    "lines of their own": ("One.\n\nTwo three four.\n", "One.\n\nTwo three\nfour.\n"),
    "a line that just fits": ("0123 56789 x", "0123 56789\nx"),
    "a word too long": ("see https://example.org/a b", "see\nhttps://example.org/a b"),
    "an indent": ("  - one two three", "  - one\ntwo three"),
    "no blanks": ("我们明天早上一起去里斯本", "我们明天早上一起去里斯本"),
    "wide": ("一二三 四五 六", "一二三\n四五 六"),
    "code": (
        "Type:\n```\nls --all -l /home\n```\nand look at it",
        "Type:\n```\nls --all -l /home\n```\nand look\nat it",
    ),
    "escapes": ("\x1b[31mred red\x1b[0m red red", "red red\nred red"),
}


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(("text", "lines"), WRAPPED.values(), ids=WRAPPED.keys())
def test_lines_are_broken_between_words(text: str, lines: str, size: int) -> None:
    """However the text comes in, nothing but blanks gives way to the break.

    Code stays as it is.
    """
    stream = WrappedStream(10)
    out = (
        "".join(stream.feed(text[i : i + size]) for i in range(0, len(text), size))
        + stream.finish()
    )
    assert out == lines
    assert "".join(out.split()) == "".join(printable(text).split())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three four five six\n  /a     b", "one two three four\nfive six\n  /a     b"),
        ("내일 아침 우리는 같이 리스본에 갑니다", "내일 아침 우리는\n같이 리스본에 갑니다"),
        ("see https://example.org/a/long/way to it", "see\nhttps://example.org/a/long/way\nto it"),
        ("  n  go on without any model", "  n  go on without any\n     model"),
        ("", ""),
    ],
    ids=["columns", "wide", "a word too long", "a choice", "nothing"],
)
def test_a_text_is_broken_between_words(text: str, lines: str) -> None:
    """A text is wrapped between words by display width.

    Text with columns made of blanks is left alone.
    """
    assert wrapped(text, 20) == lines
