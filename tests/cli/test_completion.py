"""What a shell is offered on TAB, as typer's own shell scripts ask for it."""

from tests.memory.builders import Life
from tests.support.program import Program


def offered(program: Program, line: str) -> str:
    """Return what zsh is offered at the end of a line."""
    done = program.process(
        more={"_CONSTRUCT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_ids_of_conversations_are_offered_with_harmless_titles(
    program: Program, life: Life
) -> None:
    """Titles are offered with only letters, digits and blanks.

    zsh evaluates what it is offered.
    """
    life.talk("Tea \\$(touch x) `y` \"z\" 'q' [b]: ü")
    life.db.close()
    assert '"1":"Tea touch x y z ’q’ b ü"' in offered(program, "construct chat --conversation ")


def test_completing_makes_no_database(program: Program) -> None:
    """Where there is none, nothing is offered, and nothing made.

    The commands are, not the chat.
    """
    assert offered(program, "construct memory why ") == "_files\n"
    assert '"ask":' in offered(program, "construct a")
    assert not program.db.exists()


def test_the_formats_of_an_export_are_offered(program: Program) -> None:
    """All of them, or those that begin with what is typed."""
    every = offered(program, "construct export --format ")
    assert all(f'"{name}"' in every for name in ("jsonl", "sqlite", "markdown"))
    assert "markdown" in offered(program, "construct export --format m")
    assert "jsonl" not in offered(program, "construct export --format m")
