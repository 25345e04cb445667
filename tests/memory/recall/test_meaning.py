"""Search by meaning, with a real onnxruntime model of six meanings (1 KB of words)."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from construct.errors import ConstructError
from construct.llm.embedding import PART_PIECES, Embedder, Weights, is_available
from construct.llm.wordpiece import WordPiece
from construct.memory.forgetting import delete_conversation, forget
from construct.memory.recall import indexing
from construct.memory.recall.meaning import Meaning, without_names
from construct.memory.recall.passages import passages
from construct.memory.undo import undo
from construct.store import vectors
from construct.store.backup import backup
from construct.store.database import open_database, transaction
from construct.store.in_thread import Store
from construct.store.messages import LAST
from construct.store.search import Filters
from tests.memory.builders import Life, stated
from tests.memory.recall.hits import search

pytestmark = pytest.mark.skipif(not is_available(), reason="onnxruntime has no wheels here")
FOLDER = Path(__file__).parents[2] / "support" / "meanings"


@pytest.fixture
def meaning() -> Meaning:
    """The small model."""
    return Meaning(Embedder(Weights(FOLDER / "model.onnx", FOLDER / "vocab.txt")))


def index(life: Life, meaning: Meaning) -> None:
    """Make all vectors that are missing."""
    while texts := indexing.batch(life.db, meaning.embedder.name, {}):
        indexing.index_entries(life.db, meaning.embedder, texts)


def held(life: Life) -> set[tuple[str, int]]:
    """Return what has a vector."""
    return set(life.db.execute("SELECT kind, entry_id FROM vectors"))


def test_what_says_the_same_in_other_words_is_found(life: Life, meaning: Meaning) -> None:
    """An observation and a note kept by hand that share no word with the query.

    Nothing of it without vectors.
    """
    here = life.talk()
    observed = life.learn(here, "My vessel is green")
    kept = life.remember("A ship named Gaivota")
    life.learn(here, "The puppy chews slippers")
    assert search(life.db, "boat", meaning=meaning) == []
    index(life, meaning)
    hits = search(life.db, "boat", meaning=meaning)
    found = [(hit.kind, hit.id) for hit in hits if hit.match == "direct"]
    assert {("observation", observed.id), ("observation", kept.id)} <= set(found)
    assert "puppy" not in " ".join(hit.text for hit in hits[: len(found)])
    assert search(life.db, "boat") == []


def test_without_its_weights_words_alone_serve(life: Life, tmp_path: Path) -> None:
    """Weights that went away while the program runs are no reason to fail."""
    life.learn(life.talk(), "My boat is green")
    gone = Meaning(Embedder(Weights(tmp_path / "model.onnx", FOLDER / "vocab.txt")))
    assert search(life.db, "boat", meaning=gone) != []


def test_passages_come_back_by_their_meaning(life: Life, meaning: Meaning) -> None:
    """Nothing of an empty file, nor without vectors.

    Then what is near, and not what is far.
    """
    assert passages(life.db, "Is my boat seaworthy?", meaning=meaning) == []
    here = life.talk()
    said = life.say(here, "vessel")
    for _ in range(5):
        life.say(here, "puppy")
    assert passages(life.db, "boat?", meaning=meaning) == []
    index(life, meaning)
    assert [hit.id for hit in passages(life.db, "boat?", meaning=meaning)] == [said.id]
    assert passages(life.db, "boat?", known=[("message", said.id)], meaning=meaning) == []


def test_without_a_word_only_what_is_near_is_found(life: Life, meaning: Meaning) -> None:
    """An entry that is near does not bring along those that are hardly similar."""
    here = life.talk()
    near = life.say(here, "vessel")
    for _ in range(9):
        far = life.say(here, "puppy " * 6 + "ship")
    index(life, meaning)
    found = [hit.id for hit in search(life.db, "boat", meaning=meaning)]
    assert near.id in found
    assert far.id not in found


def test_words_come_before_mere_likeness(life: Life, meaning: Meaning) -> None:
    """Of two like messages the one that has the query's very word stands first."""
    here = life.talk()
    for text in ("We took the ship to Faro", "Then nothing more", "We took the boat to Lagos"):
        life.say(here, text)
        life.pass_days(1)
    index(life, meaning)
    assert search(life.db, "boat", meaning=meaning)[0].text == "We took the boat to Lagos"


def test_what_one_word_means_tells_less_than_that_it_was_said(life: Life, meaning: Meaning) -> None:
    """Of two lines with the word, the shorter comes first, even if less near."""
    here = life.talk()
    for text in (
        "A boat and puppy puppy",
        "A boat, " + "nothing else but a ship and " * 8,
        "green",
    ):
        life.say(here, text)
        life.pass_days(1)
    index(life, meaning)
    assert search(life.db, "boat", meaning=meaning)[0].text == "A boat and puppy puppy"


def test_what_means_nothing_near_is_not_found(life: Life, meaning: Meaning) -> None:
    """A query that no word and no meaning answers finds nothing.

    Nor does meaning soften words in quotes.
    """
    life.say(life.talk(), "The vessel leaks")
    index(life, meaning)
    assert search(life.db, "puppy", meaning=meaning) == []
    assert search(life.db, '"boat"', meaning=meaning) == []
    assert search(life.db, "!!!", meaning=meaning) == []


def test_filters_hold_for_meaning_too(life: Life, meaning: Meaning) -> None:
    """By conversation, and by day, what is near elsewhere is left out."""
    here, there = life.talk(), life.talk()
    life.say(here, "The vessel leaks")
    life.say(there, "The ship sinks")
    index(life, meaning)
    hits = search(life.db, "boat", Filters(descent=((there, LAST),)), meaning=meaning)
    assert [hit.conversation for hit in hits] == [there]


@pytest.mark.parametrize("words", [True, False])
def test_forgetting_takes_the_vectors_along(life: Life, meaning: Meaning, words: bool) -> None:
    """Of the observation, its message and the reply.

    A vector made meanwhile is not stored.
    """
    here = life.talk()
    observed = life.learn(here, "My vessel is called Gaivota")
    life.say(here, "The puppy sleeps")
    index(life, meaning)
    late = vectors.EntryText("message", 1, "My vessel is called Gaivota")
    blob = life.db.execute(
        "SELECT vector FROM vectors WHERE kind = 'message' AND entry_id = 1"
    ).fetchone()[0]
    forget(life.db, ("observation", observed.id), life.clock, words=words)
    indexing.store_vectors(life.db, meaning.embedder, [late], [[blob]])
    assert held(life) == {("message", 3)}
    index(life, meaning)
    assert held(life) == {("message", 3)}
    assert life.broken() == []


def test_a_deleted_conversation_and_an_undone_cycle_take_their_vectors_along(
    life: Life, meaning: Meaning
) -> None:
    """Other entries keep theirs."""
    here, there = life.talk(), life.talk()
    life.learn(here, "My vessel is green")
    kept = life.say(there, "The puppy sleeps")
    (observed,) = life.observe(there, stated("User's puppy sleeps", [kept.id]))
    index(life, meaning)
    undo(life.db, life.clock)
    assert ("observation", observed.id) not in held(life)
    delete_conversation(life.db, here, life.clock)
    index(life, meaning)
    assert held(life) == {("message", kept.id)}


async def work(life: Life, meaning: Meaning, times: int) -> list[bool]:
    """Do a piece of what the background does, so many times."""
    store = Store(life.path)
    try:
        return [await indexing.index_some(store, meaning) for _ in range(times)]
    finally:
        store.close()


def test_vectors_are_made_in_batches_and_again_for_another_model(
    life: Life, meaning: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the background, to be left off at any moment.

    Those of another model are replaced once this one is chosen.
    """
    monkeypatch.setattr(indexing, "BATCH", 4)
    here = life.talk()
    for number in range(10):
        life.say(here, f"The ship {number}")
    another(life)
    indexing.choose_model(life.db, meaning.embedder.name)
    assert asyncio.run(work(life, meaning, 2)) == [True, True]
    assert vectors.count_without(life.db, meaning.embedder.name) == 2
    assert asyncio.run(work(life, meaning, 5)) == [True, True, True, False, False]
    assert life.db.execute("SELECT name FROM vector_models").fetchall() == [
        (meaning.embedder.name,)
    ]
    assert len(held(life)) == 10


def another(life: Life) -> None:
    """Give the first message a vector of another model."""
    with transaction(life.db):
        vectors.choose(life.db, "another")
        vectors.add(
            life.db, "another", [(vectors.EntryText("message", 1, "The ship 0"), [b"\1\2"])]
        )


def test_two_models_never_delete_each_others_vectors(life: Life, meaning: Meaning) -> None:
    """What the file has of another model stays, though it comes only now.

    Words alone serve, and it is said why.
    """
    life.say(life.talk(), "The ship 0")
    texts = indexing.batch(life.db, meaning.embedder.name, {})
    another(life)
    with pytest.raises(ConstructError, match="another model: `construct reindex`"):
        asyncio.run(work(life, meaning, 1))
    with pytest.raises(ConstructError):
        indexing.index_entries(life.db, meaning.embedder, texts)
    with pytest.raises(ConstructError):
        indexing.drop_others(life.db, meaning.embedder.name)
    assert life.db.execute(
        "SELECT name, count(*) FROM vectors JOIN vector_models AS m ON m.id = model"
    ).fetchall() == [("another", 1)]
    assert [hit.text for hit in search(life.db, "ship", meaning=meaning)] == ["The ship 0"]


def test_of_a_long_text_each_part_counts(life: Life, meaning: Meaning) -> None:
    """What stands far down in a long message is found."""
    long = life.say(life.talk(), "puppy " * 2 * PART_PIECES + "vessel " * PART_PIECES)
    index(life, meaning)
    assert [hit.id for hit in search(life.db, "boat", meaning=meaning)] == [long.id]
    assert life.db.execute("SELECT count(*) FROM vectors").fetchone() == (3,)


def test_a_backup_has_no_vectors(life: Life, meaning: Meaning, tmp_path: Path) -> None:
    """They are derived, and made again."""
    life.say(life.talk(), "The vessel leaks")
    index(life, meaning)
    copy = tmp_path / "copy.db"
    copy.touch()
    backup(life.db, copy)
    assert open_database(copy).execute("SELECT count(*) FROM vectors").fetchone() == (0,)


def test_a_model_that_cannot_be_loaded_is_left_out(
    life: Life, meaning: Meaning, tmp_path: Path
) -> None:
    """Words alone serve then."""
    life.say(life.talk(), "The vessel leaks")
    (tmp_path / "model.onnx").write_bytes(b"no model")
    broken = Meaning(Embedder(replace(meaning.embedder.weights, model=tmp_path / "model.onnx")))
    with transaction(life.db):
        vectors.choose(life.db, broken.embedder.name)
        vectors.add(
            life.db,
            broken.embedder.name,
            [(vectors.EntryText("message", 1, "The vessel leaks"), [b"\1"])],
        )
    assert len(search(life.db, "vessel", meaning=broken)) == 1
    assert not broken.ready()


@pytest.mark.parametrize(
    ("text", "names", "left"),
    [
        ("What does Ana's dog eat?", {"ana"}, "What does dog eat?"),
        ("Where is João?", {"joao"}, "Where is ?"),
        ("Ana", {"ana"}, "Ana"),
        ("Ana?", {"ana"}, "Ana?"),
        ("Where is Anatol?", {"ana"}, "Where is Anatol?"),
    ],
)
def test_names_are_taken_out_of_what_is_compared(text: str, names: set[str], left: str) -> None:
    """Names of participants, in the genitive too; never the whole query."""
    assert without_names(text, names) == left


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Boat, SHIP!", ["boat", "[UNK]", "ship", "[UNK]"]),
        ("véssel\u200b", ["vessel"]),
        ("boats", ["[UNK]"]),
        ("boat犬ship", ["boat", "[UNK]", "ship"]),
        ("x" * 200, ["[UNK]"]),
        (" \t\x00", []),
    ],
)
def test_texts_are_cut_into_pieces_as_the_model_learned_them(text: str, pieces: list[str]) -> None:
    """Text is folded and split at marks and ideographs.

    An unknown piece is [UNK].
    """
    names = (FOLDER / "vocab.txt").read_text().splitlines()
    assert [names[i] for i in WordPiece(FOLDER / "vocab.txt").numbers(text, 100)] == pieces
