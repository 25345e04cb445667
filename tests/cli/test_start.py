"""What is imported on the way to the prompt."""

import subprocess
import sys

from tests.support.program import Program

_CODE = """
import sys
from construct.cli.run import run
from construct.cli.chat import chat
import construct.chat.app
heavy = {"anthropic", "openai", "tiktoken", "rich.markdown", "rich.console", "sqlite_utils",
         "typer", "xllamacpp", "jinja2", "construct.talk.companion",
         "construct.memory.learning.extractive"}
print(sorted(heavy & sys.modules.keys()))
"""


_COMMANDS = """
import sys
import construct.cli.app
above = ("construct.memory", "construct.llm", "construct.chat")
print([name for name in sys.modules if name.startswith(above)])
"""

_AGENDA = """
import sys
from construct.cli.run import run
run(["agenda"])
unneeded = {"rich.tree", "construct.views.memory", "construct.views.markdown"}
print(sorted(unneeded & sys.modules.keys()))
"""

_SEARCH = """
import sys
from construct.cli.run import run
run(["memory", "search", "tea"])
heavy = {"pydantic", "rich", "asyncio", "anthropic", "prompt_toolkit"}
unneeded = {"construct.memory.shown.view", "construct.memory.shown.forks"}
print(sorted((heavy | unneeded) & sys.modules.keys()))
"""


def test_a_search_is_light(program: Program) -> None:
    """A search in a pipe imports no terminal, no model client and nothing of a turn."""
    program.run("memory", "add", "Tea at five")
    assert _last_line(program, _SEARCH) == "[]"


def test_the_agenda_is_light(program: Program) -> None:
    """A list of the agenda imports nothing that shows observations."""
    program.run("memory", "add", "Tea at five")
    assert _last_line(program, _AGENDA) == "[]"


def _last_line(program: Program, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=program.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_help_needs_nothing_of_what_the_commands_do() -> None:
    """Each command imports its body when it runs."""
    done = subprocess.run(
        [sys.executable, "-c", _COMMANDS], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_the_way_to_the_prompt_is_light() -> None:
    """Nothing heavy is imported before the prompt is up.

    That includes the modules for memory work.
    """
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
