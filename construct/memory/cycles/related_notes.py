"""Choose the stored notes that a change in the user's life may have made doubtful."""

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from construct.language.names import letter_words
from construct.language.topics import topic_words
from construct.memory.cycles.known_notes import KnownSearch
from construct.memory.learning.unsettling import LifeChange
from construct.memory.recall.search import search_memory
from construct.memory.shown.forks import replaceable
from construct.store import graph, questions
from construct.store import observations as stored_observations
from construct.store.driver import Connection
from construct.store.flags import flagged
from construct.store.records import Observation
from construct.store.search import Filters
from construct.vocabulary import Flag, ItemKind, Stance

MAX_RELATED = 12
_MAX_RELATIONS = 40
"""Entities with more relations tell nothing about what belongs together."""
_MAY_DEPEND = {Stance.STATED, Stance.PLANNED, Stance.INFERRED}


def related_notes(
    db: Connection,
    changes: Sequence[LifeChange],
    conversation_id: int,
    scope: str,
    wanted: KnownSearch,
) -> list[Observation]:
    """Return at most twelve notes that may depend on what changed, the most likely first.

    Search and graph find them; if they find too few, the newest notes follow.
    """
    found = [*_searched(db, changes, wanted), _by_graph(db, changes)]
    ranked = [i for i in chain.from_iterable(zip_longest(*found)) if i is not None]
    newest = stored_observations.newest(db, wanted.scope, 4 * MAX_RELATED)
    notes = stored_observations.observations(db, list(dict.fromkeys(ranked)))
    changed = {o.id for change in changes for o in change.old}
    excluded = (
        changed
        | stored_observations.to_be_replaced(db)
        | flagged(db, Flag.DOUBTFUL)
        | questions.not_yet_withheld(db)
    )
    allowed = [o for o in _distinct([*notes, *newest]) if o.id not in excluded and _may_depend(o)]
    own = replaceable(db, scope, conversation_id, allowed)
    in_scope = set(stored_observations.in_scope(db, [o.id for o in allowed], wanted.scope))
    return [o for o in allowed if o.id in own and o.id in in_scope][:MAX_RELATED]


def _may_depend(o: Observation) -> bool:
    return o.state != "superseded" and not o.withheld and o.stance in _MAY_DEPEND


def _distinct(notes: Iterable[Observation]) -> list[Observation]:
    return list({o.id: o for o in notes}.values())


def _searched(
    db: Connection, changes: Sequence[LifeChange], wanted: KnownSearch
) -> list[list[int]]:
    """Return what each search finds: for the old words, the new ones, and those of the topic."""
    queries: list[str] = []
    for change in changes:
        old = " ".join(o.content for o in change.old)
        queries += [*topic_words(letter_words(f"{old} {change.new.content}")), old]
        queries.append(change.new.content)
    filters = Filters(
        descent=wanted.scope, kind=ItemKind.OBSERVATION, zone=wanted.clock.zone, for_model=True
    )
    return [
        [
            hit.id
            for hit in search_memory(
                db, query, filters, 2 * MAX_RELATED, meaning=wanted.meaning
            ).hits
        ]
        for query in dict.fromkeys(queries)
        if any(map(str.isalnum, query))
    ]


def _by_graph(db: Connection, changes: Sequence[LifeChange]) -> list[int]:
    """Return the notes that name the same people, places or things as what changed."""
    changed = [o.id for change in changes for o in change.old]
    named = graph.entities_of(db, changed)
    relations = graph.relations_with(db, graph.not_hubs(db, named, _MAX_RELATIONS))
    return list(dict.fromkeys(r.observation_id for r in reversed(relations)))
