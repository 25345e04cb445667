"""A reply that streams in leaves the lines that the whole reply would have left."""

import random
import re
import time
from collections.abc import Iterator

import pyte
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from construct.views import markdown
from construct.views.markdown import MarkdownStream, render_markdown, warm
from construct.views.markdown_blocks import Unit, parse
from construct.views.themes import NEUTRAL, PLAIN, Theme
from tests.chat.documents import DOCUMENTS, PIECES, REPLY

WIDTHS = [20, 40, 80, 200]


def streamed(text: str, pieces: Iterator[str], width: int, theme: Theme = NEUTRAL) -> str:
    """Return what the stream prints when `text` comes in `pieces`.

    It is looked at now and then in between.
    """
    stream = MarkdownStream(width, theme)
    printed = []
    for number, piece in enumerate(pieces):
        printed.append(stream.feed(piece))
        assert not printed[-1] or printed[-1].endswith("\n")
        if number % 40 == 0:
            stream.tail()
    return "".join(printed) + stream.finish()


def cut(text: str, rng: random.Random, longest: int) -> Iterator[str]:
    """Yield `text` in pieces of 1 to `longest` characters."""
    start = 0
    while start < len(text):
        size = rng.randint(1, longest)
        yield text[start : start + size]
        start += size


def scrollback(printed: list[str], width: int) -> list[list[tuple[str, str, bool]]]:
    """Return what a terminal shows and remembers, by line.

    That is characters, colours and weights.
    """
    screen = pyte.HistoryScreen(width, 24, history=5000, ratio=0.5)
    terminal = pyte.Stream(screen)
    for text in printed:
        terminal.feed(text.replace("\n", "\r\n"))
    rows = [*screen.history.top, *(screen.buffer[row] for row in range(screen.cursor.y + 1))]
    return [
        [(cell.data, cell.fg, cell.bold) for cell in (row[column] for column in range(width))]
        for row in rows
    ]


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_same_lines(document: str) -> None:
    """Cut anywhere, a streamed document leaves what a whole one leaves, colours too."""
    for width in WIDTHS:
        whole = render_markdown(document, width)
        rng = random.Random(width)
        for longest in (1, 5, 60) if width == 40 else (20,):
            assert streamed(document, cut(document, rng, longest), width) == whole, width
        assert streamed(document, iter([document]), width) == whole, width


@pytest.mark.parametrize("width", WIDTHS)
def test_same_scrollback(width: int) -> None:
    """On a terminal with a scrollback the two are the same, cell by cell."""
    document = "\n\n".join(
        [REPLY, DOCUMENTS["a very long word"], DOCUMENTS["wide characters"], REPLY]
    )
    stream = MarkdownStream(width)
    printed = [stream.feed(piece) for piece in cut(document, random.Random(width), 30)]
    shown = scrollback([*printed, stream.finish()], width)
    assert len(shown) > 24
    assert shown == scrollback([render_markdown(document, width)], width)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_any_pieces(document: str, longest: int, rng: random.Random) -> None:
    """Documents made of Markdown's own pieces stream to the same lines, however cut."""
    width = rng.choice(WIDTHS)
    assert streamed(document, cut(document, rng, longest), width) == render_markdown(
        document, width
    )


@settings(max_examples=100, deadline=None)
@given(
    st.text("ab `*_-+#>|~=[]()!<&\\\t\n1.:\r\x1b中", max_size=80), st.randoms(use_true_random=False)
)
def test_any_characters(document: str, rng: random.Random) -> None:
    """So is what is hardly Markdown at all."""
    assert streamed(document, cut(document, rng, 4), 40) == render_markdown(document, 40)


@example(names=["fences of different lengths in a list", "tabs everywhere"], rng=random.Random(1))
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(sorted(DOCUMENTS)), max_size=4), st.randoms(use_true_random=False))
def test_documents_in_a_row(names: list[str], rng: random.Random) -> None:
    """So are documents one after the other, where the end of one changes the next."""
    document = rng.choice(["", "\n", "\n\n"]).join(DOCUMENTS[name] for name in names)
    assert streamed(document, cut(document, rng, 50), 40) == render_markdown(document, 40)


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_plain(document: str) -> None:
    """In plain mode the lines are the same ones without any escape sequence."""
    plain = render_markdown(document, 40, PLAIN)
    assert "\x1b" not in plain
    assert streamed(document, cut(document, random.Random(1), 9), 40, PLAIN) == plain
    coloured = scrollback([render_markdown(document, 40)], 40)
    assert [[cell[0] for cell in row] for row in coloured] == [
        [cell[0] for cell in row] for row in scrollback([plain], 40)
    ]


def test_blocks_are_printed_when_they_are_complete() -> None:
    """A paragraph prints at its blank line, an item at the next, code line by line."""
    stream = MarkdownStream(40, PLAIN)
    assert [
        stream.feed(piece)
        for piece in ("one\n", "\n", "- a\n- ", "b\n", "\n", "T", "wo\n\n``", "`\nx\n", "y")
    ] == [
        "",
        "one\n",
        "",
        "\n• a\n",
        "",
        "• b\n",
        "\nTwo\n",
        "\n  x\n",
        "",
    ]
    assert stream.finish() == "  y\n"


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_tail_shows_the_rest(name: str) -> None:
    """The lines printed and the tail are what a reply that ends here would leave."""
    document = DOCUMENTS[name].removesuffix("\n")[:500]
    stream = MarkdownStream(1000)
    printed = ""
    for start in range(0, len(document), 11):
        printed += stream.feed(document[start : start + 11])
        so_far = document[: start + 11]
        # A closing fence that is coming in is hidden, and a carriage return is waiting
        # for its newline.
        if not so_far.endswith(("`", "~", "\r")):
            shown = printed + stream.tail(1000)
            assert shown.removesuffix("\n") == render_markdown(so_far, 1000).removesuffix("\n")


@pytest.mark.parametrize("width", [20, 80])
def test_tail_is_small(width: int) -> None:
    """The tail has no more lines than asked for, none wider than the terminal."""
    for document in DOCUMENTS.values():
        stream = MarkdownStream(width)
        for piece in cut(document, random.Random(width), 80):
            stream.feed(piece)
            tail = stream.tail(5)
            assert len(tail.split("\n")) <= 5
            assert (
                max(cell_len(line) for line in re.sub("\x1b\\[[0-9;]*m", "", tail).split("\n"))
                <= width
            )


def test_tail_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tail that is asked for again without news is not rendered again."""
    stream = MarkdownStream(40)
    stream.feed("a **b")
    tail = stream.tail()
    monkeypatch.setattr(markdown, "parse", None)
    assert stream.tail() is tail


def test_closing_fence_is_not_shown_as_code() -> None:
    """Backticks that arrive to end a code block are not shown as code."""
    stream = MarkdownStream(40, PLAIN)
    stream.feed("```\nx\n``")
    assert stream.tail() == ""


def test_resize() -> None:
    """What is printed after the terminal changed its width has the new width."""
    stream = MarkdownStream(20, PLAIN)
    words = "word " * 8
    assert stream.feed(words + "\n\n") == "word word word word\nword word word word\n"
    stream.feed(words)
    stream.resize(80)
    assert stream.tail() == "\n" + words.strip()
    assert stream.finish() == "\n" + words.strip() + "\n"


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_resize_anywhere(document: str) -> None:
    """What was printed stays, and what follows has the new width."""
    rng = random.Random(len(document))
    at, (before, after) = rng.randrange(len(document) + 1), rng.sample(WIDTHS, 2)
    resized, old, new = MarkdownStream(before), MarkdownStream(before), MarkdownStream(after)
    begun = resized.feed(document[:at])
    resized.tail()
    resized.resize(after)
    assert begun == old.feed(document[:at])
    new.feed(document[:at])
    assert resized.feed(document[at:]) + resized.finish() == new.feed(document[at:]) + new.finish()


@pytest.mark.parametrize(
    "document",
    [
        "words in a line that goes on and on\n" * 500,
        "- a\n" + "  - words in a line\n" * 500,
        "- a\n\n" + "  words in a line\n\n" * 500,
        "| a | b |\n|---|---|\n" + "| words | in a line |\n" * 500,
        "> words in a line\n" * 500,
        "    words in a line\n" * 500,
        "- words in a line\n" * 500,
        "```\n" + "words in a line\n" * 500,
        "words in a paragraph\n\n" * 250,
    ],
)
def test_work_is_proportional(document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a long block are parsed a few times each.

    They are not parsed again for every new line.
    """
    parsed = 0

    def counting(lines: list[str], item: Unit | None) -> list[Unit]:
        nonlocal parsed
        parsed += len(lines)
        return parse(lines, item)

    monkeypatch.setattr(markdown, "parse", counting)
    stream = MarkdownStream(80)
    for piece in cut(document, random.Random(0), 40):
        stream.feed(piece)
    small_region = 2000 // 17
    assert parsed < 12 * document.count("\n") + small_region**2


def test_tail_of_a_long_block_is_cheap() -> None:
    """The tail of a long block is rendered from its end.

    A table's also needs its head.
    """
    stream = MarkdownStream(80, PLAIN)
    stream.feed("| name | b |\n|---|---|\n" + "| words | in a line |\n" * 5000)
    began = time.process_time()
    assert stream.tail(3) == "\n".join(["words   in a line"] * 3)
    assert time.process_time() - began < 0.5


def test_warm() -> None:
    """Warming can be done at any time, and shows nothing."""
    warm()
