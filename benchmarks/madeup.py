"""Made-up conversations, the same each time, and storing them in a database."""

import random
import sqlite3
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Protocol

from construct.store.database import transaction

VOCABULARY = 60_000
EXPONENT = 1.0
STOP_RANK = 100
TURNS_PER_CONVERSATION, TURNS_PER_SESSION = 200, 20
TOPIC_WORDS, TOPIC_SHARE = 40, 0.25
BATCH = 5_000


class Speaker(Protocol):
    """Makes up turns."""

    def turn(self) -> str:
        """Return the next turn's words."""
        ...


def words(chance: random.Random, count: int, lengths: Sequence[int]) -> list[str]:
    """Return `count` pronounceable words.

    `lengths` are the numbers of syllables they may have.
    """
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    spoken: dict[str, None] = {}
    while len(spoken) < count:
        spoken["".join(chance.choices(syllables, k=chance.choice(lengths))) + "n"] = None
    return list(spoken)


class Zipf:
    """Words by Zipf's law from 60,000, with a median of 25 words per turn.

    A few of them are common in each conversation.
    """

    def __init__(self) -> None:
        self.chance = random.Random(20261121)
        self.words = words(self.chance, VOCABULARY, (2, 3, 3, 4))
        self.common = frozenset(self.words[:STOP_RANK])
        self._shares = list(accumulate(1 / (rank + 2) ** EXPONENT for rank in range(VOCABULARY)))
        self._topic: list[str] = []
        self._turns = 0

    def turn(self) -> str:
        """Return the next turn's words."""
        if self._turns % TURNS_PER_CONVERSATION == 0:
            self._topic = [
                self.words[self.chance.randrange(STOP_RANK, 20_000)] for _ in range(TOPIC_WORDS)
            ]
        self._turns += 1
        length = min(200, max(3, int(self.chance.lognormvariate(3.2, 0.6))))
        own = sum(self.chance.random() < TOPIC_SHARE for _ in range(length))
        said = self.chance.choices(self.words, cum_weights=self._shares, k=length - own)
        said += self.chance.choices(self._topic, k=own)
        self.chance.shuffle(said)
        return " ".join(said)

    def question(self, turn: str) -> str:
        """Return two to four of a turn's words and one or two others.

        The hundred commonest words are left out.
        """
        telling = sorted({word for word in turn.split() if word not in self.common})
        own = self.chance.sample(telling, min(len(telling), self.chance.randint(2, 4)))
        return " ".join(
            own + self.chance.sample(self.words[STOP_RANK:3_000], self.chance.randint(1, 2))
        )


class Echo:
    """Makes up turns in the words of others.

    Each word is followed by one that followed it there.
    """

    def __init__(self, turns: Iterable[str]) -> None:
        self._chance = random.Random(20261122)
        self._after: dict[str, list[str]] = {}
        for turn in turns:
            last = ""
            for word in turn.split():
                self._after.setdefault(last, []).append(word)
                last = word
            self._after.setdefault(last, []).append("")

    def turn(self) -> str:
        """Return the next turn's words."""
        said: list[str] = []
        word = self._chance.choice(self._after[""])
        while word or len(said) < 3:
            said += [word] if word else []
            word = self._chance.choice(self._after[word])
        return " ".join(said)


def fill(db: sqlite3.Connection, speaker: Speaker, count: int, batch: int = BATCH) -> float:
    """Store `count` more messages, `batch` to a transaction.

    Return the database's own CPU seconds.
    """
    seconds = 0.0
    for done in range(0, count, batch):
        turns = [speaker.turn() for _ in range(min(batch, count - done))]
        start = time.process_time()
        with transaction(db):
            _store(db, turns)
        seconds += time.process_time() - start
    return seconds


def _store(db: sqlite3.Connection, turns: list[str]) -> None:
    (last,) = db.execute("SELECT ifnull(max(id), 0) FROM messages").fetchone()
    (conversation_id,) = db.execute("SELECT max(id) FROM conversations").fetchone()
    for number, text in enumerate(turns, last):
        session, place = divmod(number, TURNS_PER_SESSION)
        moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=session, seconds=30 * place)
        said = moment.isoformat(timespec="microseconds")
        if conversation_id is None or number % TURNS_PER_CONVERSATION == 0:
            sql = "INSERT INTO conversations (uid, created_at) VALUES (?, ?)"
            conversation_id = db.execute(sql, (f"madeup-{number}", said)).lastrowid
        db.execute(
            "INSERT INTO messages(uid, conversation_id, role, content, archived, token_count, "
            "created_at) VALUES (?, ?, ?, ?, 1, ?, ?)",
            (
                f"madeup-{number}",
                conversation_id,
                ("user", "assistant")[number % 2],
                text,
                len(text) // 4,
                said,
            ),
        )
