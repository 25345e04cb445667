"""Who answers: a model or the notebook, on the record or off it."""

from construct.by_rule import NotebookOffRecord, NotebookOnRecord
from construct.companion import Companion
from construct.offrecord import OffRecord
from construct.onrecord import OnRecord
from construct.store.records import Message
from construct.turn import Responder


def on_record(companion: Companion) -> Responder:
    """Return who answers what is stored."""
    way = NotebookOnRecord if companion.models.is_notebook else OnRecord
    return way(companion)


def off_record(companion: Companion, said: list[Message]) -> Responder:
    """Return who answers what is not stored, after what has been `said` so."""
    way = NotebookOffRecord if companion.models.is_notebook else OffRecord
    return way(companion, said)
