"""Put generated tables into a page, each under its heading."""

import re
from collections.abc import Iterable, Mapping, Sequence


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    """Return the page with the first table under each of these headings replaced."""
    for heading, table in tables.items():
        under = re.compile(rf"(^#+ {re.escape(heading)}$.*?)^\|.*?\n(?!\|)", re.M | re.S)
        head = under.search(page)
        if head is None:
            raise ValueError(f"no table under {heading}")
        page = f"{page[: head.start()]}{head[1]}{table}{page[head.end() :]}"
    return page


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)
