"""How many tokens a text has, about."""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from construct import tokens
from construct.tokens import Usage, by_bytes, count


@pytest.fixture(autouse=True)
def no_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give each test an empty place for tiktoken's vocabulary."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    tokens._counter.cache_clear()
    yield tmp_path
    tokens._counter.cache_clear()


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 4, 2), ("猫" * 4, 3), ("👍", 1)],
)
def test_a_quarter_of_the_bytes(text: str, size: int) -> None:
    """Without a vocabulary four UTF-8 bytes are a token, so Chinese counts too."""
    assert count(text) == by_bytes(text) == size


@settings(deadline=None)
@given(st.text(st.characters()), st.text(st.characters()))
def test_only_nothing_has_no_tokens(a: str, b: str) -> None:
    """Every text has at least one token, and a longer one no fewer.

    Lone surrogates make no difference.
    """
    assert (by_bytes(a) == 0) is (a == "")
    assert max(by_bytes(a), by_bytes(b)) <= by_bytes(a + b) <= by_bytes(a) + by_bytes(b)


@pytest.mark.parametrize("content", [None, b"", b"not a vocabulary"])
def test_nothing_is_fetched(
    content: bytes | None, no_vocabulary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing or broken vocabulary is neither loaded nor downloaded.

    tiktoken is not even imported.
    """
    if content is not None:
        name = "fb374d419588a4632f3f557e76b4b70aebbca790"
        (no_vocabulary / name).write_bytes(content)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert count("hello there") == 3


@pytest.mark.parametrize("folder", ["", "/nowhere/at/all", "/dev/null"])
def test_a_strange_cache_folder(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the cache is said to be, counting works."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder)
    tokens._counter.cache_clear()
    assert count("hello there") == 3


def test_prompt_tokens() -> None:
    """A prompt's size is what was read, written and sent anew together."""
    assert Usage(1, 20, 300, 4000).prompt_tokens == 321


def test_of_a_long_text_the_beginning_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest by its bytes, in proportion: without a vocabulary that is exact."""
    long = "ab 猫\n" * 100_000
    assert count(long) == by_bytes(long)
    monkeypatch.setattr(tokens, "_counter", cache(lambda: len))
    assert count(long) == pytest.approx(len(long), rel=0.001)
