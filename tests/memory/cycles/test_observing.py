"""One observer cycle against the strict fake.

The tests cover what the observer is told and what it may replace.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from construct import tokens
from construct.clock import Clock
from construct.errors import ConstructError
from construct.memory.corrections import edit, pin
from construct.memory.cycles import archive
from construct.memory.forgetting import delete_conversation, forget
from construct.memory.shown.forks import fork
from construct.store import cycles, questions
from construct.store import observations as rows
from construct.store.conversations import create_conversation, get_conversation, get_watermarks
from construct.store.database import open_database
from construct.store.messages import last_message_id
from construct.store.records import Observation
from construct.store.transfer.importing import import_file
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
from tests.memory.recall.hits import search
from tests.support.fake_api import FakeApi, adversarial
from tests.support.fake_types import Answer, Json, last_user_text
from tests.support.fake_worker import (
    Group,
    note,
    observer_answer,
    read_groups,
    read_known,
    read_transcript,
    verifier_answer,
)
from tests.support.talks import Talk, talking

LISBON, PORTO = "User lives in Lisbon", "User lives in Porto now"
MOVED = writes(PORTO, replaces="Lisbon")
EAGER = {"CONSTRUCT_OBSERVER_THRESHOLD": "1"}
"""Everything is observed at once, and committed only when asked for."""
NARROW = {"CONSTRUCT_COMPACT_THRESHOLD": "200"}
"""The window keeps a turn or two."""


@pytest.fixture(autouse=True)
def quiet(api: FakeApi) -> None:
    """Leave all to the observer."""
    observes_only(api)


def outdated_groups(api: FakeApi) -> list[Group]:
    """Return what the verifier was asked about notes that others make outdated."""
    groups = [group for request in api.of("verifier") for group in read_groups(request.body)]
    return [group for group in groups if group.kind == "outdated"]


async def test_what_the_words_are_about_is_known_first(tmp_path: Path, api: FakeApi) -> None:
    """Beginning with what is to be forgotten; then what matters and lies ahead, then the rest.

    There are about 2,500 tokens of them, no subject more than a quarter.
    """
    fillers = [f"User knows Nam{a}{b}, who rows" for a in "abcdefghij" for b in "abcdefghijklmnop"]
    dogs = [f"User's dog Rex likes toy {number} of many" for number in range(60)]
    async with talking(tmp_path, api) as t:
        said = "I have a bakery in Leiria, cannot eat nuts, owe Ana money, and see Dr Moura."
        await learn(
            t,
            api,
            said,
            writes("User has a bakery in Leiria", priority="medium"),
            writes("User owes Ana money", priority="low"),
            writes("User cannot eat nuts"),
            "! 2026-01-01 M1 User sees Dr Moura | planned | for 2090-03-05",
        )
        said = "Rex likes many toys, and I know many people. " * 200
        await learn(t, api, said, *(writes(text, priority="low") for text in [*dogs, *fillers]))
        await t.say("What should a bakery in Leiria sell?")
        await t.say("Please forget that I owe Ana money.")
        await t.companion.worker.run_now(t.id)
    assert read_known(api.of("observer")[0].body) == []
    known = [line.text for line in read_known(api.of("observer")[-1].body)]
    assert known[:4] == [
        "User owes Ana money",
        "User has a bakery in Leiria",
        "User sees Dr Moura",
        "User cannot eat nuts",
    ]
    block = sent(api, "observer").split("</known>")[0]
    assert 2_300 < tokens.count(block) < 2_600
    assert 20 < sum("Rex" in text for text in known) < 45


async def test_a_note_is_not_known_beside_the_pending_one_that_replaces_it(
    tmp_path: Path, api: FakeApi
) -> None:
    """The observer would take both for true."""
    async with talking(tmp_path, api, **EAGER) as t:
        await learn(t, api, "I live in Lisbon.", writes(LISBON))
        api.enqueue("observer", observes(MOVED), observes())
        for text in ("I moved to Porto.", "Porto or Lisbon, who knows."):
            await t.say(text)
            await t.companion.worker.run_due(t.id)
        assert [line.text for line in read_known(api.of("observer")[-1].body)] == [PORTO]


async def test_what_is_replaced_stands_until_the_commit(tmp_path: Path, api: FakeApi) -> None:
    """Then the observer cycle supersedes it; undo brings it back."""
    async with talking(tmp_path, api, **EAGER) as t:
        await learn(t, api, "I live in Lisbon.", writes(LISBON))
        api.enqueue("observer", observes(MOVED))
        await t.say("I moved to Porto.")
        await t.companion.worker.run_due(t.id)
        assert await states(t) == {LISBON: "active", PORTO: "pending"}
        await t.companion.worker.run_now(t.id)
        assert await states(t) == {LISBON: "superseded", PORTO: "active"}
        old, new = await t.companion.store.call(rows.all_observations)
        assert old.superseded_by == new.cycle_id
        (group,) = outdated_groups(api)
        assert ([n.text for n in group.notes], group.result.text) == ([LISBON], PORTO)
        await t.say("So where do I live?")
        assert "Lisbon" not in shown(api)
        await take_back(t)
        assert (await states(t))[LISBON] == "active"


def shown(api: FakeApi) -> str:
    """Return the observations of the newest chat request."""
    return sent(api, "chat").partition("<observations>")[2].partition("</observations>")[0]


@pytest.mark.parametrize(
    ("verifier", "reason"),
    [
        (
            lambda body: verifier_answer(
                {
                    group.number: "it says something else"
                    for group in read_groups(body)
                    if group.kind == "outdated"
                },
                len(read_groups(body)),
            ),
            "not outdated: it says something else",
        ),
        (adversarial.garbage_checks, "the verifier did not check it"),
    ],
    ids=["no", "garbage"],
)
async def test_what_the_verifier_does_not_confirm_replaces_nothing(
    tmp_path: Path, api: FakeApi, verifier: Callable[[Json], Answer], reason: str
) -> None:
    """Both notes stay, and the reason is on record.

    That one may have names from the other is, too.
    """
    api.verifier = verifier
    async with talking(tmp_path, api) as t:
        await learn(t, api, "I live in Lisbon.", writes(LISBON))
        await learn(t, api, "I moved to Porto.", MOVED)
        assert await states(t) == {LISBON: "active", PORTO: "active"}
        assert f"kept “{LISBON}”: {reason}" in await notes(t)
        assert await query(t, "SELECT * FROM observation_replaced") == []
        assert await query(t, "SELECT * FROM observation_borrowed") == [(2, 1)]
        assert len(api.of("verifier")) == (4 if verifier is adversarial.garbage_checks else 2)


async def test_imported_history_does_not_overrule_today(tmp_path: Path, api: FakeApi) -> None:
    """Last year's chat has the greater ids, and was said before."""
    async with talking(tmp_path, api, CONSTRUCT_NOW="2026-03-01T10:00Z") as t:
        await learn(t, api, "I moved to Porto.", writes(PORTO))
        line = {
            "type": "message",
            "conversation": "Last year",
            "role": "user",
            "content": "I live in Lisbon.",
        }
        (tmp_path / "chats.jsonl").write_text(
            json.dumps(line | {"created_at": "2025-01-01T10:00:00+00:00"}) + "\n"
        )
        clock = t.companion.settings.clock
        await t.companion.store.call(import_file, tmp_path / "chats.jsonl", clock)
        api.enqueue("observer", observes(writes(LISBON, replaces="Porto")))
        ((imported,),) = await query(t, "SELECT id FROM conversations WHERE title = 'Last year'")
        revived = await t.companion.store.call(archive.revive, imported, 1_000)
        assert revived
        assert await t.companion.worker.catch_up(imported, revived.until) == 1
        t.check()
        assert await states(t) == {PORTO: "active", LISBON: "active"}
        kept = f"kept “{PORTO}”: the note that would replace it was not said later"
        assert kept in await notes(t)
    assert outdated_groups(api) == []


def corrected(db: sqlite3.Connection, observation_id: int) -> None:
    """Put an observation into the user's own words."""
    edit(db, observation_id, LISBON, Clock(datetime(2026, 3, 1, tzinfo=UTC), UTC))


@pytest.mark.parametrize("keep", [pin, corrected])
async def test_pinned_and_own_notes_are_never_replaced(
    tmp_path: Path, api: FakeApi, keep: Callable[..., object]
) -> None:
    """Whoever says so later."""
    async with talking(tmp_path, api) as t:
        (old,) = await learn(t, api, "I live in Lisbon.", writes(LISBON.replace("lives", "stays")))
        await t.companion.store.call(keep, old.id)
        await learn(t, api, "I moved to Porto.", MOVED)
        assert len([state for state in (await states(t)).values() if state == "active"]) == 2
        assert "pinned or the user's own" in await notes(t)


async def test_a_note_that_is_pinned_before_the_commit_stays(tmp_path: Path, api: FakeApi) -> None:
    """What was checked already is not done."""
    async with talking(tmp_path, api, **EAGER) as t:
        (old,) = await learn(t, api, "I live in Lisbon.", writes(LISBON))
        api.enqueue("observer", observes(MOVED))
        await t.say("I moved to Porto.")
        await t.companion.worker.run_due(t.id)
        await t.companion.store.call(pin, old.id)
        await t.companion.worker.run_now(t.id)
        assert await states(t) == {LISBON: "active", PORTO: "active"}
        t.check()


@pytest.mark.parametrize("scope", ["user", "conversation"])
async def test_a_fork_replaces_nothing_of_its_parent(
    tmp_path: Path, api: FakeApi, scope: str
) -> None:
    """The parent goes on without knowing what was said in the fork."""
    async with talking(tmp_path, api, CONSTRUCT_SCOPE=scope) as t:
        await learn(t, api, "I live in Lisbon.", writes(LISBON))
        t.id = await t.companion.store.call(fork, t.id, t.companion.settings.clock)
        await learn(t, api, "I moved to Porto.", MOVED)
        assert await states(t) == {LISBON: "active", PORTO: "active"}
        assert "it belongs to another conversation" in await notes(t)
        await learn(t, api, "I moved to Faro.", writes("User lives in Faro now", replaces="Porto"))
        assert (await states(t))[PORTO] == "superseded"


@pytest.mark.parametrize("scope", ["user", "conversation"])
async def test_scope_decides_whether_other_talks_are_known(
    tmp_path: Path, api: FakeApi, scope: str
) -> None:
    """Bound to one conversation, what others taught is neither known nor replaced."""
    async with talking(tmp_path, api, CONSTRUCT_SCOPE=scope) as t:
        await learn(t, api, "I live in Lisbon.", writes(LISBON))
        t.id = await t.companion.store.call(create_conversation, "2026-03-01T10:00:00.000000+00:00")
        await learn(t, api, "I moved to Porto.", MOVED)
        assert (await states(t))[LISBON] == ("superseded" if scope == "user" else "active")
        assert ("<known>" in sent(api, "observer")) == (scope == "user")


async def test_an_empty_answer_is_an_answer(tmp_path: Path, api: FakeApi) -> None:
    """Small talk costs one call.

    Where the user's words hold terms a second one, and then it stands.
    """
    api.observer = adversarial.silent
    async with talking(tmp_path, api) as t:
        for text, calls in (("how are you today?", 1), ("I live in Lisbon.", 2)):
            before = len(api.of("observer"))
            await t.say(text)
            await t.companion.worker.run_now(t.id)
            assert len(api.of("observer")) - before == calls
        assert await states(t) == {}
        marks = await t.companion.store.call(get_watermarks, t.id)
        assert marks.observed == await t.companion.store.call(last_message_id, t.id)
    assert "A first reading of this noted nothing" in sent(api, "observer")


@pytest.mark.parametrize(
    ("answer", "is_empty"),
    [
        ("<observations>\nNo new information.\n</observations>", True),
        ("There is nothing new to note here.", True),
        ("<observations>\n(none)\n</observations>", True),
        ("<observations>\nThe user had a nice day.\n</observations>", False),
        ("I cannot help with that.", False),
    ],
)
async def test_prose_that_nothing_is_new_is_an_empty_answer(
    tmp_path: Path, api: FakeApi, answer: str, is_empty: bool
) -> None:
    """It costs one call, where other prose is a failed attempt."""
    api.observer = lambda _body: answer
    async with talking(tmp_path, api) as t:
        await t.say("how are you today?")
        await t.companion.worker.run_now(t.id)
        assert (len(api.of("observer")) == 1) is is_empty


@pytest.mark.parametrize("word", ["iVBORw0KGgo" * 9, "    return sum(rows)\n"])
async def test_a_large_paste_of_data_costs_two_calls_at_most(
    tmp_path: Path, api: FakeApi, word: str
) -> None:
    """Of base64 or of code: the observer reads its beginning and its end."""
    text = f"What is this?\n{word * (300_000 // len(word))}\nI found it in Porto."
    api.observer = adversarial.silent
    async with talking(tmp_path, api) as t:
        await t.say(text)
        await t.companion.worker.run_now(t.id)
        assert len(api.of("observer")) <= 2
        assert "I found it in Porto." in sent(api, "observer")
        assert len(sent(api, "observer")) < 6_000
        assert (await t.status()).messages.window == 0


async def test_after_two_failures_each_half_is_tried_and_then_read_by_rule(
    tmp_path: Path, api: FakeApi
) -> None:
    """One cycle over the whole.

    The second half knows what the first gave, and cannot replace it.
    """
    api.enqueue("observer", adversarial.prose, adversarial.prose)
    api.enqueue("observer", observes(writes("User lives in Lisbon since May")))
    api.enqueue("observer", observes(writes("User has a cat called Mia", replaces="since May")))
    async with talking(tmp_path, api) as t:
        await t.say("I live in Lisbon since May.")
        await t.say("I have a cat called Mia.")
        await t.companion.worker.run_now(t.id)
        t.check()
        assert set(await states(t)) == {
            "User lives in Lisbon since May",
            "User has a cat called Mia",
        }
        first, second = [r.body for r in api.of("observer")[2:]]
        assert [len(read_transcript(body)) for body in (first, second)] == [2, 2]
        assert [line.text for line in read_known(second)] == ["User lives in Lisbon since May"]
        assert len(await query(t, "SELECT id FROM cycles WHERE kind = 'observer'")) == 1
        assert await query(t, "SELECT * FROM observation_replaced") == []


async def test_what_still_fails_is_read_by_rule(tmp_path: Path, api: FakeApi) -> None:
    """The half that was read keeps its notes.

    Of the other the user's own sentences are taken.
    """
    api.enqueue("observer", adversarial.prose, adversarial.prose)
    api.enqueue("observer", observes(writes("User lives in Lisbon since May")), adversarial.prose)
    async with talking(tmp_path, api) as t:
        await t.say("I live in Lisbon since May.")
        await t.say("I have a cat called Mia.")
        await t.companion.worker.run_now(t.id)
        assert set(await states(t)) == {
            "User lives in Lisbon since May",
            "I have a cat called Mia.",
        }
        assert len(api.of("observer")) == 4


async def test_a_broken_answer_without_a_line_leaves_the_work_to_the_rules(
    tmp_path: Path, api: FakeApi
) -> None:
    """The cycle names the extractive worker, not the model that said nothing."""
    api.observer = lambda _body: "<observations>\n"
    async with talking(tmp_path, api) as t:
        await t.say("I have a cat called Mia.")
        await t.companion.worker.run_now(t.id)
        assert await states(t)
        made = await query(t, "SELECT model FROM cycles WHERE kind = 'observer'")
        assert made == [("extractive",)]


async def test_whole_lines_of_a_broken_answer_count(tmp_path: Path, api: FakeApi) -> None:
    """The whole lines of a broken answer count.

    The extractive worker reads on from the last message they name, so that nothing is
    missed.
    """

    def broken(body: Json) -> Answer:
        days = {said.anchor: said.date for said in read_transcript(body)}
        whole = note("User has a cat called Mia", ["M1"], observation_date=days["M1"])
        return f"<observations>\n{whole}\n- {days['M1']} M3 User lives in Lis"

    async with talking(tmp_path, api) as t:
        api.enqueue(
            "observer", broken, broken, broken, adversarial.prose
        )  # both attempts, then the two halves
        await t.say("I have a cat called Mia.")
        await t.say("I live in Lisbon since May.")
        await t.companion.worker.run_now(t.id)
        assert set(await states(t)) == {
            "User has a cat called Mia", "I have a cat called Mia.", "I live in Lisbon since May."
        }  # fmt: skip
        assert "the answer broke off" in await notes(t)


async def test_a_name_that_is_only_known_is_a_hint(tmp_path: Path, api: FakeApi) -> None:
    """Unless the line replaces the note that it knows the name from."""
    async with talking(tmp_path, api, **NARROW) as t:
        await learn(
            t, api, "My cat Mia is ill. " + "It is sad. " * 60, writes("User's cat Mia is ill")
        )
        await learn(t, api, "What a day it was. " + "It is sad. " * 60)
        await learn(t, api, "She is well again.", writes("User's cat Mia is well"))
        (group,) = read_groups(api.of("verifier")[-1].body)
        assert group.look == ["Mia"]
        well = writes("User's cat Mia is well again", replaces="Mia is ill")
        await learn(t, api, "Really well again.", well)
        groups = read_groups(api.of("verifier")[-1].body)
        assert [(g.kind, g.look) for g in groups] == [("note", []), ("outdated", [])]
        found = await states(t)
        assert found["User's cat Mia is well again"] == "active"
        assert found["User's cat Mia is ill"] == "superseded"


async def test_an_empty_task_clears_and_a_missing_one_leaves(tmp_path: Path, api: FakeApi) -> None:
    """The title stays either way."""

    async def thread(answer: str | None) -> tuple[str | None, str | None, str | None]:
        if answer is not None:
            api.enqueue("observer", answer)
        await t.say("so it goes")
        await t.companion.worker.run_now(t.id)
        here = await t.companion.store.call(get_conversation, t.id)
        return here.current_task, here.suggested_response, here.title

    async with talking(tmp_path, api) as t:
        full = ("baking", "ask about flour", "Bread")
        assert await thread(observer_answer(task=full[0], next_step=full[1], title=full[2])) == full
        assert await thread("<observations></observations>") == full
        assert await thread(observer_answer()) == (None, None, "Bread")


DEBT = "User owes Ana a thousand euros"


async def forgetting(t: Talk, api: FakeApi) -> Observation:
    """Let a debt be noted, and let the observer hear that it is to be forgotten.

    Return its note.
    """
    (debt,) = await learn(t, api, "I owe Ana a thousand euros.", writes(DEBT))
    api.enqueue("observer", observes(forget=["Ana", "M1"]))
    await t.say("Forget the matter with Ana.")
    await t.companion.worker.run_due(t.id)
    return debt


async def is_withheld(t: Talk) -> tuple[list[str], list[str]]:
    """Return the notes and the user's messages that are withheld."""
    notes = await query(t, "SELECT content FROM observations WHERE withheld ORDER BY id")
    said = await query(
        t, "SELECT content FROM messages WHERE withheld AND role = 'user' ORDER BY id"
    )
    return [row[0] for row in notes], [row[0] for row in said]


async def test_what_is_to_be_forgotten_is_withheld_from_the_commit_on(
    tmp_path: Path, api: FakeApi
) -> None:
    """In no request, and not recalled.

    The message as soon as it has left the window. Undo gives both back.
    """
    async with talking(tmp_path, api, **EAGER, **NARROW) as t:
        await forgetting(t, api)
        assert await is_withheld(t) == ([], [])
        await t.companion.worker.run_now(t.id)
        t.check()
        assert (await is_withheld(t))[0] == [DEBT]
        assert "Forget the matter with Ana." not in (await is_withheld(t))[1]
        await t.say("Well then. " + "It is late. " * 80)
        assert DEBT not in sent(api, "chat")
        await t.companion.worker.run_now(t.id)
        assert (await is_withheld(t))[1] == [
            "I owe Ana a thousand euros.",
            "Forget the matter with Ana.",
        ]
        await t.say("Anything else?")
        assert "matter with Ana" not in sent(api, "chat")
        assert DEBT not in sent(api, "observer")
        found = await t.companion.store.call(search, "matter with Ana")
        assert DEBT not in [hit.text for hit in found]
        assert not [hit for hit in found if hit.kind == "message" and "Ana" in hit.text]
        while (await is_withheld(t))[0]:
            await take_back(t)
        assert await is_withheld(t) == ([], [])


async def test_what_the_user_keeps_after_all_is_shown_again(tmp_path: Path, api: FakeApi) -> None:
    """They are asked once, with their words.

    Kept, it is shown and recalled as before.
    """
    async with talking(tmp_path, api, **EAGER) as t:
        await forgetting(t, api)
        call = t.companion.store.call
        assert await call(questions.unanswered_requests) == []
        await t.companion.worker.run_now(t.id)
        asked = await call(questions.unanswered_requests)
        assert asked[0].words == DEBT
        await call(questions.withdraw, asked[0].question_id)
        assert await call(questions.unanswered_requests) == []
        await t.companion.worker.run_now(t.id)
        t.check()
        assert await is_withheld(t) == ([], [])
        await t.say("What do I owe Ana?")
        assert DEBT in shown(api)


async def test_an_observer_that_would_forget_everything_deletes_nothing(
    tmp_path: Path, api: FakeApi
) -> None:
    """All of it is withheld at most, and comes back."""
    async with talking(tmp_path, api) as t:
        await learn(t, api, "I live in Lisbon.", writes(LISBON))
        api.observer = adversarial.forgets_everything
        await t.say("I have a cat called Mia.")
        await t.companion.worker.run_now(t.id)
        t.check()
        assert await states(t) == {LISBON: "active"}
        asked = await t.companion.store.call(questions.unanswered_requests)
        await t.companion.store.call(questions.withdraw, asked[0].question_id)
        assert await is_withheld(t) == ([], [])
        assert LISBON in [
            o.content for o in await t.companion.store.call(rows.active_in_scope, None)
        ]


DENTIST, OFF = "User sees the dentist Moura in March", "User called off the dentist Moura"


@pytest.mark.parametrize("gone", ["note", "conversation"])
async def test_what_goes_while_an_observer_reads_leaves_no_name_behind(
    tmp_path: Path, api: FakeApi, gone: str
) -> None:
    """It was told of a note of another conversation.

    Its own messages stay, and are read again without it.
    """
    async with talking(tmp_path, api, **NARROW) as t:
        (old,) = await learn(t, api, DENTIST, writes(DENTIST))
        first, t.id = (
            t.id,
            await t.companion.store.call(create_conversation, "2026-03-01T10:00:00.000000+00:00"),
        )
        line = writes(OFF, replaces="Moura")

        def meanwhile(body: Json) -> Answer:
            text = line(body)
            with closing(open_database(t.companion.settings.db)) as db:
                clock = t.companion.settings.clock
                if gone == "note":
                    forget(db, ("observation", old.id), clock, words=True, wait=0)
                else:
                    delete_conversation(db, first, clock, wait=0)
            return observer_answer([text])

        api.enqueue("observer", meanwhile)
        await t.say("I called off the dentist.")
        await t.companion.worker.run_now(t.id)
        assert "Moura" not in str(await states(t)) + str(
            await query(t, "SELECT notes, error FROM cycles")
        )


async def test_an_answer_that_only_forgets_is_an_answer(tmp_path: Path, api: FakeApi) -> None:
    """It is not asked for again, and what it names is kept."""
    async with talking(tmp_path, api) as t:
        await learn(t, api, "I live in Lisbon.", writes(LISBON))
        await learn(t, api, "Forget where I live.", forget=["Lisbon"])
        assert len(api.of("observer")) == 2
        assert await query(t, "SELECT observation_id FROM question_items WHERE observation_id") == [
            (1,)
        ]


async def in_halves(t: Talk, api: FakeApi, first: str, second: str) -> None:
    """Say two things that the worker reads one by one."""
    api.enqueue("observer", adversarial.prose, adversarial.prose)
    await t.say(first)
    await t.say(second)


async def test_the_second_half_withdraws_what_was_noted_of_the_first(
    tmp_path: Path, api: FakeApi
) -> None:
    """The line is not stored; the message that it came from is asked about."""
    async with talking(tmp_path, api) as t:
        await in_halves(t, api, "I owe Ana a thousand euros.", "Forget what I just said.")
        api.enqueue("observer", observes(writes(DEBT)), observes(forget=["Ana"]))
        await t.companion.worker.run_now(t.id)
        t.check()
        assert await states(t) == {}
        assert (1,) in await query(t, "SELECT message_id FROM question_items")


async def test_a_broken_second_half_withdraws_all_the_same(tmp_path: Path, api: FakeApi) -> None:
    """Its whole lines count, and what it names to forget."""
    async with talking(tmp_path, api) as t:
        await in_halves(t, api, "I owe Ana a thousand euros.", "Forget what I just said.")
        api.enqueue("observer", observes(writes(DEBT)))
        api.enqueue("observer", lambda body: "<forget>K1</forget>\n<observations>\n- 2026")
        await t.companion.worker.run_now(t.id)
        assert DEBT not in await states(t)


async def test_the_second_half_settles_what_was_noted_of_the_first(
    tmp_path: Path, api: FakeApi
) -> None:
    """It may use its names, and rests on its messages too.

    Both stay, since neither is stored yet, and the cycle notes that.
    """
    async with talking(tmp_path, api) as t:
        await in_halves(t, api, "I see the dentist Moura in March.", "I called off the dentist.")
        api.enqueue("observer", observes(writes(DENTIST)), observes(writes(OFF, replaces="Moura")))
        await t.companion.worker.run_now(t.id)
        assert set(await states(t)) == {DENTIST, OFF}
        assert f"kept “{DENTIST}”: it was noted in the same cycle" in await notes(t)
        assert await query(
            t, "SELECT message_id FROM observation_messages WHERE observation_id = 2"
        ) == [(1,), (3,)]


async def test_the_known_notes_have_a_bound_in_later_parts_too(
    tmp_path: Path, api: FakeApi
) -> None:
    """What was written a moment ago counts into it."""
    sizes = []

    def much(body: Json) -> Answer:
        sizes.append(
            tokens.count(last_user_text(body).partition("</known>")[0]) if read_known(body) else 0
        )
        day = read_transcript(body)[0].date
        facts = [f"User has {len(sizes)}{i} {'many ' * 20}pebbles" for i in range(80)]
        return observer_answer([note(fact, ["M1"], observation_date=day) for fact in facts])

    api.observer = much
    async with talking(tmp_path, api) as t:
        await t.say(
            "word apple river stone. " * 6000
            + " ".join(f"{i}{j}" for i in range(9) for j in range(80))
        )
        await t.companion.worker.run_now(t.id)
    assert len(sizes) > 2
    assert 2_000 < max(sizes) < 2_600


async def test_a_busy_file_stops_no_call(
    tmp_path: Path, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the verifier is at work is for the screen only."""

    def busy(*_: object) -> None:
        raise ConstructError("The database is busy.")

    monkeypatch.setattr(cycles, "set_phase", busy)
    async with talking(tmp_path, api) as t:
        await learn(t, api, "I live in Lisbon.", writes(LISBON))
        await learn(t, api, "I moved to Porto.", MOVED)
        assert await states(t) == {LISBON: "superseded", PORTO: "active"}
