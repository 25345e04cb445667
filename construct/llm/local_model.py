"""A local model: any GGUF file, run by llama.cpp in this process.

It has neither content blocks nor tools, so requests are flattened to text.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from construct.errors import ContextOverflowError, ModelBrokenError, ModelError, NotConfiguredError
from construct.llm.capable import parameters_in
from construct.llm.catalog import LOCAL_PREFIX
from construct.llm.gguf import Gguf, read_gguf
from construct.llm.local_engine import CHAT_SLOT, WORK_SLOT, Body, Chunk, Engine, LocalCall
from construct.llm.types import (
    Block,
    File,
    Opaque,
    Reply,
    Request,
    Text,
    ToolResult,
    ToolUse,
    Usage,
    WorkReply,
    WorkRequest,
)
from construct.llm.work import collect
from construct.text import shorten, storable
from construct.vocabulary import AttachmentKind

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens"}
# Without the penalty the smallest models repeat themselves endlessly.
_TALK = {
    "temperature": 0.5,
    "top_p": 0.9,
    "min_p": 0.05,
    "repeat_penalty": 1.1,
    "id_slot": CHAT_SLOT,
}
_WORK = {"temperature": 0.0, "id_slot": WORK_SLOT}
# A generation can be stopped only when it calls back. While it reads the prompt, that
# happens only to report progress.
_ALWAYS = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "return_progress": True,
    "cache_prompt": True,
}


def chat_body(request: Request, limit: int) -> Body:
    """Return the body of a chat call, without tools. `limit` caps the reply's tokens."""
    said = [("system", "\n\n".join(text.text for text in request.system))]
    said += [
        (message.role, "\n\n".join(filter(None, map(_plain, message.blocks))))
        for message in request.messages
    ]
    return {
        "messages": _merged(said),
        "max_tokens": min(request.max_tokens, limit),
        **_TALK,
        **_ALWAYS,
    }


def work_body(request: WorkRequest, limit: int) -> Body:
    """Return the body of a worker's call. `limit` caps the answer's tokens."""
    said = [("system", request.system), ("user", request.user)]
    return {
        "messages": _merged(said),
        "max_tokens": min(request.max_tokens, limit),
        **_WORK,
        **_ALWAYS,
    }


def add_chunk(reply: Reply, chunk: Chunk) -> str:
    """Add one chunk to the reply, and return the chunk's text.

    Raises ModelError if the chunk reports an error.
    """
    if error := chunk.get("error"):
        raise _error(error if isinstance(error, dict) else {"message": error})
    words = ""
    for choice in chunk.get("choices") or []:
        words += choice.get("delta", {}).get("content") or ""
        reply.stop_reason = _STOP_REASONS.get(choice.get("finish_reason"), reply.stop_reason)
    reply.usage = _usage(chunk, reply.usage, bool(words))
    reply.text += words
    return words


def _usage(chunk: Chunk, before: Usage, spoke: bool) -> Usage:
    """Return the token counts so far.

    llama.cpp reports them at the end. Until then, each chunk of text counts as one
    token.
    """
    if usage := chunk.get("usage"):
        cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        return Usage(usage["prompt_tokens"] - cached, cached, 0, usage["completion_tokens"])
    if progress := chunk.get("prompt_progress"):
        return Usage(progress["total"] - progress["cache"], progress["cache"])
    return replace(before, output_tokens=before.output_tokens + spoke)


def _error(error: Mapping[str, Any]) -> ModelError:
    said = shorten(str(error.get("message")), 200)
    if "context size" in said.lower():
        # The window is fixed once the model is loaded.
        size = said.removesuffix(", try increasing it")
        return ContextOverflowError(
            "This is more than the local model can read at once", details=f" ({size})"
        )
    return ModelBrokenError("The local model failed", "Try again.", f" ({said})")


def _plain(block: Block) -> str:
    match block:
        case Text(text):
            return text.strip()
        case ToolUse(name=name, input=arguments):
            return f"({name}: {json.dumps(arguments, ensure_ascii=False, default=dict)})"
        case ToolResult(content=content):
            return f"(Result: {content})"
        case Opaque() | File():  # this model reads no files, so it is sent none
            return ""


def _merged(said: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return messages as chat templates want them: none empty, and alternating roles."""
    messages: list[dict[str, str]] = []
    for role, words in said:
        text = storable(words)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += f"\n\n{text}"
        elif text:
            messages.append({"role": role, "content": text})
    return messages


# A larger window needs more memory for its cache: at this size half a gigabyte for a
# model of 1.5 billion parameters.
LARGEST_WINDOW = 16_384
_DEFAULT_WINDOW = 4_096


class LocalModel:
    """One GGUF file, loaded by `warm` or on first use."""

    def __init__(self, path: Path, context_window: int | None = None) -> None:
        """Read the file's header only.

        `context_window` is the most tokens the model may be sent; its own limit still
        applies. Raises NotConfiguredError when the file is not a model.
        """
        self.name = f"{LOCAL_PREFIX}{path.stem}"
        head = _head(path)
        largest = context_window or LARGEST_WINDOW
        self.context_window = min(head.context_length or _DEFAULT_WINDOW, largest)
        self.reads: frozenset[AttachmentKind] = frozenset()
        self.parameters = head.parameters or parameters_in(path.stem)
        self._engine = Engine(path, self.context_window)
        # A small model that rambles would go on to the end of its window.
        self._reply_limit = self.context_window // 4

    def stream(self, request: Request) -> "LocalStream":
        """Return the stream of a reply. Nothing happens before it is iterated."""
        return LocalStream(self._engine, chat_body(request, self._reply_limit))

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Return the answer to a worker's request."""
        stream = LocalStream(self._engine, work_body(request, self._reply_limit))
        return await collect(stream, request, "The local model")

    async def close(self) -> None:
        """Stop all generations and free the memory."""
        await self._engine.close()

    def warm(self) -> None:
        """Load the model.

        Takes half a second or more, during which no other Python code runs.
        """
        self._engine.load()


class LocalStream:
    """A reply being streamed.

    Iterate it once. `reply` keeps what arrived, however it ends.
    """

    def __init__(self, engine: Engine, body: Body) -> None:
        self.reply = Reply()
        self._engine = engine
        self._body = body
        self._words = self._run()

    def __aiter__(self) -> AsyncIterator[str]:
        """Yield text as it arrives."""
        return self._words

    async def aclose(self) -> None:
        """Stop generating."""
        await self._words.aclose()

    async def _run(self) -> AsyncGenerator[str]:
        call = LocalCall(self._engine, self._body)
        try:
            while (chunk := await call.next()) is not None:
                if words := add_chunk(self.reply, chunk):
                    yield words
        finally:
            call.stop()
            if self.reply.text:
                self.reply.blocks = [Text(self.reply.text)]


def _head(path: Path) -> Gguf:
    try:
        return read_gguf(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise NotConfiguredError(
            f"{path} cannot be used as a local model: {reason}."
            " Set CONSTRUCT_LOCAL_MODEL to a GGUF file."
        ) from error
