"""The user's own persona: made in the editor, sent to the model, and dropped again."""

from dataclasses import replace
from pathlib import Path

import pytest

from construct.config import Settings
from construct.prompts import prompt
from tests.chat.commands.plainly import shown, talking
from tests.chat.conftest import seated
from tests.support.fake_api import FakeApi
from tests.support.program import Program


def edited_by(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the user's editor be a shell command on the file "$1"."""
    script = folder / "editor"
    script.write_text(f"#!/bin/sh\n{command}\n")
    script.chmod(0o700)
    monkeypatch.setenv("EDITOR", str(script))
    monkeypatch.delenv("VISUAL", raising=False)


def system_of(api: FakeApi) -> str:
    """Return the system text of the last request."""
    return str(api.of("chat")[-1].body["system"])


async def test_the_persona_is_the_users(
    api: FakeApi, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file begins as the shipped persona and counts from the next message.

    It says how to go back.
    """
    own = tmp_path / "persona.md"
    edited_by(
        f'cp "$1" {tmp_path}/seen; echo "You are Zeno. Speak Greek." >> "$1"', tmp_path, monkeypatch
    )
    async with seated(settings) as seat:
        seat.type("Hello.\r")
        await seat.see("You said")
        assert "Zeno" not in system_of(api)
        seat.type("/persona\r")
        await seat.see("It takes effect with your next message")
        seat.type("Again.\r")
        await seat.see(lambda: len(api.of("chat")) == 2)
    assert prompt("companion") in (tmp_path / "seen").read_text()
    assert f"delete this file:\n{own}" in own.read_text()
    assert own.stat().st_mode & 0o777 == 0o600
    assert "You are Zeno. Speak Greek." in system_of(api)
    assert "delete this file" not in system_of(api)
    own.unlink()
    async with talking(settings) as dialogue:
        await dialogue.run_line("Once more.")
    assert "Zeno" not in system_of(api)


async def test_an_unchanged_persona_is_not_kept(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a better one of a new version counts."""
    edited_by("true", tmp_path, monkeypatch)
    async with seated(settings) as seat:
        await seat.see("observe 0%")
        seat.type("/persona\r")
        await seat.see("The original persona is in use")
    assert not (tmp_path / "persona.md").exists()


async def test_a_persona_of_the_settings_is_kept(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the file that CONSTRUCT_PERSONA names, no command would run."""
    edited_by("true", tmp_path, monkeypatch)
    own = tmp_path / "mine.md"
    async with seated(replace(settings, persona=own)) as seat:
        await seat.see("observe 0%")
        seat.type("/persona\r")
        await seat.see("To go back, unset CONSTRUCT_PERSONA.")
    assert own.exists()


async def test_a_persona_deleted_in_the_editor_is_gone(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the file's own comment says how to go back."""
    edited_by('rm "$1"', tmp_path, monkeypatch)
    async with seated(settings) as seat:
        await seat.see("observe 0%")
        seat.type("/persona\r")
        await seat.see("The original persona is in use")
        assert "went wrong" not in seat.screen.text


async def test_the_file_of_older_versions_is_read(api: FakeApi, settings: Settings) -> None:
    """`companion.md` counts until there is a `persona.md`.

    A file named in the settings wins over both.
    """
    folder = settings.config_dir
    for name, words in (("companion.md", "I am old."), ("persona.md", "I am new.")):
        (folder / name).write_text(words)
        async with talking(settings) as dialogue:
            await dialogue.run_line("Hello.")
        assert words in system_of(api)
    (folder / "mine").write_text("<!-- a comment of mine -->\nI am mine.")
    async with talking(replace(settings, persona=folder / "mine")) as dialogue:
        await dialogue.run_line("Hello.")
    assert "I am mine." in system_of(api)
    assert "a comment of mine" not in system_of(api)


async def test_without_a_terminal_the_file_is_named(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is there to be opened."""
    async with talking(settings) as dialogue:
        await shown(dialogue, "/help persona", capsys)
        await dialogue.run_line("/persona")
    assert f"Open it in your editor: {settings.persona_file}" in capsys.readouterr().err
    assert settings.persona_file.is_file()


def test_a_file_that_cannot_be_read_is_wrong_usage(tmp_path: Path) -> None:
    """The line names the setting."""
    done = Program(tmp_path).run("status", more={"CONSTRUCT_PERSONA": str(tmp_path / "none.md")})
    assert done.returncode == 2
    assert "CONSTRUCT_PERSONA" in done.stderr
    assert "No such file" in done.stderr


async def test_a_small_model_is_told_of_its_memory_too(
    api: FakeApi, settings: Settings, tmp_path: Path
) -> None:
    """The user's persona replaces the shipped one, not what explains the notes."""
    (tmp_path / "persona.md").write_text("You are Kit.")
    async with talking(replace(settings, context_window=8192)) as dialogue:
        await dialogue.run_line("Hello.")
    assert "You are Kit." in system_of(api)
    assert "<ambient>" in system_of(api)
    assert "You are Construct" not in system_of(api)
