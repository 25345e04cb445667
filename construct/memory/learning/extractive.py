"""Observe by fixed rules, without a worker model.

It keeps the user's own sentences, word for word, that hold a name, a number, a date or
a statement in the first person. It understands no grammar: missing something is better
than misreading it. No I/O.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from construct.clock import Clock
from construct.language.dates import mentioned_days
from construct.language.sentences import own_text, split_sentences
from construct.language.terms import terms
from construct.language.wordlists import (
    FIRST_PERSON,
    FIRST_PERSON_UNSPACED,
    INTENDING,
    LIFE,
    LIFE_UNSPACED,
    NOTE_STOP_WORDS,
    SMALL_TALK,
    SUPPOSING,
)
from construct.language.words import words
from construct.memory.learning.proposals import Extraction, ProposedObservation
from construct.store.records import Message
from construct.text import one_line, shorten
from construct.tokens import by_bytes
from construct.vocabulary import Priority, Role, Stance

_LONGEST_MESSAGE = 100_000
_LONGEST_SENTENCE = 400
_TOKENS_PER_OBSERVATION = 15
_FEWEST = 5  # limit of observations from even the shortest batch
_A_YEAR = timedelta(days=366)
_TITLE_LENGTH = 40

_SAYS_LITTLE = NOTE_STOP_WORDS | SMALL_TALK
_QUESTION = re.compile(
    r"(?:[?？؟⸮፧՞]|[α-ωά-ώ];)\W*$|(?:[吗嗎]|すか|したか)\W*$"
    r"|^\W*(?:(?:what|who|whose|which|when|where|why|how)\b.*?\b)?"
    r"(?:am|is|are|was|were|do|does|did|have|has|can|could|will|would|should) "
    r"(?:I|you|he|she|it|we|they|my|there)\b",
    re.IGNORECASE,
)
_NOT_TO_BE_KEPT = re.compile(
    r"(?:^|[.!?,;:(–—-]\s*)(?:(?:please|and|but) )*(?:forget|delete|erase|"
    r"(?:do not|don['’]t|never) (?:save|store|remember|record|note|keep)) "
    r"(?:this|that|it|what I|any of)\b"
    r"|\boff the record\b|\bnicht (?:speichern|merken|notieren)\b"
    r"|\b(?:no (?:guardes|recuerdes)|não guardes?|ne (?:retiens|garde) pas"
    r"|non (?:salvare|ricordare))\b",
    re.IGNORECASE | re.MULTILINE,
)
_TO_BE_KEPT = re.compile(
    r"\b(?:remember (?:that|this|my|I)|don['’]t forget|note that|keep in mind|from now on|"
    r"merk dir|ab jetzt|"
    r"recuerda que|lembra-te|souviens-toi|ricordati)\b",
    re.IGNORECASE,
)


def extract(messages: Sequence[Message], clock: Clock) -> Extraction:
    """Return the most informative of the user's own sentences as observations, in order."""
    found: dict[tuple[str, str], tuple[float, ProposedObservation]] = {}
    for message in messages:
        text = message.content[:_LONGEST_MESSAGE]
        if message.role != Role.USER or _NOT_TO_BE_KEPT.search(text):
            continue
        day = clock.day(message.created_at)
        for sentence in map(one_line, split_sentences(own_text(text))):
            scored = _observed(sentence, message.id, day)
            if scored is None:
                continue
            score, observation = scored
            key = sentence.casefold(), observation.observation_date
            if key in found:
                sources = dict.fromkeys((*found[key][1].sources, message.id))
                observation = replace(found[key][1], sources=tuple(sources))
            found[key] = score, observation
    size = sum(by_bytes(message.content[:_LONGEST_MESSAGE]) for message in messages)
    limit = max(_FEWEST, size // _TOKENS_PER_OBSERVATION)
    best = dict.fromkeys(sorted(found, key=lambda key: -found[key][0])[:limit])
    title = next((shorten(found[key][1].content, _TITLE_LENGTH) for key in best), None)
    return Extraction(
        tuple(found[key][1] for key in found if key in best), title=title, by_rule=True
    )


def _observed(
    sentence: str, message_id: int, day: date
) -> tuple[float, ProposedObservation] | None:
    """Return a sentence's score and its observation, or None if it is not kept."""
    said = set(words(sentence))
    telling = len(said - _SAYS_LITTLE)
    names = len(terms(sentence))
    days = mentioned_days(sentence, day)
    is_own = not FIRST_PERSON.isdisjoint(said) or bool(FIRST_PERSON_UNSPACED.search(sentence))
    is_kept = telling > 0 if is_own else telling > 1 and (names or days)
    if not is_kept or len(sentence) > _LONGEST_SENTENCE or not SUPPOSING.isdisjoint(said):
        return None
    ahead = next((found for found in days if found > day), None)
    past = next((found for found in days if found < day), None)
    stance = _stance(sentence, said, ahead)
    is_lasting = not LIFE.isdisjoint(said) or bool(LIFE_UNSPACED.search(sentence))
    if stance == Stance.ASKED:
        priority, score = Priority.LOW, -2.0
    elif _TO_BE_KEPT.search(sentence) or (is_own and (is_lasting or ahead)):
        priority, score = Priority.HIGH, 6.0
    elif is_own and (names or days):
        priority, score = Priority.MEDIUM, 1.0
    else:
        priority, score = Priority.LOW, 0.0
    score += is_own + min(names, 3) + bool(days) + 0.15 * min(telling, 12)
    if past and day - past > _A_YEAR:  # a birthday, say: not the day that the fact is about
        ahead, past = ahead or past, None
    return score, ProposedObservation(
        content=sentence,
        priority=priority,
        stance=stance,
        observation_date=(past if past and stance == Stance.STATED else day).isoformat(),
        referenced_date=ahead.isoformat() if ahead else None,
        sources=(message_id,),
    )


def _stance(sentence: str, said: set[str], ahead: date | None) -> str:
    if _QUESTION.search(sentence):
        return Stance.ASKED
    return Stance.PLANNED if ahead and not INTENDING.isdisjoint(said) else Stance.STATED
