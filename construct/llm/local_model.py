"""A local model: any GGUF file, run by llama.cpp in this process, for nothing."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from construct.errors import NotConfiguredError
from construct.llm.capable import parameters_in
from construct.llm.catalog import LOCAL_PREFIX
from construct.llm.gguf import Gguf, read_gguf
from construct.llm.local_chat import chat_body, take, work_body
from construct.llm.local_engine import Body, Engine, Pace
from construct.llm.types import Reply, Request, Text, WorkReply, WorkRequest
from construct.llm.work import collect

# What is kept ready of a window costs memory: half a gigabyte for a model of 1.5
# billion parameters.
LARGEST_WINDOW = 16_384
_UNSAID_WINDOW = 4_096


class LocalModel:
    """One GGUF file, loaded by `warm` or when first needed."""

    def __init__(self, path: Path, pace: Pace = Pace()) -> None:
        """Look at the file's head only.

        Raise NotConfiguredError when it is no model.
        """
        self.name = f"{LOCAL_PREFIX}{path.stem}"
        head = _head(path)
        self.context_window = min(head.context_length or _UNSAID_WINDOW, LARGEST_WINDOW)
        self.parameters = head.parameters or parameters_in(path.stem)
        self._engine = Engine(path, self.context_window, pace)
        # A small model that rambles would do so to the end of its window.
        self._most = self.context_window // 4

    def stream(self, request: Request) -> "LocalStream":
        """Ask for a reply; nothing happens before the stream is iterated."""
        return LocalStream(self._engine, chat_body(request, self._most))

    async def complete(self, request: WorkRequest) -> WorkReply:
        """Return a worker's answer."""
        stream = LocalStream(self._engine, work_body(request, self._most))
        return await collect(stream, request, "The local model")

    async def close(self) -> None:
        """Stop what is running and free the memory."""
        await self._engine.close()

    def warm(self) -> None:
        """Load the model.

        It takes half a second or more, and no Python code runs meanwhile in any thread.
        """
        self._engine.load()


class LocalStream:
    """One reply on its way. Iterate once; `reply` keeps what came, however it ends."""

    def __init__(self, engine: Engine, body: Body) -> None:
        self.reply = Reply()
        self._engine = engine
        self._body = body
        self._words = self._run()

    def __aiter__(self) -> AsyncIterator[str]:
        """Give the words as they arrive."""
        return self._words

    async def aclose(self) -> None:
        """Stop generating."""
        await self._words.aclose()

    async def _run(self) -> AsyncGenerator[str]:
        call = self._engine.start(self._body)
        try:
            while (chunk := await call.next()) is not None:
                if words := take(self.reply, chunk):
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
            f"{path} cannot be used as a local model: {reason}. Set CONSTRUCT_LOCAL_MODEL to a GGUF file."
        ) from error
