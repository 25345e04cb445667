"""One reflector cycle against the strict fake, and what its verifier is asked."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from construct.memory.forgetting import forget
from construct.memory.learning.reflector import TARGET
from construct.store import observations as rows
from construct.store import questions
from construct.store.database import open_database
from construct.store.flags import set_flag
from construct.vocabulary import Flag
from tests.memory.cycles.scripted import (
    checks_reflections,
    condenses,
    learn,
    notes,
    observes,
    observes_only,
    query,
    reflection_checks,
    sent,
    states,
    take_back,
    writes,
)
from tests.support.fake_api import FakeApi, adversarial, faults
from tests.support.fake_types import Answer, Json, last_user_text
from tests.support.fake_worker import read_groups, read_lines, verifier_answer
from tests.support.talks import Talk, talking

ANA, RITA = (
    "User has a sister called Ana who is a nurse",
    "User has a sister called Rita who is a lawyer, 34 years old",
)
SISTERS = "User has two sisters: Ana (nurse), Rita (lawyer, 34)"
TEA, LAMP = "User likes a cup of green tea in the morning", "User bought a lamp for the desk"
SAID = (
    "My sister Ana is a nurse, my sister Rita is a lawyer of 34. "
    "I like green tea in the morning. I bought a lamp."
)
NOTED = (writes(ANA), writes(RITA), writes(TEA, priority="medium"), writes(LAMP, priority="low"))
JOINED = (SISTERS, ("Ana", "Rita"))


@pytest.fixture(autouse=True)
def quiet(api: FakeApi) -> None:
    """Leave all to observer and reflector."""
    observes_only(api)


async def active(t: Talk) -> set[str]:
    """Return the words of what is active."""
    return {content for content, state in (await states(t)).items() if state == "active"}


async def test_the_request_states_the_target(tmp_path: Path, api: FakeApi) -> None:
    """A share of what it is given."""
    async with talking(tmp_path, api) as t:
        found = await learn(t, api, SAID, *NOTED)
        size = sum(o.token_count for o in found)
    request = sent(api, "reflector")
    assert request.splitlines()[0] == "<notes>"
    assert (
        f"These are about {size} tokens. Bring them to at most {int(TARGET * size)} tokens in all."
        in request
    )


async def test_what_is_proven_and_confirmed_is_committed(tmp_path: Path, api: FakeApi) -> None:
    """In one call of each.

    What was condensed stays traceable, and undo brings all of it back.
    """
    api.enqueue("reflector", condenses(JOINED, drop=["lamp"]))
    async with talking(tmp_path, api) as t:
        await learn(t, api, SAID, *NOTED)
        assert await active(t) == {SISTERS, TEA}
        (checked,) = reflection_checks(api)
        (group,) = read_groups(checked)
        assert len(api.of("reflector")) == 1
        assert (group.kind, [n.text for n in group.notes]) == ("line", [ANA, RITA])
        await take_back(t)
        assert await active(t) == {ANA, RITA, TEA, LAMP}


async def test_what_is_refused_goes_back_once(tmp_path: Path, api: FakeApi) -> None:
    """With the reasons of code and verifier and the whole input.

    The second answer is checked again.

    What passed the first time is taken and is not asked about again.
    """
    lost = ("User has two sisters, one of them a lawyer", ("Ana", "Rita"))
    api.enqueue(
        "reflector",
        condenses(lost, ("User likes green tea", ("tea",)), drop=["lamp"]),
        condenses(JOINED),
    )
    answers = iter([{1: "missing: in the morning"}, {}])
    api.verifier = checks_reflections(
        lambda body: verifier_answer(next(answers), len(read_groups(body)))
    )
    async with talking(tmp_path, api) as t:
        await learn(t, api, SAID, *NOTED)
        assert await active(t) == {SISTERS, TEA}
        first, second = [r.body for r in api.of("reflector")]
        assert read_lines(first) == read_lines(second)
        remark = last_user_text(second).split("</notes>")[1]
        assert "“34” of" in remark
        assert "missing: in the morning" in remark
        assert "do not repeat it" in remark
        groups = [
            [(g.number, g.result.text) for g in read_groups(body)]
            for body in reflection_checks(api)
        ]
        assert groups == [[(1, "User likes green tea")], [(1, SISTERS)]]
        assert "User likes green tea" in await notes(t, "reflector")
        assert "lawyer (" not in await notes(t, "reflector")


async def test_what_is_refused_twice_stays_as_it_was(tmp_path: Path, api: FakeApi) -> None:
    """And the reason is in the cycle's notes."""
    api.reflector = condenses(JOINED)
    api.verifier = checks_reflections(adversarial.always_no)
    async with talking(tmp_path, api) as t:
        await learn(t, api, SAID, *NOTED)
        assert await active(t) == {ANA, RITA, TEA, LAMP}
        assert f"{SISTERS} (it says something else); kept: “{ANA}”, “{RITA}”" in await notes(
            t, "reflector"
        )
    assert (len(api.of("reflector")), len(reflection_checks(api))) == (2, 2)


async def test_groups_are_numbered_from_one_in_one_call(tmp_path: Path, api: FakeApi) -> None:
    """Lines, `same` and `outdated` together, in that order.

    What is dropped needs no check.
    """
    cafe, shop = "User works in a cafe", "User works in a shop"
    api.enqueue(
        "reflector",
        condenses(JOINED, same=[("cup of", "some")], outdated=[("cafe", "shop")], drop=["lamp"]),
    )
    async with talking(tmp_path, api) as t:
        await learn(t, api, "I work in a cafe.", writes(cafe))
        noted = (*NOTED, writes("User likes some tea"), writes(shop))
        await learn(t, api, f"{SAID} I work in a shop.", *noted)
        assert await active(t) == {SISTERS, "User likes some tea", shop}
    (body,) = reflection_checks(api)
    assert [(g.number, g.kind) for g in read_groups(body)] == [
        (1, "line"),
        (2, "same"),
        (3, "outdated"),
    ]


@pytest.mark.parametrize("fault", [faults.http(400), faults.refusal()], ids=["400", "refusal"])
async def test_without_a_verifier_nothing_is_committed(
    tmp_path: Path, api: FakeApi, fault: faults.Fault
) -> None:
    """Not even what needed no check; once it answers again the same is done."""
    async with talking(tmp_path, api) as t:
        await learn(t, api, SAID, *NOTED)
        api.reflector = condenses(JOINED, drop=["lamp"])
        api.fail("verifier", fault, times=2)
        await t.companion.worker.run_now(t.id)
        assert await active(t) == {ANA, RITA, TEA, LAMP}
        last = "SELECT status FROM cycles WHERE kind = 'reflector' ORDER BY id DESC LIMIT 1"
        assert await query(t, last) == [("failed",)]
        assert len(reflection_checks(api)) == 2
        await t.companion.worker.run_now(t.id)
        assert await active(t) == {SISTERS, TEA}


@pytest.mark.parametrize("model", ["tiny:1.5b", "qwen2.5-0.5b-instruct"])
async def test_a_small_model_is_not_asked_to_rewrite(
    tmp_path: Path, api: FakeApi, model: str
) -> None:
    """Near-duplicates are retired by rule.

    What it says replaces a note does not, since nobody can check it.
    """
    async with talking(tmp_path, api, MEMORY_WORKER_MODEL=model) as t:
        await learn(t, api, "I live in Lisbon.", writes("User lives in Lisbon"))
        await learn(t, api, "I do live in Lisbon.", writes("User lives in Lisbon."))
        assert len(await active(t)) == 1
        await learn(
            t, api, "I moved to Porto.", writes("User lives in Porto now", replaces="Lisbon")
        )
        assert "User lives in Porto now" in await active(t)
        assert len(await active(t)) == 2
    assert not api.of("reflector")
    assert not api.of("verifier")


async def test_what_says_the_same_is_forgotten_together(tmp_path: Path, api: FakeApi) -> None:
    """The note that was retired would bring back what the user wants gone."""
    api.enqueue("reflector", condenses(same=[("cup of", "some")]))
    async with talking(tmp_path, api) as t:
        await learn(t, api, SAID, writes(TEA), writes("User likes some tea"))
        (stays,) = [
            o for o in await t.companion.store.call(rows.unsuperseded) if o.state == "active"
        ]
        await t.companion.store.call(
            forget, ("observation", stays.id), t.companion.settings.clock, words=False
        )
        assert await states(t) == {}
        t.check()


async def test_what_was_outdated_comes_back_when_the_newer_is_forgotten(
    tmp_path: Path, api: FakeApi
) -> None:
    """It is another fact: nothing stands against it any more."""
    cafe, shop = "User works in a cafe", "User works in a shop"
    api.reflector = condenses(outdated=[("cafe", "shop")])
    async with talking(tmp_path, api) as t:
        await learn(t, api, "I work in a cafe.", writes(cafe))
        *_, newer = await learn(t, api, "I work in a shop.", writes(shop))
        assert await states(t) == {cafe: "superseded", shop: "active"}
        await t.companion.store.call(
            forget, ("observation", newer.id), t.companion.settings.clock, words=False
        )
        assert await states(t) == {cafe: "active"}
        t.check()


async def test_the_status_says_that_work_is_checked(tmp_path: Path, api: FakeApi) -> None:
    """While the verifier is asked the phase is `checking`.

    Its calls are booked as its own.
    """
    api.enqueue("reflector", condenses(JOINED))
    api.fail("verifier", faults.hang(1))
    async with talking(tmp_path, api) as t:
        working = asyncio.create_task(learn(t, api, SAID, *NOTED))
        await asyncio.to_thread(api.wait_for, 1, "verifier")
        panel = await t.status()
        await working
        after = await t.status()
        assert (panel.phase, after.phase) == ("checking", "idle")
        booked = await query(
            t,
            "SELECT DISTINCT u.purpose, c.kind FROM usage AS u JOIN cycles AS c ON c.id = cycle_id",
        )
        assert ("verifier", "reflector") in booked


async def test_a_note_that_is_to_be_forgotten_is_not_condensed(
    tmp_path: Path, api: FakeApi
) -> None:
    """It is withheld only with the commit.

    A line made of it meanwhile would go on saying it.
    """
    debt, story = (
        "User owes Ana a lot",
        "User told a long story about this and that which nobody needs to know later on",
    )
    api.enqueue("reflector", condenses(drop=["story"]))
    limits = {"CONSTRUCT_OBSERVER_THRESHOLD": "1", "CONSTRUCT_REFLECTOR_THRESHOLD": "10"}
    async with talking(tmp_path, api, **limits) as t:
        await learn(
            t, api, "I owe Ana a lot.", writes(debt), writes(TEA), writes(story, priority="low")
        )
        api.enqueue("observer", observes(forget=["Ana", "M1"]))
        api.reflector = condenses(("User owes Ana a lot, likes green tea", ("Ana", "tea")))
        await t.say("Forget what I said of Ana.")
        await t.companion.worker.run_due(t.id)
        await t.companion.worker.run_now(t.id)
        assert await active(t) == {debt, TEA}
        await t.say("So it goes.")
        assert debt not in sent(api, "chat")


async def test_a_note_that_is_to_be_forgotten_meanwhile_is_not_condensed(
    tmp_path: Path, api: FakeApi
) -> None:
    """A note is not condensed if the user asks meanwhile to forget it.

    An observer that a waiting turn needs may learn that while the reflector works.
    """
    async with talking(tmp_path, api) as t:
        ana, *_ = await learn(t, api, SAID, *NOTED)

        def reflector(body: Json) -> Answer:
            with closing(open_database(t.companion.settings.db)) as db:
                questions.add_forget(db, ana.cycle_id, [ana.id], [], ana.created_at)
            return condenses(JOINED)(body)

        api.enqueue("reflector", reflector)
        await t.companion.worker.run_now(t.id)
        t.check()
        assert await active(t) == {ANA, RITA, TEA, LAMP}


async def test_a_doubtful_note_is_not_condensed(tmp_path: Path, api: FakeApi) -> None:
    """It waits for the user to settle it."""
    async with talking(tmp_path, api) as t:
        ana, *_ = await learn(t, api, SAID, *NOTED)
        await t.companion.store.call(set_flag, ana.id, Flag.DOUBTFUL, ana.cycle_id)
        await t.companion.worker.run_now(t.id)
        assert ANA not in sent(api, "reflector")
        assert RITA in sent(api, "reflector")
