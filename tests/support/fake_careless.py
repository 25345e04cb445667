"""Worker models that do what they should not: each is a function of the request, ready for `FakeApi.enqueue`."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

from tests.support.fake_types import Answer, Answerer, Json, Reply, purpose_of, to_reply
from tests.support.fake_worker import WORKERS, Line, read_lines, read_transcript

_LINES_MERGED = 5
_Mistake = Callable[[random.Random, list[Line], Json], None]


def competent(body: Json) -> Json:
    """Return what the competent worker would say to this request, as a value."""
    value = json.loads(to_reply(WORKERS[purpose_of(body)](body)).text)
    return value if isinstance(value, dict) else {}


def anchors(body: Json) -> list[str]:
    """Return the anchors that went out with this request."""
    return [line.anchor for line in read_lines(body)] or [said.anchor for said in read_transcript(body)]


def proposal(content: str, sources: list[Any], **changes: object) -> Json:
    """Return one observation as a worker writes it."""
    base = {"content": content, "priority": "medium", "stance": "stated", "observation_date": "2026-01-01"}
    return base | {"referenced_date": None, "sources": sources} | changes


def empty_lists(body: Json) -> Answer:
    """Answer in the right form, with nothing in it."""
    return {key: [] if isinstance(value, list) else None for key, value in competent(body).items()}


def prose(_body: Json) -> Answer:
    """Answer in prose instead of JSON."""
    return "Sure! Here is what I noticed: the user seems to have a number of interests. Let me know if I can help."


def half_json(body: Json) -> Answer:
    """Answer with the first half of the right JSON, as if nothing were missing."""
    text = json.dumps(competent(body))
    return Reply(text[: len(text) // 2], stop_reason="end_turn")


def invented_anchors(body: Json) -> Answer:
    """Name sources that never went out, of any type."""
    value = competent(body)
    junk: list[Any] = ["M99999", "O99999", "m1", "[M1]", "", 7, None, True, 1.5, ["M1"], {"anchor": "O1"}]
    value["observations"] = [found | {"sources": junk} for found in value.get("observations", [])] or [
        proposal("User likes herrings", junk)
    ]
    if "superseded" in value:
        value |= {"superseded": junk, "outdated": [{"old": junk[0], "by": junk[1]}, {"old": None}, "O1", 3]}
    return value


def forgets_everything(body: Json) -> Answer:
    """Drop all that was given: supersede every line, or observe that there was nothing."""
    if read_lines(body):
        return {"observations": [], "superseded": anchors(body), "outdated": []}
    return empty_lists(body) if purpose_of(body) != "observer" else competent(body) | {"observations": []}


def grows(body: Json) -> Answer:
    """Say every line again, longer than it was."""
    lines = read_lines(body)
    if not lines:
        value = competent(body)
        value["observations"] = [
            found | {"content": f"{found['content']} {found['content']} {found['content']}"}
            for found in value.get("observations", [])
        ]
        return value
    longer = [
        proposal(
            f"It should be kept in mind that the following holds: {line.text}",
            [line.anchor],
            priority=line.priority,
            stance=line.stance,
            observation_date=line.date,
        )
        for line in lines
    ]
    return {"observations": longer, "superseded": anchors(body), "outdated": []}


def endless_repetition(body: Json) -> Answer:
    """Fall into a loop inside one observation."""
    value = competent(body)
    content = "User likes tea and likes tea. " * 700
    value["observations"] = [proposal(content, anchors(body)[:1])]
    return value


def copies_talk(body: Json) -> Answer:
    """Observe nothing, and write down what both said, as a weak model does."""
    said = read_transcript(body)
    copies = [proposal(f"{one.role.capitalize()}: {one.text}", [one.anchor], priority="high") for one in said]
    return competent(body) | {"observations": copies}


def careless_reflector(rng: random.Random) -> Answerer:
    """Return a reflector that makes one to three mistakes at every request, chosen by `rng`."""

    def answer(body: Json) -> Answer:
        value: Json = {"observations": [], "superseded": [], "outdated": []}
        if lines := read_lines(body):
            for mistake in rng.sample(MISTAKES, rng.randint(1, 3)):
                mistake(rng, lines, value)
        return value

    return answer


def _drop(rng: random.Random, lines: list[Line], value: Json) -> None:
    value["superseded"] += [line.anchor for line in rng.sample(lines, rng.randint(1, len(lines)))]


def _drop_everything(_rng: random.Random, lines: list[Line], value: Json) -> None:
    value["superseded"] = [line.anchor for line in lines]


def _merge_wrongly(rng: random.Random, lines: list[Line], value: Json) -> None:
    chosen = rng.sample(lines, min(len(lines), rng.randint(2, _LINES_MERGED)))
    content = " ".join(word for line in chosen for word in line.text.split()[:3] if word.islower())
    value["observations"].append(proposal(f"User {content}".strip(), [line.anchor for line in chosen]))


def _invent(rng: random.Random, lines: list[Line], value: Json) -> None:
    line = rng.choice(lines)
    value["observations"].append(proposal("User wed Gwendolyn in Zanzibar in 1987", [line.anchor]))


def _swap_numbers(rng: random.Random, lines: list[Line], value: Json) -> None:
    line = rng.choice([line for line in lines if re.search(r"\d", line.text)] or lines)
    content = re.sub(r"\d", lambda found: str((int(found[0]) + 1) % 10), line.text)
    content = content if content != line.text else f"{content} 42"
    value["observations"].append(proposal(content, [line.anchor], priority=line.priority, stance=line.stance))


def _exalt(rng: random.Random, lines: list[Line], value: Json) -> None:
    line = rng.choice(lines)
    value["observations"].append(proposal(line.text, [line.anchor], priority="high", stance="stated"))


def _outdate(rng: random.Random, lines: list[Line], value: Json) -> None:
    by = rng.choice(lines).anchor
    value["outdated"] += [{"old": line.anchor, "by": by} for line in lines]


def _wrong_types(_rng: random.Random, _lines: list[Line], value: Json) -> None:
    value["observations"] += [None, 3, "O1", {}, proposal("", []), proposal("User", [None]) | {"priority": 9}]
    value["superseded"] += [None, 1, {"O1": True}]
    value["outdated"] += ["O1", {"old": 1, "by": None}]


MISTAKES: tuple[_Mistake, ...] = (
    _drop,
    _drop_everything,
    _merge_wrongly,
    _invent,
    _swap_numbers,
    _exalt,
    _outdate,
    _wrong_types,
)
"""What `careless_reflector` chooses from."""
