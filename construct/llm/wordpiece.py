"""The WordPiece tokenizer of BERT's uncased models (Devlin et al., 2018)."""

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

_MARK = r"!-/:-@\[-`{-~"
_WORD = re.compile(rf"[{_MARK}]|[^\s{_MARK}]+")
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")
_LONGEST_WORD = 100


class WordPiece:
    """A tokenizer with a vocabulary: `vocab.txt`, one piece per line."""

    def __init__(self, path: Path) -> None:
        """Read the vocabulary. Raises OSError, or ValueError when the file is not one."""
        self._number = {piece: i for i, piece in enumerate(path.read_text("utf-8").splitlines())}
        try:
            self.unknown, self.start, self.end = (
                self._number[mark] for mark in ("[UNK]", "[CLS]", "[SEP]")
            )
        except KeyError:
            raise ValueError("vocab.txt is not a WordPiece vocabulary") from None
        self._pieces = lru_cache(maxsize=20_000)(self._split)

    def numbers(self, text: str, most: int) -> list[int]:
        """Return the numbers of the text's first pieces, at most `most`."""
        found: list[int] = []
        for match in _WORD.finditer(_folded(text)):
            found += self._pieces(match[0])
            if len(found) >= most:
                break
        return found[:most]

    def _split(self, word: str) -> tuple[int, ...]:
        found: list[int] = []
        start = 0
        while start < len(word) <= _LONGEST_WORD:
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._number), None)
            if end is None:
                break
            found.append(self._number[mark + word[start:end]])
            start = end
        return tuple(found) if start == len(word) else (self.unknown,)


def _folded(text: str) -> str:
    """Return the text in lower case and without accents.

    Spaces are put around each punctuation mark and ideograph.
    """
    return "".join(map(_apart, unicodedata.normalize("NFD", text.lower())))


def _apart(char: str) -> str:
    kind = unicodedata.category(char)
    if kind == "Mn" or (kind in ("Cc", "Cf") and not char.isspace()):
        return ""
    return f" {char} " if kind[0] == "P" or _IDEOGRAPH.match(char) else char
