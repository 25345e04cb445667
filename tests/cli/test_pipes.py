"""Pipes of other programs: full, non-blocking, slow. Nothing on them is lost."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from construct.pipes import WaitingFile
from tests.support.fake_api import FakeApi, faults
from tests.support.program import Program

STARTED = [sys.executable, "-m", "construct"]


def test_a_full_pipe_that_does_not_block_gets_all_of_an_export(lived: Program) -> None:
    """`construct export` waits for a slow reader."""
    whole = lived.run("export").stdout
    long = [json.dumps({"type": "message", "conversation": "Long", "role": "user",
                        "content": f"Line {n} " + "and so on " * 100,
                        "created_at": f"2026-03-01T{n // 60:02}:{n % 60:02}:00+00:00"})
            for n in range(300)]  # fmt: skip
    (lived.folder / "long.jsonl").write_text("\n".join(long))
    assert lived.run("import", "long.jsonl").returncode == 0
    whole = lived.run("export").stdout
    assert len(whole) > 1 << 18
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with subprocess.Popen(
        [*STARTED, "export"], env=lived.environment(), cwd=lived.folder, stdout=writing
    ) as process:
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            first = pipe.read(10)
            time.sleep(0.3)
            assert first + pipe.read() == whole
    assert process.returncode == 0


@pytest.mark.parametrize("arguments", [("ask", "--no-wait"), ("chat",)])
def test_an_empty_pipe_that_does_not_block_is_waited_for(
    program: Program, api: FakeApi, arguments: tuple[str, ...]
) -> None:
    """What is written to it late and in pieces is read whole."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with subprocess.Popen(
        [*STARTED, *arguments],
        env=program.environment(),
        cwd=program.folder,
        stdin=reading,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(reading)
        for piece in (b"My name ", b"is Ana.\n"):
            time.sleep(0.4)
            os.write(writing, piece)
        os.close(writing)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "My name is Ana." in out
    assert api.of("chat")[-1].body["messages"][-1]["content"][0]["text"] == "My name is Ana."


def test_a_waiting_file_leaves_the_pipe_as_it_was() -> None:
    """Programs that share it may rely on that."""
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    with WaitingFile(writing, "w") as out, WaitingFile(reading, "r") as back:
        assert out.write(b"abc") == 3
        assert back.read(10) == b"abc"
    assert not os.get_blocking(reading)
    assert not os.get_blocking(writing)
    os.close(writing)
    assert WaitingFile(reading, "r").readall() == b""
    os.close(reading)


def test_without_a_chosen_model_the_notebook_is_named_once(tmp_path: Path) -> None:
    """On standard error, by `ask` and by a piped chat; not if the notebook was chosen."""
    program = Program(tmp_path, {"CONSTRUCT_LOOK_FOR": ""})
    for arguments, lines in ((("ask", "--no-wait"), "One."), (("chat",), "One.\nTwo.\n")):
        done = program.run(*arguments, stdin=lines)
        assert done.returncode == 0
        assert done.stderr.count("the notebook answers. `construct setup`") == 1
        chosen = {"CONSTRUCT_PROVIDER": "notebook"}
        assert program.run(*arguments, stdin=lines, more=chosen).stderr == ""


def test_hints_name_the_program_as_it_was_started(tmp_path: Path) -> None:
    """Started with `uv run construct`, that is what they say."""
    uv = tmp_path / "uv"
    uv.symlink_to(sys.executable)
    code = f"import subprocess; subprocess.run({[*STARTED, 'memory', 'show', '9']})"
    program = Program(tmp_path)
    program.run("memory", "add", "The key is with Rui")
    for more, name in (({"UV_RUN_RECURSION_DEPTH": "1"}, "uv run construct"), ({}, "construct")):
        done = subprocess.run(
            [uv, "-c", code],
            env=program.environment(more),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"`{name} memory list` shows the ids." in done.stderr
        assert program.run("memory", "show", "9", more=more).stderr.count("`construct ") == 1


def test_doctor_waits_no_longer_than_ten_seconds(
    program: Program, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the server does, it says what it waited for."""
    monkeypatch.setattr("construct.operations.doctor._MODEL_SECONDS", 0.5)
    api.fail("chat", faults.hang(3))
    done = program.run("doctor")
    assert done.returncode == 1
    assert "did not answer within" in done.stdout
