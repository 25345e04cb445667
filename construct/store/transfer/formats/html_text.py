"""Turns the HTML of an answer into plain text."""

from html.parser import HTMLParser

_BLOCKS = {"p", "div", "ul", "ol", "table", "blockquote", "section", "pre"} | {
    f"h{level}" for level in range(1, 7)
}
_SILENT = {"script", "style"}


class _Text(HTMLParser):
    """Collects the text of HTML, with a blank line between blocks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent = 0
        self._preformatted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line or a block."""
        self._silent += tag in _SILENT
        self._preformatted += tag == "pre"
        if tag in _BLOCKS:
            self._end_line("\n\n")
        elif tag in ("br", "tr"):
            self._end_line("\n")
        elif tag == "li":
            self._end_line("\n")
            self.pieces.append("- ")
        elif tag in ("td", "th") and self.pieces and not self.pieces[-1].endswith("\n"):
            self.pieces.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        """End a block."""
        self._silent = max(0, self._silent - (tag in _SILENT))
        self._preformatted = max(0, self._preformatted - (tag == "pre"))
        if tag in _BLOCKS:
            self._end_line("\n\n")

    def handle_data(self, data: str) -> None:
        """Keep text; white space counts only in preformatted text."""
        if self._silent:
            return
        if not self._preformatted:
            is_at_start = not self.pieces or self.pieces[-1].endswith(("\n", "- ", " | "))
            words = " ".join(data.split())
            before = " " if data[:1].isspace() and not is_at_start else ""
            after = " " if words and data[-1:].isspace() else ""
            data = f"{before}{words}{after}" if words else before
        if data:
            self.pieces.append(data)

    def _end_line(self, ending: str) -> None:
        text = "".join(self.pieces).rstrip(" ")
        missing = len(ending) - (len(text) - len(text.rstrip("\n")))
        self.pieces = [text + "\n" * max(0, missing)] if text else []


def html_text(html: str) -> str:
    """Return the text of a piece of HTML."""
    parser = _Text()
    parser.feed(html)
    parser.close()
    return "".join(parser.pieces).strip()
