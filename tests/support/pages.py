"""Reads a page as a browser's parser does, or in a real browser if installed."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--dump-dom",
)  # fmt: skip


@dataclass
class Page(HTMLParser):
    """A page's elements with their attributes, its text, and its inline code."""

    html: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    code: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self._inside = ""
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        """Leave it."""
        self._inside = ""

    def handle_data(self, data: str) -> None:
        """Keep text, or code."""
        if self._inside in {"script", "style"}:
            self.code.setdefault(self._inside, []).append(data)
        else:
            self.text += data

    def all(self, name: str) -> list[str]:
        """Return all values of an attribute."""
        return [
            value or ""
            for _, attributes in self.elements
            for key, value in attributes.items()
            if key == name
        ]

    @property
    def policy(self) -> str:
        """Return the Content-Security-Policy."""
        return next(
            a["content"] or ""
            for _, a in self.elements
            if a.get("http-equiv") == "Content-Security-Policy"
        )


def opened(html: str, folder: Path) -> str:
    """Return a page's document after a browser has opened it and run its scripts."""
    assert BROWSER is not None
    (folder / "page.html").write_text(html, "utf-8")
    done = subprocess.run(
        [BROWSER, *_OPTIONS, f"--user-data-dir={folder / 'profile'}",
         (folder / "page.html").as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout
