"""People, places and other names, each with the relations that name it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from construct.memory.graph.answers import is_user, key
from construct.store.graph import Entity, Relation

_HEADINGS = {
    "person": "People",
    "animal": "Animals",
    "place": "Places",
    "organisation": "Organisations",
    "work": "Works",
    "event": "Events",
}
_OTHER = "Other names"


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation in words; `until` is None while it holds."""

    subject: str
    predicate: str
    object: str
    since: str
    until: str | None


@dataclass(frozen=True, slots=True)
class Name:
    """All entities of one name, with every statement that names them."""

    name: str
    aliases: tuple[str, ...]
    statements: tuple[Statement, ...]


def names(entities: Sequence[Entity], relations: Sequence[Relation]) -> dict[str, list[Name]]:
    """Return the names under the heading of their type: the user first, then the most related."""
    first: dict[str, Entity] = {}
    for e in entities:
        first.setdefault(key(e.name), e)
    entity_of = {e.id: first[key(e.name)] for e in entities}
    aliases: dict[int, list[str]] = defaultdict(list)
    for e in entities:
        aliases[entity_of[e.id].id] += e.aliases
    statements: dict[int, list[Statement]] = defaultdict(list)
    for r in sorted(relations, key=lambda r: r.superseded_at is not None):
        ends = entity_of[r.subject_id], entity_of[r.object_id]
        until = r.superseded_at and r.superseded_at[:10]
        said = Statement(ends[0].name, r.predicate, ends[1].name, r.since, until)
        for end in dict.fromkeys(ends):
            statements[end.id].append(said)
    ordered = sorted(first.values(), key=lambda e: (not is_user(e.name), -len(statements[e.id])))
    found: dict[str, list[Name]] = {heading: [] for heading in (*_HEADINGS.values(), _OTHER)}
    for e in ordered:
        heading = "People" if is_user(e.name) else _HEADINGS.get(e.type or "", _OTHER)
        unique = tuple(dict.fromkeys(statements[e.id]))
        found[heading].append(Name(e.name, tuple(dict.fromkeys(aliases[e.id])), unique))
    return {heading: listed for heading, listed in found.items() if listed}
