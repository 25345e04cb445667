"""What comes back by itself: good enough, and out of sight."""

import shutil
from pathlib import Path

from construct.memory.recall.passages import BUDGET
from construct.memory.shown.forks import fork
from construct.tokens import count
from tests.support.fake_api import FakeApi
from tests.support.talks import LOW, Talk, facts, talking

SMALL_TALK = (
    "Hello!",
    "ok",
    "thanks a lot",
    "???",
    "How are you today, my friend?",
    "What did I say about my yacht?",
)


def ambient(api: FakeApi) -> str:
    """Return the ambient block of the last chat request."""
    text = api.of("chat")[-1].body["messages"][-1]["content"][-1]["text"]
    assert text.startswith("<ambient>")
    return str(text)


async def lived(t: Talk) -> None:
    """Talk about lockers until the first have left the window, then change subject."""
    await t.say("My grandmother Ermelinda kept bees behind the old mill in Vouzela.")
    await t.live(facts(14))
    await t.live(
        [
            f"Tonight we cook soup number {i} and read the paper, nothing else to tell really."
            for i in range(20)
        ]
    )


async def test_a_question_brings_the_passage_with_its_date(tmp_path: Path, api: FakeApi) -> None:
    """A question brings back a passage from before the window.

    The ambient block shows it with its date and speaker.
    """
    async with talking(tmp_path, api, CONSTRUCT_OBSERVATION_BUDGET="200", **_without_budget()) as t:
        await lived(t)
        await t.say("Where did my grandmother Ermelinda keep her bees?")
        assert "Vouzela" in ambient(api)


async def test_a_question_that_is_asked_again_brings_the_same(tmp_path: Path, api: FakeApi) -> None:
    """On a retry, the turn before is still the one before the question."""
    async with talking(tmp_path, api, CONSTRUCT_OBSERVATION_BUDGET="200", **_without_budget()) as t:
        await lived(t)
        await t.say("The bees that my grandmother Ermelinda kept!")
        await t.say("and where was that?")
        assert "Vouzela" in ambient(api)
        await t.responder.retry(t.id, t.heard.append)
        assert "Vouzela" in ambient(api)


async def test_nothing_is_brought_up_without_reason(tmp_path: Path, api: FakeApi) -> None:
    """Small talk, and what was never mentioned, bring nothing back."""
    async with talking(tmp_path, api, **LOW) as t:
        await lived(t)
        here = t.id
    for number, words in enumerate(SMALL_TALK):  # each right after the same talk
        (folder := tmp_path / str(number)).mkdir()
        shutil.copy(tmp_path / "construct.db", folder)
        async with talking(folder, api, **LOW) as t:
            await Talk(t.ledger, here, []).say(words)
        assert "said," not in ambient(api), words
        assert "Noted," not in ambient(api), words


async def test_what_is_in_sight_is_not_repeated(tmp_path: Path, api: FakeApi) -> None:
    """A message in the window, and an observation that is shown, are not recalled."""
    async with talking(tmp_path, api) as t:
        await t.say("My grandmother Ermelinda kept bees behind the old mill in Vouzela.")
        await t.say("Where did my grandmother Ermelinda keep her bees?")
        assert "Vouzela" not in ambient(api)


async def test_what_a_fork_shows_of_its_parent_is_not_repeated(
    tmp_path: Path, api: FakeApi
) -> None:
    """The raw messages it goes on from are in sight too."""
    async with talking(tmp_path, api) as t:
        await t.say("My grandmother Ermelinda kept bees behind the old mill in Vouzela.")
        child = Talk(
            t.ledger, await t.companion.store.call(fork, t.id, t.companion.settings.clock), []
        )
        await child.say("Where did my grandmother Ermelinda keep her bees?")
        assert "Vouzela" not in ambient(api)


async def test_the_block_stays_small(tmp_path: Path, api: FakeApi) -> None:
    """Passages are cut around the words found, and together keep to the budget."""
    async with talking(tmp_path, api, **LOW) as t:
        filler = " ".join(f"filler{i}" for i in range(400))
        for i in range(6):
            await t.live([f"{filler} The emerald lighthouse of Peniche number {i} shone. {filler}"])
        await t.say("Tell me about the emerald lighthouse of Peniche.")
        assert count(ambient(api)) <= BUDGET + 60


def _without_budget() -> dict[str, str]:
    return {name: value for name, value in LOW.items() if name != "CONSTRUCT_OBSERVATION_BUDGET"}
