"""How many tokens a text has, about.

tiktoken's vocabulary is used when it is on disk already, and never fetched; else UTF-8
bytes / 4 (facts.md, "Tokens"). The store keeps a factor per model that corrects either.
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
    """Tokens of one call, as the server counts them."""

    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """All tokens of the prompt, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Return the tokens of both."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.output_tokens + other.output_tokens,
        )


_COUNTED = 200_000
"""Characters.

Tiktoken takes a second for ten megabytes, and half a minute where they are one word.
"""


def by_bytes(text: str) -> int:
    """Return a quarter of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def _has_vocabulary() -> bool:
    """Return whether tiktoken would find its vocabulary whole, where it looks for it."""
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
    """Return the estimated tokens of `text`; 0 only for the empty text.

    Of a long one the beginning is counted.
    """
    head = text[:_COUNTED]
    counted = _counter()(head)
    return counted if len(head) == len(text) else -(-counted * by_bytes(text) // by_bytes(head))


def how_many_fit(sizes: Iterable[int], most: int) -> int:
    """Return how many of the first of these sizes fit so many tokens together."""
    return sum(together <= most for together in accumulate(sizes))
