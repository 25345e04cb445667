"""The prompt cache as the API documents it.

It also reports how well a run of requests used it.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Literal

from tests.support.fake_types import Json, Usage, blocks_of, tokens

Life = Literal["5m", "1h"]

LOOK_BACK = 20
"""How many positions are checked for each breakpoint, beginning with its own."""

_SECONDS: dict[Life, float] = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt, its size, and the cache key of a breakpoint on it."""

    digest: bytes
    key: bytes
    tokens: int
    life: Life | None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's prompt as the cache sees it.

    Tools come first, then system, then the messages' blocks.
    """

    blocks: tuple[Block, ...] = ()
    turn: bool = True
    """False when the request only carries tool results, in the middle of a turn."""

    @property
    def tokens(self) -> int:
        """Return the size of the whole prompt."""
        return sum(block.tokens for block in self.blocks)


def canonical(value: object) -> str:
    """Return the one JSON text of a value, without its cache marks."""
    return json.dumps(_bare(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _bare(value: object) -> object:
    return (
        {k: v for k, v in value.items() if k != "cache_control"}
        if isinstance(value, dict)
        else value
    )


def _hash(*parts: bytes) -> bytes:
    return hashlib.sha256(b"\0".join(parts)).digest()


def _text_hash(value: object) -> bytes:
    return _hash(canonical(value).encode("utf-8", "surrogatepass"))


def _sections(body: Json) -> Iterator[tuple[str, Json]]:
    for tool in body.get("tools", []):
        yield "tools", tool
    for block in blocks_of(body.get("system")):
        yield "system", block
    for message in body["messages"]:
        for block in blocks_of(message["content"]):
            yield message["role"], block


def read_prompt(body: Json) -> Prompt:
    """Return the prompt of a valid request."""
    # The model is part of every key; tool choice and thinking of the messages' keys.
    chain = _text_hash([body["model"]])
    rest = _text_hash([body.get("tool_choice"), body.get("thinking")])
    pairs = list(_sections(body))
    blocks: list[Block] = []
    for index, (section, block) in enumerate(pairs):
        text = canonical(block)
        digest = _hash(section.encode(), text.encode("utf-8", "surrogatepass"))
        chain = (
            _hash(chain, digest, rest) if section in ("user", "assistant") else _hash(chain, digest)
        )
        blocks.append(
            Block(digest, chain, tokens(text), _life(block, body, last=index == len(pairs) - 1))
        )
    return Prompt(
        tuple(blocks), turn=all(block.get("type") != "tool_result" for block in _last_message(body))
    )


def _last_message(body: Json) -> list[Json]:
    return blocks_of(body["messages"][-1]["content"])


def _life(block: Json, body: Json, *, last: bool) -> Life | None:
    mark = block.get("cache_control") or (body.get("cache_control") if last else None)
    if mark is None:
        return None
    return "1h" if mark.get("ttl") == "1h" else "5m"


@dataclass(slots=True)
class _Entry:
    seconds: float
    expires: float


@dataclass(slots=True)
class PromptCache:
    """The live entries, each where an earlier request had a breakpoint."""

    _entries: dict[bytes, _Entry] = field(default_factory=dict)

    def use(self, prompt: Prompt, now: float, minimum: int) -> Usage:
        """Read and write the cache for one request, and return its input usage.

        It reads the longest cached prefix and writes what the breakpoints ask for.
        """
        blocks, ends = prompt.blocks, list(accumulate(block.tokens for block in prompt.blocks))
        marks = [index for index, block in enumerate(blocks) if block.life]
        hit = self._longest(blocks, marks, now)
        self._refresh(blocks[: hit + 1], now)
        read = ends[hit] if hit >= 0 else 0
        fresh = [mark for mark in marks if mark > hit and ends[mark] >= minimum]
        for mark in fresh:
            seconds = _SECONDS[blocks[mark].life or "5m"]
            self._entries[blocks[mark].key] = _Entry(seconds, now + seconds)
        long = max((ends[mark] for mark in fresh if blocks[mark].life == "1h"), default=read)
        end = max((ends[mark] for mark in fresh), default=read)
        return Usage(prompt.tokens - end, read, end - long, long - read)

    def _alive(self, block: Block, now: float) -> bool:
        entry = self._entries.get(block.key)
        return entry is not None and now < entry.expires

    def _longest(self, blocks: Sequence[Block], marks: list[int], now: float) -> int:
        """Return the index where the longest cached prefix ends, -1 if none does."""
        places = (
            index
            for mark in reversed(marks)
            for index in range(mark, max(mark - LOOK_BACK, -1), -1)
        )
        return next((index for index in places if self._alive(blocks[index], now)), -1)

    def _refresh(self, used: Sequence[Block], now: float) -> None:
        """Renew every live entry inside the prefix that was read."""
        for block in used:
            if self._alive(block, now):
                entry = self._entries[block.key]
                entry.expires = now + entry.seconds


@dataclass(frozen=True, slots=True)
class CacheReport:
    """How a run of requests used the cache, in tokens."""

    requests: int
    turns: int
    """Requests that are not the middle of a tool round."""
    read: int
    written: int
    neither: int
    """Plain input: after the last breakpoint, or too short to be cached."""
    shared: int
    """What each request had in common with the one before.

    That is a prefix of whole blocks, not below the minimum size.
    """
    shared_read: int
    """How much of `shared` was read from the cache."""

    @property
    def read_share(self) -> float:
        """Return read / (read + written), 0 when there was neither."""
        return self.read / max(1, self.read + self.written)

    @property
    def neither_per_turn(self) -> float:
        """Return the mean of the plain input over the turns."""
        return self.neither / max(1, self.turns)

    @property
    def prefix_shared_read(self) -> float:
        """Return shared_read / shared, 1 when nothing was shared."""
        return self.shared_read / self.shared if self.shared else 1.0


def shared_prefix(before: Prompt, after: Prompt) -> int:
    """Return the tokens of the longest common prefix of whole blocks."""
    total = 0
    for old, new in zip(before.blocks, after.blocks, strict=False):
        if old.digest != new.digest:
            break
        total += new.tokens
    return total


def report(answered: Sequence[tuple[Prompt, Usage]], minimum: int) -> CacheReport:
    """Sum up answered requests, in the order in which they came."""
    pairs = [
        (shared_prefix(before, after), usage.cache_read)
        for (before, _), (after, usage) in pairwise(answered)
    ]
    shared = [(common, min(common, read)) for common, read in pairs if common >= minimum]
    return CacheReport(
        requests=len(answered),
        turns=sum(prompt.turn for prompt, _ in answered),
        read=sum(usage.cache_read for _, usage in answered),
        written=sum(usage.cache_written for _, usage in answered),
        neither=sum(usage.input_tokens for _, usage in answered),
        shared=sum(common for common, _ in shared),
        shared_read=sum(read for _, read in shared),
    )
