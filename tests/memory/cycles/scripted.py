"""A talk whose worker writes what a test tells it to, and questions to its database."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from construct.memory.undo import undo
from construct.store import observations as rows
from construct.store.records import Observation
from tests.support.fake_api import FakeApi, adversarial
from tests.support.fake_types import Answerer, Json, Purpose, last_user_text
from tests.support.fake_worker import (
    note,
    observer_answer,
    read_known,
    read_lines,
    read_transcript,
    reflector_answer,
    verifier,
)
from tests.support.talks import Talk

Written = Callable[[Json], str]
"""A line that is made up when the request is there."""


def writes(
    content: str,
    of: str = "M1",
    *,
    replaces: str = "",
    priority: str = "high",
    stance: str = "stated",
) -> Written:
    """Return an observer's line about a message.

    `replaces`: words of the known note that it makes outdated.
    """

    def line(body: Json) -> str:
        day = next(said.date for said in read_transcript(body) if said.anchor == of)
        known = [anchor_of(body, replaces)] if replaces else []
        return note(
            content, [of], priority=priority, stance=stance, observation_date=day, replaces=known
        )

    return line


def observes(*lines: str | Written, forget: Sequence[str] = (), **phrases: str) -> Answerer:
    """Return an observer that writes these lines.

    `forget`: anchors, or words of known notes.
    """
    return lambda body: observer_answer(
        [line if isinstance(line, str) else line(body) for line in lines],
        forget=[one if one[1:].isdigit() else anchor_of(body, one) for one in forget],
        **phrases,
    )


def anchor_of(body: Json, words: str) -> str:
    """Return the anchor of the known note that holds some words.

    One that was not sent where none does.
    """
    return next((known.anchor for known in read_known(body) if words in known.text), "K99")


def observes_only(api: FakeApi) -> None:
    """Let reflector and graph extractor have nothing to say."""
    api.reflector = api.graph = adversarial.silent


async def learn(
    t: Talk, api: FakeApi, text: str, *lines: str | Written, **more: Any
) -> list[Observation]:
    """Say something, and let it be observed by these lines, committed and reflected on.

    Return all observations.
    """
    api.enqueue("observer", observes(*lines, **more))
    await t.say(text)
    await t.companion.worker.run_now(t.id)
    t.check()
    return await t.companion.store.call(rows.all_observations)


async def states(t: Talk) -> dict[str, str]:
    """Return the state of every observation by its words."""
    return {o.content: o.state for o in await t.companion.store.call(rows.all_observations)}


async def query(t: Talk, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    return await t.companion.store.call(lambda db: db.execute(sql).fetchall())


async def notes(t: Talk, kind: str = "observer") -> str:
    """Return the notes of the newest cycle of a kind, one to a line."""
    found = await query(
        t, f"SELECT notes FROM cycles WHERE kind = '{kind}' ORDER BY id DESC LIMIT 1"
    )
    return "\n".join(json.loads(found[0][0] or "[]"))


async def take_back(t: Talk) -> None:
    """Undo the newest cycle."""
    await t.companion.store.call(undo, t.companion.settings.clock)
    t.check()


def sent(api: FakeApi, purpose: Purpose) -> str:
    """Return the input of a purpose's newest request.

    For the chat it is the whole request.
    """
    body = api.of(purpose)[-1].body
    return json.dumps(body, ensure_ascii=False) if purpose == "chat" else last_user_text(body)


def reflection_checks(api: FakeApi) -> list[Json]:
    """Return the verifier's requests that are about a reflection, not about messages."""
    requests = [request.body for request in api.of("verifier")]
    return [body for body in requests if not last_user_text(body).startswith("<messages>")]


def checks_reflections(answer: Answerer) -> Answerer:
    """Return a verifier that nods at an observer's lines, and answers for reflections."""

    def verify(body: Json) -> Any:
        is_observed = last_user_text(body).startswith("<messages>")
        return verifier(body) if is_observed else answer(body)

    return verify


def condenses(
    *lines: tuple[str, Sequence[str]],
    same: Sequence[tuple[str, str]] = (),
    outdated: Sequence[tuple[str, str]] = (),
    shelve: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> Answerer:
    """Return a reflector that writes these lines.

    Each comes with words of the notes that it sums up.
    """

    def answer(body: Json) -> str:
        found = {line.anchor: line for line in read_lines(body)}

        def named(words: str) -> str:
            return next((anchor for anchor, line in found.items() if words in line.text), "O99")

        def written(text: str, sources: Sequence[str]) -> str:
            anchors = [named(words) for words in sources]
            return note(text, anchors, observation_date=max(line.date for line in found.values()))

        return reflector_answer(
            [written(text, sources) for text, sources in lines],
            same=[(named(one), named(other)) for one, other in same],
            outdated=[(named(stale), named(newer)) for stale, newer in outdated],
            shelve=[named(words) for words in shelve],
            drop=[named(words) for words in drop],
        )

    return answer
