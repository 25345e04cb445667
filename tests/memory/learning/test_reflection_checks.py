"""The checks of reflections: what code can prove, in every language alike."""

from collections.abc import Sequence
from datetime import date

import pytest

from construct.memory.learning.proposals import ProposedObservation, ReflectionProposal
from construct.memory.learning.reflection_checks import (
    Change,
    ChangeKind,
    Reflection,
    Said,
    check_reflection,
    why_not_outdated,
)
from construct.store.records import Observation
from tests.memory.making import observation, proposed

TODAY = date(2026, 3, 20)


def said(notes: Sequence[Observation]) -> Said:
    """Return times as if each note rested on a message of its own number."""
    return {o.id: (f"2026-03-{o.id:02}", o.id) for o in notes}


def judge(notes: Sequence[Observation], **proposal: object) -> Reflection:
    """Return what the checks leave of a proposal over these notes."""
    return check_reflection(ReflectionProposal(**proposal), notes, said(notes), TODAY)  # type: ignore[arg-type]


def joined(content: str, *notes: Observation, stance: str = "stated") -> Reflection:
    """Return what the checks leave of one line over all these notes."""
    return judge(notes, observations=(proposed(content, [o.id for o in notes], stance=stance),))


ANA = observation(1, "User's sister Ana is a nurse in Porto", priority="high", day="2026-03-01")
RITA = observation(
    2, "User's sister Rita is a lawyer, 34 years old", priority="high", day="2026-03-09"
)
TEA = observation(3, "User likes green tea in the morning", priority="medium")
CLUB = observation(4, "User joined the Lisboa Chess Club in 2019", priority="medium")
IN_MAY = TEA._replace(referenced_date="2026-05")
NO_NUTS = observation(5, "User does not eat nuts", priority="high")
BRAGA = observation(7, "User moved to Braga", priority="high", day="2026-03-04")
TIAGO = (
    observation(1, "O Tiago mora no Porto", priority="high"),
    observation(2, "O Tiago não come peixe", priority="high"),
)
SUN = observation(6, "The weather was nice and sunny", priority="low")


def test_an_honest_line_passes_with_what_follows_from_its_sources() -> None:
    """A line gets the highest priority of its sources and their range of days.

    What the worker wrote makes no difference.
    """
    (change,) = joined(
        "User has two sisters: Ana (nurse, Porto) and Rita (lawyer, 34)", ANA, RITA
    ).changes
    line = change.line
    assert line is not None
    assert (line.priority, line.first_date, line.observation_date) == (
        "high",
        "2026-03-01",
        "2026-03-09",
    )
    assert change.retired == (1, 2)
    assert change.new_tokens < change.old_tokens


@pytest.mark.parametrize(
    ("content", "notes", "reason"),
    [
        ("User has two sisters, Ana and Rita", (ANA, RITA), "“34” of"),
        ("User's sisters: Ana (nurse, Porto), Rita (lawyer, 35)", (ANA, RITA), "do not say “35”"),
        ("Ana, nurse in Porto", (ANA._replace(pinned=1), TEA), "pinned"),
        ("Ana, nurse in Porto", (ANA._replace(origin="user"), TEA), "the user's own"),
        ("User flies", (IN_MAY, SUN._replace(referenced_date="2026-06")), "different days"),
        ("User likes tea", (TEA, TEA._replace(id=9, stance="quoted")), "different stances"),
        (
            "User likes tea",
            (TEA._replace(stance="asked"), TEA._replace(id=9, stance="planned")),
            "different stances",
        ),
    ],
)  # fmt: skip
def test_what_code_can_refute_is_refused(
    content: str, notes: tuple[Observation, ...], reason: str
) -> None:
    """Numbers lost or invented, owners and pins, stances and days."""
    found = joined(content, *notes)
    assert not found.changes
    assert reason in found.refused[0].reason


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        ("User moved to Braga in March 2026", (BRAGA,)),
        ("User likes tea; sunny", (TEA, SUN)),
        ("User asked about tea", (TEA._replace(stance="asked"), SUN._replace(stance="asked"))),
        ("O Tiago mora no Porto, não come peixe", TIAGO),
        ("User eats nuts", (NO_NUTS, TEA)),
        ("User's sister Zoe likes tea", (SUN, TEA)),
    ],
)  # fmt: skip
def test_what_code_cannot_refute_is_left_to_the_verifier(
    content: str, notes: tuple[Observation, ...]
) -> None:
    """A note's own date counts as said; low notes may vanish.

    Names and denial are for the verifier, in every language.
    """
    found = joined(content, *notes, stance=notes[0].stance)
    assert not found.refused


def test_same_keeps_the_weightier_note() -> None:
    """What stays is the user's own, then the one of higher priority, then the later.

    All numbers must be in it.
    """
    first = observation(1, "User likes tea")
    later = observation(2, "User likes tea a lot")
    high = observation(3, "User likes tea", priority="high")
    own = observation(4, "User likes tea", origin="user", priority="low")
    for a, b, stays in ((first, later, 2), (later, high, 3), (high, own, 4)):
        for pair in ((a.id, b.id), (b.id, a.id)):
            (change,) = judge([a, b], same=(pair,)).changes
            assert (change.stays, change.kind) == (stays, "same")
    counted = observation(1, "User drinks 7 cups of tea")
    assert "“7” would be gone" in judge([counted, later], same=((1, 2),)).refused[0].reason
    assert judge([first, later._replace(referenced_date="2026-05")], same=((1, 2),)).refused
    assert judge([first, later._replace(stance="asked")], same=((1, 2),)).refused


LISBON = observation(1, "User lives in Lisbon", priority="high", day="2026-03-01")
PORTO = observation(2, "User lives in Porto", priority="medium", day="2026-03-02")


def test_what_an_observer_may_not_replace() -> None:
    """A pinned note, and one that was said in the same message."""
    earlier, later = ("2026-03-01", 1), ("2026-03-02", 2)
    assert why_not_outdated(LISBON, PORTO, earlier, later) is None
    assert "pinned" in str(why_not_outdated(LISBON._replace(pinned=1), PORTO, earlier, later))
    assert "not said later" in str(why_not_outdated(LISBON, PORTO, later, later))


def test_outdated_needs_what_was_said_later() -> None:
    """A line is only outdated by one said later, whatever their ids.

    Last year's words, imported today, do not overrule today's.
    """
    assert judge([LISBON, PORTO], outdated=((1, 2),)).changes == (
        Change(ChangeKind.OUTDATED, (1,), stays=2),
    )
    assert "not said later" in judge([LISBON, PORTO], outdated=((2, 1),)).refused[0].reason
    imported = check_reflection(
        ReflectionProposal(outdated=((1, 2),)), [LISBON, PORTO],
        {1: ("2026-03-01T10:00", 1), 2: ("2025-03-01T10:00", 2)}, TODAY,
    )  # fmt: skip
    assert "not said later" in imported.refused[0].reason


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (LISBON._replace(pinned=1), PORTO, "pinned"),
        (LISBON._replace(origin="user"), PORTO, "the user's own"),
        (LISBON, PORTO._replace(content="User drives a Skoda"), "shares no word"),
        (LISBON._replace(content="User住在里斯本"), PORTO._replace(content="User开车"), "no word"),
        (LISBON, PORTO._replace(stance="planned"), "stance"),
        (LISBON, PORTO._replace(observation_date="2026-02-01"), "earlier date"),
    ],
)
def test_what_is_never_outdated(old: Observation, new: Observation, reason: str) -> None:
    """Owners and pins, weaker stances, earlier days."""
    assert reason in judge([old, new], outdated=((1, 2),)).refused[0].reason


def test_one_line_outdates_three() -> None:
    """A fourth is kept."""
    notes = [observation(i, f"User lives in place {i}") for i in range(1, 6)]
    found = judge(notes, outdated=tuple((i, 5) for i in range(1, 5)))
    assert [c.retired for c in found.changes] == [(1,), (2,), (3,)]
    assert "at most 3" in found.refused[0].reason


def test_where_a_note_is_named_twice_the_first_use_counts() -> None:
    """Lines before same, before outdated, before drop.

    What stands for another cannot go itself.
    """
    notes = [TEA, SUN, SUN._replace(id=7), LISBON._replace(id=8), PORTO._replace(id=9)]
    line = proposed("User likes tea; sunny", [3, 6])
    again = proposed("Nice weather", [6, 7])
    found = judge(
        notes, observations=(line, again), same=((6, 7),), outdated=((8, 9),), drop=(6, 7, 9)
    )
    assert [(c.kind, c.retired) for c in found.changes] == [
        ("line", (3, 6)),
        ("line", (7,)),
        ("outdated", (8,)),
    ]
    chain = judge(notes, same=((6, 7),), outdated=((7, 9),))
    assert [c.kind for c in chain.changes] == ["same"]


def test_only_low_notes_are_dropped() -> None:
    """What matters needs something in its place."""
    found = judge([TEA, SUN, SUN._replace(id=7, pinned=1)], drop=(3, 6, 7))
    assert [c.retired for c in found.changes] == [(6,)]
    assert len(found.refused) == 2


def test_it_must_shrink() -> None:
    """New lines are weighed against what they replace.

    Notes that only go need no weighing.
    """
    long = joined(
        "User likes green tea in the morning, and the weather was nice and sunny, so User went out",
        TEA,
        SUN,
    )
    assert long.changes
    assert not long.shrinks
    assert judge([SUN, TEA], drop=(6,)).shrinks
    assert not Reflection().shrinks


def test_a_line_for_one_note_must_be_shorter() -> None:
    """What only says a note again is neither done nor refused."""
    found = judge(
        [TEA],
        observations=(
            ProposedObservation(TEA.content, "medium", "stated", "2026-03-01", None, (3,)),
        ),
    )
    assert found == Reflection()


def test_what_stands_for_another_since_the_first_answer_is_joined_no_more() -> None:
    """Else that other one would be nowhere."""
    one, two = (
        observation(20, "User has a dog called Rex"),
        observation(21, "User has a dog called Rex, a big one"),
    )
    walks = observation(22, "User walks Rex each day in the big park by the river with friends")
    settled = judge([one, two, walks], same=((20, 21),))
    assert [c.stays for c in settled.changes] == [21]
    said = {o.id: (o.created_at, o.id) for o in (one, two, walks)}
    line = ReflectionProposal((proposed("User walks Rex, a big dog", [21, 22]),))
    assert not check_reflection(line, [one, two, walks], said, TODAY, settled.changes).changes
