import json
import os
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pytest

from construct.clock import Clock, from_text
from construct.errors import ConstructError
from construct.memory.undo import undo
from construct.store.invariants import index_violations, violations
from construct.store.transfer.exporting import write_export
from construct.store.transfer.foreign import LeftOut
from construct.store.transfer.import_report import FORGOTTEN
from construct.store.transfer.importing import import_file
from construct.store.usage import Call, record_private_usage
from construct.tokens import Usage
from tests.store.transfer_world import (
    START,
    World,
    bring,
    exported,
    furnish,
    refusal,
    run_something,
)
from tests.support.database import new_database

Make = Callable[[str], sqlite3.Connection]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Open databases by name."""
    return lambda name: new_database(tmp_path / f"{name}.db")


def one(db: sqlite3.Connection, query: str) -> object:
    """Return a query's one value."""
    return db.execute(query).fetchone()[0]


@pytest.mark.parametrize("form", ["jsonl", "sqlite"])
def test_round_trip(make: Make, tmp_path: Path, form: str) -> None:
    """Imported into an empty database and exported again, the bytes are the same.

    Ids are included.
    """
    a, b = make("a"), make("b")
    run_something(furnish(a), 2)
    write_export(a, tmp_path / "a.db", form, tmp_path / "export")
    report = import_file(b, tmp_path / "export", Clock())
    assert (report.conversations, report.messages, report.observations) == (3, 15, 8)
    assert report.warning is None
    text = exported(b)
    assert exported(a) == text
    assert violations(b) == index_violations(b) == []
    assert bring(make("c"), tmp_path, text).messages == 15
    assert exported(make("c")) == text


@pytest.mark.parametrize(
    "stamp", ["2026-03-01T09:00:00+00:00", "2026-03-01T09:00:00", "2026-03-01 10:00:00+01:00"]
)
def test_round_trip_of_foreign_times(make: Make, tmp_path: Path, stamp: str) -> None:
    """Times in another program's format still give the same bytes."""
    a, b = make("a"), make("b")
    w = World(a)
    w.say(w.conversation("x\x00y"), "a\x00b")
    a.execute("UPDATE messages SET created_at = ?", (stamp,))
    text = exported(a)
    assert "T09:00:00" in text or " 09:00:00" in text
    bring(b, tmp_path, text)
    assert exported(b) == text


def test_import_twice_adds_nothing(make: Make, tmp_path: Path) -> None:
    """The second time everything is known, on this machine and where it came from."""
    a, b = make("a"), make("b")
    furnish(a)
    text = exported(a)
    bring(b, tmp_path, text)
    for db in (a, b):
        report = bring(db, tmp_path, text)
        assert (report.conversations, report.messages, report.observations) == (0, 0, 0)
        assert report.known == 48
        assert exported(db) == text
    assert one(a, "SELECT count(*) FROM messages WHERE archived = 0") == 13


def test_unobserved_messages_arrive_archived(make: Make, tmp_path: Path) -> None:
    """What no cycle has observed is archived, what one has observed is as it was."""
    a, b = make("a"), make("b")
    furnish(a)
    bring(b, tmp_path, exported(a))
    live = "SELECT group_concat(id) FROM (SELECT id FROM messages WHERE archived = 0 ORDER BY id)"
    assert one(b, live) == "3,4,5,6,7,8"
    w = World(b, "b")
    w.now = World(a).now.replace(year=2027)
    assert b.execute(
        "SELECT count(*) FROM messages WHERE conversation_id = 2 AND NOT archived"
    ).fetchone() == (0,)
    w.observe(2, w.say(2, "and now live", "yes"), "fact")
    assert violations(b) == []
    text = exported(b)
    bring(make("c"), tmp_path, text)
    assert exported(make("c")) == text


def test_two_machines_come_together(make: Make, tmp_path: Path) -> None:
    """Exports of two machines add up, in either order, and stay sound."""
    a, b, c, d = (make(name) for name in "abcd")
    furnish(a)
    furnish(b, "b")
    for db, exports in ((c, (a, b)), (d, (b, a))):
        for source in exports:
            bring(db, tmp_path, exported(source))
        assert one(db, "SELECT count(*) FROM messages") == 30
        assert one(db, "SELECT count(*) FROM observations WHERE superseded_at IS NULL") == 8
        assert one(db, "SELECT count(*) FROM entities") == 2
        assert one(db, "SELECT count(*) FROM relations") == 4
        assert violations(db) == index_violations(db) == []
    assert one(c, "SELECT count(*) FROM shown WHERE conversation_id > 3") == 2
    text = exported(c)
    bring(make("e"), tmp_path, text)
    assert exported(make("e")) == text


def test_a_conversation_goes_on(make: Make, tmp_path: Path) -> None:
    """A later export of the same conversation adds what is new.

    That is what was said, learned, compacted and superseded since.
    """
    a, b = make("a"), make("b")
    w = furnish(a)
    bring(b, tmp_path, exported(a))
    World(b, "b").conversation("in between")
    said = w.say(1, "The dentist moved to 10am", "Noted")
    cycle, _ = w.observe(1, said, "Dentist on March 5th at 10am")
    a.execute(
        "UPDATE observations SET committed_at = ? "
        "WHERE committed_at IS NULL AND superseded_at IS NULL",
        (w.tick(),),
    )
    reflector = w.cycle("reflector", None)
    active = [
        row[0]
        for row in a.execute(
            "SELECT id FROM observations WHERE superseded_at IS NULL AND NOT pinned AND NOT kept"
        )
    ]
    w.fact(None, reflector, "All in one", sources=active, generation=2)
    for observation in active:
        w.supersede(observation, reflector)
    assert violations(a) == []
    report = bring(b, tmp_path, exported(a))
    assert (report.messages, report.observations) == (2, 2)
    assert violations(b) == []
    active_query = "SELECT content FROM observations WHERE superseded_at IS NULL ORDER BY content"
    assert b.execute(active_query).fetchall() == [("All in one",), ("Asks a lot",), ("tea",)]
    (last,) = b.execute("SELECT max(id) FROM messages WHERE conversation_id = 1").fetchone()
    marks = b.execute(
        "SELECT DISTINCT message_id FROM watermarks WHERE conversation_id = 1"
    ).fetchall()
    assert marks == [(last,)]
    assert bring(b, tmp_path, exported(a)).messages == 0
    assert cycle


def test_a_cycle_wakes_what_it_has_observed(make: Make, tmp_path: Path) -> None:
    """What arrived archived is live once an observer cycle over it has come too."""
    a, b = make("a"), make("b")
    w = World(a)
    talk = w.conversation()
    said = w.say(talk, "one", "two")
    bring(b, tmp_path, exported(a))
    assert one(b, "SELECT sum(archived) FROM messages") == 2
    w.observe(talk, said, "fact")
    bring(b, tmp_path, exported(a))
    assert one(b, "SELECT sum(archived) FROM messages") == 0
    assert exported(b) == exported(a)


def test_an_older_export_changes_nothing(make: Make, tmp_path: Path) -> None:
    """What was renamed, pinned, undone or compacted here since stays as it is."""
    a = make("a")
    w = furnish(a)
    text = exported(a)
    a.execute("UPDATE conversations SET title = 'mine' WHERE id = 1")
    a.execute(
        "UPDATE observations "
        "SET pinned = 1, superseded_at = NULL, superseded_by = NULL WHERE id = 1"
    )
    a.execute(
        "UPDATE observations SET superseded_at = ?, superseded_by = 3 WHERE id = 5", (w.tick(),)
    )
    a.execute("UPDATE cycles SET status = 'reverted' WHERE id IN (2, 3)")
    a.execute(
        "UPDATE observations SET superseded_at = ?, superseded_by = 2 WHERE id = 4", (w.tick(),)
    )
    a.execute("UPDATE watermarks SET message_id = 6 WHERE name = 'observed'")
    assert violations(a) == []
    before = exported(a)
    assert bring(a, tmp_path, text).known == 48
    assert exported(a) == before


def test_an_older_export_after_undo_moves_no_watermark(make: Make, tmp_path: Path) -> None:
    """What it says of a conversation was taken back since; what else is new comes in."""
    a, b = make("a"), make("b")
    w = World(a)
    talk = w.conversation()
    said = w.say(talk, "one", "two", "three", "four")
    w.observe(talk, said, "fact")
    text = exported(a)
    undo(a, Clock(fixed=from_text(w.tick()), zone=UTC))
    w.observe(talk, said, "fact, read again", commit=False)
    assert violations(a) == []
    before = exported(a)
    assert bring(a, tmp_path, text).has_added is False
    assert exported(a) == before
    wb = World(b, "b")
    bring(b, tmp_path, text)
    wb.now = w.now
    wb.observe(wb.conversation("New"), wb.say(2, "five", "six"), "other fact")
    report = bring(a, tmp_path, exported(b))
    assert (report.conversations, report.messages, report.observations) == (1, 2, 1)
    assert set(before.splitlines()[1:]) <= set(exported(a).splitlines())


def test_both_went_on_one_after_the_other(make: Make, tmp_path: Path) -> None:
    """Messages that are all later than those here are added, archived."""
    a, b = make("a"), make("b")
    wa, wb = World(a), World(b, "b")
    talk = wa.conversation()
    wa.observe(talk, wa.say(talk, "one", "two"), "fact")
    bring(b, tmp_path, exported(a))
    wb.now = wa.now
    wb.say(1, "here", "yes")
    wa.now = wb.now
    wa.say(talk, "there", "yes")
    assert bring(b, tmp_path, exported(a)).messages == 2
    rows = b.execute("SELECT content, archived FROM messages ORDER BY id").fetchall()
    assert rows == [("one", 0), ("two", 0), ("here", 0), ("yes", 0), ("there", 1), ("yes", 1)]
    assert violations(b) == []


@pytest.mark.parametrize("how", ["earlier", "observed twice", "unread", "between"])
def test_divergence_is_refused(make: Make, tmp_path: Path, how: str) -> None:
    """Where a conversation went different ways, the import says so and what to do."""
    a, b = make("a"), make("b")
    wa, wb = World(a), World(b, "b")
    talk = wa.conversation("Our talk")
    said = wa.say(talk, "one", "two")
    bring(b, tmp_path, exported(a))
    wb.now = wa.now
    if how == "earlier":
        wa.say(talk, "there")
        wb.tick(60)
        wb.say(1, "here")
    elif how == "observed twice":
        wa.observe(talk, said, "fact")
        b.execute("UPDATE messages SET archived = 0")
        wb.observe(1, said, "the same fact")
    elif how == "unread":
        wb.say(1, "here")
        wa.tick(60)
        wa.observe(talk, said + wa.say(talk, "there"), "fact")
    else:
        late = wb.uid("m")
        wb.insert(
            "messages",
            uid=late,
            conversation_id=1,
            role="user",
            content="x",
            token_count=1,
            created_at=wa.tick(0),
        )
        wa.say(talk, "y")
        wa.insert("messages", uid=late, conversation_id=talk, role="user", content="x",
                  token_count=1,
                  created_at=wa.tick(0))  # fmt: skip
        b.execute("UPDATE messages SET created_at = (SELECT min(created_at) FROM messages)")
    first = refusal(b, tmp_path, exported(a))
    assert "onversation 1" in first
    with pytest.raises(Exception, match="database of its own"):
        bring(b, tmp_path, exported(a))


def test_what_was_forgotten_is_not_learned_again(make: Make, tmp_path: Path) -> None:
    """Observations and reflections that rest on a tombstone stay away.

    Other sources are active again.
    """
    a, b = make("a"), make("b")
    wa = World(a)
    secret, tea = wa.conversation(), wa.conversation("tea")
    _, bad = wa.observe(secret, wa.say(secret, "I stole it", "Oh"), "Stole it", "Is sorry")
    _, good = wa.observe(tea, wa.say(tea, "I like tea", "Fine"), "Likes tea", "Has a cup")
    r1, r2 = wa.cycle("reflector", None), wa.cycle("reflector", None)
    mixed = wa.fact(None, r1, "Stole tea", sources=[bad[0], good[0]], generation=1)
    higher = wa.fact(None, r2, "Stole tea, has a cup", sources=[mixed, good[1]], generation=2)
    kept = wa.fact(None, r2, "Cup", sources=[good[1]], generation=1)
    for observation, cycle in ((bad[0], r1), (good[0], r1), (mixed, r2), (good[1], r2)):
        wa.supersede(observation, cycle)
    thing = wa.insert("entities", uid="ent", name="it")
    wa.relate(thing, thing, higher)
    wa.insert("shown", conversation_id=tea, observation_id=higher, block=1)
    wa.replace(mixed, higher, r2, "outdated")
    wa.say(secret, "Hello again")
    assert violations(a) == []
    for uid in ("a-m-0003", "a-m-0004"):
        b.execute(
            "INSERT INTO tombstones (message_uid, created_at) VALUES (?, ?)", (uid, wa.tick())
        )
    report = bring(b, tmp_path, exported(a))
    assert report.left_out == (LeftOut(FORGOTTEN, 11),)
    facts = b.execute(
        "SELECT content, superseded_at IS NULL FROM observations ORDER BY id"
    ).fetchall()
    assert facts == [("Likes tea", 1), ("Has a cup", 0), ("Cup", 1)]
    words = b.execute("SELECT content, archived FROM messages ORDER BY id").fetchall()
    assert words == [("I like tea", 0), ("Fine", 0), ("Hello again", 1)]
    assert "tole" not in exported(b)
    assert violations(b) == []
    assert kept


def test_tombstones_of_the_file_spare_what_it_still_has(make: Make, tmp_path: Path) -> None:
    """A tombstone in the file takes nothing from the file itself.

    It only keeps the same text from being observed again.
    """
    a, b = make("a"), make("b")
    furnish(a)
    a.execute(
        "INSERT INTO tombstones (message_uid, created_at) VALUES ('a-m-0005', ?)",
        (World(a).tick(),),
    )
    bring(b, tmp_path, exported(a))
    assert exported(b) == exported(a)


def test_words_here_are_never_overwritten(make: Make, tmp_path: Path) -> None:
    """A message that is known keeps its words, removed ones too."""
    a = make("a")
    furnish(a)
    text = exported(a)
    a.execute("UPDATE messages SET content = '[removed]', withheld = 1 WHERE id = 3")
    bring(a, tmp_path, text)
    assert one(a, "SELECT content FROM messages WHERE id = 3") == "[removed]"


def test_an_export_that_was_cut_off(make: Make, tmp_path: Path) -> None:
    """A file that ends early at the end of a line is taken, with a warning."""
    a, b = make("a"), make("b")
    w = World(a)
    w.say(w.conversation(), "one", "two")
    report = bring(b, tmp_path, "".join(exported(a).splitlines(keepends=True)[:-1]))
    assert report.messages == 1
    assert report.warning
    assert "cut off" in report.warning


def test_entities_gain_aliases(make: Make, tmp_path: Path) -> None:
    """An entity that is known by name takes the file's further aliases, once."""
    a, b = make("a"), make("b")
    World(a).insert("entities", name="Ana", type="person", aliases='["A."]')
    World(b).insert("entities", name="Ana", type="person", aliases='["Ani"]')
    for _ in range(2):
        bring(b, tmp_path, exported(a))
        assert b.execute("SELECT name, aliases FROM entities").fetchall() == [
            ("Ana", json.dumps(["Ani", "A."]))
        ]


def test_what_a_day_off_the_record_cost_grows(make: Make, tmp_path: Path) -> None:
    """Its one row came with an export of noon.

    That of the evening says more of it, the one of noon no less.
    """
    a, b = make("a"), make("b")
    call = Call("chat", "m", Usage(input_tokens=3, output_tokens=2), 0.5)
    exports = []
    for _ in range(2):
        record_private_usage(a, call, "2026-03-01T00:00:00.000000+00:00")
        exports.append(exported(a))
    for text in (*exports, exports[0]):
        bring(b, tmp_path, text)
    assert exported(b) == exports[1] == exported(a)


def test_its_own_file(make: Make, tmp_path: Path) -> None:
    """The database imported into itself, while it is open, adds nothing."""
    a = make("a")
    furnish(a)
    before = exported(a)
    report = import_file(a, tmp_path / "a.db", Clock())
    assert (report.messages, report.known) == (0, 48)
    assert exported(a) == before


def test_through_a_pipe(make: Make, tmp_path: Path) -> None:
    """A file may come through a pipe; what is wrong with it is said as of any other."""
    a, b = make("a"), make("b")
    furnish(a)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for raw in (exported(a).encode(), b"PK\x03\x04"):
        writer = threading.Thread(target=pipe.write_bytes, args=(raw,))
        writer.start()
        if raw.startswith(b"PK"):
            with pytest.raises(ConstructError, match="zip archive is damaged"):
                import_file(b, pipe, Clock())
        else:
            import_file(b, pipe, Clock())
        writer.join()
    assert exported(b) == exported(a)


def test_an_export_of_version_1(make: Make, tmp_path: Path) -> None:
    """Its `outdated` lines become links, of edits where the cycle is one.

    Later lines are none of its own.
    """
    a, b = make("a"), make("b")
    w = furnish(a)
    talk = w.conversation()
    _, (old, new) = w.observe(
        talk, w.say(talk, "Lisbon", "Porto"), "Lives in Lisbon", "Lives in Porto"
    )
    w.supersede(old, w.cycle("reflector", talk))
    lines = []
    for line in exported(a).splitlines():
        record = json.loads(line)
        if record["type"] == "construct-export":
            record["version"] = 1
        elif record["type"] == "replaced":
            record = {"type": "outdated", "old": record["replaced"], "by": record["observation"],
                      "cycle": record["cycle"]}  # fmt: skip
        elif record["type"] in ("question", "question_item", "flag", "value", "relation", "usage"):
            continue
        elif record["type"] == "observation":
            if record["kept"]:
                continue
            del record["withheld"]
        lines.append(json.dumps(record) + "\n")
    assert bring(b, tmp_path, "".join(lines)).observations == 9
    links = (
        "SELECT observation_id, replaced_id, cycle_id, relation "
        "FROM observation_replaced ORDER BY 1"
    )
    assert (
        b.execute(links).fetchall()
        == a.execute(links).fetchall()
        == [(5, 2, 3, "outdated"), (6, 3, 4, "edit")]
    )
    assert new


def test_links_come_with_their_cycle(make: Make, tmp_path: Path) -> None:
    """Each link is imported once, by what it says, whatever the ids are here.

    The database has rows of its own.
    """
    a, b = make("a"), make("b")
    w = furnish(a)
    furnish(b, "b")
    cycle, (first, second) = w.cycle("reflector", None), (4, 6)
    w.replace(first, second, cycle, "same")
    for _ in range(2):
        bring(b, tmp_path, exported(a))
    links = """SELECT new.content, old.content, relation FROM observation_replaced
               JOIN observations AS new ON new.id = observation_id
               JOIN observations AS old ON old.id = replaced_id
               JOIN cycles ON cycles.id = observation_replaced.cycle_id
               WHERE cycles.uid LIKE 'a-%' ORDER BY 3"""
    expected = [("Asks a lot", "Asks much", "edit"), ("Dentist and teeth", "Has teeth", "outdated"),
                ("Asks a lot", "Likes tea", "same")]  # fmt: skip
    assert b.execute(links).fetchall() == a.execute(links).fetchall() == expected
    assert one(b, "SELECT count(*) FROM observation_replaced") == 5
    assert violations(b) == []


def test_reflections_that_came_know_their_first_day(make: Make, tmp_path: Path) -> None:
    """The first day of an imported reflection is computed through all generations.

    It is no part of an export, and no other row is computed.
    """
    a, b = make("a"), make("b")
    w = furnish(a)
    furnish(b, "b")
    b.execute("UPDATE observations SET first_date = '1999-01-01' WHERE generation > 0")
    a.execute("UPDATE observations SET observation_date = '2023-01-20' WHERE id = 1")
    w.fact(
        None,
        w.cycle("reflector", None),
        "higher",
        sources=[5, 4],
        generation=2,
        observation_date="2026-03-02",
    )
    assert '"first_date"' not in exported(a)
    bring(b, tmp_path, exported(a))
    first_dates = "SELECT uid, first_date FROM observations WHERE first_date NOT NULL ORDER BY id"
    assert [date for _, date in b.execute(first_dates)] == [
        "1999-01-01",
        "2023-01-20",
        "2023-01-20",
    ]
    c = make("c")
    bring(c, tmp_path, exported(b))
    assert exported(c) == exported(b)


def test_a_request_to_forget_withholds_what_is_known_here(make: Make, tmp_path: Path) -> None:
    """What was withheld there since is withheld here too.

    The answer that reactivates it there reactivates it here.
    """
    a, b = make("a"), make("b")
    w = World(a)
    talk = w.conversation()
    said = w.say(talk, "I stole a medlar. Forget that", "Of course")
    cycle, (fact,) = w.observe(talk, said, "Stole a medlar")
    bring(b, tmp_path, exported(a))
    more = w.say(talk, "Do forget it", "Yes")
    cycle, _ = w.observe(talk, more)
    requests = [
        w.ask_to_forget(cycle, observation_id=fact),
        w.ask_to_forget(cycle, message_id=said[0]),
    ]
    a.execute("UPDATE observations SET withheld = 1")
    a.execute("UPDATE messages SET withheld = 1 WHERE id = ?", (said[0],))
    withheld = (
        "SELECT (SELECT total(withheld) FROM observations), (SELECT total(withheld) FROM messages)"
    )
    earlier = exported(a)
    for _ in range(2):
        bring(b, tmp_path, earlier)
        assert b.execute(withheld).fetchone() == (1, 1)
        assert violations(b) == []
    a.execute("UPDATE observations SET withheld = 0")
    a.execute("UPDATE questions SET answered_at = ?", (w.tick(),))
    later = exported(a)
    for text in (later, earlier):
        bring(b, tmp_path, text)
        assert b.execute(withheld).fetchone() == (0, 1)
        assert one(b, "SELECT count(*) FROM questions WHERE answered_at IS NULL") == 0
    assert requests


def test_a_request_is_applied_once_it_was_applied_there(make: Make, tmp_path: Path) -> None:
    """An import before the cycle was committed and one after it give what the last one gives."""
    a, b = make("a"), make("b")
    w = World(a)
    talk = w.conversation()
    said = w.say(talk, "I stole a medlar", "Oh", "Forget that. I like tea", "Of course")
    _, (fact,) = w.observe(talk, said[:2], "Stole a medlar")
    cycle, _ = w.observe(talk, said[2:], "Likes tea", commit=False)
    w.ask_to_forget(cycle, observation_id=fact)
    w.ask_to_forget(cycle, message_id=said[0])
    a.execute("UPDATE questions SET withheld_at = NULL")
    bring(b, tmp_path, exported(a))
    w.mark(talk, said[-1], "compacted")
    a.execute("UPDATE observations SET committed_at = ? WHERE committed_at IS NULL", (w.tick(),))
    a.execute("UPDATE observations SET withheld = 1 WHERE id = ?", (fact,))
    a.execute("UPDATE questions SET withheld_at = ?", (w.tick(),))
    bring(b, tmp_path, exported(a))
    assert exported(b) == exported(a)
    w.mark(talk, said[-1], "window")
    a.execute("UPDATE messages SET withheld = 1 WHERE id = ?", (said[0],))
    bring(b, tmp_path, exported(a))
    assert exported(b) == exported(a)
    assert violations(b) == []


def test_a_conversation_comes_back_from_the_machine_it_was_carried_on_at(
    make: Make, tmp_path: Path
) -> None:
    """What was unread when it left is archived there, and now here."""
    a, b = make("a"), make("b")
    here, there = World(a), World(b, "b", from_text("2026-03-02T00:00:00+00:00"))
    talk = here.conversation()
    here.observe(talk, here.say(talk, "I like tea", "Fine"), "Likes tea")
    here.say(talk, "Bye", "Bye")
    bring(b, tmp_path, exported(a))
    there.observe(talk, there.say(talk, "I row", "Fine"), "Rows")
    bring(a, tmp_path, exported(b))
    archived = a.execute("SELECT content, archived FROM messages ORDER BY id").fetchall()
    assert archived == [
        ("I like tea", 0), ("Fine", 0), ("Bye", 1), ("Bye", 1), ("I row", 0), ("Fine", 0),
    ]  # fmt: skip
    assert violations(a) == []


def test_a_conversation_that_an_earlier_version_deleted_stays_away(
    make: Make, tmp_path: Path
) -> None:
    """It left tombstones for the messages only; the title is gone too."""
    a, b = make("a"), make("b")
    wa = World(a)
    talk = wa.conversation("Affair with Bob")
    wa.say(talk, "It began in May", "I see")
    for (uid,) in a.execute("SELECT uid FROM messages").fetchall():
        b.execute(
            "INSERT INTO tombstones (message_uid, created_at) VALUES (?, ?)", (uid, wa.tick())
        )
    assert bring(b, tmp_path, exported(a)).left_out == (LeftOut(FORGOTTEN, 3),)
    assert b.execute("SELECT count(*) FROM conversations").fetchone() == (0,)


def test_cycles_of_a_deleted_conversation_do_not_come_with_its_new_messages(
    make: Make, tmp_path: Path
) -> None:
    """Their notes quote what was said; a fork of it has no parent any more."""
    a, b = make("a"), make("b")
    wa = World(a)
    talk = wa.conversation("Affair")
    said = wa.say(talk, "It began in May", "I see")
    wa.observe(talk, said, "Began in May")
    a.execute("UPDATE cycles SET notes = ?", ('["left out “It began in May”"]',))
    for (uid,) in a.execute("SELECT uid FROM messages UNION SELECT uid FROM conversations"):
        b.execute("INSERT INTO tombstones (message_uid, created_at) VALUES (?, ?)", (uid, START))
    wa.say(talk, "Ana eats no nuts", "Noted")
    wa.conversation("Fork", parent_id=talk, forked_at_message_id=said[-1])
    bring(b, tmp_path, exported(a))
    assert b.execute("SELECT title, parent_id FROM conversations").fetchall() == [
        (None, None), ("Fork", None),
    ]  # fmt: skip
    assert b.execute("SELECT content FROM messages").fetchall() == [
        ("Ana eats no nuts",), ("Noted",),
    ]  # fmt: skip
    assert b.execute("SELECT count(*) FROM cycles").fetchone() == (0,)
    assert violations(b) == []


def test_a_forgotten_name_does_not_come_with_another_note(make: Make, tmp_path: Path) -> None:
    """The entity is new here, and the note that gave it the name was forgotten here."""
    a, b = make("a"), make("b")
    wa = World(a)
    ana = wa.insert("entities", uid="ana", name="Ana", aliases='["Aninha"]')
    notes = [wa.keep(words) for words in ("Ana is Aninha", "Ana likes tea")]
    for note in notes:
        wa.relate(ana, ana, note)
    (gone,) = a.execute("SELECT uid FROM observations WHERE id = ?", notes[:1]).fetchone()
    b.execute("INSERT INTO tombstones (message_uid, created_at) VALUES (?, ?)", (gone, wa.tick()))
    bring(b, tmp_path, exported(a))
    assert b.execute("SELECT name, aliases FROM entities").fetchall() == [("Ana", "[]")]


def test_what_was_forgotten_here_is_not_asked_about_again(make: Make, tmp_path: Path) -> None:
    """A request for what has a tombstone here stays away, with an older export too."""
    a, b = make("a"), make("b")
    w = World(a)
    talk = w.conversation()
    said = w.say(talk, "I stole a medlar. Forget that", "Of course")
    cycle, (fact,) = w.observe(talk, said, "Stole a medlar")
    a.execute("UPDATE observations SET withheld = 1")
    w.ask_to_forget(cycle, observation_id=fact)
    w.ask_to_forget(cycle, message_id=said[0])
    w.say(talk, "Hello again")
    b.execute(
        "INSERT INTO tombstones (message_uid, created_at) "
        "SELECT uid, ? FROM json_each(?), (SELECT value AS uid FROM json_each(?))",
        (w.tick(), "[1]", json.dumps(["a-m-0002", "a-m-0003"])),
    )
    assert bring(b, tmp_path, exported(a)).left_out == (LeftOut(FORGOTTEN, 8),)
    assert one(b, "SELECT count(*) FROM questions") == 0
    assert violations(b) == []
