"""The documentation says what the program does."""

import json
import re
import shlex
import textwrap
from contextlib import closing
from datetime import UTC
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from construct import config
from construct.clock import Clock
from construct.config import SETTINGS
from construct.llm import servers
from construct.setting import Setting, declared_in
from construct.store.transfer import importing
from construct.store.transfer.formats import FORMATS
from docs import programs, reference, settings
from tests.support.database import new_database
from tests.support.fake_api import FakeApi
from tests.support.model_servers import ModelServer
from tests.support.program import Program

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks/README.md"])
_ROW = re.compile(r"^\| `([A-Z_]+)` \|", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


_NOT_RUN = {
    "uv run --group dev pytest",
    "uv tool install .",
    "construct --install-completion",
}
"""Of the README's commands: the tests themselves, and what changes the machine."""


def test_the_settings_are_documented_as_they_are_declared() -> None:
    """`uv run python -m docs.settings` would change neither the page nor `.env.example`."""
    text = settings.PAGE.read_text("utf-8")
    assert settings.page(text) == text
    assert set(_ROW.findall(text)) == SETTINGS.keys()
    assert settings.EXAMPLE.read_text("utf-8") == settings.example()


def test_the_shapes_of_json_are_documented_as_they_are_declared() -> None:
    """`uv run python -m docs.programs` would change nothing."""
    text = programs.PAGE.read_text("utf-8")
    assert programs.page(text) == text


def choices(one: Setting) -> list[str]:
    """Return the words that a setting may have, if it must be one of some."""
    try:
        one.read("?")
    except ValueError as error:
        listed = re.match("it must be one of (.*)", str(error))
        return listed[1].split(", ") if listed else []
    return []


def test_every_word_that_a_setting_may_have_is_explained() -> None:
    """Each that is not the default, which may be what is left."""
    words = [(one, word) for one in SETTINGS.values() for word in choices(one)]
    assert len(words) > 20
    unexplained = [
        (one.name, word)
        for one, word in words
        if f"`{word}`" not in one.meaning and word != one.default
    ]
    assert unexplained == []


def test_the_command_reference_is_what_the_program_says() -> None:
    """`uv run python -m docs.reference` would change nothing."""
    assert reference.PAGE.read_text("utf-8") == reference.page()


@pytest.mark.parametrize("path", reference.commands_by_path(), ids=" ".join)
def test_every_command_and_each_of_its_options_has_a_help(path: tuple[str, ...]) -> None:
    """It fits 80 columns, and nothing of it is cut off."""
    command = reference.commands_by_path()[path]
    assert command.help
    assert [p.name for p in command.params if not p.help] == []
    text = reference.help_of(path)
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("\n")[2]


@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_every_format_of_an_import_is_described(name: str) -> None:
    """In the help and in the documentation, with how to get its files."""
    help_text, page = reference.help_of(("import",)), (ROOT / "docs/files.md").read_text("utf-8")
    assert f"\n    {name}  " in help_text
    assert name.lower() in page.lower()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every file and every heading that a page links to is there."""
    for target, heading in _LINK.findall(page.read_text("utf-8")):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)", there.read_text("utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
            assert heading in slugs, heading


def test_contributors_are_told_of_code_that_exists() -> None:
    """Whatever the page names in a module ("`name` in `module.py`") is there."""
    page = (ROOT / "docs/contributing.md").read_text()
    named = re.findall(r"((?:`\w+`(?: and )?)+) in\s+`([\w/]+\.py)`", page)
    assert len(named) > 5
    for names, module in named:
        source = (ROOT / "construct" / module).read_text()
        for name in re.findall(r"\w+", names.replace(" and ", " ")):
            assert re.search(rf"\b{name}\b", source), (name, module)


def example(heading: str) -> str:
    """Return the first Python example under a heading of the page for contributors."""
    page = (ROOT / "docs/contributing.md").read_text("utf-8")
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    return textwrap.dedent(code[1])


def test_the_example_of_a_server_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a whole file, imports included."""
    names: dict[str, Any] = {}
    exec(example("A new kind of model server"), names)
    monkeypatch.setattr(servers, "KINDS", (*servers.KINDS, names["FAKERY"]))
    model = {"id": "tiny", "owned_by": "fakery", "ctx": 8192}
    with ModelServer({"GET /v1/models": {"data": [model]}}) as server:
        (found,) = servers.look({"CONSTRUCT_LOOK_FOR": server.url})
    assert (found.source, found.name, found.context_window) == ("fakery", "tiny", 8192)


def test_the_example_of_a_format_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a whole file, imports included."""
    names: dict[str, Any] = {}
    exec(example("A new format of history"), names)
    monkeypatch.setattr(importing, "FORMATS", (*FORMATS, names["CHATTER"]))
    turns = [{"mine": True, "said": "Hello", "at": "2026-01-01T12:00:00Z"}, {"said": "Hi"}]
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([{"id": "a", "talk": "Greeting", "turns": turns}]))
    with closing(new_database(tmp_path / "a.db")) as db:
        assert importing.import_files(db, [file], Clock(zone=UTC)).messages == 2


def test_the_example_of_a_setting_works() -> None:
    """As a field of a class of settings."""
    names: dict[str, Any] = vars(config).copy()
    exec(f"@dataclass\nclass Example:\n{textwrap.indent(example('A new setting'), '    ')}", names)
    (one,) = declared_in(names["Example"])
    assert one.read("Portuguese") == "Portuguese"
    assert names["Example"]().reply_language is None


def test_every_step_of_the_tour_works(tmp_path: Path, api: FakeApi) -> None:
    """Each command of the page, in order, ends well.

    With a plain reply for what the embedded model says.
    """
    page = (ROOT / "docs/tour.md").read_text("utf-8")
    lines = [
        line
        for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
    ]
    steps = [shlex.split(line)[1:] for line in lines if line.startswith("construct ")]
    assert len(steps) > 15
    program = Program(tmp_path, {**api.env(), "MEMORY_WORKER_MODEL": "extractive"})
    for step in steps:
        words = [str(ROOT / word) if word.startswith("data/") else word for word in step]
        done = program.run(*takewhile(lambda word: not word.startswith("<"), words))
        assert (done.returncode, step) == (0, step), done.stderr


def test_every_command_of_the_readme_works(tmp_path: Path, api: FakeApi) -> None:
    """What a newcomer copies out of it, in order, over the demo life."""
    page = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    lines = [
        line.rpartition("| ")[2].removeprefix("uv run ")
        for block in blocks
        for line in block.splitlines()
    ]
    steps = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("construct")]
    steps = [step for step in steps if step != ["--install-completion"]]
    assert len(steps) + len(_NOT_RUN) == len([line for line in lines if line])
    program = Program(tmp_path, {**api.env(), "MEMORY_WORKER_MODEL": "extractive"})
    assert program.run("import", str(ROOT / "data/demo.jsonl")).returncode == 0
    active = program.json("memory", "list")[0]["id"]
    for step in steps:
        words = [str(active) if word == "42" else word for word in step]
        asks = [] if words[:2] != ["memory", "forget"] and words != ["undo"] else ["--yes"]
        done = program.run(*words, *asks, stdin="x = 1" if words[:1] == ["ask"] else None)
        assert (done.returncode, step) == (0, step), done.stderr


def test_recordings_are_small_and_whole() -> None:
    """Each is an asciicast of its size, forward in time, that ends back at the shell.

    Together they are small.
    """
    casts = {
        path.stem: path.read_text("utf-8") for path in (ROOT / "docs/recordings").glob("*.cast")
    }
    assert set(casts) == {"80x24", "200x50"}
    assert sum(len(text.encode()) for text in casts.values()) < 450_000
    for size, text in casts.items():
        head, *events = map(json.loads, text.splitlines())
        assert (head["version"], f"{head['width']}x{head['height']}") == (2, size)
        times = [at for at, _, _ in events]
        assert times == sorted(times)
        assert "/quit" in "".join(data for _, kind, data in events if kind == "o")
