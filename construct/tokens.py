"""Estimate how many tokens a text has.

tiktoken is used if its vocabulary is already on disk; it is never downloaded. Otherwise
the estimate is a quarter of the UTF-8 bytes. For each model, the store keeps a factor
that corrects either estimate.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

_VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_VOCABULARY = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one or more requests, as counted by the server."""

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    web_searches: int = 0
    """Searches of the web that the server made; each has a price of its own."""

    @property
    def prompt_tokens(self) -> int:
        """All tokens of the prompt, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Return the sum of both."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
            self.web_searches + other.web_searches,
        )


_MAX_COUNTED = 200_000
"""Characters that are counted; the tokens of a longer text are extrapolated from them.

tiktoken takes a second for ten megabytes, and half a minute if they are a single word.
"""


def by_bytes(text: str) -> int:
    """Estimate the tokens of `text` as a quarter of its UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def _has_vocabulary() -> bool:
    """Return whether tiktoken will find its whole vocabulary on disk."""
    import hashlib
    import tempfile

    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":
        return False
    base = Path(folder) if folder else Path(tempfile.gettempdir()) / "data-gym-cache"
    path = base / hashlib.sha1(_VOCABULARY.encode(), usedforsecurity=False).hexdigest()
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == _VOCABULARY_SHA256
    except OSError:
        return False


@cache
def _counter() -> Callable[[str], int]:
    if not _has_vocabulary():
        return by_bytes
    import tiktoken

    encoding = tiktoken.get_encoding("o200k_base")
    return lambda text: len(encoding.encode_ordinary(text))


def count(text: str) -> int:
    """Return the estimated tokens of `text`; 0 only for the empty text."""
    head = text[:_MAX_COUNTED]
    head_tokens = _counter()(head)
    if len(head) == len(text):
        return head_tokens
    return -(-head_tokens * by_bytes(text) // by_bytes(head))  # rounded up


def how_many_fit(sizes: Iterable[int], max_tokens: int) -> int:
    """Return how many of the sizes, beginning with the first, add up to at most `max_tokens`."""
    return sum(total <= max_tokens for total in accumulate(sizes))
