"""What the fake's workers answer, the competent and the careless."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.bodies import answer, send, work
from tests.support.fake_api import FakeApi, careless
from tests.support.fake_types import Json, Purpose
from tests.support.fake_worker import read_lines

TRANSCRIPT = """Observe what stands in <transcript>.
<transcript>
[M1] 2026-03-01 14:30 user:
Hello! IMPORTANT: my sister Inês arrives on flight TP 842.
[M2] 2026-03-01 14:31 assistant:
I will remember my notes about 842.
[M3] 2026-03-02 09:00 user:
so it goes.
[M4] 2026-03-02 09:01 user:
I will paint the kitchen tomorrow.
[M5] 2026-03-02 09:02 user:
Does my dog like Lisbon?
</transcript>"""

LINES = """Condense:
[O1] ! [2026-01-15] User said: my flight is TP 842
[O2] - [2026-01-15] User said: I really like the tiles in the old town of Porto
[O3] ~ [2026-01-16] User said: I have a "blue chair" in the kitchen
[O4] - [2026-01-17] User said: my cat Mia was born in 2019
[O5] ~ [2026-01-17] User said: does it rain in Lisbon? (asked)
[O6] ~ [2026-01-18] User said: I will swim (planned; for 2026-01-19)
[O7] - [2026-01-18] Olives are green (quoted, not the user's words)"""


def test_observer_observes(api: FakeApi) -> None:
    """The default observer makes one observation of each user message with a fact, and none of the assistant's."""
    value = answer(api, work("observer", TRANSCRIPT))
    keys = ("content", "priority", "stance", "observation_date", "referenced_date", "sources")
    assert [tuple(found[key] for key in keys) for found in value["observations"]] == [
        (
            "User said: IMPORTANT: my sister Inês arrives on flight TP 842.",
            "high", "stated", "2026-03-01", None, ["M1"],
        ),
        ("User said: I will paint the kitchen tomorrow.", "low", "planned", "2026-03-02", "2026-03-03", ["M4"]),
        ("User said: Does my dog like Lisbon?", "low", "asked", "2026-03-02", None, ["M5"]),
    ]  # fmt: skip
    assert value["current_task"] == "Talking about: Does my dog like Lisbon?"
    assert value["conversation_title"] == "Hello! IMPORTANT: my sister Inês arrives"
    assert api.of("observer")[0].status == 200


def test_reflector_condenses(api: FakeApi) -> None:
    """The default reflector merges three neighbours of one stance without losing a term, and drops other low ones."""
    value = answer(api, work("reflector", LINES))
    (found,) = value["observations"]
    assert found["content"] == 'User: like tiles old town Porto; "blue chair" kitchen; cat Mia born 2019'
    assert (found["priority"], found["stance"], found["observation_date"]) == ("medium", "stated", "2026-01-17")
    assert found["sources"] == ["O2", "O3", "O4"]
    assert value["superseded"] == ["O2", "O3", "O4", "O5", "O6"]
    assert value["outdated"] == []


def test_reflector_reads_the_note_behind_a_line() -> None:
    """Stance and day behind a line are read, and are no part of its words."""
    lines = read_lines(work("reflector", LINES))
    assert [(line.stance, line.day) for line in lines[4:]] == [
        ("asked", None), ("planned", "2026-01-19"), ("quoted", None),
    ]  # fmt: skip
    assert lines[6].text == "Olives are green"


def test_graph_names_things(api: FakeApi) -> None:
    """The default graph extractor names what is written with a capital."""
    value = answer(api, work("graph", LINES))
    assert {"name": "Mia", "type": "thing", "aliases": []} in value["entities"]
    assert {"subject": "User", "predicate": "mentioned", "object": "Porto"} in value["relations"]


CARELESS: list[Callable[[Json], Any]] = [
    careless.invented_anchors,
    careless.forgets_everything,
    careless.grows,
    careless.endless_repetition,
    careless.empty_lists,
]


@pytest.mark.parametrize("worker", CARELESS)
@pytest.mark.parametrize(("purpose", "words"), [("observer", TRANSCRIPT), ("reflector", LINES)])
def test_careless_workers_keep_the_form(
    api: FakeApi, worker: Callable[[Json], Any], purpose: Purpose, words: str
) -> None:
    """What a careless worker gets wrong is the matter: its answer is JSON with the right keys."""
    api.enqueue(purpose, worker)
    body = work(purpose, words) | {"max_tokens": 20_000}
    assert answer(api, body).keys() == careless.competent(body).keys()


def test_careless_workers_do_what_their_names_say() -> None:
    """Each careless worker makes its own mistake."""
    body = work("reflector", LINES)
    given = set(careless.anchors(body))
    worse = {worker.__name__: worker(body) for worker in CARELESS}
    assert not given & {str(source) for source in worse["invented_anchors"]["observations"][0]["sources"]}
    assert set(worse["forgets_everything"]["superseded"]) == given
    assert len(str(worse["grows"])) > len(LINES)
    assert len(worse["endless_repetition"]["observations"][0]["content"]) > 10_000
    assert worse["empty_lists"] == {"observations": [], "superseded": [], "outdated": []}


@pytest.mark.parametrize("worker", [careless.prose, careless.half_json])
def test_careless_workers_break_the_form(api: FakeApi, worker: Callable[[Json], Any]) -> None:
    """Prose and half an answer are no JSON, and end as if all were well."""
    api.enqueue("observer", worker)
    message = send(api, work("observer", TRANSCRIPT))[1]
    assert message["stop_reason"] == "end_turn"
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(message["content"][0]["text"])


def test_careless_reflector_is_reproducible() -> None:
    """The same seed makes the same mistakes, and other requests make others."""
    body = work("reflector", LINES)
    runs = [[careless.careless_reflector(rng)(body) for _ in range(20)] for rng in (random.Random(1), random.Random(1))]
    assert runs[0] == runs[1]
    assert len({json.dumps(value) for value in runs[0]}) > 15
