"""An adversarial reflector on planted notes.

The module says what it proposes, and what must hold afterwards.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date

from construct.language.numbers import unfound_numbers, values_in, values_of_day
from construct.memory.learning.proposals import ProposedObservation, ReflectionProposal
from construct.memory.learning.reflection_checks import Change, Reflection, Said, check_reflection
from construct.memory.shown.lines import PRIORITIES
from construct.store.records import Observation
from tests.memory.making import observation, proposed

GENERATIONS = 10
_NAMES = """Anna Bruno Carla Diego Emma Fadi Greta Hugo Ines Jonas Kira Luca Mona Nils Olga Pavel
    Rosa Sven""".split()
_PLACES = """Porto Lisbon Faro Braga Evora Aveiro Coimbra Sintra Tavira Lagos Beja Viseu Leiria
    Tomar Loule Silves""".split()
_THINGS = """penicillin peanuts shellfish latex wasps pollen gluten mustard celery sesame lupin soy
    nickel cashew kiwi lactose""".split()
_ALIKE_ONLY = {"quoted", "hypothetical", "inferred", "assistant"}
_STANCES = ["stated"] * 6 + ["planned", "asked", "quoted", "hypothetical", "inferred", "assistant"]

Verifier = Callable[[random.Random], bool]
"""Whether the verifier says yes to a change."""


def plant(rng: random.Random, count: int = 14) -> list[Observation]:
    """Return notes of all kinds, no two with a name, number or thing in common."""
    names, places, things = ([*pool] for pool in (_NAMES, _PLACES, _THINGS))
    for pool in (names, places, things):
        rng.shuffle(pool)
    numbers = rng.sample(range(13, 990), count)
    notes = []
    for i in range(1, count + 1):
        name, place, thing, n = names.pop(), places.pop(), things.pop(), numbers.pop()
        kind = rng.randrange(9)
        text = (
            f"User's friend {name} is {n}",
            f"User's sister {name} lives in {place}",
            f"User is allergic to {thing}",
            f"Cousin {name} does not eat {thing}",
            f"User pays €{n} for {thing}",
            f"User sees Dr. {name} on 2027-03-05 at {n % 24}:30",
            f"User's film of the year is “The {thing} of {place}”",
            f"Uncle {name} moved to {place} in {1200 + n}",
            f"User never was in {place} with {name}",
        )[kind]
        note = observation(
            i, text, priority=rng.choice(PRIORITIES), stance=rng.choice(_STANCES),
            day=f"2026-03-{i:02}",
            ahead="2027-03-05" if kind == 5 else None, pinned=int(rng.random() < 0.05),
        )  # fmt: skip
        notes.append(note)
        if rng.random() < 0.2:  # a near-duplicate
            notes.append(
                note._replace(id=100 + i, content=text.replace("User is", "User is also"), pinned=0)
            )
    return notes


@dataclass(slots=True)
class World:
    """What has become of the planted notes."""

    planted: dict[int, Observation]
    notes: dict[int, Observation]
    """All that there ever were."""
    beneath: dict[int, frozenset[int]]
    """Per note, the planted ones that it was made of."""
    fates: dict[int, tuple[str, int]] = field(default_factory=dict)
    """How each note that is gone was changed, and what replaced it (0 for nothing)."""
    done: int = 0
    refused: int = 0

    @property
    def active(self) -> list[Observation]:
        """What is active now."""
        return [o for o in self.notes.values() if o.id not in self.fates]

    @property
    def said(self) -> Said:
        """When the newest message of each note was said.

        Planted notes have the number of their message.
        """
        return {
            i: (f"2026-03-{max(j % 100 for j in beneath):02}", i)
            for i, beneath in self.beneath.items()
        }


def simulate(seed: int, verifier: Verifier, check: Callable[[World], None]) -> World:
    """Play ten generations of an adversarial reflector; `check` runs after each."""
    rng = random.Random(seed)
    planted = {o.id: o for o in plant(rng)}
    world = World(planted, dict(planted), {i: frozenset({i}) for i in planted})
    for generation in range(1, GENERATIONS + 1):
        _reflect(rng, world, verifier, generation)
        check(world)
    return world


def _reflect(rng: random.Random, world: World, verifier: Verifier, generation: int) -> None:
    """Let code and verifier judge two answers, as `reflect` does, and apply them."""
    given = [o for o in world.active if not o.is_protected] if rng.random() < 0.8 else world.active
    settled: tuple[Change, ...] = ()
    for _ in range(2):
        found = check_reflection(
            _proposal(rng, given), given, world.said, date(2027, 1, 1), settled
        )
        settled += tuple(
            change for change in found.changes if change.kind == "drop" or verifier(rng)
        )
        world.refused += len(found.refused)
    if Reflection(settled).shrinks:
        for number, change in enumerate(settled):
            _do(world, change, 1000 * generation + number, generation)


def _do(world: World, change: Change, new_id: int, generation: int) -> None:
    world.done += 1
    if change.line is not None:
        line = change.line
        world.notes[new_id] = observation(
            new_id, line.content, priority=line.priority, stance=line.stance,
            day=line.observation_date,
            ahead=line.referenced_date, generation=generation,
        )._replace(first_date=line.first_date)  # fmt: skip
        world.beneath[new_id] = frozenset[int]().union(*(world.beneath[i] for i in change.retired))
    for i in change.retired:
        world.fates[i] = change.kind, new_id if change.line else change.stays or 0


def _proposal(rng: random.Random, given: Sequence[Observation]) -> ReflectionProposal:
    """Return an adversarial reflector's answer: partly right, mostly wrong."""

    def pairs(most: int) -> tuple[tuple[int, int], ...]:
        some = (
            rng.sample([o.id for o in given], 2)
            for _ in range(rng.randint(0, most))
            if len(given) > 1
        )
        return tuple((one, other) for one, other in some)

    lines = [_line(rng, given) for _ in range(rng.randint(1, 6)) if given]
    dropped = rng.sample([o.id for o in given], rng.randint(0, len(given) // 2))
    repeated = [
        (o.id, o.id - 100)
        for o in given
        if 100 < o.id < 1000 and any(p.id == o.id - 100 for p in given)
    ]
    return ReflectionProposal(tuple(lines), (*repeated, *pairs(3)), pairs(2), tuple(dropped))


def _line(rng: random.Random, given: Sequence[Observation]) -> ProposedObservation:
    stance = rng.choice(given).stance
    pool = [o for o in given if o.stance == stance] if rng.random() < 0.7 else list(given)
    chosen = rng.sample(pool, min(len(pool), rng.choice((1, 2, 2, 2, 3, 4))))
    joined = rng.choice(("; ", ", ", " and ", ". ")).join(
        _shorter(rng, o.content, i) for i, o in enumerate(chosen)
    )
    content = rng.choice(MISTAKES)(rng, joined) if rng.random() < 0.65 else joined
    sources = [o.id for o in chosen] + ([rng.choice(given).id] if rng.random() < 0.1 else [])
    return proposed(
        content, list(dict.fromkeys(sources)), priority=rng.choice(PRIORITIES),
        stance=rng.choice([chosen[0].stance, "stated"]), day=f"20{rng.randint(10, 40)}-01-01",
        ahead=rng.choice((chosen[0].referenced_date, None, "2031-01-01")),
    )  # fmt: skip


def _shorter(rng: random.Random, text: str, place: int) -> str:
    if place and rng.random() < 0.5:
        return text.removeprefix("User ").removeprefix("is ").removeprefix("User's ")
    return text.replace(" in the ", " ") if rng.random() < 0.5 else text


def _exchange(rng: random.Random, text: str, pattern: str) -> str:
    found = list(re.finditer(pattern, text))
    if len(found) < 2:
        return text
    a, b = sorted(rng.sample(found, 2), key=lambda m: m.start())
    return text[: a.start()] + b[0] + text[a.end() : b.start()] + a[0] + text[b.end() :]


def _swap_numbers(rng: random.Random, text: str) -> str:
    return _exchange(rng, text, r"\d[\d:\-]*")


def _swap_names(rng: random.Random, text: str) -> str:
    return _exchange(rng, text, r"\b[A-Z][a-z]+\b")


def _swap_words(rng: random.Random, text: str) -> str:
    return _exchange(rng, text, r"\b[a-z]{4,}\b")


def _change_number(rng: random.Random, text: str) -> str:
    return re.sub(r"\d", lambda m: str((int(m[0]) + rng.randint(1, 9)) % 10), text, count=1)


def _invent(rng: random.Random, text: str) -> str:
    return rng.choice((f"{text} with Zoltan", f"{text} since 1777", f"{text}, which Zoltan likes"))


def _negate(rng: random.Random, text: str) -> str:
    if re.search(r" not | never ", text) and rng.random() < 0.7:
        return re.sub(r" does not | not | never ", " ", text, count=1)
    return re.sub(r" (is|lives|pays|moved|eat|sees) ", r" \1 not ", text, count=1)


def _lose_half(rng: random.Random, text: str) -> str:
    parts = text.split()
    return " ".join(
        parts[: max(1, len(parts) // 2)] if rng.random() < 0.5 else parts[len(parts) // 2 :]
    )


def _lose_a_word(rng: random.Random, text: str) -> str:
    parts = text.split()
    parts.pop(rng.randrange(len(parts)))
    return " ".join(parts) or text


def _claim(_rng: random.Random, text: str) -> str:
    return re.sub(r"\b[A-Z][a-z]+(?='s| is| does| moved)", "User", text, count=1)


def _lend(_rng: random.Random, text: str) -> str:
    other = re.search(r"\b(?!User|Dr)[A-Z][a-z]+\b", text)
    return text.replace("User", other[0], 1) if other else text


MISTAKES = (
    _swap_numbers, _swap_names, _swap_words, _change_number, _invent, _negate, _lose_half,
    _lose_a_word, _claim, _lend,
)  # fmt: skip


def hold(world: World) -> None:
    """Assert what must be true after any number of generations."""
    for note in world.planted.values():
        _assert_not_lost(world, note)
    for line in world.active:
        beneath = [world.planted[i] for i in world.beneath[line.id]]
        _assert_not_invented(line, beneath)
        _assert_no_firmer(line, beneath)
    for i, (kind, by) in world.fates.items():
        if kind == "outdated":
            assert world.said[by] > world.said[i]
            assert world.notes[by].stance in {"stated", world.notes[i].stance}


def _assert_not_lost(world: World, note: Observation) -> None:
    """What stands for a high note has all of its numbers.

    Unless it was made outdated, or dropped as a low one.
    """
    at = note.id
    while at in world.fates:
        kind, at = world.fates[at]
        assert not note.pinned, f"{note.content} was pinned, and is gone: {kind}"
        if kind == "outdated":
            return
        if kind == "drop":
            assert note.priority == "low", f"{note.content} was dropped"
            return
    stands = world.notes[at]
    assert PRIORITIES.index(stands.priority) <= PRIORITIES.index(note.priority)
    if note.priority == "high":
        lost = unfound_numbers(note.content, _values_of([stands]))
        assert not lost, f"{note.content} is lost in {stands.content}"
        assert stands.referenced_date == (note.referenced_date or stands.referenced_date)


def _assert_not_invented(line: Observation, beneath: Sequence[Observation]) -> None:
    assert not unfound_numbers(line.content, _values_of(beneath)), line.content
    days = {o.observation_date for o in beneath}
    assert (line.first_date or line.observation_date, line.observation_date) == (
        min(days),
        max(days),
    )
    assert line.referenced_date in {o.referenced_date for o in beneath}


def _assert_no_firmer(line: Observation, beneath: Sequence[Observation]) -> None:
    stances = {o.stance for o in beneath}
    assert line.stance in stances
    assert stances == {line.stance} or not stances & _ALIKE_ONLY


def _values_of(notes: Sequence[Observation]) -> frozenset[str]:
    days = [day for o in notes for day in (o.first_date, o.observation_date, o.referenced_date)]
    return values_in(o.content for o in notes).union(*map(values_of_day, days))
