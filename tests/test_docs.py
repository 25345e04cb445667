"""The documentation says what the program does."""

import re
from pathlib import Path

import pytest

from construct.config import load_settings
from docs import reference

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks/README.md"])
_ROW = re.compile(r"^\| `([A-Z_]+)` \| (.*?) \|", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


class Asked(dict[str, str]):
    """An environment without anything in it, that keeps what it was asked for."""

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        """Note the name."""
        self[name] = ""
        return default


def settings_page() -> dict[str, str]:
    """Return the settings of the page with their defaults."""
    return dict(_ROW.findall((ROOT / "docs/settings.md").read_text("utf-8")))


def test_every_setting_is_documented() -> None:
    """The page and `.env.example` have just those that the program reads."""
    asked = Asked()
    load_settings(asked)
    assert settings_page().keys() == asked.keys()
    example = re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE)
    assert sorted(example) == sorted(asked)


def test_the_defaults_of_the_page_are_those_of_the_program() -> None:
    """Setting each to what the page says changes nothing."""
    literal = {name: text.strip("`") for name, text in settings_page().items() if re.fullmatch("`[^`]+`", text)}
    assert len(literal) > 10
    assert load_settings(literal) == load_settings({})


def test_the_command_reference_is_what_the_program_says() -> None:
    """`uv run python -m docs.reference` would change nothing."""
    assert reference.PAGE.read_text("utf-8") == reference.page()


@pytest.mark.parametrize("path", reference.commands_by_path(), ids=" ".join)
def test_every_command_and_each_of_its_options_has_a_help(path: tuple[str, ...]) -> None:
    """It fits 80 columns, and nothing of it is cut off."""
    command = reference.commands_by_path()[path]
    assert command.help
    assert [p.name for p in command.params if not p.help] == []
    text = reference.help_of(path)
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("\n")[2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every file and every heading that a page links to is there."""
    for target, heading in _LINK.findall(page.read_text("utf-8")):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)", there.read_text("utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
            assert heading in slugs, heading
