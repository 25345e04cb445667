"""The error for a file that cannot be imported."""


class RefusedError(Exception):
    """Raised for a file that cannot be imported.

    `where` is the line or conversation, or empty. `why` is a clause, `advice` a sentence
    without its full stop.
    """

    def __init__(
        self, where: str, why: object, advice: str = "Correct the file, or export it again"
    ) -> None:
        super().__init__(where, why)
        self.where, self.why, self.advice = where, why, advice


def unknown_format() -> RefusedError:
    """Return the error for a file in none of the formats that we can import."""
    why = "it is neither an export from Construct, ChatGPT or Claude, nor lines of messages"
    return RefusedError(
        "", why, "Name an export; those of ChatGPT and Claude are called conversations.json"
    )
