"""Models for the benchmark.

One keeps each call on disk, one reads from a script, one only picks a sentence.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from construct.language.index_words import index_words, stem
from construct.llm.types import (
    Block,
    Model,
    Opaque,
    Reply,
    ReplyStream,
    Request,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    WorkReply,
    WorkRequest,
)
from construct.memory.shown.context import block_text
from construct.vocabulary import AttachmentKind

_BLOCKS: dict[str, Callable[..., Block]] = {
    kind.__name__: kind for kind in (Text, ToolUse, ToolResult, Opaque)
}


class KeptModel:
    """A model whose answers are kept in a folder by the hash of the whole request.

    Asked again it answers from there.

    What failed or broke off is not kept; without a folder nothing is. `requests` are
    those of the present turn, for whoever wants to look at them.
    """

    def __init__(
        self, model: Model, folder: Path | None, identity: str = "", most_tokens: int = 8192
    ) -> None:
        self.name, self.context_window, self.parameters, self.reads = (
            model.name,
            model.context_window,
            model.parameters,
            model.reads,
        )
        self.requests: list[Request] = []
        self._model, self._folder, self._most = model, folder, most_tokens
        self._identity = identity or model.name

    def stream(self, request: Request) -> ReplyStream:
        """Return the kept reply as a stream, or the model's own.

        The model's is kept once it is whole.
        """
        request = replace(request, max_tokens=min(request.max_tokens, self._most))
        self.requests.append(request)
        if kept := self._kept(request):
            return Said(_loaded(kept))
        return _Keeping(
            self._model.stream(request), lambda reply: self._keep(request, _dumped(reply))
        )

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Return the kept answer, or the model's own."""
        if kept := self._kept(request):
            return WorkReply(**kept | {"usage": Usage(**kept["usage"])})
        reply = await self._model.complete(request)
        if reply.stop_reason is not None:
            self._keep(request, asdict(reply))
        return reply

    async def close(self) -> None:
        """Do nothing: a companion closes its models, but here many use the same one."""

    def _kept(self, request: Request | WorkRequest) -> dict[str, Any] | None:
        if self._folder is None or not (file := self._file(self._folder, request)).is_file():
            return None
        kept: dict[str, Any] = json.loads(file.read_text("utf-8"))["reply"]
        return kept

    def _keep(self, request: Request | WorkRequest, reply: dict[str, Any]) -> None:
        if self._folder is None:
            return
        file = self._file(self._folder, request)
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_suffix(".new")
        half.write_text(
            json.dumps({"request": _asked(request), "reply": reply}, default=str), "utf-8"
        )
        half.replace(file)

    def _file(self, folder: Path, request: Request | WorkRequest) -> Path:
        kind = "stream" if isinstance(request, Request) else "work"
        whole = json.dumps([self._identity, kind, _asked(request)], sort_keys=True, default=str)
        name = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
        return folder / name[:2] / f"{name}.json"


def _asked(request: Request | WorkRequest) -> dict[str, Any]:
    """Return what the model sees of a request.

    The listeners are left out, since they differ in every run.
    """
    return {
        name: value
        for name, value in asdict(request).items()
        if name not in {"hopeless", "cancelled", "on_retry"}
    }


def _dumped(reply: Reply) -> dict[str, Any]:
    blocks = [{"kind": type(block).__name__, **asdict(block)} for block in reply.blocks]
    return {
        "text": reply.text,
        "blocks": blocks,
        "usage": asdict(reply.usage),
        "stop_reason": reply.stop_reason,
    }


def _loaded(kept: dict[str, Any]) -> Reply:
    blocks = [_BLOCKS[block.pop("kind")](**block) for block in kept["blocks"]]
    return Reply(kept["text"], blocks, Usage(**kept["usage"]), kept["stop_reason"])


class _Keeping:
    """A stream that hands its reply over when it is whole."""

    def __init__(self, stream: ReplyStream, keep: Callable[[Reply], None]) -> None:
        self._stream, self._keep = stream, keep

    @property
    def reply(self) -> Reply:
        """What has come."""
        return self._stream.reply

    @reply.setter
    def reply(self, value: Reply) -> None:
        self._stream.reply = value

    async def __aiter__(self) -> AsyncIterator[str]:
        """Give the words as they arrive."""
        async for piece in self._stream:
            yield piece

    async def aclose(self) -> None:
        """Let go of the stream, keeping a whole reply."""
        await self._stream.aclose()
        if self.reply.stop_reason is not None:
            self._keep(self.reply)


class Said:
    """A reply that is there already, as a stream."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    async def __aiter__(self) -> AsyncGenerator[str]:
        """Give all the words at once."""
        if self.reply.text:
            yield self.reply.text

    async def aclose(self) -> None:
        """Do nothing."""


class Script:
    """Says what it is told to: the other one in a past conversation.

    `window` is that of the model it stands for.
    """

    def __init__(self, window: int) -> None:
        self.name = "script"
        self.context_window = window
        self.parameters: int | None = None
        self.reads: frozenset[AttachmentKind] = frozenset()
        self.next = ""

    def stream(self, request: Request) -> ReplyStream:
        """Return the line that is next."""
        return Said(_reply(self.next))

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Never asked: it talks and does not work."""
        raise NotImplementedError

    async def close(self) -> None:
        """Do nothing."""


class Picker:
    """Answers with the line that shares the rarest words with the question.

    It picks from what it is shown and is no model.
    """

    name, context_window = "extractive", 200_000
    parameters: int | None = None
    reads: frozenset[AttachmentKind] = frozenset()

    def stream(self, request: Request) -> ReplyStream:
        """Return the best line."""
        *before, last = [
            block_text(block) for message in request.messages for block in message.blocks
        ]
        ambient = last if last.startswith("<ambient>") else ""
        question = before.pop() if ambient else last
        lines = [line for text in (*before, ambient) for line in _lines(text)]
        return Said(_reply(_best(lines, question)))

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Never asked: the extractive worker needs no model."""
        raise NotImplementedError

    async def close(self) -> None:
        """Do nothing."""


def _lines(text: str) -> list[str]:
    return [
        part.strip()
        for line in text.splitlines()
        for part in re.split(r"(?<=[.!?])\s+", line)
        if part.strip()
    ]


def _best(lines: list[str], question: str) -> str:
    stems = [frozenset(stem(word) for word in index_words(line)) for line in lines]
    spread = Counter(root for found in stems for root in found)
    asked = {stem(word) for word in index_words(question)}
    worth = [
        sum(math.log(1 + len(lines) / spread[root]) for root in found & asked) for found in stems
    ]
    best = max(range(len(lines)), key=lambda i: (worth[i], i), default=None)
    return lines[best] if best is not None and worth[best] > 0 else "No information."


def _reply(text: str) -> Reply:
    return Reply(text, [Text(text)] if text else [], stop_reason="end_turn")
