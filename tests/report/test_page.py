"""The page: whole, by itself, and deaf to what is said in it."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from construct.memory.curation.forget import forget
from construct.store.database import transaction
from tests.memory.builders import Life, stated
from tests.report.conftest import written
from tests.support.pages import BROWSER, Page, opened

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
ATTACK = (
    "</title></style></script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
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
    life.remember(f"Kept {ATTACK} end")
    with transaction(life.db):
        life.db.execute("UPDATE entities SET name = name || ?, type = ?, aliases = '[\"</script>\"]'", (ATTACK, ATTACK))
        life.db.execute("UPDATE relations SET predicate = ?", (ATTACK,))
        life.db.execute("UPDATE memories SET category = ?", (ATTACK,))
        life.db.execute("UPDATE cycles SET model = ?", (ATTACK,))
        life.db.execute(
            "INSERT INTO usage (created_at, purpose, model, cost_usd) VALUES (?, ?, ?, 1)",
            (life.tick(), ATTACK, ATTACK),
        )
    return life


def test_it_shows_what_is_remembered(lived: Life) -> None:
    """Observations by day with what is to be known of them, the plan, the words behind, the memory and the names."""
    text = " ".join(Page(written(lived)).text.split())
    for words in (
        "I live in a small flat in Lisbon with a cat generation 2", "My rent is 950 yours", "pinned", "outcome unknown",
        "10 Tuesday", "pending", "Made of 2 observations", "Took the place of", "Lisbon is lovely Tejo",
        "You, 2026-03-01 09:02 · At home · message 1", "How generations flow", "concerns → Tejo", "Outcome unknown",
    ):  # fmt: skip
        assert words in text, words


def test_an_empty_memory_has_a_page(life: Life) -> None:
    """It says that there is nothing yet."""
    assert "Nothing is remembered yet." in Page(written(life)).text


def test_it_holds_everything_by_itself(lived: Life) -> None:
    """No address but places in itself, and all of these are there; its code is what the policy names, and no more."""
    page = Page(written(lived))
    assert {value[:1] for name in ("href", "src", "action", "data") for value in page.all(name)} == {"#"}
    assert {value[1:] for value in page.all("href")} <= set(page.all("id"))
    assert len(page.all("id")) == len(set(page.all("id")))
    for kind in ("script", "style"):
        (code,) = page.code[kind]
        assert f"{kind}-src 'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'" in page.policy
        assert "url(" not in code
        assert "@import" not in code
    assert page.policy.startswith("default-src 'none';")
    assert page.all("style") == []


def test_nothing_said_becomes_part_of_it(attacked: Life, life: Life) -> None:
    """Hostile text in every place is words: no element, attribute, address or control character of its own."""
    html = written(attacked)
    page = Page(html)
    tags = {tag for tag, _ in page.elements}
    assert "img" not in tags
    assert len(page.code["script"]) == len(page.code["style"]) == 1
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not FORBIDDEN.search(html)
    assert "{{ 7 * 191 }}" in page.text
    assert page.text.count("<script>document.title='owned'</script>") >= 8


def test_what_was_forgotten_is_not_in_it(lived: Life) -> None:
    """Nor are the words of a message that is kept out of sight, where something else still rests on it."""
    here = lived.talk()
    said = lived.exchange(here, "The code is 4711 and the tea is green")
    code, _ = lived.observe(here, ("The code is 4711", [said]), ("The tea is green", [said]))
    lived.compact(here)
    assert "4711" in written(lived)
    forget(lived.db, ("observation", code.id), lived.clock, words=False)
    html = written(lived)
    assert "4711" not in html
    assert "The tea is green" in html
    assert "Something in it was forgotten" in html


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed: a browser is no dependency of the tests")
def test_a_browser_runs_its_search_and_nothing_else(attacked: Life, tmp_path: Path) -> None:
    """A script that got in after all is refused; the search finds words behind a line, accents or not."""
    here = attacked.talk()
    said = attacked.exchange(here, "Inês plays the cello")
    attacked.observe(here, replace(stated("A sister is a musician", [said.id]), observation_date="2026-03-02"))
    ours = "input.value = 'INES cello'; input.dispatchEvent(new Event('input'))"
    allowed = f"script-src 'sha256-{b64encode(sha256(ours.encode()).digest()).decode()}' "
    html = written(attacked).replace("script-src ", allowed, 1)
    html = html.replace("<main>", "<main><script>document.title = 'owned'</script>", 1)
    page = opened(html.replace("</body>", f"<script>{ours}</script></body>"), tmp_path)
    assert "<title>What Construct remembers</title>" in page
    assert ">1 found</output>" in page
    assert '<details open="">' in page
    assert re.findall(r'<div class="day"( hidden="")?>', page) == ["", ' hidden=""']


def test_legends_name_what_is_there(life: Life) -> None:
    """What nothing is of stands neither in a legend nor in the table under it."""
    life.learn(life.talk(), "I live in Lisbon")
    legends = "".join(re.findall(r'<ul class="legend">.*?</ul>', written(life)))
    assert re.findall(r'"k-(high|medium|low|active|pending|dropped|replaced|condensed)"', legends) == ["high", "active"]
