"""A careless reflector let loose on planted facts: what it proposes, what is believed, and what must hold after it."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from construct.memory.language import terms as language
from construct.memory.learning.guard import judge
from construct.memory.learning.proposals import Condensation, Draft
from construct.store.records import Observation
from tests.memory.making import draft, observation

GENERATIONS = 10
_NAMES = "Anna Bruno Carla Diego Emma Fadi Greta Hugo Ines Jonas Kira Luca Mona Nils Olga Pavel Rosa Sven".split()
_PLACES = (
    "Porto Lisbon Faro Braga Evora Aveiro Coimbra Sintra Tavira Lagos Beja Viseu Leiria Tomar Loule Silves".split()
)
_THINGS = """penicillin peanuts shellfish latex wasps pollen gluten mustard celery sesame lupin soy nickel cashew kiwi
    lactose""".split()
_WEAK = {"quoted", "hypothetical", "inferred", "assistant"}
_STANCES = ["stated"] * 6 + ["planned", "asked", "quoted", "hypothetical", "inferred", "assistant"]
words = cache(lambda text: frozenset[str](language.words(text)))
terms = cache(language.terms)
opening_names = cache(language.opening_names)
content_words = cache(language.content_words)
negates = cache(language.negates)
_PIECES = re.compile(r"[;,]\s|(?<!Dr)\.\s|\band\b")


@dataclass(frozen=True, slots=True)
class Fact:
    """A planted fact: its line, whose it is, and a word that no other fact has."""

    line: Observation
    subject: str
    key: str
    number: str | None = None


def plant(rng: random.Random, count: int = 14) -> list[Fact]:
    """Return facts of all kinds, priorities and stances, no two with a name, number or thing in common."""
    names, places, things = ([*pool] for pool in (_NAMES, _PLACES, _THINGS))
    for pool in (names, places, things):
        rng.shuffle(pool)
    numbers = rng.sample(range(13, 990), 2 * count)
    facts = []
    for i in range(1, count + 1):
        name, n = names.pop(), numbers.pop()
        kind = rng.randrange(9) if places and things else 0
        text, subject, key, number = (
            (f"{name} is {n}", name, name, f"{n}"),
            (f"User's sister {name} lives in {places[-1]}", name, places[-1], None),
            (f"User is allergic to {things[-1]}", "User", things[-1], None),
            (f"{name} does not eat {things[-1]}", name, things[-1], None),
            (f"User pays €{n} for {things[-1]}", "User", things[-1], f"{n}"),
            (f"User sees Dr. {name} on 2027-03-05 at {n % 24}:{numbers[-1] % 60:02}", "User", name, None),
            (f"User's film of the year is “{things[-1]} {places[-1]}”", "User", places[-1], None),
            (f"{name} moved to {places[-1]} in {1200 + n}", name, places[-1], f"{1200 + n}"),
            (f"User never was in {places[-1]} with {name}", "User", name, None),
        )[kind]
        if places and places[-1] in text:
            places.pop()
        if things and things[-1] in text:
            things.pop()
        numbers.pop()
        line = observation(
            i, text, priority=rng.choice(("high", "medium", "low")), stance=rng.choice(_STANCES),
            day=f"2026-03-{i:02}", ahead="2027-03-05" if kind == 5 else None, pinned=int(rng.random() < 0.05),
        )  # fmt: skip
        facts.append(Fact(line, subject, key, number))
        if rng.random() < 0.2:  # a near-duplicate
            again = line._replace(id=100 + i, content=text.replace("User is", "User is also"), pinned=0)
            facts.append(Fact(again, subject, key, number))
    return facts


@dataclass(slots=True)
class World:
    """What has become of the planted facts."""

    facts: dict[int, Fact]
    active: dict[int, Observation]
    beneath: dict[int, frozenset[int]]
    """Per line ever committed, the planted facts it rests on."""
    gone: dict[int, str] = field(default_factory=dict)
    """Per line superseded without a line in its place, why."""
    proposed: int = 0
    accepted: int = 0
    refused: int = 0
    outdated: int = 0


def simulate(seed: int, check: Callable[[World], None]) -> World:
    """Play ten generations of a careless reflector, the check made after each."""
    rng = random.Random(seed)
    facts = {f.line.id: f for f in plant(rng)}
    world = World(facts, {i: f.line for i, f in facts.items()}, {i: frozenset({i}) for i in facts})
    for generation in range(1, GENERATIONS + 1):
        _condense(rng, world, generation)
        check(world)
    return world


def _condense(rng: random.Random, world: World, generation: int) -> None:
    given = list(world.active.values())
    newest = {o.id: max(i % 100 for i in world.beneath[o.id]) for o in given}
    proposal = propose(rng, given, newest)
    verdict = judge(proposal, given, newest)
    world.proposed += len(proposal.drafts)
    if not verdict.shrinks:
        world.refused += len(proposal.drafts)
        return
    world.accepted += len(verdict.drafts)
    world.refused += len(proposal.drafts) - len(verdict.drafts)
    world.outdated += len(verdict.outdated)
    for k, d in enumerate(verdict.drafts):
        new = observation(
            1000 * generation + k, d.content, priority=d.priority, stance=d.stance, day=d.observation_date,
            ahead=d.referenced_date, generation=generation,
        )  # fmt: skip
        world.active[new.id] = new
        world.beneath[new.id] = frozenset[int]().union(*(world.beneath[i] for i in d.sources))
    world.gone |= dict.fromkeys(verdict.dropped, "dropped") | dict.fromkeys(
        (o for o, _ in verdict.outdated), "outdated"
    )
    for i in verdict.gone:
        del world.active[i]


def propose(rng: random.Random, given: Sequence[Observation], newest: dict[int, int]) -> Condensation:
    """Return what a careless reflector answers: some of it right, most of it wrong."""
    drafts = [_proposed(rng, given) for _ in range(rng.randint(1, 6))]
    dropped = rng.sample([o.id for o in given], rng.randint(0, len(given) // 2))
    pairs = [(rng.choice(given), rng.choice(given)) for _ in range(rng.randint(0, 3))]
    return Condensation(tuple(drafts), tuple(dropped), tuple((a.id, b.id) for a, b in pairs if _is_wrong(a, b, newest)))


def _is_wrong(old: Observation, by: Observation, newest: dict[int, int]) -> bool:
    """Tell whether the guard can know better: not newer, of little weight, or plainly about somebody else."""
    first, second = (re.match(r"([A-Z]\w+) (?:is|does|pays|moved|sees|never)", o.content) for o in (old, by))
    others = first is not None and second is not None and first[1] != second[1]
    return newest[by.id] <= newest[old.id] or others or (by.priority == "low" and old.priority != "low")


def _proposed(rng: random.Random, given: Sequence[Observation]) -> Draft:
    alike = [o for o in given if o.stance == rng.choice(given).stance] or list(given)
    chosen = rng.sample(alike if rng.random() < 0.7 else list(given), min(len(alike), rng.choice((1, 2, 2, 2, 3, 4))))
    chosen = chosen[:4] or [rng.choice(given)]
    joined = rng.choice(("; ", ", ", " and ", ". ")).join(_shorter(rng, o.content, i) for i, o in enumerate(chosen))
    content = rng.choice(MISTAKES)(rng, joined) if rng.random() < 0.65 else joined
    sources = [o.id for o in chosen] + ([rng.choice(given).id] if rng.random() < 0.1 else [])
    return draft(
        content, list(dict.fromkeys(sources)), priority=rng.choice(("high", "medium", "low")),
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
    return rng.choice((f"{text} with Zoltan", f"Zoltan said {text}", f"{text} since 1777", f"Zoltan likes it; {text}"))


def _negate(rng: random.Random, text: str) -> str:
    if re.search(r" not | never ", text) and rng.random() < 0.7:
        return re.sub(r" does not | not | never ", " ", text, count=1)
    return re.sub(r" (is|lives|pays|moved|eat|sees) ", r" \1 not ", text, count=1)


def _lose_half(rng: random.Random, text: str) -> str:
    parts = text.split()
    return " ".join(parts[: max(1, len(parts) // 2)] if rng.random() < 0.5 else parts[len(parts) // 2 :])


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
    _swap_numbers, _swap_names, _swap_words, _change_number, _invent, _negate, _lose_half, _lose_a_word, _claim, _lend,
)  # fmt: skip


def hold(world: World) -> None:
    """Assert what must be true of the active lines after any number of generations."""
    for fact in world.facts.values():
        _assert_not_lost(world, fact)
    for line in world.active.values():
        facts = [world.facts[i] for i in world.beneath[line.id]]
        assert facts, f"{line.content} comes from nowhere"
        _assert_not_invented(line, facts)
        _assert_no_firmer(line, facts)
        for fact in facts:
            _assert_not_altered(world, line, fact)


def _assert_not_lost(world: World, fact: Fact) -> None:
    i = fact.line.id
    homes = [line for line in world.active.values() if i in world.beneath[line.id]]
    if i in world.active or i in world.gone:
        assert i in world.active or world.gone[i] == "outdated" or fact.line.priority == "low"
        return
    via = [j for j in world.gone if i in world.beneath[j]]
    assert homes or via, f"{fact.line.content} is gone without a trace"
    if fact.line.priority == "high" or fact.line.pinned:
        must = terms(fact.line.content) | opening_names(fact.line.content)
        kept = [line for line in homes if must <= words(line.content) and line.priority == "high"]
        assert kept, f"{fact.line.content} is lost in {[line.content for line in homes]}"
        assert all(line.referenced_date == (fact.line.referenced_date or line.referenced_date) for line in kept)
        whole = must - {fact.key.lower()} or any(fact.key.lower() in words(line.content) for line in kept)
        assert whole, f"{fact.line.content} is lost in {[line.content for line in kept]}"


def _assert_not_invented(line: Observation, facts: Sequence[Fact]) -> None:
    said = {w for f in facts for w in words(f.line.content)}
    invented = (terms(line.content) | opening_names(line.content)) - said
    assert not invented, f"{line.content}: {invented}"
    days = {f.line.observation_date for f in facts}
    assert min(days) <= line.observation_date <= max(days)
    assert line.referenced_date in {f.line.referenced_date for f in facts}


def _assert_no_firmer(line: Observation, facts: Sequence[Fact]) -> None:
    stances = {f.line.stance for f in facts}
    assert line.stance in stances
    assert stances == {line.stance} or not stances & _WEAK
    if line.stance == "stated":
        soft = {w for f in facts if f.line.stance != "stated" for w in content_words(f.line.content)}
        firm = {w for f in facts if f.line.stance == "stated" for w in words(f.line.content)}
        assert not (soft - firm) & words(line.content), f"{line.content}: {soft - firm} is only asked or planned"


def _assert_not_altered(world: World, line: Observation, fact: Fact) -> None:
    """A number stands with its own fact; where that is of high priority, its subject and its denial do too."""
    for piece in _PIECES.split(line.content):
        said = words(piece)
        keys = {f.key.lower() for f in world.facts.values() if f.number and f.number not in said}
        if fact.number and fact.number in said:
            assert fact.key.lower() in said or not keys & said, f"{line.content}: {fact.number} has left {fact.key}"
        if fact.key.lower() not in said or fact.line.priority != "high":
            continue
        others = {f.subject.lower() for f in world.facts.values()} - {fact.subject.lower(), "user"}
        own = words(fact.line.content)
        strangers = said & others - own
        assert not strangers or fact.subject.lower() in said, f"{line.content}: {fact.key} is said of {strangers}"
        if "user" in said and "user" not in own:
            raise AssertionError(f"{line.content}: {fact.key} is said of the user")
        if len(content_words(fact.line.content) & said) > 1:
            assert negates(piece) == negates(fact.line.content), f"{line.content}: {fact.line.content}"
