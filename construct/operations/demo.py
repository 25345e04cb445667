"""The demo: an invented life in a database of its own, lived up to today."""

import re
import tempfile
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

from construct.config import Settings
from construct.prompts import shipped
from construct.store.database import open_database
from construct.store.transfer.importing import import_file

_PRESENT = date(2026, 6, 22)
"""The day on which `data/demo.jsonl` is the present."""
_DAY = re.compile(r"\b20\d\d-\d\d-\d\d(?!\d)")


def fill(settings: Settings) -> None:
    """Fill a new database with the demo life, all its days moved so that it goes up to today."""
    shift = settings.clock.today() - _PRESENT
    life = _moved(shipped("data/demo.jsonl").read_text("utf-8"), shift)
    with tempfile.TemporaryDirectory(prefix="construct-demo-") as folder:
        file = Path(folder) / "life.jsonl"
        file.write_text(life, "utf-8")
        with closing(open_database(settings.db)) as db:
            import_file(db, file, settings.clock)


def _moved(text: str, shift: timedelta) -> str:
    """Return a text with every day in it moved, in times and in what was said."""

    def moved(found: re.Match[str]) -> str:
        try:
            return (date.fromisoformat(found[0]) + shift).isoformat()
        except ValueError:  # not a day after all
            return found[0]

    return _DAY.sub(moved, text)
