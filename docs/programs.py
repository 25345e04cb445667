"""Generate the tables of shapes in docs/programs.md: `uv run python -m docs.programs`."""

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints

from construct.views import shapes
from docs.tables import table, with_tables

PAGE = Path(__file__).parent / "programs.md"
SHAPES: dict[str, type] = {
    "A note": shapes.NoteJson,
    "A message": shapes.TranscriptMessageJson,
    "A conversation": shapes.ConversationJson,
    "A plan": shapes.PlanJson,
}
_WORDS: dict[object, str] = {str: "text", int: "number", float: "number", bool: "true or false"}


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    print(PAGE)


def page(text: str) -> str:
    """Return the page with its tables made anew."""
    tables = {
        heading: table(("field", "type", "means"), _rows(shape))
        for heading, shape in SHAPES.items()
    }
    return with_tables(text, tables)


def _rows(shape: type) -> Iterator[tuple[str, str, str]]:
    for name, hint in get_type_hints(shape, include_extras=True).items():
        kind, meaning = get_args(hint)
        yield f"`{name}`", _kind_words(kind), meaning


def _kind_words(kind: Any) -> str:
    if get_origin(kind) in {NotRequired, Literal}:
        inner = get_args(kind)[0]
        return "text" if isinstance(inner, str) else _kind_words(inner)
    if get_origin(kind) is types.UnionType:
        return " or ".join(map(_kind_words, get_args(kind)))
    if kind is type(None):
        return "null"
    return "list" if get_origin(kind) is list else _WORDS[kind]


if __name__ == "__main__":
    main()
