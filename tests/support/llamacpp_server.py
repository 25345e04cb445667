"""A real llama.cpp server with SmolLM2, in a process of its own: it can be killed.

By hand: `python -m tests.support.llamacpp_server [GGUF [CONTEXT]]` prints its address.
"""

import signal
import subprocess
import sys
import time
from types import TracebackType

from tests.support.weights import smollm


class LlamaServer:
    """The server; `start` brings it up, at the same address each time."""

    def __init__(self, *, context: int = 4096) -> None:
        self.url = ""
        self._context = context
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "LlamaServer":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        port = self.url.rpartition(":")[2] or "0"
        command = [sys.executable, "-m", __name__, str(smollm()), str(self._context), port]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def kill(self) -> None:
        """Stop it at once, whatever it does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate()
            self._process = None


def _serve(path: str, context: int, port: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel = context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more collapse under load
    params.hostnames, params.port, params.reuse_port = ["127.0.0.1"], port, True
    params.use_jinja, params.verbosity = True, -1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    given = sys.argv[1:]
    _serve(
        given[0] if given else str(smollm()),
        int(given[1]) if given[1:] else 4096,
        int(given[2]) if given[2:] else 0,
    )
