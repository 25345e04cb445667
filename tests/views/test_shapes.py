"""The JSON of a note, a message and a conversation: one shape each, wherever they appear."""

import json
from collections.abc import Iterator
from typing import Any

from construct.operations.conversations import conversations, transcript
from construct.operations.doors import details
from construct.operations.history import diff
from construct.operations.memory import list_memory
from construct.operations.profile import profile
from construct.operations.search import search
from construct.operations.why import why
from construct.views import shapes
from construct.views.conversations import conversations_json, transcript_json
from construct.views.doors import details_json
from construct.views.history import diff_json
from construct.views.memory import memory_list_json
from construct.views.profile import profile_json
from construct.views.search import search_json
from construct.views.why import why_json
from tests.memory.builders import Life
from tests.support.context import context

ADDED = {"score", "match", "holds", "passage", "pasted", "supportingObservationIds", "attachments"}
"""What some places add to a note or a message."""


def things(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the notes and messages anywhere in a JSON value."""
    if isinstance(value, dict):
        if value.get("kind") in {"observation", "message"}:
            yield value
        for inner in value.values():
            yield from things(inner)
    if isinstance(value, list):
        for inner in value:
            yield from things(inner)


def test_a_thing_has_one_shape_wherever_it_appears(life: Life) -> None:
    """Lists, search, sources, comparisons, profile, HTTP and transcripts."""
    here = life.talk("Trips")
    first = life.learn(here, "User plans a trip to Porto")
    second = life.learn(here, "User takes the night train to Porto")
    (made,) = life.reflect(("User takes the night train to Porto", [first, second]))
    life.remember("User likes trains")
    ctx = context(life.db, life.clock, here=here)
    listed = memory_list_json(list_memory(ctx, include_all=True))
    found = search_json(search(ctx, "Porto", limit=9, include_all=True))
    traced = why_json(why(ctx, ("observation", made.id)))
    of_message = why_json(why(ctx, ("message", 1)))
    talk = transcript_json(transcript(ctx, here))
    compared = diff_json(diff(ctx, "2026-01-01", "2027-01-01"))
    printed = {
        "list": listed, "search": found, "why": traced, "why message": of_message,
        "diff": compared, "profile": profile_json(profile(ctx)), "show": talk,
        "http": details_json(details(ctx)),
    }  # fmt: skip
    fields = {
        "observation": set(shapes.NoteJson.__annotations__),
        "message": set(shapes.MessageJson.__annotations__),
    }
    for where, value in printed.items():
        there = list(things(json.loads(json.dumps(value))))
        assert there, where
        for thing in there:
            assert set(thing) - ADDED == fields[thing["kind"]] - ADDED, where
    by_id = {note["id"]: note for note in listed}
    notes = [thing for thing in things(found) if thing["kind"] == "observation"]
    assert notes
    assert all(by_id[note["id"]].items() <= note.items() for note in notes)
    assert {m["id"] for m in traced["messages"]} <= {1, 2, 3, 4}
    assert {m["id"] for m in things(found) if m["kind"] == "message"} >= {"message:1"}
    (summary,) = conversations_json(conversations(ctx))
    assert summary.items() <= talk.items()
