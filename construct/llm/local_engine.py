"""llama.cpp in this process: loads a model and generates in threads.

xllamacpp calls back from the thread that asked; chunks reach the event loop through a
queue. Its HTTP listener cannot be turned off: it listens on loopback with a random key.
"""

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from construct.errors import ModelError, ModelRejectedError

if TYPE_CHECKING:
    from xllamacpp import CommonParams, Server

Body = dict[str, Any]
Chunk = dict[str, Any]

CHAT_SLOT, WORK_SLOT = 0, 1
_BATCH = 64  # small: a long prompt of one slot does not hold up the other, and can be stopped
_EXIT_SECONDS = 5.0


class Engine:
    """One model in memory, loaded by `load` or on first use."""

    def __init__(self, path: Path, window: int) -> None:
        self._path = path
        self._window = window
        self._server: Server | None = None
        self._lock = threading.Lock()

    @property
    def calls(self) -> "list[LocalCall]":
        """The generations that are running."""
        return [call for call in list(_running) if call.engine is self]

    def load(self) -> "Server":
        """Load the model unless it is loaded.

        Takes half a second or more, during which no other Python code runs.
        """
        with self._lock:
            if self._server is None:
                self._server = _new_server(self._path, self._window)
            return self._server

    async def close(self) -> None:
        """Stop all generations and free the model."""
        await asyncio.to_thread(_stop, self.calls)
        self._server = None


class LocalCall:
    """One generation in a thread of its own; `next` returns its chunks.

    Must be created on the event loop that reads them.
    """

    def __init__(self, engine: Engine, body: Body) -> None:
        self.engine = engine
        self._body = body
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[Chunk | ModelError | None] = asyncio.Queue()
        self._stopped = threading.Event()
        # A daemon thread, or the interpreter would wait for the whole answer at exit
        # (see _stop_all).
        self._thread = threading.Thread(
            target=self._generate, name="construct-local-model", daemon=True
        )
        _running.add(self)
        self._thread.start()

    def stop(self) -> None:
        """End the generation at the next token or, in the prompt, within 64 tokens."""
        self._stopped.set()

    def join(self, seconds: float) -> None:
        """Wait at most `seconds` until the thread has ended."""
        self._thread.join(seconds)

    async def next(self) -> Chunk | None:
        """Return the next chunk, or None after the last.

        Raises the ModelError that ended the generation, if any.
        """
        chunk = await self._arrived.get()
        if isinstance(chunk, ModelError):
            raise chunk
        return chunk

    def _generate(self) -> None:
        try:
            if not self._stopped.is_set():
                server = self.engine.load()
                server.handle_chat_completions(self._body, self._take)
            self._put(None)
        except ModelError as error:
            self._put(error)
        except (RuntimeError, ValueError) as error:  # all that xllamacpp raises
            what = "The local model rejected the request"
            self._put(ModelRejectedError(what, "Try a shorter message.", f" ({error})"))
        finally:
            _running.discard(self)

    def _take(self, chunk: Chunk) -> bool:
        """Pass a chunk on. Returning True makes llama.cpp stop."""
        return self._stopped.is_set() or not self._put(chunk) or self._stopped.is_set()

    def _put(self, chunk: Chunk | ModelError | None) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._arrived.put_nowait, chunk)
        except RuntimeError:  # the loop is closed: nobody listens any more
            return False
        return True


_running: set[LocalCall] = set()


@atexit.register
def _stop_all() -> None:
    """End all generations at exit.

    One that outlived the interpreter would abort the process.
    """
    _stop(list(_running))


def _stop(calls: Sequence[LocalCall]) -> None:
    deadline = time.monotonic() + _EXIT_SECONDS
    for call in calls:
        call.stop()
    for call in calls:
        call.join(max(0.0, deadline - time.monotonic()))


def _new_server(path: Path, window: int) -> "Server":
    try:
        from xllamacpp import Server
    except ImportError as error:
        raise ModelRejectedError(
            "The local model needs xllamacpp, which cannot be imported",
            "Reinstall it.",
            f" ({error})",
        ) from error
    try:
        return Server(_params(path, window))
    except RuntimeError as error:
        raise ModelRejectedError(
            f"{path} cannot be loaded as a model",
            "It is damaged, too large for the memory, or of a kind that llama.cpp does not know."
            " Set CONSTRUCT_LOCAL_MODEL to another file.",
        ) from error


def _params(path: Path, window: int) -> "CommonParams":
    from xllamacpp import CommonParams

    params = CommonParams()
    params.model.path = str(path)
    # Both slots share the window. An idle slot keeps its prompt until the space is
    # needed.
    params.n_ctx, params.n_parallel, params.kv_unified, params.cache_idle_slots = (
        window,
        2,
        True,
        False,
    )
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads()
    params.n_batch = params.n_ubatch = _BATCH
    params.cache_ram_mib = 64
    # Loading holds Python's global lock. These three options cut it from 0.8 to 0.4
    # seconds, and for larger files from 6 to 1.5.
    params.fit_params, params.warmup, params.no_extra_bufts = False, False, True
    params.verbosity = -1
    params.api_keys, params.cors_origins = [os.urandom(16).hex()], ""
    params.ui, params.endpoint_slots = False, False
    params.enable_reasoning = 0
    return params


def threads() -> int:
    """Return half the number of processors.

    With all of them, generation stalls under load.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, (len(affinity(0)) if affinity else os.cpu_count() or 2) // 2)
