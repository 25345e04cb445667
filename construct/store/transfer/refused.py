"""The error for a file that cannot be imported."""

from construct.text import shorten

_NAMED = 5
"""How many files an error names."""


class RefusedError(Exception):
    """Raised for a file that cannot be imported.

    `where` is the line or conversation, or empty. `why` is a clause, `advice` a sentence
    without its full stop. `is_limit` means that nothing more of the import may be read.
    """

    def __init__(
        self,
        where: str,
        why: object,
        advice: str = "Correct the file, or export it again",
        *,
        is_limit: bool = False,
    ) -> None:
        super().__init__(where, why)
        self.where, self.why, self.advice, self.is_limit = where, why, advice, is_limit


def unknown_format(names: list[str]) -> RefusedError:
    """Return the error for files in none of the formats that we can import."""
    from construct.store.transfer.formats import FORMATS

    seen = ", ".join(shorten(name, 40) for name in names[:_NAMED]) or "nothing to read"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    known = ", ".join(["Construct's own", *(one.name for one in FORMATS)])
    why = f"it is in no format that can be imported (seen: {seen}{more})"
    return RefusedError("", why, f"The formats are {known}")
