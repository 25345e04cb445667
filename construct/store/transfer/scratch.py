"""The scratch database, into which every file is read first.

It has our own tables and is attached as `scratch`. It is a temporary file that SQLite
creates with mode 0600 and unlinks at once, so it never outlives this process. Filling it
does not lock the main database.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from construct.errors import ConstructError
from construct.store.driver import Connection, error_name, operational_errors
from construct.store.invariants import violations
from construct.store.sql import ID_LIST, column
from construct.store.transfer.format import KINDS
from construct.store.transfer.refused import RefusedError

CACHE_KB = 64_000
"""Page cache during an import.

With SQLite's default of 2 MB, storing hundreds of thousands of messages takes 50% longer,
because of their indexes.
"""
_TABLES = [*(kind.table for kind in KINDS.values()), "observation_messages", "observation_sources"]
_SCHEMA = f"""SELECT sql FROM main.sqlite_master
              WHERE type = '{{}}' AND tbl_name IN {ID_LIST} AND sql IS NOT NULL"""


@contextmanager
def attached(db: Connection) -> Iterator[None]:
    """Attach an empty scratch database for the block, without enforcing foreign keys.

    The import looks up every reference itself. Enforcing them would take half as long
    again, since SQLite copies each changed page to be able to undo a statement.
    """
    try:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("ATTACH '' AS scratch")
        db.execute(f"PRAGMA scratch.cache_size = -{CACHE_KB}")
        for sql in column(db, _SCHEMA.format("table"), (json.dumps(_TABLES),)):
            statement = sql.replace("CREATE TABLE ", "CREATE TABLE scratch.", 1)
            db.execute(statement.replace(" AUTOINCREMENT", ""))
        yield
    finally:
        db.execute("PRAGMA foreign_keys = ON")
        with suppress(*operational_errors()):  # a disk error here affects only `scratch`
            db.execute("DETACH scratch")


def refuse_violations(broken: list[str], *advice: str) -> None:
    """Raise RefusedError with the first of these violations, if there is one."""
    if broken:
        more = f" ({len(broken) - 1} more like this)" if len(broken) > 1 else ""
        raise RefusedError("", broken[0].rstrip(".") + more, *advice)


@contextmanager
def filling(db: Connection) -> Iterator[None]:
    """Fill the scratch database in the block, in one transaction, and check it afterwards.

    Raises RefusedError if an invariant is violated, and ConstructError if the disk for
    temporary files is full, which need not be the database's.
    """
    db.execute("BEGIN")
    try:
        yield
        # Creating the indexes after the rows is faster.
        for sql in column(db, _SCHEMA.format("index"), (json.dumps(_TABLES),)):
            db.execute(sql.replace("INDEX ", "INDEX scratch.", 1))
        refuse_violations(violations(db, schema="scratch"))
        db.execute("COMMIT")
    except operational_errors() as error:
        if error_name(error) != "SQLITE_FULL":
            raise
        raise ConstructError(
            "The folder for temporary files is full. Nothing was imported.\n"
            "Free some space there, or name another folder with SQLITE_TMPDIR."
        ) from error
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
