"""Sorts the items of a file into conversations, on disk: the file may be larger than memory."""

import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import Any

from construct.store.driver import scratch

Keyed = tuple[str, str, Any]
"""A group, a place in its order, and an item, as JSON."""


def grouped(items: Iterable[Keyed]) -> Generator[tuple[str, Iterator[Any]], None, None]:
    """Yield each group with its items, in the order in which the groups first appear.

    Items of the same place stay in their order. They are kept in a temporary file without
    a name, which SQLite makes with mode 0600 and which never outlives this process.
    """
    numbers: dict[str, int] = {}
    rows = (
        (numbers.setdefault(group, len(numbers)), place, json.dumps(item))
        for group, place, item in items
    )
    with closing(scratch()) as shelf:
        shelf.execute("CREATE TABLE items (number INTEGER, place TEXT, item TEXT)")
        shelf.execute("BEGIN")
        shelf.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
        names = list(numbers)
        query = "SELECT number, item FROM items ORDER BY number, place, rowid"
        with closing(shelf.execute(query)) as found:
            for number, members in groupby(found, key=itemgetter(0)):
                yield names[number], (json.loads(item) for _, item in members)
