"""Read an export of version 1 or 2 into a database of its own, and bring that to this version.

So a migration is the one place that knows what became of old rows.
"""

from collections.abc import Iterable
from typing import Any

from sqlite_utils import Database

from construct.store.database import transaction
from construct.store.driver import Connection
from construct.store.schema import migrate, migrations
from construct.store.transfer.export_lines import ExportLines
from construct.store.transfer.format_before import NEXT_STEP, kinds_of


def read_older_export(
    copy: Connection, version: int, numbered: Iterable[tuple[int, dict[str, Any]]]
) -> ExportLines:
    """Store the lines of an older export in an empty database, and migrate it.

    Returns what read the lines. Raises RefusedError with the number of a line.
    """
    with transaction(copy):
        migrations.apply(Database(copy), stop_before=NEXT_STEP)
        lines = ExportLines(copy, "main", kinds_of(version))
        for number, record in numbered:
            lines.add(number, {**record, "through": []})  # a key of version 3
        lines.finish()
        migrate(Database(copy))
    return lines
