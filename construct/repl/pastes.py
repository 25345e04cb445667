"""Long pastes are shown folded at the prompt, in its history and among what waits; they are sent whole."""

import re

FOLDED_FROM_LINES = 12
FOLDED_FROM_CHARACTERS = 2_000
_FOLDED = re.compile(r"\[pasted [\d,]+ (?:lines|characters) #(\d+)\]")


class Pastes:
    """The texts behind the folds of one chat."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}

    def fold(self, text: str) -> str:
        """Return what stands at the prompt for a pasted text: itself when it is short."""
        lines = text.count("\n") + 1
        if lines < FOLDED_FROM_LINES and len(text) < FOLDED_FROM_CHARACTERS:
            return text
        number = self._texts.setdefault(text, len(self._texts) + 1)
        size = f"{lines:,} lines" if lines >= FOLDED_FROM_LINES else f"{len(text):,} characters"
        return f"[pasted {size} #{number}]"

    def unfold(self, text: str) -> str:
        """Return a text with every fold replaced by what is behind it."""
        return _FOLDED.sub(self._behind, text)

    def _behind(self, fold: re.Match[str]) -> str:
        return next((text for text, number in self._texts.items() if number == int(fold[1])), fold[0])
