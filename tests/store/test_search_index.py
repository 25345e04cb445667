"""The full-text indexes say what the tables say, whatever is done to those."""

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from construct.store import search_index
from construct.store.database import open_database, transaction
from construct.store.invariants import index_violations
from construct.store.passages import MAX_PASSAGES, PART_BITS, SIZE, passages, passages_sql
from construct.store.search import frequencies, matches_from, newest_of_each
from construct.store.search_index import merge_some


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A new database with two conversations."""
    opened = open_database(tmp_path / "construct.db")
    for number in (1, 2):
        opened.execute(
            "INSERT INTO conversations(id, uid, created_at) VALUES (?, ?, '2026')",
            (number, str(number)),
        )
    yield opened
    opened.close()


def say(db: sqlite3.Connection, text: str, conversation: int = 1) -> int:
    """Store a message."""
    cursor = db.execute(
        "INSERT INTO messages(uid, conversation_id, role, content, token_count, created_at) "
        "VALUES (hex(randomblob(8)), ?, 'user', ?, 1, '2026-01-01T00:00:00.000000+00:00')",
        (conversation, text),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def holds(db: sqlite3.Connection, word: str) -> list[int]:
    """Return the messages that the index files under a word."""
    return [
        row
        for (row,) in db.execute(
            "SELECT DISTINCT rowid >> 8 FROM messages_fts WHERE messages_fts MATCH ?", (word,)
        )
    ]


@pytest.mark.parametrize("seed", range(8))
def test_the_indexes_keep_in_step(db: sqlite3.Connection, seed: int) -> None:
    """The index agrees with the messages after any sequence of changes.

    The changes are inserts, edits, withholdings, moves and deletions.
    """
    chance = random.Random(seed)
    nouns = ["oak", "elm", "ash", "yew", "fir", "[removed]", "", "long " * 150 + "tail"]
    for _ in range(120):
        ids = [row for (row,) in db.execute("SELECT id FROM messages")]
        deed = chance.randrange(6) if ids else 0
        one = chance.choice(ids) if ids else 0
        words = " ".join(chance.choices(nouns, k=3))
        if deed <= 1:
            say(db, words, chance.choice((1, 2)))
        elif deed == 2:
            db.execute("UPDATE messages SET content = ? WHERE id = ?", (words, one))
        elif deed == 3:
            db.execute("UPDATE messages SET withheld = 1 - withheld WHERE id = ?", (one,))
        elif deed == 4:
            db.execute("DELETE FROM messages WHERE id = ?", (one,))
        else:
            db.execute(
                "UPDATE messages SET conversation_id = 3 - conversation_id WHERE id = ?", (one,)
            )
    with transaction(db):
        assert index_violations(db) == []


@pytest.mark.parametrize(
    "deed",
    [
        "UPDATE messages SET content = '[removed]' WHERE id = 2",
        "UPDATE messages SET withheld = 1 WHERE id = 2",
        "DELETE FROM messages WHERE id = 2",
        "DELETE FROM conversations WHERE id = 1",
    ],
)
def test_a_word_that_is_gone_is_gone_from_the_index(db: sqlite3.Connection, deed: str) -> None:
    """A message is filed under its own words.

    When it is rewritten, withheld or deleted they are nobody's.
    """
    for text in ("first", "heliotrope", "third"):
        say(db, text)
    assert holds(db, "heliotrope") == [2]
    db.execute(deed)
    assert holds(db, "heliotrope") == []
    with transaction(db):
        assert index_violations(db) == []


def test_what_has_no_entry_yet_is_rewritten_withheld_and_deleted(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages without an index entry can be edited, withheld and deleted.

    An import's entries come after it. An earlier version that has the file open may
    forget some of its messages before that.
    """
    monkeypatch.setattr(search_index, "_BATCH_MESSAGES", 1)
    with transaction(db), search_index.deferred_indexing(db):
        for text in ("first", "oak", "elm", "ash", "last"):
            say(db, text)
    db.execute("UPDATE messages SET content = 'yew' WHERE id = 2")
    db.execute("UPDATE messages SET withheld = 1 WHERE id = 3")
    db.execute("DELETE FROM messages WHERE id = 4")
    search_index.complete(db)
    assert [holds(db, word) for word in ("first", "oak", "yew", "elm", "ash", "last")] == [
        [1],
        [],
        [2],
        [],
        [],
        [5],
    ]
    with transaction(db):
        assert index_violations(db) == []


def test_words_are_counted_by_their_own_text(db: sqlite3.Connection) -> None:
    """Each message counts once, and counting ends where it is told to."""
    for _ in range(5):
        say(db, "the oak")
    say(db, "an elm")
    assert frequencies(db, "message", ["oak", "elm", "yew"]) == {"oak": 5, "elm": 1, "yew": 0}


def test_merging_segments_changes_nothing_but_their_number(db: sqlite3.Connection) -> None:
    """What was found before is found afterwards, in fewer places."""

    def segments() -> int:
        (count,) = db.execute("SELECT count(DISTINCT segid) FROM messages_fts_idx").fetchone()
        return int(count)

    for number in range(12):
        say(db, f"the oak, number {number}")
    before = segments()
    while merge_some(db):
        pass
    assert before > 8
    assert segments() < 4
    assert holds(db, "oak") == list(range(1, 13))
    with transaction(db):
        assert index_violations(db) == []


def test_the_newest_with_a_word_are_told(db: sqlite3.Connection) -> None:
    """Newest first: as many as are asked for, or as far back."""
    for text in ("the oak", "an elm", "the oak", "the oak"):
        say(db, text)
    asked = ['"yew"', '"oak"', '"elm"']
    assert newest_of_each(db, "message", asked, 2) == [[], [4, 3], [2]]
    assert matches_from(db, "message", '"oak"', 3) == [3, 4]


def test_the_index_of_observations_keeps_in_step(db: sqlite3.Connection) -> None:
    """Observations are filed, refiled and taken out."""
    db.execute(
        "INSERT INTO cycles(id, uid, kind, status, started_at) "
        "VALUES (1, 'c', 'observer', 'succeeded', '2026')"
    )
    for number in range(4):
        db.execute(
            """INSERT INTO observations (id, uid, content, priority, stance, observation_date,
                   cycle_id, token_count, created_at)
               VALUES (?, ?, ?, 'high', 'stated', '2026-01-01', 1, 1, '2026')""",
            (number + 1, str(number), f"oak number {number}"),
        )
    db.execute("UPDATE observations SET content = 'elm' WHERE id = 2")
    db.execute("DELETE FROM observations WHERE id = 3")
    assert frequencies(db, "observation", ["oak", "elm"]) == {"oak": 2, "elm": 1}
    with transaction(db):
        assert index_violations(db) == []


@given(
    st.lists(
        st.sampled_from(["oak", " ", ". ", "\n", "。", "é", "日", "x" * 700, "yew " * 200]),
        max_size=12,
    )
)
def test_passages_are_the_same_in_the_index_and_in_python(parts: list[str]) -> None:
    """Nothing is lost, no passage is much longer than another, and the triggers agree."""
    text = "".join(parts)
    cut = passages(text)
    assert "".join(cut) == text
    assert all(len(passage) < 2 * SIZE for passage in cut)
    with closing(sqlite3.connect(":memory:")) as db:
        query = passages_sql("SELECT 1 AS message, ?1 AS text")
        db.execute("CREATE TABLE passage_numbers (part INTEGER PRIMARY KEY)")
        db.executemany("INSERT INTO passage_numbers VALUES (?)", [(i,) for i in range(99)])
        rows = db.execute(f"{query} ORDER BY id", (text,)).fetchall()
    assert rows == [(1 << PART_BITS | part, passage) for part, passage in enumerate(cut)]


def test_a_book_has_as_many_passages_as_the_index_can_count(db: sqlite3.Connection) -> None:
    """They are larger then, and its last word is found."""
    say(db, "oak " * 51_000 + "yew")
    (rows,) = db.execute("SELECT count(*) FROM messages_fts_docsize").fetchone()
    assert rows <= MAX_PASSAGES
    assert holds(db, "yew") == [1]
    db.execute("DELETE FROM messages")
    with transaction(db):
        assert index_violations(db) == []


def test_a_very_long_message_is_stored_soon(db: sqlite3.Connection) -> None:
    """It is cut in a time that does not hold up other processes, and forgotten as soon."""
    text = "oak " * 130_000
    began = time.perf_counter()
    say(db, text)
    db.execute("UPDATE messages SET content = '[removed]'")
    assert time.perf_counter() - began < 2  # it took 8 seconds, and takes 0.3
