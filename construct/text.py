"""Text that is not trusted: cleaned for the terminal, quoted for prompts."""

import re

# C0 without newline and tab, DEL, C1; the bidirectional controls; lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
# What ends a line for str.splitlines() and not for a terminal: a space, so that words
# stay apart.
_ODD_SPACE = str.maketrans(dict.fromkeys("\x0b\x0c\x85\u2028\u2029", " "))

# Whole escape sequences go, so that their parameters are not left behind as words. All
# are bounded: what does not end is no sequence, and takes no time, whether it comes at
# once or in pieces.
_OSC = r"(?:\x1b\]|\x9d)[^\x07\x1b\x90\x98\x9b-\x9f]{0,4096}+"
_PLAIN = r"[^\x1b\x90\x98\x9b-\x9f]"
_STRING = (
    rf"(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_PLAIN}{{0,4096}}+"
    rf"(?:\x1b(?:\x1b|(?![\\\]PX^_])){_PLAIN}{{0,1024}}+){{0,16}}+"
)
_CSI = r"(?:\x1b\[|\x9b)[0-?]{0,256}+[ -/]{0,16}+"
_ESCAPE = r"\x1b[ -/]{0,16}+"
_SEQUENCE = re.compile(
    rf"{_OSC}(?:[\x07\x9c]|\x1b\\)|{_STRING}(?:\x9c|\x1b\\)|{_CSI}[@-~]|{_ESCAPE}[0-~]"
)
_UNFINISHED = re.compile(rf"(?:(?:{_OSC}|{_STRING})\x1b?|{_CSI}|{_ESCAPE})\Z")
_INTRODUCER = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f]")


def printable(text: str) -> str:
    """Return text without control characters and bidirectional overrides.

    Newline and tab stay.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNPRINTABLE.sub("", _SEQUENCE.sub("", text).translate(_ODD_SPACE))


def one_line(text: str) -> str:
    """Return printable `text` as one line, runs of white space made one space."""
    return " ".join(printable(re.sub(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", " ", text)).split())


def shorten(text: str, width: int) -> str:
    """Return `text` as one line of at most `width` characters, cut with an ellipsis."""
    line = one_line(text)
    return line if len(line) <= width else line[: max(0, width - 1)].rstrip() + "…"


def storable(text: str) -> str:
    """Return `text` as SQLite and JSON can hold it: lone surrogates replaced, NUL removed."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text.replace("\x00", "")


def is_blank(text: str) -> bool:
    """Return whether a message is white space, or NULs, alone."""
    return not storable(text).strip()


def as_pasted(text: str) -> str:
    """Return text with every line marked as somebody else's words by `> `, as mails quote.

    A line ends wherever `str.splitlines()` says, so that no reader finds one without its mark.
    """
    lines = text.splitlines(keepends=True)
    return "".join(f"> {line}" if line.strip() else f">{line}" for line in lines)


class PrintableStream:
    """`printable` for text that arrives in pieces: an escape sequence cut in two is still one."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be printed now.

        A carriage return at the end waits for the newline that may follow.
        """
        text = self._held + piece
        carriage_return = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        cut = _open_sequence(text)
        self._held = text[cut:] + carriage_return
        return printable(text[:cut])

    def finish(self) -> str:
        """Return the rest."""
        rest, self._held = self._held, ""
        return printable(rest)


def _open_sequence(text: str) -> int:
    """Return where a sequence begins that may go on in the next piece.

    Else the text's length.
    """
    at = 0
    while (found := _INTRODUCER.search(text, at)) is not None:
        if _UNFINISHED.match(text, found.start()):
            return found.start()
        whole = _SEQUENCE.match(text, found.start())
        at = whole.end() if whole else found.end()
    return len(text)
