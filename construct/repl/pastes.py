"""Long pastes are shown folded at the prompt, and sent whole."""

import re

FOLDED_FROM_LINES = 12
FOLDED_FROM_CHARACTERS = 2_000
_FOLDED = re.compile(r"\[pasted [\d,]+ (?:lines|characters) #(\d+)\]")


class Pastes:
    """The texts behind the folds of one prompt."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def fold(self, text: str) -> str:
        """Return what stands at the prompt for a pasted text: itself when it is short."""
        lines = text.count("\n") + 1
        if lines < FOLDED_FROM_LINES and len(text) < FOLDED_FROM_CHARACTERS:
            return text
        self._texts.append(text)
        size = f"{lines:,} lines" if lines >= FOLDED_FROM_LINES else f"{len(text):,} characters"
        return f"[pasted {size} #{len(self._texts)}]"

    def unfold(self, text: str) -> str:
        """Return a text with every fold replaced by what is behind it."""
        return _FOLDED.sub(self._behind, text)

    def _behind(self, fold: re.Match[str]) -> str:
        number = int(fold[1])
        return self._texts[number - 1] if 0 < number <= len(self._texts) else fold[0]
