"""What a change makes doubtful: one further call, a mark, a question, and undo."""

from pathlib import Path

import pytest

from construct.store.flags import flagged
from construct.store.review import count_waiting
from construct.vocabulary import Flag
from tests.memory.cycles.scripted import (
    learn,
    notes,
    observes,
    observes_only,
    query,
    sent,
    states,
    take_back,
    writes,
)
from tests.support.fake_api import FakeApi, faults
from tests.support.fake_types import Json, last_user_text
from tests.support.fake_worker import read_known
from tests.support.talks import Talk, talking

LISBON, PORTO = "User lives in Lisbon", "User lives in Porto now"
TRAM, CAT = "User takes tram 28 to the office", "User has a cat called Miez"
GYM = "User trains at the gym round the corner"
SAID = (
    "I live in Lisbon. I take tram 28 to the office. I have a cat called Miez. "
    "I train at the gym round the corner."
)
NOTED = [writes(text, priority="medium") for text in (LISBON, TRAM, CAT, GYM)]


@pytest.fixture(autouse=True)
def quiet(api: FakeApi) -> None:
    """Leave all to the observer."""
    observes_only(api)


def doubts(*words: str) -> object:
    """Return an answer that names the related notes with these words."""

    def answer(body: Json) -> str:
        lines = last_user_text(body).splitlines()
        named = [line.split()[0] for line in lines if any(word in line for word in words)]
        return f"<doubtful>{' '.join(named)} R99</doubtful>"

    return answer


async def move(t: Talk, api: FakeApi) -> None:
    """Say that the user lives somewhere else now, and let it be observed and committed."""
    await learn(t, api, "I live in Porto now.", writes(PORTO, replaces="Lisbon"))


async def doubtful(t: Talk) -> set[str]:
    """Return the words of the doubtful notes."""
    ids = await t.companion.store.call(flagged, Flag.DOUBTFUL)
    found = await query(t, "SELECT id, content FROM observations")
    return {content for id_, content in found if id_ in ids}


async def test_what_hangs_on_the_change_is_unsure(tmp_path: Path, api: FakeApi) -> None:
    """It is shown with the mark, to the observer too, and asked about; undo takes it back."""
    api.enqueue("changes", doubts("tram", "gym"))  # type: ignore[arg-type]
    async with talking(tmp_path, api) as t:
        await learn(t, api, SAID, *NOTED)
        await move(t, api)
        asked = sent(api, "changes").splitlines()
        assert asked[0] == "<change>"
        assert LISBON in asked[1]
        assert asked[2].startswith("=> ")
        assert PORTO in asked[2]
        assert [line.split(" ", 3)[-1] for line in asked[5:-1]] == [*{
            line.split(" ", 3)[-1]: None for line in asked[5:-1]
        }]  # fmt: skip
        assert {line.split(" ", 3)[-1] for line in asked[5:-1]} == {TRAM, CAT, GYM}
        assert await doubtful(t) == {TRAM, GYM}
        assert (await states(t))[TRAM] == "active"
        assert await t.companion.store.call(count_waiting) == 2
        await t.say("Hello.")
        assert f"{TRAM} | unsure" in sent(api, "chat")
        assert f"{CAT} | unsure" not in sent(api, "chat")
        api.enqueue("observer", observes())
        await t.companion.worker.run_now(t.id)
        known = {line.text: line for line in read_known(api.of("observer")[-1].body)}
        assert any(f"{TRAM} | unsure" in text or text == TRAM for text in known)
        assert f"{TRAM} | unsure" in last_user_text(api.of("observer")[-1].body)
        await take_back(t)  # the empty run and the move
        assert await doubtful(t) == set()
        assert await t.companion.store.call(count_waiting) == 0


async def test_it_takes_effect_with_the_change(tmp_path: Path, api: FakeApi) -> None:
    """Not while the new line is pending."""
    api.enqueue("changes", doubts("tram"))  # type: ignore[arg-type]
    more = {"CONSTRUCT_OBSERVER_THRESHOLD": "1"}
    async with talking(tmp_path, api, **more) as t:
        await learn(t, api, SAID, *NOTED)
        api.enqueue("observer", observes(writes(PORTO, replaces="Lisbon")))
        await t.say("I live in Porto now.")
        await t.companion.worker.run_due(t.id)
        assert (await states(t))[PORTO] == "pending"
        assert await doubtful(t) == set()
        await t.companion.worker.run_now(t.id)
        assert await doubtful(t) == {TRAM}


@pytest.mark.parametrize("answer", ["prose", "half", "fault"])
async def test_a_call_that_fails_flags_nothing(tmp_path: Path, api: FakeApi, answer: str) -> None:
    """The change itself stands, and the cycle's notes say that it could not be asked."""
    if answer == "fault":
        api.fail("changes", lambda: faults.http(400), None)
    else:
        api.enqueue("changes", "R1 and R2, I think." if answer == "prose" else "<doubtful>R1 R2")
    async with talking(tmp_path, api) as t:
        await learn(t, api, SAID, *NOTED)
        await move(t, api)
        assert (await states(t))[LISBON] == "superseded"
        assert await doubtful(t) == set()
        assert "could not be asked" in await notes(t)


async def test_nothing_is_asked_where_nothing_was_replaced(tmp_path: Path, api: FakeApi) -> None:
    """Nor where the verifier did not agree."""
    async with talking(tmp_path, api) as t:
        await learn(t, api, SAID, *NOTED)
        await learn(t, api, "I bought a lamp.", writes("User bought a lamp"))
    assert not api.of("changes")
