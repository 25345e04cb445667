"""Links of observations: to the messages they rest on, to their sources, and to each other.

`observation_messages` has every message that an observation rests on, through all
generations: `direct` is 1 where the observation itself names it. A row of
`observation_replaced` links an observation to one that it replaces, with the cycle and
the relation: `edit`, `outdated` (it made the old one outdated) or `same` (both say the
same). If an observation was to be replaced but was not, there is a row of
`observation_borrowed` instead, since the new one may have taken names from it. These
links remain when the cycle is undone, so that forgetting either one finds the other.
"""

from collections.abc import Iterable, Sequence

from construct.store.driver import Connection
from construct.store.records import Message, Observation
from construct.store.sql import ID_LIST, column, json_ids, scalar, select

_SOURCES = f"""SELECT source_id FROM observation_sources WHERE observation_id IN {ID_LIST}"""
_REFLECTIONS = f"""SELECT observation_id FROM observation_sources WHERE source_id IN {ID_LIST}"""
_EDITED = f"""SELECT replaced_id FROM observation_replaced
    WHERE relation = 'edit' AND observation_id IN {ID_LIST}"""
_EDITS = f"""SELECT observation_id FROM observation_replaced
    WHERE relation = 'edit' AND replaced_id IN {ID_LIST}"""
_REPEATED = f"""SELECT replaced_id FROM observation_replaced
    WHERE relation = 'same' AND observation_id IN {ID_LIST}"""
_REPEATS = f"""SELECT observation_id FROM observation_replaced
    WHERE relation = 'same' AND replaced_id IN {ID_LIST}"""
# Each query gives the neighbours of some observations along one kind of link.


def _reachable(db: Connection, ids: Iterable[int], *links: str) -> set[int]:
    """Return these ids and all that the links lead to, however far."""
    found: set[int] = set()
    new = set(ids)
    while new:
        found |= new
        values = (json_ids(new),)
        new = {i for link in links for i in column(db, link, values)} - found
    return found


def with_sources(db: Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations and all their sources."""
    return _reachable(db, ids, _SOURCES)


def with_reflections(db: Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations and all reflections made from them."""
    return _reachable(db, ids, _REFLECTIONS)


def with_origins(db: Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations and their sources, with all versions and repeats."""
    return _reachable(db, ids, _SOURCES, _EDITED, _EDITS, _REPEATED, _REPEATS)


def with_dependents(db: Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations and their reflections, with all versions of both."""
    return _reachable(db, ids, _REFLECTIONS, _EDITED, _EDITS)


def with_earlier_forms(db: Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of these observations, their sources, and what they are edits of."""
    return _reachable(db, ids, _SOURCES, _EDITED)


def sources_nearest_first(db: Connection, observation_id: int) -> list[Observation]:
    """Return all direct and indirect sources of an observation, the nearest first."""
    nearest: list[Observation] = []
    seen = {observation_id}
    level = [observation_id]
    while level:
        source = f"observations WHERE id IN ({_SOURCES}) ORDER BY id"
        new = [o for o in select(db, Observation, source, (json_ids(level),)) if o.id not in seen]
        level = [o.id for o in new]
        seen.update(level)
        nearest += new
    return nearest


def link_messages(db: Connection, observation_id: int, message_ids: Iterable[int]) -> None:
    """Record which messages an observation was drawn from."""
    db.executemany(
        "INSERT OR IGNORE INTO observation_messages (observation_id, message_id) VALUES (?, ?)",
        [(observation_id, message_id) for message_id in message_ids],
    )


def link_sources(db: Connection, observation_id: int, source_ids: Sequence[int]) -> None:
    """Record which observations a reflection was made from, and that it rests on their messages."""
    db.executemany(
        "INSERT OR IGNORE INTO observation_sources (observation_id, source_id) VALUES (?, ?)",
        [(observation_id, source_id) for source_id in source_ids],
    )
    link_through(db, observation_id, source_ids)


def link_through(db: Connection, observation_id: int, others: Iterable[int]) -> None:
    """Record that an observation rests, through others, on the messages behind those."""
    db.execute(
        f"""INSERT OR IGNORE INTO observation_messages (observation_id, message_id, direct)
            SELECT ?, message_id, 0 FROM observation_messages WHERE observation_id IN {ID_LIST}""",
        (observation_id, json_ids(others)),
    )


def link_replaced(
    db: Connection, pairs: Iterable[tuple[int, int]], relation: str, cycle_id: int
) -> None:
    """Store that the first observation of each pair replaces the second."""
    db.executemany(
        """INSERT OR IGNORE INTO observation_replaced
           (observation_id, replaced_id, relation, cycle_id) VALUES (?, ?, ?, ?)""",
        [(new, old, relation, cycle_id) for new, old in pairs],
    )


def link_borrowed(db: Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Store that the first observation of each pair may have taken names from the second."""
    db.executemany(
        "INSERT OR IGNORE INTO observation_borrowed (observation_id, lender_id) VALUES (?, ?)",
        pairs,
    )


def inherit_links(db: Connection, old: int, new: int) -> None:
    """Copy the links of an observation to its edit.

    These are the messages it rests on, what it borrowed from and, while it is pending, what
    it is to replace. The links keep the cycle of the first version. The edit of a
    reflection names all its messages itself, since it has no sources.
    """
    db.execute(
        """INSERT OR IGNORE INTO observation_messages (observation_id, message_id, direct)
           SELECT ?, message_id, direct OR generation > 0 FROM observation_messages AS link
           JOIN observations AS o ON o.id = link.observation_id WHERE o.id = ?""",
        (new, old),
    )
    db.execute(
        """INSERT INTO observation_replaced (observation_id, replaced_id, relation, cycle_id)
           SELECT ?, replaced_id, relation, r.cycle_id FROM observation_replaced AS r
           JOIN observations AS o ON o.id = observation_id
           WHERE o.id = ? AND relation = 'outdated' AND o.committed_at IS NULL""",
        (new, old),
    )
    db.execute(
        """INSERT INTO observation_borrowed
           SELECT ?, lender_id FROM observation_borrowed WHERE observation_id = ?""",
        (new, old),
    )


def messages_behind(db: Connection, ids: Iterable[int]) -> list[Message]:
    """Return the messages behind these observations, oldest first.

    Sources of all generations count.
    """
    source = f"""messages WHERE id IN (
        SELECT message_id FROM observation_messages WHERE observation_id IN {ID_LIST})
        ORDER BY created_at, id"""
    return select(db, Message, source, (json_ids(ids),))


def messages_named(db: Connection, ids: Iterable[int]) -> list[Message]:
    """Return the messages that these observations name themselves, oldest first."""
    source = f"""messages WHERE id IN (
        SELECT message_id FROM observation_messages WHERE direct AND observation_id IN {ID_LIST})
        ORDER BY created_at, id"""
    return select(db, Message, source, (json_ids(ids),))


def message_links(db: Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (observation id, message id) for the messages that these themselves name."""
    query = f"""SELECT observation_id, message_id FROM observation_messages
                WHERE direct AND observation_id IN {ID_LIST} ORDER BY 1, 2"""
    return db.execute(query, (json_ids(ids),)).fetchall()


def source_links(db: Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return (observation id, source id) for the direct sources of these observations."""
    query = f"""SELECT observation_id, source_id FROM observation_sources
                WHERE observation_id IN {ID_LIST} ORDER BY 1, 2"""
    return db.execute(query, (json_ids(ids),)).fetchall()


def sources_of(db: Connection, ids: Iterable[int]) -> dict[int, list[int]]:
    """Return the direct sources of each observation, by observation id."""
    query = "SELECT source_id FROM observation_sources WHERE observation_id = ? ORDER BY source_id"
    return {i: column(db, query, (i,)) for i in ids}


def observations_from(db: Connection, message_ids: Iterable[int]) -> list[Observation]:
    """Return the observations that themselves name any of these messages."""
    source = f"""observations WHERE id IN (
        SELECT observation_id FROM observation_messages WHERE direct AND message_id IN {ID_LIST})
        ORDER BY id"""
    return select(db, Observation, source, (json_ids(message_ids),))


def observations_in(db: Connection, conversation_id: int) -> set[int]:
    """Return the ids of a conversation's observations and of all that rest on its messages."""
    query = """SELECT id FROM observations WHERE conversation_id = :id
               UNION SELECT observation_id FROM observation_messages
               JOIN messages ON messages.id = message_id WHERE messages.conversation_id = :id"""
    return set(column(db, query, {"id": conversation_id}))


_SAID_AT = """iif(m.created_at > :now, ifnull((
    SELECT min(later.created_at) FROM messages AS later
    WHERE later.conversation_id = m.conversation_id AND later.id > m.id
    AND later.created_at <= :now), :now), m.created_at)"""
"""SQL for when a message was said, as far as that can be told."""


def last_said(db: Connection, ids: Iterable[int], now: str) -> dict[int, tuple[str, int]]:
    """Return the time and id of the newest message behind each observation.

    A message dated after `now`, by a clock that was wrong, counts as said just before the
    next one of its conversation that is not. The messages behind sources of any generation
    count; equal times are ordered by message id. An observation that the user wrote has
    the time it was written. If no message is left, the id is 0, and the time is "" unless
    the user wrote the observation.
    """
    # MAX() makes SQLite take `message_id` from the row with the highest time.
    rows = db.execute(
        f"""SELECT o.id, iif(o.origin = 'user', o.created_at, ifnull(max({_SAID_AT}), '')),
                ifnull(max({_SAID_AT} || printf(' %020d', m.id)), '')
            FROM observations AS o
            LEFT JOIN observation_messages AS link ON link.observation_id = o.id
            LEFT JOIN messages AS m ON m.id = link.message_id
            WHERE o.id IN (SELECT value FROM json_each(:ids)) GROUP BY o.id""",
        {"ids": json_ids(ids), "now": now},
    )
    return {i: (said_at, int(newest.rpartition(" ")[2] or 0)) for i, said_at, newest in rows}


def newest_message_under(db: Connection, ids: Sequence[int]) -> dict[int, int]:
    """Return the highest id of the messages behind each observation, 0 if none is left.

    The messages behind sources of any generation count. An imported message may have been
    said earlier than one with a lower id: for the newest by time, see `last_said`.
    """
    query = "SELECT ifnull(max(message_id), 0) FROM observation_messages WHERE observation_id = ?"
    return {i: scalar(db, query, (i,)) for i in ids}


def resting_on_nothing(db: Connection, ids: Iterable[int]) -> frozenset[int]:
    """Return the ids of those of these observations that rest on no message."""
    query = f"""SELECT value FROM json_each(?) WHERE value NOT IN (
        SELECT observation_id FROM observation_messages WHERE observation_id IN {ID_LIST})"""
    return frozenset(column(db, query, (json_ids(ids), json_ids(ids))))


def resting_in(
    db: Connection, ids: Iterable[int], conversation_ids: Iterable[int]
) -> frozenset[int]:
    """Return the ids of observations that go back to a message of these conversations."""
    query = f"""SELECT DISTINCT observation_id FROM observation_messages
                JOIN messages ON messages.id = message_id
                WHERE observation_id IN {ID_LIST} AND conversation_id IN {ID_LIST}"""
    return frozenset(column(db, query, (json_ids(ids), json_ids(conversation_ids))))


def lent_to(db: Connection, ids: Iterable[int]) -> set[int]:
    """Return the ids of later observations that took a name or number from one of these.

    Such an observation was to replace the other, and rests on its messages. A reflection
    takes nothing from what it does not name as a source.
    """
    query = f"""SELECT link.observation_id FROM (
            SELECT observation_id, replaced_id AS lender_id FROM observation_replaced
            WHERE relation = 'outdated' AND replaced_id IN {ID_LIST}
            UNION SELECT observation_id, lender_id FROM observation_borrowed
            WHERE lender_id IN {ID_LIST}) AS link
        JOIN observations AS borrower ON borrower.id = link.observation_id
        WHERE borrower.generation = 0 AND EXISTS (
            SELECT 1 FROM observation_messages AS new
            JOIN observation_messages AS old ON old.message_id = new.message_id
            WHERE new.observation_id = link.observation_id AND NOT new.direct
            AND old.observation_id = link.lender_id)"""
    return set(column(db, query, (json_ids(ids), json_ids(ids))))
