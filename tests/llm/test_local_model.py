"""A local model: SmolLM2, in this process."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from construct.errors import ContextOverflowError, ModelRejectedError
from construct.llm.local_model import LocalModel, LocalStream
from construct.llm.types import Text, WorkRequest
from tests.llm.conftest import asking
from tests.support.weights import smollm

WEIGHTS = smollm()

LONG = asking("The quick brown fox jumps over the lazy dog. " * 500)
LEAVE = """
import asyncio, sys
from pathlib import Path
from construct.llm.local_model import LocalModel
from construct.llm.types import ChatMessage, Request, Text
ask = Request((), (ChatMessage("user", (Text("Tell me a story."),)),))
async def main():
    async for _ in LocalModel(Path(sys.argv[1])).stream(ask):
        sys.exit(7)
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def loaded() -> Iterator[LocalModel]:
    """Load the model once."""
    model = LocalModel(WEIGHTS)
    model.warm()
    yield model
    asyncio.run(model.close())


@pytest.fixture
async def model(loaded: LocalModel) -> AsyncIterator[LocalModel]:
    """Lend the loaded model to one test."""
    yield loaded
    for call in loaded._engine.calls:
        call.stop()


async def read(stream: LocalStream) -> str:
    """Read a stream to its end."""
    return "".join([piece async for piece in stream])


async def test_it_talks(model: LocalModel) -> None:
    """Text comes piece by piece while the event loop stays free.

    The reply is the sum of the pieces.
    """
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    stream = model.stream(asking("Say hello to Ana.", max_tokens=12))
    pieces = [piece async for piece in stream]
    ticking.cancel()
    assert len(pieces) > 3
    assert ticks > 5
    assert "".join(pieces) == stream.reply.text
    assert stream.reply.blocks == [Text(stream.reply.text)]
    assert stream.reply.stop_reason in ("end_turn", "max_tokens")
    assert stream.reply.usage.prompt_tokens > 10
    assert 3 < stream.reply.usage.output_tokens <= 12


async def test_what_was_read_is_kept(model: LocalModel) -> None:
    """A prompt that begins like the last one is not read again.

    A worker's call in between makes no difference.
    """
    first = asking(
        "My dog Rex likes long walks on the beach, and hates the rain. " * 3, max_tokens=1
    )
    await read(model.stream(first))
    await model.complete(WorkRequest("Extract.", "I was born in 1984.", max_tokens=5))
    again = model.stream(first)
    await read(again)
    assert again.reply.usage.cache_read_tokens > 40


async def test_it_works(model: LocalModel) -> None:
    """A worker's answer ends where the model ends it, or at the tokens it was given."""
    reply = await model.complete(
        WorkRequest("Answer with one word.", "What is the capital of France?", max_tokens=12)
    )
    assert reply.text
    assert reply.trouble is None
    assert reply.stop_reason in ("end_turn", "max_tokens")
    assert 0 < reply.usage.output_tokens <= 12


async def test_a_hopeless_answer_is_stopped(model: LocalModel) -> None:
    """The caller can stop an answer that begins badly."""
    request = WorkRequest(
        "Write long lists.", "List twenty animals, one on each line.", 400, lambda _: "Enough."
    )
    reply = await model.complete(request)
    assert (reply.trouble, reply.stop_reason) == ("Enough.", None)
    assert reply.text
    assert 0 < reply.usage.output_tokens < 400
    await is_idle(model)


async def test_cancelling_while_it_talks(model: LocalModel) -> None:
    """Cancelling ends at once, keeps what has come, and stops the model."""
    stream = model.stream(asking("Tell me a long story.", max_tokens=2000))
    task = asyncio.create_task(read(stream))
    while len(stream.reply.text) < 10:
        await asyncio.sleep(0.01)
    await cancel(task)
    assert stream.reply.blocks == [Text(stream.reply.text)]
    assert stream.reply.stop_reason is None
    await is_idle(model)


async def test_cancelling_while_it_reads(model: LocalModel) -> None:
    """A long prompt, which takes a minute to read, can be cancelled as well."""
    stream = model.stream(LONG)
    task = asyncio.create_task(read(stream))
    while not stream.reply.usage.prompt_tokens:
        await asyncio.sleep(0.01)
    await cancel(task)
    assert stream.reply.text == ""
    await is_idle(model)


async def cancel(task: asyncio.Task[str]) -> None:
    """Cancel a task, which must not take long."""
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 0.3


async def is_idle(model: LocalModel) -> None:
    """Wait until the model has stopped working."""
    async with asyncio.timeout(8):
        while model._engine.calls:
            await asyncio.sleep(0.01)


async def test_too_much_to_read(model: LocalModel) -> None:
    """A prompt larger than the window is an overflow."""
    with pytest.raises(ContextOverflowError, match="8192"):
        await read(model.stream(asking("x " * 9000)))


async def test_what_it_is_called(model: LocalModel) -> None:
    """It is called by its file, and its window and size are what the file says."""
    assert model.name == "local:SmolLM2-135M-Instruct.Q4_1"
    assert model.context_window == 8192
    assert model.parameters == 135_000_000


async def test_half_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file that was not downloaded whole is an error that names it.

    Llama.cpp keeps quiet about it.
    """
    half = tmp_path / "half.gguf"
    with WEIGHTS.open("rb") as file:
        half.write_bytes(file.read(4_000_000))
    with pytest.raises(ModelRejectedError, match=r"half\.gguf cannot be loaded"):
        await read(LocalModel(half).stream(asking()))
    assert capfd.readouterr() == ("", "")


def test_leaving_while_it_talks() -> None:
    """The program ends at once while the model talks, and prints nothing.

    Its exit status is its own.
    """
    done = subprocess.run(
        [sys.executable, "-c", LEAVE, str(WEIGHTS)], capture_output=True, check=False, timeout=20
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, b"", b"")


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs /proc")
async def test_it_listens_on_the_loopback_only(model: LocalModel) -> None:
    """llama.cpp's listener is out of reach for other machines and wants a key."""
    model.warm()
    mine = {
        str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()
    }
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in mine]
    assert listening
    assert all(address.startswith("0100007F:") for address in listening)
