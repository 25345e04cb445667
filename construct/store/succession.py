"""Queries for what replaced an observation, and what comes back when its successor goes."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from construct.store.acceptance import UNACCEPTED
from construct.store.cycles import get_cycle
from construct.store.driver import Connection
from construct.store.note_links import link_borrowed, link_replaced
from construct.store.observations import observations, supersede
from construct.store.records import NOT_REVERTED_SQL, Cycle, Observation
from construct.store.sql import ID_LIST, column, json_ids, select
from construct.vocabulary import Replacement


def reactivated_by(db: Connection, deleted: Collection[int]) -> dict[int, set[int]]:
    """Return the observations to reactivate when those in `deleted` are deleted.

    The keys are their ids, the values the ids among `deleted` that had replaced them.
    """
    query = f"""
        SELECT old.id, link.new_id FROM observations AS old JOIN (
            SELECT source_id AS old_id, new.id AS new_id, new.cycle_id FROM observation_sources
            JOIN observations AS new ON new.id = observation_id WHERE new.id IN {ID_LIST}
            UNION SELECT replaced_id, observation_id, cycle_id FROM observation_replaced
            WHERE observation_id IN {ID_LIST}
        ) AS link ON old.id = link.old_id
        WHERE old.superseded_by = link.cycle_id AND old.id NOT IN {ID_LIST}"""
    replaced: dict[int, set[int]] = {}
    for old, new in db.execute(query, (json_ids(deleted),) * 3):
        replaced.setdefault(old, set()).add(new)
    return replaced


def apply_replacements(db: Connection, committed: Iterable[int], now: str) -> None:
    """Supersede the observations that newly committed ones made outdated.

    What the user has not accepted yet replaces nothing. An observation that has been
    superseded, pinned or edited by the user in the meantime is left alone. A pending one
    first applies its own replacements.
    """
    pairs = db.execute(
        f"""SELECT r.observation_id, r.replaced_id, r.cycle_id,
                old.superseded_at IS NULL AND NOT old.pinned AND old.origin <> 'user'
                    AND r.cycle_id IN {NOT_REVERTED_SQL},
                old.committed_at IS NULL
            FROM observation_replaced AS r JOIN observations AS new ON new.id = r.observation_id
            JOIN observations AS old ON old.id = r.replaced_id
            WHERE relation = 'outdated' AND (r.cycle_id = new.cycle_id OR new.origin = 'user')
            AND r.observation_id IN {ID_LIST} AND r.observation_id NOT IN {UNACCEPTED}""",
        (json_ids(committed),),
    ).fetchall()
    for new, old, cycle_id, is_replaceable, is_pending in pairs:
        if not is_replaceable:
            db.execute(
                """DELETE FROM observation_replaced
                   WHERE observation_id = ? AND replaced_id = ? AND cycle_id = ?""",
                (new, old, cycle_id),
            )
            link_borrowed(db, [(new, old)])
            continue
        if is_pending:
            apply_replacements(db, [old], now)
        # A pending one is committed too, so that an undo makes it active.
        db.execute(
            """UPDATE observations
               SET committed_at = coalesce(committed_at, ?), superseded_at = ?, superseded_by = ?
               WHERE id = ? AND superseded_at IS NULL""",
            (now, now, cycle_id, old),
        )


def replace_when_accepted(
    db: Connection, observation_id: int, stays: int, cycle_id: int, now: str
) -> None:
    """Let an edit that accepts a new note supersede what the note made outdated.

    `stays`: the note that stays, which is another one if the user changed its words.
    """
    outdated = column(
        db,
        """SELECT DISTINCT old.id FROM observation_replaced AS r
           JOIN observations AS old ON old.id = r.replaced_id
           WHERE r.observation_id = ? AND relation = 'outdated' AND old.superseded_at IS NULL
               AND NOT old.pinned AND old.origin <> 'user'""",
        (observation_id,),
    )
    links = [(stays, old) for old in outdated]
    link_replaced(db, links, Replacement.OUTDATED, cycle_id)
    supersede(db, outdated, cycle_id, now)


def corrections_of(db: Connection, message_ids: Iterable[int]) -> list[tuple[int, Observation]]:
    """Return the active and pending observations that correct what these messages said.

    Each comes with the id of the message that it corrects: it was edited from an
    observation of that message, or from one that said the same, or made it outdated. If a
    reflection took in the correction, the reflection is returned instead.
    """
    said = db.execute(
        f"""SELECT message_id, observation_id, 0 FROM observation_messages
            WHERE direct AND message_id IN {ID_LIST}""",
        (json_ids(message_ids),),
    ).fetchall()
    seen = set(said)
    while said:
        ids = json_ids({observation_id for _, observation_id, _ in said})
        # A link counts only while the old observation is superseded by the link's cycle: links
        # remain after an undo.
        replaced = db.execute(
            f"""SELECT old.id, observation_id, relation <> 'same' FROM observations AS old
                JOIN observation_replaced AS r
                    ON replaced_id = old.id AND r.cycle_id = superseded_by
                WHERE old.id IN {ID_LIST}""",
            (ids,),
        ).fetchall()
        taken_in = db.execute(
            f"""SELECT old.id, new.id FROM observations AS old
                JOIN observation_sources ON source_id = old.id
                JOIN observations AS new
                    ON new.id = observation_id AND new.cycle_id = old.superseded_by
                WHERE old.id IN {ID_LIST}""",
            (ids,),
        ).fetchall()
        following = {
            (message_id, new, int(is_corrected or corrects))
            for message_id, current, is_corrected in said
            for old, new, corrects in replaced
            if old == current
        }
        following |= {
            (message_id, new, 1)
            for message_id, current, is_corrected in said
            for old, new in taken_in
            if old == current and is_corrected
        }
        said = list(following - seen)
        seen |= following
    corrected = sorted({(message_id, i) for message_id, i, is_corrected in seen if is_corrected})
    in_force = {
        o.id: o
        for o in observations(db, [i for _, i in corrected])
        if o.state != "superseded" and not o.withheld
    }
    return [(message_id, in_force[i]) for message_id, i in corrected if i in in_force]


def replacement_links(db: Connection, ids: Iterable[int]) -> list[tuple[int, int, int]]:
    """Return (replaced id, observation id, cycle id) for all that these replaced."""
    query = f"""SELECT replaced_id, observation_id, cycle_id FROM observation_replaced
                WHERE observation_id IN {ID_LIST}"""
    return db.execute(query, (json_ids(ids),)).fetchall()


def direct_successors(
    db: Connection, old: Observation, *, outdating: bool = True
) -> list[Observation]:
    """Return what the cycle that superseded an observation replaced it with.

    `outdating=False` leaves out observations that made it outdated: the rest are its edits,
    reflections made from it, and observations that repeat it.
    """
    source = """observations WHERE id <> :old AND (
        id IN (SELECT observation_id FROM observation_replaced
               WHERE replaced_id = :old AND cycle_id = :cycle)
        OR cycle_id = :cycle
            AND id IN (SELECT observation_id FROM observation_sources WHERE source_id = :old)
    ) AND (:outdating OR id NOT IN (
        SELECT observation_id FROM observation_replaced JOIN cycles ON cycles.id = cycle_id
        WHERE replaced_id = :old AND relation = 'outdated' AND status <> 'reverted'
    )) ORDER BY id"""
    values = {"old": old.id, "cycle": old.superseded_by, "outdating": outdating}
    return select(db, Observation, source, values)


@dataclass(frozen=True, slots=True)
class Successor:
    """An observation that replaced another, even if that was undone."""

    relation: str
    """`source` if it is a reflection, otherwise `edit`, `same` or `outdated`."""
    observation: Observation
    cycle: Cycle


def successor_history(db: Connection, observation_id: int) -> list[Successor]:
    """Return all that ever replaced an observation, in undone cycles too."""
    rows = db.execute(
        """SELECT 'source', observation_id, o.cycle_id FROM observation_sources
           JOIN observations AS o ON o.id = observation_id WHERE source_id = :id
           UNION ALL SELECT relation, r.observation_id, r.cycle_id FROM observation_replaced AS r
           JOIN cycles ON cycles.id = r.cycle_id JOIN observations AS old ON old.id = r.replaced_id
           JOIN observations AS new ON new.id = r.observation_id
           WHERE replaced_id = :id AND (old.superseded_by = r.cycle_id OR status = 'reverted'
               AND (relation <> 'outdated' OR new.committed_at IS NOT NULL)) ORDER BY 3, 2""",
        {"id": observation_id},
    ).fetchall()
    by_id = {o.id: o for o in observations(db, [new for _, new, _ in rows])}
    return [
        Successor(relation, by_id[new], get_cycle(db, cycle_id)) for relation, new, cycle_id in rows
    ]


def replaced_observations(db: Connection, observation_id: int) -> list[Observation]:
    """Return the observations that this one replaced, because it outdates or repeats them."""
    source = """observations AS o WHERE id IN (
        SELECT replaced_id FROM observation_replaced AS r JOIN cycles ON cycles.id = cycle_id
        WHERE observation_id = ? AND relation <> 'edit' AND status = 'succeeded'
        AND o.superseded_by = r.cycle_id) ORDER BY id"""
    return select(db, Observation, source, (observation_id,), "o")


def successors(
    db: Connection,
    old: Observation,
    is_last: Callable[[Observation], bool],
    *,
    outdating: bool = True,
) -> list[Observation]:
    """Return the last successors of an observation, the nearest first.

    Follows direct successors until `is_last` is true for one. `outdating` is as in
    `direct_successors`.
    """
    last: list[Observation] = []
    seen = {old.id}
    queue = [old]
    while queue:
        for new in direct_successors(db, queue.pop(0), outdating=outdating):
            if new.id not in seen:
                seen.add(new.id)
                (last if is_last(new) else queue).append(new)
    return last
