"""Queries for new notes that the user has not accepted yet (CONSTRUCT_LEARN=ask).

A note is unaccepted while a question of the kind `new` about it is open. Until then only
the conversation that it comes from is shown it. Imports little, for `construct brief`.
"""

from collections.abc import Iterable

from construct.store.driver import Connection
from construct.store.sql import column, insert, new_uid
from construct.vocabulary import QuestionKind

UNACCEPTED = """(SELECT item.observation_id FROM questions AS new_question
    JOIN question_items AS item ON item.question_id = new_question.id
    WHERE new_question.kind = 'new' AND new_question.answered_at IS NULL
    AND item.observation_id IS NOT NULL)"""
"""SQL for the right side of `IN`: the ids of the notes that the user has not accepted yet."""
_OPEN = 2**63 - 1
"""The end of a span of take-ins that has not ended."""


def ask_about_new(db: Connection, cycle_id: int, now: str) -> None:
    """Ask the user about each note that a cycle made."""
    for made in column(db, "SELECT id FROM observations WHERE cycle_id = ?", (cycle_id,)):
        row = {"uid": new_uid(), "kind": QuestionKind.NEW, "cycle_id": cycle_id, "created_at": now}
        question = insert(db, "questions", row)
        about = {"uid": new_uid(), "question_id": question, "observation_id": made}
        insert(db, "question_items", about)


def unaccepted(db: Connection, here: Iterable[int] = ()) -> frozenset[int]:
    """Return the ids of unaccepted notes, without those that come from these conversations."""
    homes = {int(home) for home in here}
    rows = db.execute(f"SELECT id, conversation_id FROM observations WHERE id IN {UNACCEPTED}")
    return frozenset(note for note, home in rows if home not in homes)


def take_in_anew(db: Connection, observation_id: int) -> None:
    """Let other conversations take a note in as if it had just become active."""
    db.execute(
        """UPDATE active_spans SET since = (SELECT number FROM take_in_count)
           WHERE observation_id = ? AND until = ?""",
        (observation_id, _OPEN),
    )
