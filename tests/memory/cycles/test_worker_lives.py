"""Whole lives with workers that nod at everything, refuse everything, or talk nonsense."""

from pathlib import Path

import pytest

from construct.tokens import by_bytes
from tests.memory.cycles.scripted import query
from tests.memory.recall.hits import search
from tests.support.fake_api import FakeApi, adversarial
from tests.support.fake_types import Answerer, Json, last_user_text
from tests.support.fake_worker import WORKERS, note, observer_answer, read_known, read_transcript
from tests.support.talks import LOW, talking

_SYLLABLES = "ba de fi go lu ma ne pi ro su ta ve wi xo zu".split()
TURNS = 40


def word(number: int) -> str:
    """Return a made-up word that shares no beginning with others."""
    one, two = divmod(number, len(_SYLLABLES))
    return f"{_SYLLABLES[one % 15]}{_SYLLABLES[two]}{_SYLLABLES[one // 15]}n"


def fact(turn: int) -> str:
    """Return a sentence with no longer word in common with any other."""
    return f"My {word(3 * turn)} is {word(3 * turn + 1)} {word(3 * turn + 2)} {4000 + 7 * turn}."


def greedy(body: Json) -> str:
    """Write every sentence of the user's as `!`, and replace all that is known by it."""
    said = [m for m in read_transcript(body) if m.role == "user"]
    known = [line.anchor for line in read_known(body)]
    lines = []
    for index, message in enumerate(said):
        sentence = message.text.partition(". ")[0].rstrip(".")
        replaces = known[3 * index : 3 * index + 3]
        lines.append(
            note(f"User's own: {sentence}", [message.anchor], priority="high",
                 observation_date=message.date, replaces=replaces)
        )  # fmt: skip
    return observer_answer(lines, task="Everything")


def nonsense(_body: Json) -> str:
    """Answer with what is no answer."""
    return "<observations>\nwell\n</observations><checks>\n7 maybe\n</checks>"


@pytest.mark.parametrize(
    ("observer", "verifier"),
    [
        (greedy, WORKERS["verifier"]),
        (greedy, adversarial.always_no),
        (greedy, nonsense),
        (nonsense, nonsense),
    ],
    ids=["nods", "refuses", "checks nothing", "nonsense"],
)
async def test_no_life_loses_what_matters(
    tmp_path: Path, api: FakeApi, observer: Answerer, verifier: Answerer
) -> None:
    """Every fact stands in a note or its reflection, and every message is found.

    The workers read a bounded multiple of the talk, although the parts are tiny here.
    """
    api.observer, api.verifier = observer, verifier
    async with talking(tmp_path, api, **LOW) as t:
        said = [f"{fact(turn)} That is so, and I say it once. " * 2 for turn in range(TURNS)]
        await t.live(said)
        await t.companion.worker.run_now(t.id)
        t.check()
        notes = await query(t, "SELECT content FROM observations WHERE superseded_at IS NULL")
        active = "\n".join(content for (content,) in notes)
        assert [turn for turn in range(TURNS) if str(4000 + 7 * turn) not in active] == []
        for turn in range(0, TURNS, 5):
            found = await t.companion.store.call(search, f"{word(3 * turn)} {word(3 * turn + 1)}")
            assert any(hit.kind == "message" and word(3 * turn) in hit.text for hit in found)
    talk = sum(by_bytes(text) for text in said) * 2  # with the replies
    asked = [*api.of("observer"), *api.of("verifier")]
    read = sum(by_bytes(last_user_text(request.body)) for request in asked)
    assert read < 16 * talk
