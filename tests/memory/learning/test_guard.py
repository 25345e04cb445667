"""The guard: what of a condensation is believed, rule by rule, and over ten careless generations."""

from collections.abc import Sequence

import pytest

from construct.memory.learning.guard import Verdict, judge, loss
from construct.memory.learning.proposals import Condensation, Draft
from construct.memory.shown.lines import line_tokens
from construct.store.records import Observation
from tests.memory.careless import hold, simulate
from tests.memory.making import draft, observation

Pairs = Sequence[tuple[int, int]]


def verdict(
    given: Sequence[Observation], *drafts: Draft, superseded: Sequence[int] = (), outdated: Pairs = ()
) -> Verdict:
    """Judge a proposal over observations each of which rests on the message of its own number."""
    return judge(Condensation(drafts, tuple(superseded), tuple(outdated)), given, {o.id: o.id for o in given})


def reason(given: Sequence[Observation], proposed: Draft) -> str:
    """Return why a single draft was refused; fails when it was not."""
    found = verdict(given, proposed)
    assert not found.drafts
    assert not found.gone
    return "\n".join(found.notes)


def test_a_good_merge_is_believed() -> None:
    """Two high lines become one shorter one when it keeps every term of both."""
    given = [
        observation(1, "User has a dentist appointment on March 5th", priority="high"),
        observation(2, "User's dentist appointment is at 9am", priority="high"),
        observation(3, "User likes tea"),
    ]
    found = verdict(given, draft("User has a dentist appointment on March 5th at 9am", [1, 2], priority="high"))
    assert [d.content for d in found.drafts] == ["User has a dentist appointment on March 5th at 9am"]
    assert found.replaced == found.gone == {1, 2}
    assert found.notes == ()
    assert found.shrinks
    assert found.old_tokens == given[0].token_count + given[1].token_count
    assert found.new_tokens == line_tokens(found.drafts[0]) < found.old_tokens


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ("User is vegetarian", "User is a vegetarian", "User is a vegetarian"),
        ("User has two cats", "User has 2 cats", "User has 2 cats"),
        ("User's sister Ana lives in Porto", "Ana, User's sister, lives in Porto", "User's sister Ana lives in Porto"),
        ("I love my new bike", "I really love my new bike!", "I really love my new bike"),
        ("User prefers short answers", "User prefers answers that are short", "User prefers short answers"),
        ("User doesn't eat meat", "User does not eat meat", "User does not eat meat"),
        ("User lives in “Porto”", "USER LIVES IN PORTO", "User lives in Porto"),
        ("用户住在北京", "用户住在北京。", "用户住在北京"),
        ("Nutzer wohnt in Köln", "Nutzer wohnt jetzt in Köln", "Nutzer wohnt jetzt in Köln"),
    ],
)
def test_near_duplicates_merge(first: str, second: str, line: str) -> None:
    """Two high lines that say the same become one, written either way."""
    given = [observation(1, first, priority="high"), observation(2, second, priority="high")]
    found = verdict(given, draft(line, [1, 2]))
    assert found.replaced == {1, 2}, found.notes
    assert found.shrinks


def test_what_only_says_a_line_again_leaves_it_as_it_is() -> None:
    """No shorter and of one source, it gains nothing: neither refused nor committed, and the rest goes on.

    That a small model names the line as superseded, since it wrote it anew, does not drop it.
    """
    given = [
        observation(1, "User likes tea", priority="low"),
        observation(2, "User has a dentist appointment on March 5th", priority="high"),
        observation(3, "User's dentist appointment is at 9am", priority="high"),
    ]
    merged = draft("User has a dentist appointment on March 5th at 9am", [2, 3], priority="high")
    for again in ("User likes tea", "User likes to drink tea"):
        said_again = draft(again, [1], priority="low")
        found = verdict(given, said_again, merged, superseded=[1, 2, 3])
        assert [d.content for d in found.drafts] == [merged.content]
        assert found.gone == {2, 3}
        assert found.notes == ()
        assert found.shrinks
        assert verdict(given, said_again) == Verdict()
    shorter = verdict(given, draft("Dentist on March 5th", [2], priority="high"))
    assert shorter.gone == {2}, shorter.notes


@pytest.mark.parametrize(
    ("source", "line", "missing"),
    [
        ("User moved to Porto in 2019", "User moved to Porto", "2019"),
        ("User moved to Porto in 2019", "User moved in 2019", "porto"),
        ("User's film is “Her”", "User has a film", "her"),
        ("Anna is allergic to latex", "Allergic to latex is the sister", "something else"),
        ("User pays €950 rent", "User pays 950 rent", "€"),
        ("User writes to anna@x.org", "User writes", "anna@x.org"),
        ("User has two daughters", "User has daughters", "2"),
        ("User does not eat meat", "User and meat", "denies"),
        ("User is vegetarian", "User is", "vegetarian"),
        ("User is a vegetarian teacher", "User is a teacher", "vegetarian"),
        ("User is allergic to latex and moved to Porto in 2019", "User moved to Porto in 2019", "latex"),
        ("用户对花生过敏", "用户喜欢茶", "对"),
    ],
)
def test_a_high_line_keeps_its_terms(source: str, line: str, missing: str) -> None:
    """A high line whose name, number, denial or plain fact would be gone stays as it was, and the reason names it."""
    given = [observation(1, source, priority="high"), observation(2, "User likes tea and coffee and cake and jam")]
    assert missing in reason(given, draft(line, [1]))


def test_terms_that_are_scattered_are_lost() -> None:
    """A high line's terms must stand together in one line: apart they say something else."""
    given = [
        observation(1, "Anna lives in Porto", priority="high"),
        observation(2, "Anna likes tea"),
        observation(3, "User was in Porto"),
    ]
    found = verdict(given, draft("Anna likes tea", [1, 2]), draft("User was in Porto", [1, 3]))
    assert not found.gone
    assert loss(given[0], ["Anna likes tea", "User was in Porto"])
    assert loss(given[0], ["Anna likes tea", "Anna lives in Porto"]) is None


def test_one_loss_may_bring_another() -> None:
    """When a draft is refused, what it kept of a line that another draft replaces is counted no more."""
    given = [
        observation(1, "Anna is 40", priority="high"),
        observation(2, "Ben is 30", priority="high"),
        observation(3, "Ben lives in Porto with a dog and a cat"),
    ]
    found = verdict(given, draft("Anna is 40; Ben lives in Porto", [1, 2, 3]), draft("Ben lives in Porto", [1, 3]))
    assert not found.drafts
    assert len(found.notes) == 2


@pytest.mark.parametrize(
    ("source", "line", "kept"),
    [
        ("User moved to Porto in 2019", "User moved to Porto", True),
        ("User moved to Porto in 2019", "User moved", False),
        ("User likes tea", "User is fond of tea", True),
        ("User likes tea", "User has tastes", False),
    ],
)
def test_a_medium_line_leaves_something(source: str, line: str, kept: bool) -> None:
    """A medium line leaves at least one of its terms in its place, or one of its words when it has no terms."""
    assert (loss(observation(1, source), [line]) is None) is kept
    assert loss(observation(1, source, priority="low"), [line]) is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("User lives in Porto with Zoltan", "zoltan"),
        ("Zoltan lives in Porto", "zoltan"),
        ("User lives in Porto since 1999", "1999"),
        ("User lives in “sunny” Porto", "sunny"),
        ("User doesn't live in Porto", "deny"),
    ],
)
def test_nothing_is_invented(line: str, why: str) -> None:
    """A line with a name, number, quoted word or denial that its sources do not have is refused."""
    given = [observation(1, "User lives in Porto", priority="low"), observation(2, "User lives in a flat")]
    assert why in reason(given, draft(line, [1, 2]))


def test_swapped_numbers_are_refused() -> None:
    """A merge that gives one person's number to another is refused, in two lines or in one."""
    given = [observation(1, "Anna is 40"), observation(2, "Ben is 30"), observation(3, "Carl is 20, Dora is 50")]
    assert "something else" in reason(given, draft("Anna is 30, Ben is 40", [1, 2]))
    assert "something else" in reason(given, draft("Carl is 50, Dora is 20", [3]))


def test_another_persons_fact_stays_theirs() -> None:
    """What a high line says of somebody is not said of another, though every word of it is kept."""
    given = [observation(1, "User's sister Ana is pregnant", priority="high"), observation(2, "User lives in Porto")]
    assert "something else" in reason(given, draft("User is pregnant, has a sister Ana, lives in Porto", [1, 2]))


@pytest.mark.parametrize("kind", ["pinned", "edited"])
def test_what_the_user_said_of_a_line_stands(kind: str) -> None:
    """A pinned line or one of the user's own is neither replaced nor dropped nor made outdated."""
    origin = "user" if kind == "edited" else "observer"
    own = observation(1, "User lives in Lisbon", priority="low", pinned=int(kind == "pinned"), origin=origin)
    given = [own, observation(2, "User lives in Lisbon now"), observation(3, "User moved to Porto", priority="high")]
    found = verdict(given, draft("User lives in Lisbon", [1, 2]), superseded=[1], outdated=[(1, 3)])
    assert not found.gone
    assert len(found.notes) == 3


@pytest.mark.parametrize(
    ("stances", "proposed", "settled"),
    [
        (("stated", "stated"), "stated", "stated"),
        (("quoted", "quoted"), "quoted", "quoted"),
        (("quoted", "quoted"), "stated", "quoted"),
        (("asked", "asked"), "stated", "asked"),
        (("planned", "planned"), "quoted", "planned"),
        (("stated", "quoted"), "quoted", None),
        (("stated", "quoted"), "stated", None),
        (("stated", "hypothetical"), "hypothetical", None),
        (("inferred", "assistant"), "inferred", None),
        (("assistant", "stated"), "stated", None),
        (("stated", "asked"), "inferred", None),
        (("stated", "asked"), "stated", None),
        (("stated", "planned"), "stated", None),
        (("stated", "planned"), "planned", "planned"),
        (("stated", "asked"), "asked", "asked"),
        (("planned", "asked"), "planned", None),
        (("planned", "asked"), "asked", "asked"),
    ],
)
def test_stances_never_become_firmer(stances: tuple[str, str], proposed: str, settled: str | None) -> None:
    """The stance is one of the sources'; weak ones stay among their like; nothing asked or planned turns stated."""
    given = [observation(1, "User has a cat", stance=stances[0]), observation(2, "User has a dog", stance=stances[1])]
    found = verdict(given, draft("User has a cat and a dog", [1, 2], stance=proposed))
    assert [d.stance for d in found.drafts] == ([settled] if settled else [])


def test_a_question_is_answered_by_a_statement() -> None:
    """A question becomes a fact when a source that states it says all of it; a high fact becomes no question."""
    given = [
        observation(1, "User asked when the dentist is", stance="asked"),
        observation(2, "The dentist is on March 5", priority="high"),
    ]
    found = verdict(given, draft("The dentist is on March 5", [1, 2]))
    assert [d.stance for d in found.drafts] == ["stated"]
    assert "no longer be stated" in reason(given, draft("The dentist is on March 5", [1, 2], stance="asked"))


@pytest.mark.parametrize("proposed", ["high", "medium", "low"])
@pytest.mark.parametrize(
    ("sources", "settled"),
    [(("low", "low"), "low"), (("medium", "low"), "medium"), (("low", "high"), "high"), (("high", "high"), "high")],
)
def test_priority_is_the_highest_of_the_sources(proposed: str, sources: tuple[str, str], settled: str) -> None:
    """It is not raised, and not lowered either, or a high fact could be dropped a generation later."""
    given = [observation(i, "User has a cat", priority=p) for i, p in enumerate(sources, 1)]
    assert [d.priority for d in verdict(given, draft("User has a cat", [1, 2], priority=proposed)).drafts] == [settled]


@pytest.mark.parametrize(
    ("proposed", "settled"),
    [("2026-01-05", "2026-02-01"), ("2026-02-10", "2026-02-10"), ("2027-01-01", "2026-02-20"), ("", "2026-02-01")],
)
def test_the_date_lies_among_those_of_the_sources(proposed: str, settled: str) -> None:
    """A condensed line is neither older nor newer than what it stands for."""
    given = [observation(1, "User has a cat", day="2026-02-20"), observation(2, "User has a cat", day="2026-02-01")]
    found = verdict(given, draft("User has a cat", [1, 2], day=proposed))
    assert [d.observation_date for d in found.drafts] == [settled]


@pytest.mark.parametrize(
    ("ahead", "settled"),
    [
        ((None, None), [None]),
        (("2026-04-01", None), ["2026-04-01"]),
        (("2026-04-01", "2026-04-01"), ["2026-04-01"]),
        (("2026-04-01", "2026-04-02"), []),
    ],
)
def test_the_day_ahead_is_the_sources(ahead: tuple[str | None, str | None], settled: list[str | None]) -> None:
    """What the worker says of the day does not count, and two different days are not joined."""
    given = [observation(i, "User has a cat", ahead=day) for i, day in enumerate(ahead, 1)]
    found = verdict(given, draft("User has a cat", [1, 2], ahead="2030-01-01"))
    assert [d.referenced_date for d in found.drafts] == settled


@pytest.mark.parametrize("priority", ["high", "medium", "low"])
def test_only_low_lines_are_dropped(priority: str) -> None:
    """A line named as superseded goes without a replacement only when it is low; else the reason is noted."""
    found = verdict([observation(1, "User likes tea", priority=priority)], superseded=[1])
    assert found.dropped == ({1} if priority == "low" else set())
    assert found.shrinks is (priority == "low")
    assert bool(found.notes) is (priority != "low")


def test_dropped_lines_do_not_count_as_shrinking() -> None:
    """New lines must be shorter than what they themselves replace, whatever else is dropped."""
    given = [
        observation(1, "User likes tea"),
        observation(2, "Long talk about the weather of the week and of the weeks before", priority="low"),
        observation(3, "Tea"),
    ]
    longer = draft("User likes tea very very very much and every day and at night, and in the morning", [1, 3])
    found = verdict(given, longer, superseded=[2])
    assert found.replaced == {1, 3}
    assert found.dropped == {2}
    assert not found.shrinks
    assert not verdict(given, draft("User likes tea", [1])).shrinks
    assert not verdict(given).shrinks


def test_only_what_is_replaced_counts() -> None:
    """Sources of a refused draft are not among what the others must be shorter than."""
    given = [
        observation(1, "User likes tea"),
        observation(2, "User moved to Porto in 2019", priority="high"),
        observation(3, "Tea"),
    ]
    longer = draft("User likes tea very very very much and every day and at night, and in the morning", [1, 3])
    found = verdict(given, longer, draft("User moved", [2]))
    assert found.old_tokens == given[0].token_count + given[2].token_count
    assert given[0].token_count == line_tokens(given[0])
    assert not found.shrinks


OLD, NEW = "User lives in Lisbon", "User moved to Porto"


@pytest.mark.parametrize(
    ("old", "by", "why"),
    [
        (observation(1, OLD, priority="high"), observation(2, NEW, priority="high"), None),
        (observation(1, OLD, priority="high"), observation(2, NEW), None),
        (observation(1, OLD), observation(2, "User moved from Lisbon to Porto", priority="high"), None),
        (observation(1, OLD, stance="quoted"), observation(2, NEW, stance="quoted"), None),
        (observation(1, OLD, stance="planned"), observation(2, NEW), None),
        (observation(2, OLD), observation(1, NEW), "not newer"),
        (observation(1, OLD), observation(1, OLD), "itself"),
        (observation(1, OLD, pinned=1), observation(2, NEW), "pinned"),
        (observation(1, OLD, origin="user"), observation(2, NEW), "own"),
        (observation(1, OLD), observation(2, NEW, stance="planned"), "stated"),
        (observation(1, OLD), observation(2, NEW, stance="quoted"), "stated"),
        (observation(1, OLD), observation(2, NEW, priority="low"), "dropped itself"),
        (observation(1, OLD), observation(2, "Anna moved to Porto"), "something else"),
        (observation(1, "Anna lives in Lisbon"), observation(2, NEW), "something else"),
    ],
)
def test_what_makes_a_line_outdated(old: Observation, by: Observation, why: str | None) -> None:
    """A given, newer line of weight that the user stated about the same makes an unpinned one outdated, by anchor."""
    found = verdict([old, by], outdated=[(old.id, by.id)])
    assert found.outdated == ((old.id, by.id),) * (why is None)
    assert found.shrinks is (why is None)
    assert (why or "") in "\n".join(found.notes)


def test_one_line_outdates_three_at_most() -> None:
    """A fourth line stays, with the reason noted; so do lines older pairs would leave without a successor."""
    given = [observation(i, f"User lives in {p}") for i, p in enumerate(("Faro", "Lagos", "Beja", "Braga", "Porto"), 1)]
    found = verdict(given, outdated=[(i, 5) for i in (1, 2, 3, 4)])
    assert found.outdated == ((1, 5), (2, 5), (3, 5))
    assert "three at most" in found.notes[0]
    assert verdict(given, outdated=[(2, 3), (1, 2)]).outdated == ((2, 3),)
    assert verdict(given, outdated=[(1, 4), (1, 5)]).outdated == ((1, 4),)


def test_what_stands_in_for_an_outdated_line_stays() -> None:
    """A line that makes another outdated is not dropped with it, nor condensed into something else."""
    old, new = (observation(i, text, priority="low") for i, text in ((1, OLD), (2, NEW)))
    given = [old, new, observation(3, "User likes Porto")]
    found = verdict(given, superseded=[2], outdated=[(1, 2)])
    assert found.outdated == ((1, 2),)
    assert not found.dropped
    found = verdict(given, draft("User likes Porto", [2, 3]), outdated=[(1, 2)])
    assert found.outdated == ()
    found = verdict(given, draft("User moved to Porto, likes it", [2, 3]), outdated=[(1, 2)])
    assert found.outdated == ((1, 2),)


def test_what_is_replaced_is_not_outdated_as_well() -> None:
    """A line that lives on in a new one has no other successor."""
    given = [observation(1, OLD), observation(2, "User lives in Lisbon"), observation(3, NEW)]
    found = verdict(given, draft(OLD, [1, 2]), outdated=[(1, 3)])
    assert found.replaced == {1, 2}
    assert found.outdated == ()


def test_ten_careless_generations() -> None:
    """A worker that drops, swaps, invents, negates and exalts loses and alters no high fact, and adds nothing."""
    worlds = [simulate(seed, hold) for seed in range(30)]
    assert sum(w.proposed for w in worlds) > 1000
    assert sum(w.accepted for w in worlds) > 100, "nothing is believed at all"
    assert sum(w.refused for w in worlds) > sum(w.accepted for w in worlds)
    assert sum(len(w.active) for w in worlds) < sum(len(w.facts) for w in worlds)
