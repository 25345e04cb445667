"""Make untrusted text safe: for the terminal, for storage, and for prompts."""

import re

# C0 controls other than newline and tab, DEL, C1 controls, bidirectional controls, the
# byte order mark, and lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
# Vertical tab, form feed, the four ASCII separators, NEL, and the line and paragraph
# separators. They become spaces, or the words around them would be joined.
_ODD_SPACE = str.maketrans(dict.fromkeys("\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029", " "))

# Escape sequences are removed whole, so that their parameters do not remain as text.
# Lengths are limited, so that a sequence that never ends can neither slow down matching
# nor hold back streamed text.
# OSC (set a title, a link): ESC ] … BEL or ST.
_OSC = r"(?:\x1b\]|\x9d)[^\x07\x1b\x90\x98\x9b-\x9f]{0,4096}+"
_PLAIN = r"[^\x1b\x90\x98\x9b-\x9f]"
# DCS, SOS, PM and APC (strings for devices and applications): ESC P, X, ^ or _ … ST.
_STRING = (
    rf"(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_PLAIN}{{0,4096}}+"
    rf"(?:\x1b(?:\x1b|(?![\\\]PX^_])){_PLAIN}{{0,1024}}+){{0,16}}+"
)
# CSI (colours, cursor movement): ESC [ 31 m. Its last byte is matched in _SEQUENCE.
_CSI = r"(?:\x1b\[|\x9b)[0-?]{0,256}+[ -/]{0,16}+"
_ESCAPE = r"\x1b[ -/]{0,16}+"
_SEQUENCE = re.compile(
    rf"{_OSC}(?:[\x07\x9c]|\x1b\\)|{_STRING}(?:\x9c|\x1b\\)|{_CSI}[@-~]|{_ESCAPE}[0-~]"
)
_UNFINISHED = re.compile(rf"(?:(?:{_OSC}|{_STRING})\x1b?|{_CSI}|{_ESCAPE})\Z")
_INTRODUCER = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f]")


def printable(text: str) -> str:
    """Return text without escape sequences, control characters and bidirectional overrides.

    Newlines and tabs stay.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNPRINTABLE.sub("", _SEQUENCE.sub("", text).translate(_ODD_SPACE))


def one_line(text: str) -> str:
    """Return `text` as one printable line, with each run of white space as one space."""
    return " ".join(printable(text).split())


def shorten(text: str, width: int) -> str:
    """Return `text` as one line of at most `width` characters, cut with an ellipsis."""
    line = one_line(text)
    return line if len(line) <= width else line[: max(0, width - 1)].rstrip() + "…"


def storable(text: str) -> str:
    """Return `text` in a form that SQLite and JSON accept, without NULs and lone surrogates."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\x00", "")


def is_blank(text: str) -> bool:
    """Return whether a message has nothing but white space and NULs."""
    return not storable(text).strip()


def is_invisible(text: str) -> bool:
    """Return whether nothing of a text can be seen: it has only spaces and unprinted signs."""
    return not any(char.isprintable() and not char.isspace() for char in text)


def as_pasted(text: str) -> str:
    """Return text with `>` before every line, which marks it as somebody else's words.

    Lines end wherever `str.splitlines()` ends them, so that none is left without a mark.
    """
    lines = text.splitlines(keepends=True)
    return "".join(f"> {line}" if line.strip() else f">{line}" for line in lines)


class PrintableStream:
    """Makes text printable as it arrives in pieces, even if an escape sequence is cut in two."""

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, piece: str) -> str:
        """Return the text that can be printed now.

        A carriage return at the end waits, because a newline may follow.
        """
        text = self._pending + piece
        carriage_return = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        end = _start_of_unfinished_sequence(text)
        self._pending = text[end:] + carriage_return
        return printable(text[:end])

    def finish(self) -> str:
        """Return the rest of the text."""
        rest, self._pending = self._pending, ""
        return printable(rest)


def _start_of_unfinished_sequence(text: str) -> int:
    """Return the start of an escape sequence cut off at the end, or else `len(text)`."""
    position = 0
    while (introducer := _INTRODUCER.search(text, position)) is not None:
        if _UNFINISHED.match(text, introducer.start()):
            return introducer.start()
        sequence = _SEQUENCE.match(text, introducer.start())
        position = sequence.end() if sequence else introducer.end()
    return len(text)
