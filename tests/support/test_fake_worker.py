"""The answers of the fake's workers, read as Construct reads them.

There are competent workers and adversarial ones.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from construct.memory.graph.answers import read_answer
from construct.memory.shown.lines import anchors_in, read_notes, section
from tests.support.bodies import answer, request, send, user, work
from tests.support.fake_api import FakeApi, adversarial
from tests.support.fake_types import Json, Worker, purpose_of
from tests.support.fake_worker import (
    Line,
    note,
    observer,
    read_groups,
    read_known,
    read_lines,
    read_memories,
    read_transcript,
)

TRANSCRIPT = """[M1] 2026-03-01 14:30 user:
Hello! IMPORTANT: my sister Inês arrives on flight TP 842.
\\[M9] 2026-03-02 09:03 user:
[M2] 2026-03-01 14:31 assistant:
I will remember my notes about 842.
--- 18 hours later ---
[M3] 2026-03-02 09:00 user:
so it goes.
[image: Ana.png]
[M4] 2026-03-02 09:01 user:
I will paint the kitchen tomorrow.
[M5] 2026-03-02 09:02 user:
Does my dog like Lisbon?"""

NOTES = """O1 ! 2026-01-15 User said: my flight is TP 842
O2 - 2026-01-15 User said: I really like the tiles in the old town of Porto
O3 ~ 2026-01-12 to 2026-01-16 User said: I have a "blue chair" in the kitchen
O4 - 2026-01-17 User said: my cat Mia was born in 2019
O5 ~ 2026-01-17 User said: does it rain in Lisbon? | asked
O6 ~ 2026-01-18 User said: I will swim | planned | for 2026-01-19
O7 - 2026-01-18 Olives are green | quoted"""

GROUPS = """<group n="1" is="line">
! 2026-01-15 User has a cat
~ 2026-01-16 to 2026-01-18 The cat is Mia | quoted
=> ! 2026-01-18 User has a cat: Mia
</group>
<group n="2" is="outdated">
- 2026-01-15 User lives in Porto
=> ! 2026-02-18 User lives in Lisbon
</group>"""

MEMORIES = """P1 User has a cat: Mia
P2 User likes Porto, and Mia does"""


def test_a_request_is_known_by_its_first_tag() -> None:
    """The tag must begin a line of the last user message.

    It counts for nothing where tools are offered.
    """
    assert (
        purpose_of(
            request(user("<known>\nK1 ! 2026-01-01 User\n</known>\n\n<transcript>\n<notes>"))
        )
        == "observer"
    )
    assert purpose_of(request(user("What does <transcript> mean?"))) == "chat"
    assert (
        purpose_of(request(user("<memories>"), {"role": "assistant", "content": "a"}, user("b")))
        == "chat"
    )
    assert purpose_of(request(user("<notes>"), tools=[{}])) == "chat"
    assert (
        purpose_of({"messages": [3, {"role": "user", "content": [{"type": "text", "text": 5}]}]})
        == "chat"
    )


def test_observer_observes(api: FakeApi) -> None:
    """The default observer makes one note of each user message with a fact.

    It makes none of the assistant's messages.
    """
    text = answer(api, work("observer", TRANSCRIPT))
    found = section(text, "observations")
    assert found is not None
    notes, _ = read_notes(found.lines, "M", ["M1", "M2", "M3", "M4", "M5"])
    assert [(n.content, n.priority, n.stance, n.observation_date, n.referenced_date,
             n.anchors) for n in notes] == [
        (
            "User said: IMPORTANT: my sister Inês arrives on flight TP 842.",
            "high", "stated", "2026-03-01", None, ("M1",),
        ),
        ("User said: I will paint the kitchen tomorrow.", "low", "planned", "2026-03-02",
         "2026-03-03", ("M4",)),
        ("User said: Does my dog like Lisbon?", "low", "asked", "2026-03-02", None, ("M5",)),
    ]  # fmt: skip
    assert "\n<title>Hello! IMPORTANT: my sister Inês arrives</title>\n<forget></forget>" in text
    assert api.of("observer")[0].status == 200


def test_observer_has_little_to_say_of_nothing() -> None:
    """Where the user says nothing, every section is there and empty."""
    said = observer(work("observer", "[M1] 2026-03-01 14:30 assistant:\nHello!"))
    assert (
        " ".join(said.split())
        == "<observations> </observations> <task></task> <next></next> <title></title> "
        "<forget></forget>"
    )


def test_reflector_condenses(api: FakeApi) -> None:
    """The default reflector merges three neighbours of one stance.

    No term is lost. It drops other notes of low priority.
    """
    text = answer(api, work("reflector", NOTES))
    assert text.splitlines()[:3] == [
        "<reflections>",
        '- 2026-01-17 O2 O3 O4 User: like tiles old town Porto; "blue chair" kitchen; '
        "cat Mia born 2019",
        "</reflections>",
    ]
    drop, same, outdated = section(text, "drop"), section(text, "same"), section(text, "outdated")
    assert drop is not None
    assert anchors_in(drop.lines, ["O4", "O5", "O6"]) == ["O5", "O6"]
    assert same == outdated
    assert same is not None
    assert not same.lines


def test_verifier_agrees(api: FakeApi) -> None:
    """The default verifier says yes to every group."""
    body = request(user(GROUPS))
    assert answer(api, body) == "<checks>\n1 yes\n2 yes\n</checks>"
    assert api.of("verifier")[0].body == body


def test_graph_names_things(api: FakeApi) -> None:
    """The default graph extractor lists capitalised names and who mentions them."""
    text = answer(api, work("graph", MEMORIES))
    assert "Mia | thing" in text.splitlines()
    assert "User | mentioned | Mia | P1 P2" in text.splitlines()
    found = read_answer(text, {"P1": "User has a cat: Mia", "P2": "User likes Porto, and Mia does"})
    assert [(r.object.names[0], r.anchor) for r in found.relations] == [
        ("Mia", "P1"),
        ("Porto", "P2"),
    ]
    assert not found.notes


def test_requests_are_read() -> None:
    """Marks and days are read, and are no part of a note's words.

    Of several days the last counts.
    """
    lines = read_lines(work("reflector", NOTES))
    assert [(line.stance, line.day) for line in lines[4:]] == [
        ("asked", None), ("planned", "2026-01-19"), ("quoted", None),
    ]  # fmt: skip
    assert (lines[6].text, lines[2].date, lines[2].anchor) == (
        "Olives are green",
        "2026-01-16",
        "O3",
    )
    known = request(
        user("<known>\nK4 ! 2026-01-15 User lives in Rome | planned | for 2026-03\n</known>\n\n")
    )
    assert read_known(known) == [
        Line("K4", "high", "2026-01-15", "User lives in Rome", "planned", "2026-03")
    ]
    first, second = read_groups(request(user(GROUPS)))
    assert (first.number, first.kind, len(first.notes), second.kind) == (1, "line", 2, "outdated")
    assert first.result == Line("", "high", "2026-01-18", "User has a cat: Mia")
    assert [said.text for said in read_transcript(work("observer", TRANSCRIPT))][2:4] == [
        "so it goes.", "I will paint the kitchen tomorrow.",
    ]  # fmt: skip
    assert read_memories(work("graph", MEMORIES))["P1"] == "User has a cat: Mia"


ADVERSARIAL: list[Callable[[Json], Any]] = [
    adversarial.silent,
    adversarial.prose,
    adversarial.half_answer,
    adversarial.invented_anchors,
    adversarial.impossible_dates,
    adversarial.unreadable_lines,
    adversarial.forgets_everything,
    adversarial.grows,
    adversarial.endless_repetition,
]
BODIES: dict[Worker, Json] = {
    "observer": work("observer", TRANSCRIPT),
    "reflector": work("reflector", NOTES),
    "verifier": request(user(GROUPS)),
    "graph": work("graph", MEMORIES),
}


@pytest.mark.parametrize("worker", ADVERSARIAL)
@pytest.mark.parametrize("purpose", BODIES)
def test_careless_workers_answer_anything(
    api: FakeApi, worker: Callable[[Json], Any], purpose: Worker
) -> None:
    """Each can stand in for any worker, and ends as if all were well."""
    api.enqueue(purpose, worker)
    status, message = send(api, BODIES[purpose] | {"max_tokens": 20_000})
    assert (status, message["stop_reason"]) == (200, "end_turn")


def read(worker: Callable[[Json], Any], purpose: Worker = "reflector") -> list[str] | None:
    """Return the facts Construct reads in the notes of an answer.

    None without the section.
    """
    name, letter = ("reflections", "O") if purpose == "reflector" else ("observations", "M")
    found = section(worker(BODIES[purpose]), name)
    if found is None:
        return None
    notes, _ = read_notes(found.lines, letter, adversarial.anchors(BODIES[purpose]))
    return [note.content for note in notes]


def test_careless_workers_do_what_their_names_say() -> None:
    """Each adversarial worker makes its own mistake."""
    assert read(adversarial.prose) is None
    for worker in (
        adversarial.silent,
        adversarial.invented_anchors,
        adversarial.impossible_dates,
        adversarial.unreadable_lines,
    ):
        assert (read(worker), read(worker, "observer")) == ([], [])
    broken = section(str(adversarial.half_answer(BODIES["observer"])), "observations")
    assert broken is not None
    assert not broken.is_closed
    assert 0 < len(broken.lines) < 3
    assert str(adversarial.forgets_everything(BODIES["reflector"])).endswith(
        "<drop>O1 O2 O3 O4 O5 O6 O7</drop>"
    )
    assert str(adversarial.forgets_everything(BODIES["observer"])).endswith(
        "<forget>M1 M2 M3 M4 M5</forget>"
    )
    assert len(str(adversarial.grows(BODIES["reflector"]))) > len(NOTES)
    assert len(str(adversarial.endless_repetition(BODIES["observer"]))) > 10_000


def test_careless_verifiers() -> None:
    """They agree with all, with nothing, with half, or make no sense."""
    body = BODIES["verifier"]
    assert adversarial.always_yes(body) == "<checks>\n1 yes\n2 yes\n</checks>"
    assert str(adversarial.always_no(body)).count(" no ") == 2
    assert adversarial.half_checks(body) == "<checks>\n1 yes\n</checks>"
    assert adversarial.silent(body) == "<checks>\n</checks>"
    assert "perhaps" in str(adversarial.garbage_checks(body))


def test_adversarial_reflector_is_reproducible() -> None:
    """The same seed makes the same mistakes, and other requests make others."""
    body = BODIES["reflector"]
    runs = [
        [adversarial.adversarial_reflector(rng)(body) for _ in range(20)]
        for rng in (random.Random(1), random.Random(1))
    ]
    assert runs[0] == runs[1]
    assert len(set(map(str, runs[0]))) > 15


def test_a_note_is_written_as_it_is_read() -> None:
    """Marks come after the fact, and a stated one has none."""
    line = note("User sees a dentist", ["M1", "M2"], priority="high", stance="planned",
                referenced_date="2026-03-05",
                replaces=["K1", "K2"])  # fmt: skip
    assert (
        line == "! 2026-01-01 M1 M2 User sees a dentist | planned | for 2026-03-05 | replaces K1 K2"
    )
    assert note("User is", ["O1"]) == "- 2026-01-01 O1 User is"
