"""Datasets as lives: what was said on which days, and what is asked afterwards.

Reads LoCoMo and LongMemEval.
"""

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

Item = Mapping[str, Any]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
_TEXT_DATE, _NUMBER_DATE = "%I:%M %p on %d %B, %Y", "%Y/%m/%d %H:%M"


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the user said and what they heard; either may be missing."""

    said: str
    heard: str


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a conversation."""

    begins: datetime
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    `answer` is None where the conversation holds none and the right reply says so.
    """

    id: str
    text: str
    answer: str | None
    category: str
    needs: int
    """The number of sessions after which it can be answered."""


@dataclass(frozen=True, slots=True)
class Life:
    """One user's conversation with one other, and what the user asks at the end."""

    name: str
    user: str
    other: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    asked_at: datetime


def read_lives(path: Path) -> list[Life]:
    """Return a file's lives: of LoCoMo two a conversation, each speaker the user once.

    Of LongMemEval one a question.

    Raises ValueError when it is neither.
    """
    items = json.loads(path.read_text("utf-8"))
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError(f"{path} is no list of conversations")
    if all("haystack_sessions" in item for item in items):
        return [_longmemeval(item) for item in items]
    if all("qa" in item and "conversation" in item for item in items):
        return [life for item in items for life in _locomo(item)]
    raise ValueError(f"{path} is of neither LoCoMo's form nor LongMemEval's")


def chosen(lives: Sequence[Life], names: str, sessions: int, questions: int) -> list[Life]:
    """Return the lives asked for, with this many sessions and questions each (0: all).

    `names` are conversations or lives (`conv-26`, `conv-26/Melanie`), separated by
    commas, or a number of lives.
    """
    if names.isdigit():
        kept = list(lives[: int(names)])
    else:
        wanted = [name.strip() for name in names.split(",") if name.strip()]
        kept = [
            one
            for one in lives
            if not wanted or one.name in wanted or one.name.split("/")[0] in wanted
        ]
    return [_cut(one, sessions or len(one.sessions), questions) for one in kept]


def _cut(life: Life, sessions: int, questions: int) -> Life:
    asked = [q for q in life.questions if q.needs <= sessions]
    if questions and len(asked) > questions:
        picked = set(random.Random(life.name).sample(range(len(asked)), questions))
        asked = [q for i, q in enumerate(asked) if i in picked]
    if sessions >= len(life.sessions):
        return replace(life, questions=tuple(asked))
    kept = life.sessions[:sessions]
    return replace(
        life, sessions=kept, questions=tuple(asked), asked_at=kept[-1].begins + timedelta(days=1)
    )


def _locomo(item: Item) -> Iterator[Life]:
    talk = item["conversation"]
    speakers = (talk["speaker_a"], talk["speaker_b"])
    numbers = [n for n in _while_there(talk) if talk[f"session_{n}"]]
    for user, other in (speakers, speakers[::-1]):
        sessions = tuple(
            Session(
                _moment(talk[f"session_{n}_date_time"]),
                _exchanges(_spoken(talk[f"session_{n}"]), user),
            )
            for n in numbers
        )
        asked = enumerate(item["qa"])
        questions = tuple(
            _locomo_question(i, q, len(numbers))
            for i, q in asked
            if _asker(q, talk, speakers) == user
        )
        yield Life(
            f"{item['sample_id']}/{user}",
            user,
            other,
            sessions,
            questions,
            sessions[-1].begins + timedelta(days=1),
        )


def _while_there(talk: Item) -> Iterator[int]:
    for n in count(1):
        if f"session_{n}" not in talk:
            return
        yield n


def _spoken(turns: Iterable[Item]) -> Iterator[tuple[str, str]]:
    """Yield speaker and words.

    A picture is what its caption says, as the dataset's own evaluation has it.
    """
    for turn in turns:
        picture = f"[image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
        yield (
            turn["speaker"],
            "\n".join(part for part in (turn.get("text", "").strip(), picture) if part),
        )


def _exchanges(spoken: Iterable[tuple[str, str]], user: str) -> tuple[Exchange, ...]:
    """Return the turns in pairs, neighbours of one speaker joined."""
    found: list[Exchange] = []
    for speaker, words in spoken:
        last = found[-1] if found else Exchange("", "")
        if speaker != user:
            found[-1:] = [replace(last, heard=f"{last.heard}\n{words}".strip())]
        elif found and not last.heard:
            found[-1] = replace(last, said=f"{last.said}\n{words}".strip())
        else:
            found.append(Exchange(words, ""))
    return tuple(found)


def _locomo_question(number: int, q: Item, sessions: int) -> Question:
    evidence = [int(n) for entry in q.get("evidence", []) for n in re.findall(r"D(\d+):\d+", entry)]
    category = CATEGORIES[q["category"]]
    answer = None if category == "adversarial" else str(q["answer"])
    if (
        answer and category == "open"
    ):  # behind the semicolon stand reasons, which its own evaluation drops too
        answer = answer.split(";")[0]
    return Question(str(number), q["question"], answer, category, max(evidence, default=sessions))


def _asker(q: Item, talk: Item, speakers: Sequence[str]) -> str:
    """Return whose life a question belongs to.

    It is the speaker that the question names first, else the one who gave the answer.
    """
    named = [(q["question"].find(name), name) for name in speakers if name in q["question"]]
    if named:
        return min(named)[1]
    first = re.search(r"D(\d+):\d+", " ".join(q.get("evidence", [])))
    turns = talk.get(f"session_{first[1]}", []) if first else []
    return next(
        (str(t["speaker"]) for t in turns if first and t["dia_id"] == first[0]), speakers[0]
    )


def _longmemeval(item: Item) -> Life:
    dated = zip(item["haystack_dates"], item["haystack_sessions"], _session_ids(item), strict=True)
    in_order = sorted(
        ((_moment(when), turns, name) for when, turns, name in dated), key=lambda one: one[0]
    )
    sessions = tuple(
        Session(when, _exchanges(((turn["role"], turn["content"]) for turn in turns), "user"))
        for when, turns, _ in in_order
    )
    needed = set(item.get("answer_session_ids") or [])
    places = [n for n, (_, _, name) in enumerate(in_order, 1) if name in needed]
    answer = None if str(item["question_id"]).endswith("_abs") else str(item["answer"])
    question = Question(
        "0", item["question"], answer, item["question_type"], max(places, default=len(sessions))
    )
    return Life(
        str(item["question_id"]), "", "", sessions, (question,), _moment(item["question_date"])
    )


def _session_ids(item: Item) -> Sequence[object]:
    return item.get("haystack_session_ids") or [None] * len(item["haystack_sessions"])


def _moment(text: str) -> datetime:
    """Return the time that a dataset writes.

    LoCoMo writes `1:56 pm on 8 May, 2023`, LongMemEval `2023/05/20 (Sat) 02:21`.
    """
    bare = re.sub(r"\s*\(\w+\)", "", text)
    return datetime.strptime(bare, _NUMBER_DATE if bare[:4].isdigit() else _TEXT_DATE).replace(
        tzinfo=UTC
    )
