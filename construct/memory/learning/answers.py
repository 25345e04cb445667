"""Reading a worker's answer: JSON that may be broken, anchors that may be invented. Pure.

Anchors are translated here, and what is no anchor that went out, of any type, is dropped.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from construct.memory.language.terms import words
from construct.memory.learning.proposals import PRIORITIES, STANCES, Condensation, Draft, Extraction
from construct.store.records import Message
from construct.text import one_line

MAX_LINE = 10_000
"""Characters; a longer line is a sign of a model that repeats itself."""

_SPOKEN = re.compile(r"(?:User|Assistant): ?(.+)", re.IGNORECASE)
_FEWEST_COPIES = 4
_FEWEST_AGAIN = 8


class UnusableAnswerError(Exception):
    """The answer is no attempt at what was asked: not JSON, cut off, repeating itself."""


def parse_object(text: str, part: str = "observations") -> Mapping[str, Any]:
    """Return the JSON object in a worker's answer, a code fence around it forgiven; raises UnusableAnswerError.

    `part` is the list it must have.
    """
    if is_degenerate(text):
        raise UnusableAnswerError("the answer repeats itself")
    start, end = text.find("{"), text.rfind("}")
    try:
        data = json.loads(text[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or not isinstance(data.get(part), list):
        raise UnusableAnswerError("the answer is not the JSON that was asked for")
    if any(isinstance(o, dict) and _length(o.get("content")) > MAX_LINE for o in data[part]):
        raise UnusableAnswerError("the answer has a line that does not end")
    if _says_again(data[part]):
        raise UnusableAnswerError("the answer says the same again and again")
    return data


def is_degenerate(text: str) -> bool:
    """Tell whether a model fell into repeating itself: over 40 % of sampled windows stand in the text again.

    Windows of 200 characters, about 50 of them, as Mastra's observer samples them (seeds/003, section 15).
    A run of white space counts as one: JSON that is indented deeply repeats nothing else.
    """
    text = " ".join(text.split())
    size, most = 200, 50
    if len(text) < 10 * size:
        return False
    starts = range(0, len(text) - size, max(1, (len(text) - size) // most))
    repeated = sum(text.find(text[i : i + size]) < i or text.find(text[i : i + size], i + 1) > 0 for i in starts)
    return repeated > 0.4 * len(starts)


def _says_again(items: Iterable[object]) -> bool:
    """Tell whether the lines are hardly ever new ones: a weak model gives one line for each message it was shown."""
    lines = [content for o in items if isinstance(o, dict) and isinstance(content := o.get("content"), str)]
    return len(lines) >= _FEWEST_AGAIN and 4 * len(set(lines)) <= len(lines)


def copies_talk(drafts: Sequence[Draft], messages: Sequence[Message]) -> bool:
    """Tell whether most lines are what both have said, behind "User:" or "Assistant:": nothing was observed.

    A weak model does so in small talk, and calls each greeting what the user stated, of high priority.
    """
    said = {m.id: one_line(m.content) for m in messages}
    copied = [
        d for d in drafts if (spoken := _SPOKEN.match(d.content)) and any(spoken[1] in said[i] for i in d.sources)
    ]
    roles = {m.role for m in messages for d in copied if m.id in d.sources}
    return len(copied) >= _FEWEST_COPIES and 2 * len(copied) > len(drafts) and len(roles) > 1


def extraction(data: Mapping[str, Any], anchors: Mapping[str, int], days: Mapping[int, date]) -> Extraction:
    """Return what may be believed of an observer's answer.

    `anchors` are those that went out, to message ids; `days` the local day of each message.
    """
    drafts = []
    for item in data["observations"]:
        draft = _draft(item, anchors)
        if draft is None:
            continue
        latest = max(days[i] for i in draft.sources)
        day = min(_day(draft.observation_date) or latest, latest)
        drafts.append(replace(draft, observation_date=day.isoformat()))
    return Extraction(
        tuple(_unrepeated(drafts)),
        current_task=_phrase(data.get("current_task"), 400),
        suggested_response=_phrase(data.get("suggested_response"), 400),
        title=_phrase(data.get("conversation_title"), 80),
    )


def drafts_so_far(begun: str, anchors: Mapping[str, int], days: Mapping[int, date]) -> Sequence[Draft]:
    """Return what stands in an observer's answer that is still being written, each time one more has come."""
    whole = begun.rstrip(", ")  # which come in one piece with the bracket before them
    try:
        return extraction(parse_object(f"{whole}]}}"), anchors, days).drafts if whole.endswith("}") else ()
    except UnusableAnswerError:
        return ()


def condensation(data: Mapping[str, Any], anchors: Mapping[str, int]) -> Condensation:
    """Return a reflector's answer with anchors translated, not yet judged."""
    drafts = [draft for item in data["observations"] if (draft := _draft(item, anchors)) is not None]
    outdated = [
        (anchors[pair["old"]], anchors[pair["by"]])
        for pair in _list(data.get("outdated"))
        if isinstance(pair, dict) and _known(pair.get("old"), anchors) and _known(pair.get("by"), anchors)
    ]
    superseded = [anchors[a] for a in _list(data.get("superseded")) if _known(a, anchors)]
    return Condensation(tuple(drafts), tuple(dict.fromkeys(superseded)), tuple(dict.fromkeys(outdated)))


def unescape(text: str) -> str:
    """Undo what `transcript.escape` did to the words a worker copied; they are escaped again wherever they go out."""
    return text.replace("&lt;", "<")


def _draft(item: object, anchors: Mapping[str, int]) -> Draft | None:
    """Return one proposed observation; None when it has no words or no source that went out."""
    if not isinstance(item, dict) or not isinstance(item.get("content"), str):
        return None
    content = one_line(unescape(item["content"]))
    sources = tuple(dict.fromkeys(anchors[a] for a in _list(item.get("sources")) if _known(a, anchors)))
    if not content or not sources:
        return None
    referenced = _day(item.get("referenced_date"))
    observed = _day(item.get("observation_date"))
    return Draft(
        content=content,
        priority=_one_of(item.get("priority"), PRIORITIES, "medium"),
        stance=_one_of(item.get("stance"), STANCES, "inferred"),
        observation_date=observed.isoformat() if observed else "",
        referenced_date=referenced.isoformat() if referenced else None,
        sources=sources,
    )


def _unrepeated(drafts: Iterable[Draft]) -> list[Draft]:
    """Return the drafts without those that say the same again; the first takes over sources and priority."""
    found: dict[tuple[str, str, str | None], Draft] = {}
    for draft in drafts:
        key = " ".join(words(draft.content)) or draft.content, draft.stance, draft.referenced_date
        first = found.setdefault(key, draft)
        found[key] = replace(
            first,
            priority=min(first.priority, draft.priority, key=PRIORITIES.index),
            sources=tuple(dict.fromkeys(first.sources + draft.sources)),
        )
    return list(found.values())


def _length(value: object) -> int:
    return len(value) if isinstance(value, str) else 0


def _phrase(value: object, most: int) -> str | None:
    if not isinstance(value, str):
        return None
    text = one_line(unescape(value))
    return text[:most] or None


def _day(value: object) -> date | None:
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) else None
    except ValueError:
        return None


def _one_of(value: object, allowed: Sequence[str], default: str) -> str:
    return value if isinstance(value, str) and value in allowed else default


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _known(anchor: object, anchors: Mapping[str, int]) -> bool:
    return isinstance(anchor, str) and anchor in anchors
