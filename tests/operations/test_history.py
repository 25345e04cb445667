"""What changed in memory: between moments, by week, by generation."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from construct.clock import Clock, to_text
from construct.errors import UsageError
from construct.language.moments import parse_moment
from construct.memory.corrections import edit
from construct.memory.forgetting import forget
from construct.memory.undo import undo
from construct.operations.history import PeriodSummary, bundled, diff, folded, timeline
from construct.operations.memory import list_in_scope
from construct.operations.report import report
from construct.store.note_history import Generation, active_at, generations
from construct.views.report.page import page
from tests.memory.builders import Life
from tests.support.context import context


def believed(life: Life, moment: str) -> list[str]:
    """Return what was active at a moment."""
    return sorted(o.content for o in active_at(life.db, moment))


def test_as_of_lists_what_was_active_then(life: Life) -> None:
    """Pending ones are not yet, superseded ones no longer, in it."""
    here = life.talk()
    start = life.tick()
    (waiting,) = life.observe(here, ("Fact a", [life.exchange(here, "Fact a")]))
    pending = life.tick()
    life.compact(here)
    first = life.tick()
    b = life.learn(here, "Fact b")
    second = life.tick()
    life.reflect(("a and b", [life.read(waiting), b]))
    assert [believed(life, m) for m in (start, pending, first, second, life.tick())] == [
        [], [], ["Fact a"], ["Fact a", "Fact b"], ["a and b"],
    ]  # fmt: skip


def test_what_was_undone_never_was(life: Life) -> None:
    """An undone cycle shows in no past state.

    Neither what it made nor what it superseded shows.
    """
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    life.reflect(("a and b", [a, b]))
    during = life.tick()
    undo(life.db, life.clock)
    assert believed(life, during) == ["Fact a", "Fact b"]
    undo(life.db, life.clock)
    assert believed(life, during) == ["Fact a"]


def test_an_undone_edit_never_was(life: Life) -> None:
    """The old words stand at every moment; a second edit counts from its own time."""
    here = life.talk()
    old = life.learn(here, "Fact a")
    edit(life.db, old.id, "Fact x", life.clock)
    during = life.tick()
    undo(life.db, life.clock)
    edit(life.db, old.id, "Fact y", life.clock)
    assert believed(life, during) == ["Fact a"]
    assert believed(life, life.tick()) == ["Fact y"]


def test_diff_tells_learned_changed_and_gone(life: Life) -> None:
    """A condensation and a correction are changes of what they replaced.

    What was merely dropped is gone.
    """
    here = life.talk()
    a, b, low = (life.learn(here, f"Fact {x}", priority="low") for x in "abc")
    old = life.learn(here, "Lives in Lisbon")
    since = life.tick()
    new = life.learn(here, "Moved to Porto")
    passing = life.learn(here, "Fact in between")
    (both,) = life.reflect(("a and b", [a, b, passing]), dropped=[low], outdated=[(old, new)])
    other = life.learn(here, "Fact d")
    found = diff(context(life.db), since, life.tick())
    assert [o.id for o in found.learned] == [other.id]
    assert [(o.id, n.id) for o, n in found.changed] == [
        (a.id, both.id),
        (b.id, both.id),
        (old.id, new.id),
    ]
    assert [o.id for o in found.gone] == [low.id]


def test_diff_follows_a_fact_through_several_changes(life: Life) -> None:
    """Edited, condensed and edited again, a fact is one change.

    It goes from the first text to the last.
    """
    here = life.talk()
    a, b = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    since = life.tick()
    (both,) = life.reflect(("a and b", [a, b]))
    last = edit(life.db, both.id, "a, b and c", life.clock)
    found = diff(context(life.db), since, life.tick())
    assert [(o.id, n.id) for o, n in found.changed] == [(a.id, last), (b.id, last)]
    assert (found.learned, found.gone) == ((), ())


def test_diff_of_nothing_is_empty_and_backwards_is_refused(life: Life) -> None:
    """Between a moment and itself nothing changes.

    From later to earlier is a wrong use.
    """
    life.learn(life.talk(), "Fact a")
    now = life.tick()
    found = diff(context(life.db), now, now)
    assert (found.learned, found.changed, found.gone) == ((), (), ())
    with pytest.raises(UsageError):
        diff(context(life.db), life.tick(), now)


def test_what_was_forgotten_is_in_no_past_moment(life: Life) -> None:
    """What was forgotten shows in no past state.

    The other sources of a reflection that went with it stand as if never condensed.
    """
    here = life.talk()
    a, b = life.learn(here, "Zebra"), life.learn(here, "Yak")
    life.reflect(("Zebra, Yak", [a, b]))
    during = life.tick()
    forget(life.db, ("observation", a.id), life.clock, words=True)
    assert believed(life, during) == ["Yak"]


LISBON = ZoneInfo("Europe/Lisbon")
NOW = Clock(
    datetime(2026, 3, 29, 12, 0, tzinfo=UTC), LISBON
)  # the day on which summer time begins there


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026-03-28", "2026-03-28T00:00:00+00:00", "2026-03-28T23:59:59.999999+00:00"),
        ("2026-03-29", "2026-03-29T00:00:00+00:00", "2026-03-29T22:59:59.999999+00:00"),
        ("2026-03-30", "2026-03-29T23:00:00+00:00", "2026-03-30T22:59:59.999999+00:00"),
        ("today", "2026-03-29T00:00:00+00:00", "2026-03-29T22:59:59.999999+00:00"),
        (" Yesterday ", "2026-03-28T00:00:00+00:00", "2026-03-28T23:59:59.999999+00:00"),
        ("2026-03-30T08:30", "2026-03-30T07:30:00+00:00", None),
        ("2026-03-30 08:30:05", "2026-03-30T07:30:05+00:00", None),
        ("2026-03-30t08:30z", "2026-03-30T08:30:00+00:00", None),
        ("2026-03-30T08:30-05:00", "2026-03-30T13:30:00+00:00", None),
        ("7d", "2026-03-22T12:00:00+00:00", None),
        ("2W", "2026-03-15T12:00:00+00:00", None),
        ("3h", "2026-03-29T09:00:00+00:00", None),
        ("now", "2026-03-29T12:00:00+00:00", None),
    ],
)
def test_moments_are_read_as_people_write_them(text: str, begin: str, end: str | None) -> None:
    """A day is the user's, from midnight to its last microsecond.

    That also holds on the days the clock changes.
    """
    assert parse_moment(text, NOW) == datetime.fromisoformat(begin)
    assert parse_moment(text, NOW, end_of_day=True) == datetime.fromisoformat(end or begin)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "7", "7x", "-7d", "2026-13-01", "2026-02-30", "26-03-01", "999999w", "10000-01-01",
     "2026-03-30T", "2026-03-30T25:00", "٧d", "2026-03-30\x1b08:30", "d"],
)  # fmt: skip
def test_what_is_no_moment_is_a_wrong_use(text: str) -> None:
    """Words, impossible dates, and what lies outside the calendar."""
    for hours in (14, -12):
        clock = Clock(NOW.fixed, timezone(timedelta(hours=hours)))
        with pytest.raises(UsageError, match="Not a date"):
            parse_moment(text, clock, end_of_day=True)


@pytest.mark.parametrize("hours", [14, -12])
def test_the_calendar_is_taken_to_its_ends(hours: int) -> None:
    """The first and last day of the calendar are valid in every time zone.

    They become the nearest moments that UTC has.
    """
    clock = Clock(NOW.fixed, timezone(timedelta(hours=hours)))
    assert parse_moment("9999-12-31", clock, end_of_day=True).year == 9999
    assert parse_moment("0001-01-01", clock).year == 1


def test_moments_compare_with_what_is_stored() -> None:
    """A parsed moment, stored as text, sorts as time does."""
    assert to_text(parse_moment("2026-03-28", NOW)) < to_text(
        parse_moment("2026-03-28", NOW, end_of_day=True)
    )


def test_a_life_by_week(life: Life) -> None:
    """Each week says what was learned, condensed and corrected.

    It also says what was active at its end. No week is left out.
    """
    here = life.talk()
    one, two = life.learn(here, "I live in Lisbon"), life.learn(here, "My flat has two rooms")
    life.pass_days(8)
    life.reflect(("I live in Lisbon in a flat with two rooms", [one, two]))
    three = life.learn(here, "I cycle")
    life.pass_days(14)
    edit(life.db, three.id, "I cycle to work.", life.clock)
    assert timeline(context(life.db, life.clock)) == [
        PeriodSummary(date(2026, 2, 23), {"high": 2}, 0, 0, 0, {0: 2}),
        PeriodSummary(date(2026, 3, 2), {}, 0, 0, 0, {0: 2}),
        PeriodSummary(date(2026, 3, 9), {"high": 1}, 2, 1, 0, {0: 1, 1: 1}),
        PeriodSummary(date(2026, 3, 16), {}, 0, 0, 0, {0: 1, 1: 1}),
        PeriodSummary(date(2026, 3, 23), {}, 1, 0, 1, {0: 1, 1: 1}),
    ]


def test_what_was_undone_is_in_no_week(life: Life) -> None:
    """An undone reflection leaves no trace in the weeks, nor in the generations."""
    here = life.talk()
    lines = [life.learn(here, "I live in Lisbon"), life.learn(here, "My flat has two rooms")]
    before = timeline(context(life.db, life.clock)), generations(life.db)
    life.reflect(("I live in Lisbon in a flat with two rooms", lines))
    tokens = sum(o.token_count for o in lines)
    assert [g.number for g in generations(life.db)] == [0, 1]
    assert generations(life.db)[0] == Generation(0, 2, 0, 0, 0, 2)
    undo(life.db, life.clock)
    assert (timeline(context(life.db, life.clock)), generations(life.db)) == before
    assert before[1] == [Generation(0, 2, 2, tokens, 0, 0)]


def test_nothing_learned_is_no_week(life: Life) -> None:
    """Without an observation there is nothing to show."""
    assert timeline(context(life.db, life.clock)) == []
    assert generations(life.db) == []


@pytest.mark.parametrize(
    ("years", "unit"), [(0.3, "week"), (1, "month"), (3, "quarter"), (12, "year")]
)
def test_years_fit_a_screen(years: float, unit: str) -> None:
    """Weeks are bundled as little as the screen allows.

    Their sums stay the same, and so does what was active last.
    """
    monday = date(2026, 1, 5)
    lived = [
        PeriodSummary(monday + timedelta(weeks=n), {"high": 2, "low": 1}, 1, n % 2, 0, {0: n})
        for n in range(int(52 * years))
    ]
    found, bundles = bundled(lived, 16)
    assert (found, bundles[0].begin.year) == (unit, 2026)
    assert len(folded(bundles)) <= 16
    assert sum(one.learned for one in bundles) == 3 * len(lived)
    assert sum(one.priorities["high"] for one in bundles) == 2 * len(lived)
    assert sum(one.reflections for one in bundles) == len(lived) // 2
    assert bundles[-1].active == {0: len(lived) - 1}


def test_quiet_periods_in_a_row_are_one_line() -> None:
    """They take as much room as one."""
    quiet, busy = (
        PeriodSummary(date(2026, 1, 5), {}, 0, 0, 0, {0: 1}),
        PeriodSummary(date(2026, 1, 12), {"low": 1}, 0, 0, 0, {0: 1}),
    )
    assert list(map(len, folded([quiet, quiet, busy, busy, quiet]))) == [2, 1, 1, 1]


def test_the_counts_agree(life: Life) -> None:
    """`/memory`, `/timeline`, `/diff` and the report give the same count.

    The file has something pending, withheld, condensed, edited and undone.
    """
    here = life.talk()
    since = life.clock.now() - timedelta(days=1)
    first, second = life.learn(here, "Fact a"), life.learn(here, "Fact b")
    life.reflect(("a and b", [first, second]))
    edit(life.db, life.learn(here, "Fact c").id, "Fact d", life.clock)
    life.learn(here, "Fact e")
    undo(life.db, life.clock)
    withheld = life.learn(here, "Fact f")
    life.db.execute("UPDATE observations SET withheld = 1 WHERE id = ?", (withheld.id,))
    life.observe(here, ("Fact g", [life.exchange(here, "Fact g")]))
    ctx = context(life.db, life.clock, here=here)
    found = diff(ctx, since.isoformat())
    assert len(list_in_scope(ctx).observations) == 4
    assert sum(timeline(ctx)[-1].active.values()) == 4
    assert (found.known_before, found.known_after) == (0, 4)
    assert found.known_after == len(found.learned)
    assert "<dt>remembered</dt><dd>4</dd>" in page(report(ctx), life.clock)
