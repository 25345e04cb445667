"""Text that is not trusted."""

import re
import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct.text import PrintableStream, one_line, printable, shorten, storable

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff\ud800-\udfff]"
)
PIECE = st.sampled_from(
    [*"\x1b\x07\x9c\x9b\x9d\x90\x9fm;aé猫\r\n \x85\u202e\ud800\x00[\\]#\t", "\x1b[", "\x1b]",
     "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b\\", "31", "👩‍👧", "\r\n"]
)  # fmt: skip
NASTY = st.lists(PIECE, max_size=16).map("".join) | st.text(st.characters(), max_size=40)


def streamed(text: str, cuts: list[int]) -> str:
    """Return what a stream prints of a text that arrives in pieces."""
    stream = PrintableStream()
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return "".join(stream.feed(text[a:b]) for a, b in pairwise(places)) + stream.finish()


@settings(deadline=None)
@given(NASTY)
def test_nothing_that_controls_survives(text: str) -> None:
    """No control character but newline and tab is ever printed.

    That includes C1, bidirectional controls and lone surrogates.
    """
    clean = printable(text)
    assert not FORBIDDEN.search(clean)
    assert printable(clean) == clean
    assert clean.encode().decode() == clean


@settings(deadline=None)
@given(NASTY, st.lists(st.integers(0, 100), max_size=8))
def test_pieces_print_as_the_whole(text: str, cuts: list[int]) -> None:
    """However a text is cut, the stream prints what the whole would."""
    assert streamed(text, cuts) == printable(text)
    assert streamed(text, list(range(len(text)))) == printable(text)


@settings(deadline=None)
@given(
    st.text(
        st.characters(categories=["L", "N", "P", "S", "Zs", "M"], exclude_characters="\xad"),
        max_size=60,
    )
)
def test_plain_words_survive(text: str) -> None:
    """Letters of any script, digits, punctuation and accents are left as they are."""
    assert printable(text) == text
    assert streamed(text, [3, 7]) == text


@pytest.mark.parametrize(
    "text",
    ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "مرحبا", "שלום", "می‌خواهم", "नमस्ते", "e\u0301", "a\tb\nc", "  x  "],
)  # fmt: skip
def test_what_looks_like_control_and_is_language(text: str) -> None:
    """Joiners in emoji and Persian, flags and right-to-left letters survive."""
    assert printable(text) == text


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[31m", "\x1b[0m", "\x1b[2J", "\x1b[1;31;40m", "\x1b[?25l", "\x1b[10;10H", "\x9b31m",
        "\x1b[ q", "\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1b]8;;http://x\x1b\\",
        "\x1b]52;c;aGk=\x07", "\x9d0;title\x9c", "\x9d0;title\x07", "\x1b]0;two\nlines\x07",
        "\x1bPq#0;2;0\x1b\\", "\x90q#0\x9c", "\x1b_Gf=100\x1b\\", "\x1b^private\x1b\\",
        "\x1bXstart\x1b\\",
        "\x9fapc\x9c",
        "\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\",
        "\x1b7", "\x1bc", "\x1b(B", "\x1b#8", "\x1b=",
    ],
)  # fmt: skip
def test_escape_sequences_go_whole(sequence: str) -> None:
    """ANSI, OSC, DCS and other sequences are removed with their parameters.

    They may be 7-bit or 8-bit, and come whole or in pieces.
    """
    assert printable(f"be{sequence}fore") == "before"
    assert streamed(f"be{sequence}fore", list(range(len(sequence) + 6))) == "before"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\r\nb\rc", "a\nb\nc"), ("a\x85b\u2028c\u2029d\x0be\x0cf", "a b c d e f"),
        ("a\x00b\x07c\x7fd", "abcd"), ("\ufeffa", "a"), ("\u202eabc\u202c", "abc"), ("\x1b", ""),
        ("\x1b[", ""), ("a\x1b[31", "a31"), ("\x1b]0;never ends", "0;never ends"),
        ("\x1bPnever ends", "never ends"), ("\x1b\x1b[31ma", "a"),
        ("a\ud83db", "ab"),
    ],
)  # fmt: skip
def test_odd_ends(text: str, clean: str) -> None:
    """Odd line ends keep words apart, and what never ends hides no words."""
    assert printable(text) == clean
    assert streamed(text, list(range(len(text)))) == clean


def test_a_string_too_long_for_a_sequence() -> None:
    """An endless sequence holds nothing up, and the next one is still recognised."""
    stream = PrintableStream()
    shown = "".join(
        stream.feed(piece) for piece in ["\x1b]", "a" * 5000, "b\x1b[", "31", "mc", "\x07"]
    )
    assert shown + stream.finish() == "a" * 5000 + "bc"


@pytest.mark.parametrize(
    "unit",
    [
        "\x1bP",
        "\x9d",
        "\x1bP\x1b",
        "\x1bP\x1b\x1b",
        "\x1b]",
        "\x1b",
        "\x1b [",
        "\x1b[;",
        "\x9b1",
        "\x1bPa",
        "\r",
    ],
)
def test_no_text_takes_long(unit: str) -> None:
    """A quarter of a megabyte of beginnings is clean in a moment, streamed or not."""
    text = unit * (250_000 // len(unit))
    began = time.process_time()
    printable(text)
    stream = PrintableStream()
    for at in range(0, 20_000, 4):
        stream.feed(text[at : at + 4])
    assert time.process_time() - began < 2


@settings(deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_one_line(text: str) -> None:
    """A line has no line break of any kind, no double space and none at its ends."""
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line == " ".join(line.split())
    assert not FORBIDDEN.search(line)


@settings(deadline=None)
@given(st.text(max_size=60), st.integers(1, 30))
def test_shorten(text: str, width: int) -> None:
    """A shortened line has at most the width, and says that something is missing."""
    short = shorten(text, width)
    assert len(short) <= width
    assert short == one_line(text) or short.endswith("…")


@settings(deadline=None)
@given(st.text(st.characters()))
def test_storable(text: str) -> None:
    """What is stored can be encoded, has no NUL, and is otherwise what it was."""
    kept = storable(text)
    assert kept.encode().decode() == kept
    assert "\x00" not in kept
    if all(unicodedata.category(c) != "Cs" for c in text):
        assert kept == text.replace("\x00", "")


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028"])
def test_what_separates_words_becomes_a_space(separator: str) -> None:
    """Or two words would become one."""
    assert printable(f"tea{separator}cake") == "tea cake"
