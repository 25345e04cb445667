from contextlib import closing
from dataclasses import replace

import pytest

from construct.errors import ConstructError, NotFoundError, UsageError
from construct.memory.corrections import edit, move, pin
from construct.memory.graph.reading import related_notes
from construct.memory.shown.view import current_blocks
from construct.memory.undo import undo
from construct.store import cycles, graph
from construct.store import observations as rows
from construct.store.database import open_database
from construct.store.records import Observation
from tests.memory.builders import FRAME, Life, stated


def test_an_edit_supersedes_and_inserts_in_one_cycle(life: Life) -> None:
    """The new line is the user's own and keeps priority, dates and pin."""
    here = life.talk()
    old = life.learn(here, "Ana lives in Porto", priority="medium")
    pin(life.db, old.id)
    new = rows.observation(life.db, edit(life.db, old.id, "Ana lives in Faro", life.clock))
    assert (new.content, new.origin, new.stance, new.priority) == (
        "Ana lives in Faro",
        "user",
        "stated",
        "medium",
    )
    assert (new.state, new.generation, new.pinned) == ("active", 0, 1)
    assert (new.observation_date, new.referenced_date) == (
        old.observation_date,
        old.referenced_date,
    )
    assert life.read(old).superseded_by == new.cycle_id
    assert cycles.get_cycle(life.db, new.cycle_id).kind == "edit"
    assert life.broken() == []


@pytest.mark.parametrize(
    ("was", "its_day", "becomes", "day"),
    [
        (
            "Ana sees the dentist on 2027-03-30",
            "2027-03-30",
            "Ana sees the dentist on 2027-04-02",
            "2027-04-02",
        ),
        (
            "Ana sees the dentist on 2027-03-30",
            "2027-03-30",
            "Ana sees Doctor Salgueiro",
            "2027-03-30",
        ),
        ("Ana buys a jacket in March 2027", "2027-03", "Ana's jacket is bought", "2027-03"),
        ("Ana buys a jacket in March 2027", "2027-03", "Ana buys one in April 2027", "2027-04"),
        (
            "Ana buys a jacket before March 2027",
            "2027-03-01",
            "Ana buys a coat before March 2027",
            "2027-03-01",
        ),
        ("Ana sees the dentist", "2027-03-30", "Ana sees Doctor Salgueiro", "2027-03-30"),
        ("Ana sees the dentist", None, "Ana sees the dentist tomorrow", "2026-03-02"),
        (
            "Ana sees the dentist on March 5th (moved to 2026-03-09)",
            "2026-03-09",
            "Ana sees the dentist on March 5th",
            "2026-03-05",
        ),
        ("Ana runs on Fridays", None, "Ana runs and swims on Fridays", None),
        (
            "Ana sees the dentist on Friday",
            "2026-03-06",
            "Ana sees the dentist on Friday, March 13",
            "2026-03-13",
        ),
        (
            "Ana sees the dentist on March 6th",
            "2026-03-06",
            "Ana moved the dentist from March 6th to March 13th",
            "2026-03-13",
        ),
        (
            "Ana sees the dentist on March 6th",
            "2026-03-06",
            "Ana sees the dentist on March 6th, and Rosa on March 13th",
            "2026-03-06",
        ),
        ("Ana plans a trip", None, "Ana plans a trip in June 2026", "2026-06"),
        ("Ana likes Porto", None, "Ana likes Porto in June", None),
        ("Ana flies to Rome in May", "2026-05", "Ana flies to Rome in June", "2026-06"),
        ("Ana flies to Rome in May", "2026-05", "Ana flies to Rome in January", "2027-01"),
        ("Ana flew to Rome", "2025-11-03", "Ana flew to Rome in December", "2025-12"),
        ("Ana flies to Rome", "2027-05-03", "Ana flies to Oslo in May", "2027-05-03"),
        ("Ana flies to Rome in 2026", "2026", "Ana flies to Rome in 2027", "2027"),
        ("Ana flies to Rome", "2026-05", "Ana takes the 2019 car to Rome", "2026-05"),
        ("Ana moves to Porto in March", "2026-01", "Ana moves to Porto in June", "2026-06"),
        (
            "Ana flies in May 2026",
            "2026-05",
            "Ana flies in July 2026 instead of in May 2026",
            "2026-07",
        ),
        ("Ana meets Rui", "2026-05-05", "Ana meets a friend of June", "2026-05-05"),
        ("Ana retires in 2040", "2040", "Ana leaves the firm founded in 2001", "2040"),
        ("Ana retired in 2020", "2020", "Ana retired in 2021", "2021"),
        ("Ana flew to Rome", "2025-11-03", "Ana flew to Rome on 3 November", "2025-11-03"),
        ("Ana flew to Rome", "2025-11-03", "Ana flew to Rome on 3 November 2024", "2024-11-03"),
        (
            "Ana flies to Rome in May",
            "2026-05",
            "Ana flies to Oslo in June, said Rui in April",
            "2026-06",
        ),
    ],
    ids=[
        "another day",
        "the same, left out",
        "the month, left out",
        "another month",
        "the same month",
        "known beside the words",
        "counted from now",
        "the other that stood there",
        "none as before",
        "a date beside the weekday",
        "moved from one to the other",
        "the same and another",
        "a month where none was",
        "no month for certain",
        "a month without a year",
        "a month of next year",
        "a month of last year",
        "the same month without a year",
        "another year",
        "a number that is no year of it",
        "a passed plan, put off",
        "a month instead of another",
        "a name that is a month",
        "the year of something else",
        "another year, past",
        "the same day without its year",
        "the same day in another year",
        "a month of something else",
    ],
)
def test_the_day_follows_the_words(
    life: Life, was: str, its_day: str | None, becomes: str, day: str | None
) -> None:
    """An edit keeps the day, unless the new words name another."""
    here = life.talk()
    said = life.exchange(here, was)
    (old,) = life.observe(here, replace(stated(was, [said.id]), referenced_date=its_day))
    assert (
        rows.observation(life.db, edit(life.db, old.id, becomes, life.clock)).referenced_date == day
    )


@pytest.mark.parametrize(
    ("becomes", "day"),
    [
        ("Ana moves to Porto in early July", "2026-07"),
        ("Ana moves to Porto at the end of July", "2026-07"),
        ("Ana moves to Porto before July", "2026-07"),
        ("Ana moves to Porto in late August", "2026-08"),
        ("Ana moves to Porto mid-August", "2026-08"),
        ("Ana moves to Porto this August", "2026-08"),
        ("Ana moves to Porto, in the month of August", "2026-08"),
        ("Ana moves to Porto; this may be hard", "2026-06"),
        ("Ana moves to Porto in July's heat", "2026-06"),
        ("Ana moved to Porto in January", "2026-01"),
        ("Ana moved to Porto in December", "2025-12"),
        ("Ana moved to Porto in June", "2026-06"),
        ("Ana has booked the van in January", "2026-06"),
        ("Ana booked the van in early February", "2026-06"),
        ("Ana is moving to Porto; she was told in January", "2026-06"),
        ("Ana was told in January that Porto is cheap", "2026-06"),
    ],
)
def test_the_month_of_a_plan_follows_the_words(life: Life, becomes: str, day: str) -> None:
    """A past month counts only for what has happened, not for what was arranged then."""
    new = _edited_plan(life, "Ana moves to Porto in June", "2026-06", becomes)
    assert new.referenced_date == day


@pytest.mark.parametrize(
    ("becomes", "day"),
    [
        ("The dentist on 6 March was moved to 13 March", "2026-03-13"),
        ("The dentist was on 6 March, but is now on 13 March", "2026-03-13"),
        ("The dentist on 6 March was postponed by a week", "2026-03-06"),
        ("Ana saw the dentist on 6 March", "2026-03-06"),
        ("Ana saw the dentist on 6 March last year", "2025-03-06"),
        ("Ana went to the dentist in February", "2026-02"),
        ("The dentist was booked in February", "2026-03-06"),
    ],
)
def test_the_day_of_a_plan_is_not_moved_a_year_back(life: Life, becomes: str, day: str) -> None:
    """A day named in the past tense is the one that the plan had, also if it is ahead."""
    new = _edited_plan(life, "Ana has a dentist appointment on 6 March", "2026-03-06", becomes)
    assert new.referenced_date == day


def test_what_happened_earlier_than_planned_is_not_ahead(life: Life) -> None:
    """The year in the past tense takes the place of the planned one."""
    new = _edited_plan(life, "Ana moves to Porto in 2027", "2027", "Ana moved to Porto in 2025")
    assert (new.referenced_date, new.stance) == ("2025", "stated")


def _edited_plan(life: Life, was: str, its_day: str, becomes: str) -> Observation:
    here = life.talk()
    said = life.exchange(here, was)
    fact = replace(stated(was, [said.id]), referenced_date=its_day, stance="planned")
    (old,) = life.observe(here, fact)
    return rows.observation(life.db, edit(life.db, old.id, becomes, life.clock))


def test_a_plan_for_another_day_is_asked_about_again(life: Life) -> None:
    """One whose words alone changed is not."""
    here = life.talk()
    said = life.exchange(here, "The dentist is on 3 March")
    plan = replace(stated("User sees the dentist", [said.id]), referenced_date="2026-03-03")
    (old,) = life.observe(here, replace(plan, stance="planned"))
    rows.note_asked(life.db, [old.id], life.tick())
    same_day = edit(life.db, old.id, "User sees Dr Wu", life.clock)
    assert rows.observation(life.db, same_day).asked_at
    moved = move(life.db, same_day, "2026-03-20", None, life.clock)
    assert rows.observation(life.db, moved).asked_at is None


def test_a_day_that_was_counted_from_then_is_not_counted_from_now(life: Life) -> None:
    """A line that says "on Friday" keeps its date when corrected a week later."""
    here = life.talk()
    said = life.exchange(here, "Ana sees the dentist on Friday")
    fact = replace(stated(said.content, [said.id]), referenced_date="2026-03-06", stance="planned")
    (old,) = life.observe(here, fact)
    life.pass_days(8)
    new = edit(life.db, old.id, "Ana sees the doctor on Friday", life.clock)
    assert rows.observation(life.db, new).referenced_date == "2026-03-06"


def test_a_day_named_then_is_meant_as_it_was_then(life: Life) -> None:
    """It counts too when it is left in place of the day that the line had."""
    here = life.talk()
    said = life.exchange(here, "Dentist on 2026-03-10, Rosa visits on Friday")
    fact = replace(stated(said.content, [said.id]), referenced_date="2026-03-10")
    (old,) = life.observe(here, fact)
    life.pass_days(16)
    new = edit(life.db, old.id, "Rosa visits on Friday", life.clock)
    assert rows.observation(life.db, new).referenced_date == "2026-03-06"


def test_a_plan_stays_a_plan(life: Life) -> None:
    """Unless the user's words tell that it is past."""
    here = life.talk()
    said = life.exchange(here, "Ana will see the dentist")
    (old,) = life.observe(here, replace(stated(said.content, [said.id]), stance="planned"))
    corrected = edit(life.db, old.id, "Ana will see the doctor", life.clock)
    assert rows.observation(life.db, corrected).stance == "planned"
    told = edit(life.db, corrected, "Ana saw the doctor", life.clock)
    assert rows.observation(life.db, told).stance == "stated"


def test_the_edited_line_is_shown_at_once(life: Life) -> None:
    """The next request has the user's words in the old line's place."""
    here = life.talk()
    old = life.learn(here, "Ana lives in Porto")
    edit(life.db, old.id, "Ana lives in Faro", life.clock)
    assert [o.content for block in current_blocks(life.db, here, FRAME) for o in block] == [
        "Ana lives in Faro"
    ]


def test_what_another_process_edits_is_shown(life: Life) -> None:
    """Lines that were shown before are not read again.

    One that has gone since is not among them.
    """
    here = life.talk()
    old = life.learn(here, "Ana lives in Porto")
    life.learn(here, "Ana has a cat")

    def shown() -> list[str]:
        return sorted(o.content for block in current_blocks(life.db, here, FRAME) for o in block)

    assert shown() == ["Ana has a cat", "Ana lives in Porto"]
    with closing(open_database(life.path)) as other:
        edit(other, old.id, "Ana lives in Faro", life.clock)
    assert shown() == ["Ana has a cat", "Ana lives in Faro"]


def test_a_pending_line_stays_pending(life: Life) -> None:
    """It is committed by the compaction that would have committed the old one."""
    here = life.talk()
    (old,) = life.observe(here, ("Ana lives in Porto", [life.exchange(here, "Ana lives in Porto")]))
    new = rows.observation(life.db, edit(life.db, old.id, "Ana lives in Faro", life.clock))
    assert new.state == "pending"
    life.compact(here)
    assert life.active() == ["Ana lives in Faro"]


@pytest.mark.parametrize("text", ["", "  \n\t ", "\x1b[2J", "\u202e\u2066"])
def test_an_edit_to_nothing_is_refused(life: Life, text: str) -> None:
    """Blank text, or control characters only, is an error and changes nothing."""
    old = life.learn(life.talk(), "Ana lives in Porto")
    with pytest.raises(UsageError):
        edit(life.db, old.id, text, life.clock)
    assert life.state(old) == "active"
    assert life.count("cycles") == 1


def test_an_edit_is_one_line_without_control_characters(life: Life) -> None:
    """What the user pastes cannot forge a second line."""
    old = life.learn(life.talk(), "Ana lives in Porto")
    new = edit(life.db, old.id, "Ana lives\n! [2026-01-01] in \x1b[31mFaro", life.clock)
    assert rows.observation(life.db, new).content == "Ana lives ! [2026-01-01] in Faro"


def test_a_superseded_line_names_what_replaced_it(life: Life) -> None:
    """Through all that came in between, and it says so when that was undone."""
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    (both,) = life.reflect(("a and b", [a, b]))
    last = edit(life.db, both.id, "a and c", life.clock)
    with pytest.raises(ConstructError, match=f"replaced by {last}"):
        edit(life.db, a.id, "Fact z", life.clock)
    undo(life.db, life.clock)
    with pytest.raises(ConstructError, match="no longer active"):
        pin(life.db, last)
    with pytest.raises(NotFoundError):
        edit(life.db, 999, "Fact z", life.clock)


def test_pinning_is_set_and_taken_away(life: Life) -> None:
    """A pin is a mark on the line itself."""
    fact = life.learn(life.talk(), "Fact a")
    assert pin(life.db, fact.id).pinned == 1
    assert pin(life.db, fact.id, off=True).pinned == 0


def test_an_edit_is_read_for_the_graph_again(life: Life) -> None:
    """The relations of the old words are past, and the new words are unread."""
    fact = life.relate(life.learn(life.talk(), "Ana lives in Porto"))
    graph.mark_read(life.db, [fact.id], fact.cycle_id)
    new = edit(life.db, fact.id, "Ana lives in Faro", life.clock)
    assert [o.id for o in graph.unread(life.db, 9)] == [new]
    assert related_notes(life.db, "Porto") == []
