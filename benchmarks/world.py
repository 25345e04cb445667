"""A made-up conversation, worker answers of realistic size, and a companion to talk to.

A turn has about 200 tokens: the user's message with two sentences worth remembering,
and a longer reply. The observer writes each of the two down as a line of its own: about
25 tokens of lines for 100 tokens of conversation. The reflector leaves lines of high
priority alone, drops those of low priority and joins the others in threes, which halves
the new lines. Joined lines are joined again in pairs, and hardly shortened, until they
reach a certain length, as a careful model would do. It shelves the oldest lines, as many as
it takes for the rest to have the size it was asked for.
"""

import random
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

from benchmarks.madeup import words
from construct.clock import Clock, to_text
from construct.config import Settings
from construct.llm.providers import Models
from construct.load_settings import load_settings
from construct.store.conversations import create_conversation
from construct.talk.companion import Companion
from construct.talk.responder import Responder
from construct.talk.stored_ledger import StoredLedger
from construct.tokens import by_bytes
from tests.support.fake_types import Json, last_user_text
from tests.support.fake_worker import (
    Line,
    Said,
    note,
    observer_answer,
    read_lines,
    read_transcript,
    reflector_answer,
    sentences,
)

BEGINS = datetime(2026, 3, 2, 8, tzinfo=UTC)
_JOINED = "; "
_HEAD_TOKENS = 10
"""Tokens of a line's sign and date."""
_LONG = 240
"""Lines of this many characters or more are not joined again."""
_SUBJECTS = """sister brother mother father cousin neighbour colleague boss doctor dentist garden
kitchen bicycle car house project band choir dog cat school team landlord teacher""".split()
_SMALL = """the of and a to in that it was with as for on he is his at by from her which they were
had""".split()
_VERBS = """likes brought found repaired painted sold bought ordered finished lost described
cooked""".split()


class Speech:
    """Made-up words, the same for the same seed.

    Every fourth is one of the small words of English.
    """

    def __init__(self, seed: int = 20261122, vocabulary: int = 8_000) -> None:
        self.chance = random.Random(seed)
        self.words = words(self.chance, vocabulary, (2, 2, 3, 3, 4))
        self.names = [word.capitalize() for word in self.words[-400:]]
        self._shares = list(accumulate(1 / (rank + 20) for rank in range(vocabulary)))

    def turn(self) -> tuple[str, str]:
        """Return what the user says, about 80 tokens, and the reply, about 120."""
        facts = [self.fact(), self.fact()]
        return " ".join([self.sentence(8), *facts, self.sentence(8)]), " ".join(
            self.sentence(14) for _ in range(5)
        )

    def sentence(self, length: int) -> str:
        """Return a sentence that is worth no line."""
        said = self.chance.choices(self.words, cum_weights=self._shares, k=length)
        said = [self.chance.choice(_SMALL) if i % 4 == 1 else word for i, word in enumerate(said)]
        return " ".join(said).capitalize() + "."

    def fact(self) -> str:
        """Return a sentence worth a line.

        A tenth have a number (high priority), a quarter have no name (low priority).
        """
        kind = self.chance.random()
        subject, verb = self.chance.choice(_SUBJECTS), self.chance.choice(_VERBS)
        words = self.chance.choices(self.words, cum_weights=self._shares, k=8)
        first, second = self.chance.sample(self.names, 2)
        if kind < 0.10:
            return (
                f"My {subject} {first} {verb} {self.chance.randint(2, 999)} "
                f"{' '.join(words[:6])} for {second}."
            )
        if kind < 0.75:
            return (
                f"My {subject} {verb} the {' '.join(words[:4])} of {first} "
                f"in {' '.join(words[4:6])} near {second}."
            )
        return (
            f"My {subject} {verb} the {' '.join(words[:4])} "
            f"with the {' '.join(words[4:])} this morning."
        )


def observer(body: Json) -> str:
    """Answer as the observer."""
    said = [message for message in read_transcript(body) if message.role == "user"]
    last = sentences(said[-1].text)[-1] if said else "Nothing."
    return observer_answer(
        (line for message in said for line in _facts(message)),
        task=f"User is talking about this: {last}",
        next_step=f"Go on from what the user said: {last}",
        title="A long talk",
    )


def _facts(message: Said) -> Iterator[str]:
    for sentence in sentences(message.text):
        if sentence.startswith("My "):
            content = "User's " + sentence.removeprefix("My ").rstrip(".")
            yield note(
                content,
                [message.anchor],
                priority=_priority(sentence),
                observation_date=message.date,
            )


def _priority(sentence: str) -> str:
    if re.search(r"\d", sentence):
        return "high"
    return "medium" if re.search(r" [A-Z]", sentence) else "low"


def reflector(body: Json) -> str:
    """Answer as the reflector."""
    lines = read_lines(body)
    medium = [line for line in lines if line.priority == "medium"]
    dropped = [line.anchor for line in lines if line.priority == "low"]
    kept = sum(_size(line.text) for line in lines if line.priority == "high")
    target = _target(body) - kept
    joined = _joins(medium)
    shelved = 0
    while shelved < len(medium) and _left(medium[shelved:], joined) > target:
        shelved += 1
        joined = _joins(medium[shelved:])
    return reflector_answer(
        map(_joined, joined), shelve=(line.anchor for line in medium[:shelved]), drop=dropped
    )


def _joins(medium: Sequence[Line]) -> list[Sequence[Line]]:
    """Return the groups of lines that are joined."""
    by_matter = sorted(medium, key=_matter)
    fresh = [line for line in by_matter if _JOINED not in line.text]
    joined = [line for line in by_matter if _JOINED in line.text and len(line.text) < _LONG]
    return [*_by(3, fresh), *_by(2, joined)]


def _left(medium: Sequence[Line], groups: Sequence[Sequence[Line]]) -> int:
    """Return the tokens of these lines once the groups are joined."""
    in_groups = {line.anchor for group in groups for line in group}
    alone = sum(_size(line.text) for line in medium if line.anchor not in in_groups)
    return alone + sum(_size(_joined(group)) - _HEAD_TOKENS for group in groups)


def _size(text: str) -> int:
    return by_bytes(text) + _HEAD_TOKENS


def _target(body: Json) -> int:
    """Return the tokens that the reflector is asked for."""
    asked = re.search(r"at most (\d+) tokens", last_user_text(body))
    return int(asked[1]) if asked else 0


def _matter(line: Line) -> str:
    return " ".join(line.text.split()[:2])


def _by(size: int, lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yield the lines in groups of `size`; a last smaller one is left alone."""
    yield from (lines[i : i + size] for i in range(0, len(lines) - size + 1, size))


def _joined(group: Sequence[Line]) -> str:
    parts = [
        _shorter(line.text.removeprefix("User's "), 0.9 if _JOINED in line.text else 0.55)
        for line in group
    ]
    content = "User's " + _JOINED.join(parts)
    return note(
        content, [line.anchor for line in group], observation_date=max(line.date for line in group)
    )


def _shorter(text: str, share: float) -> str:
    """Return this share of a text's words: its names, and of the others the first."""
    words = text.split()
    room = max(2, round(share * len(words)))
    kept = {i for i, word in enumerate(words) if word[:1].isupper()}
    kept |= set([i for i in range(len(words)) if i not in kept][: max(0, room - len(kept))])
    return " ".join(words[i] for i in sorted(kept))


class Played:
    """A conversation of one speech with the companion, by a clock of its own."""

    def __init__(self, companion: Companion, conversation_id: int, speech: Speech) -> None:
        self.companion = companion
        self.id = conversation_id
        self.now = BEGINS
        self.reply = ""
        """What the model is to answer."""
        self._speech = speech

    def listen(self, pause: timedelta = timedelta(minutes=1)) -> str:
        """Let time pass, and return what the user says next."""
        self.now += pause
        clock = Clock(self.now, UTC)
        self.companion.settings = replace(self.companion.settings, clock=clock)
        self.companion.memory_config = replace(self.companion.memory_config, clock=clock)
        self.companion.worker.config = self.companion.memory_config
        words, self.reply = self._speech.turn()
        return words

    async def say(self, words: str) -> None:
        """Have one turn."""
        result = await Responder(StoredLedger(self.companion)).turn(self.id, words, lambda _: None)
        assert result.complete, result.error

    async def upkeep(self) -> None:
        """Do the memory work that is due, and keep the indexes in order."""
        if self.companion.settings.learns:
            await self.companion.worker.run_due(self.id)
            while await self.companion.worker.index():
                pass


@asynccontextmanager
async def playing(settings: Settings, models: Models, speech: Speech) -> AsyncIterator[Played]:
    """Open a companion with a new conversation."""
    companion = Companion(settings, models)
    try:
        conversation_id = await companion.store.call(create_conversation, to_text(BEGINS))
        yield Played(companion, conversation_id, speech)
    finally:
        await companion.close()


def settings_in(folder: Path, **more: str) -> Settings:
    """Return settings with a database in the folder, untouched by the machine's."""
    return load_settings(
        {"CONSTRUCT_DB": str(folder / "construct.db"), "CONSTRUCT_TZ": "UTC", **more}
    )
