"""The page: whole, self-contained, and nothing but text in it comes from outside."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from construct.memory.corrections import settle
from construct.memory.forgetting import forget
from construct.store.database import transaction
from construct.vocabulary import Settled
from tests.memory.builders import Life, stated
from tests.support.pages import BROWSER, Page, opened
from tests.views.report.conftest import written

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
ATTACK = (
    "</title></style></script><script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\">"
    "' onload='x {{ 7 * 191 }} {% raw %} --> ]]> \x1b[2J\x1b]0;gone\x07\u202eevil\x9b31m\x00"
)


@pytest.fixture
def attacked(life: Life) -> Life:
    """A life in which every text from outside is hostile."""
    here = life.talk(ATTACK)
    said = life.exchange(here, f"Said {ATTACK}")
    (o,) = life.observe(here, (f"Observed {ATTACK}", [said]))
    life.compact(here)
    life.reflect((f"Condensed {ATTACK}", [life.read(o)]))
    life.relate(life.remember(f"Kept {ATTACK} end"))
    with transaction(life.db):
        life.db.execute(
            "UPDATE entities SET name = name || ?, type = ?, aliases = '[\"</script>\"]'",
            (ATTACK, ATTACK),
        )
        life.db.execute("UPDATE relations SET predicate = ?", (ATTACK,))
        life.db.execute("UPDATE observations SET category = ?", (ATTACK,))
        life.db.execute("UPDATE cycles SET model = ?", (ATTACK,))
        life.db.execute(
            "INSERT INTO usage (created_at, purpose, model, cost_usd) VALUES (?, ?, ?, 1)",
            (life.tick(), ATTACK, ATTACK),
        )
    return life


def visible(life: Life) -> str:
    """Return the text that the page shows now, in one line."""
    return " ".join(Page(written(life)).text.split())


def test_it_shows_what_is_remembered(lived: Life) -> None:
    """The page has notes by day with their marks, the plan, memory and names.

    The words behind the notes are there too.
    """
    text = visible(lived)
    for words in (
        "I live in a small flat in Lisbon with a cat generation 2", "My rent is 950 yours",
        "pinned",
        "outcome unknown",
        "10 Tuesday", "pending", "Made from", "Replaced", "Lisbon is lovely Tejo",
        "You, 2026-03-01 09:02 · At home · message 1", "Lisbon concerns Tejo", "generationtotal",
    ):  # fmt: skip
        assert words in text, words
    lived.compact(1)
    assert "Outcome unknown 20 Feb 2026 I plan to see the dentist" in visible(lived)


def test_an_empty_memory_has_a_page(life: Life) -> None:
    """It says that there is nothing yet."""
    assert "Nothing is remembered yet." in Page(written(life)).text


def test_it_holds_everything_by_itself(lived: Life) -> None:
    """Its links lead to places in itself.

    The policy allows its one style and nothing else.
    """
    page = Page(written(lived))
    assert {
        value[:1] for name in ("href", "src", "action", "data") for value in page.all(name)
    } == {"#"}
    assert {value[1:] for value in page.all("href")} <= set(page.all("id"))
    assert len(page.all("id")) == len(set(page.all("id")))
    (style,) = page.code["style"]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert page.policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "script" not in page.policy
    assert "url(" not in style
    assert "@import" not in style
    assert page.all("style") == []


def test_nothing_said_becomes_part_of_it(attacked: Life, life: Life) -> None:
    """Hostile text stays text, wherever it stands.

    It makes no element, attribute, address or control character.
    """
    html = written(attacked)
    page = Page(html)
    tags = {tag for tag, _ in page.elements}
    assert not {"img", "script"} & tags
    assert len(page.code["style"]) == 1
    assert not [
        name for _, attributes in page.elements for name in attributes if name.startswith("on")
    ]
    assert not FORBIDDEN.search(html)
    assert "{{ 7 * 191 }}" in page.text
    assert page.text.count("<script>document.title='owned'</script>") >= 8


def test_what_was_forgotten_is_not_in_it(lived: Life) -> None:
    """A forgotten fact is not in the page, nor the message it came from.

    Another observation still rests on that message.
    """
    here = lived.talk()
    said = lived.exchange(here, "The code is 4711 and the tea is green")
    code, _ = lived.observe(here, ("The code is 4711", [said]), ("The tea is green", [said]))
    lived.compact(here)
    assert "4711" in written(lived)
    forget(lived.db, ("observation", code.id), lived.clock, words=False)
    html = written(lived)
    assert "4711" not in html
    assert "The tea is green" in html
    assert "you asked for something in it to be forgotten" in html


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed; the tests do not need one")
def test_a_browser_refuses_any_script(lived: Life, tmp_path: Path) -> None:
    """Even one that got past the escaping."""
    script = "<script>document.title = 'owned'</script>"
    page = opened(written(lived).replace("<main>", f"<main>{script}", 1), tmp_path)
    assert "<title>What Construct remembers</title>" in page


def test_what_is_settled_is_no_plan(lived: Life) -> None:
    """As on the agenda: what is done or cancelled is listed among the notes alone."""
    here = lived.talk()
    plan = replace(
        stated("I plan to go to Oslo", [lived.exchange(here, "Oslo!").id]), stance="planned"
    )
    (oslo,) = lived.observe(here, replace(plan, referenced_date="2027-05-05"))
    lived.compact(here)
    assert "Ahead" in Page(written(lived)).text
    settle(lived.db, oslo.id, Settled.CANCELLED, lived.clock)
    text = Page(written(lived)).text
    assert "I plan to go to Oslo (cancelled)" in text
    assert "Ahead" not in text


def test_it_shows_ranges_months_and_withheld_notes(lived: Life) -> None:
    """A reflection has a range of days; a plan may be for a month.

    What is withheld says so.
    """
    with transaction(lived.db):
        lived.db.execute("UPDATE observations SET first_date = '2026-02-01' WHERE generation = 2")
        lived.db.execute("UPDATE observations SET withheld = 1 WHERE pinned")
        lived.db.execute(
            "UPDATE observations SET referenced_date = '2026-05' WHERE stance = 'planned'"
        )
    text = visible(lived)
    for words in (
        "generation 2 2026-02-01 to 2026-03-01", "I am allergic to peanuts withheld pinned",
        "for 2026-05 pending",
    ):  # fmt: skip
        assert words in text, words
    lived.compact(1)
    assert "Ahead May 2026 I plan to see the dentist" in visible(lived)
