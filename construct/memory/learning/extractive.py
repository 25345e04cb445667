"""Observe by fixed rules, without a worker model.

It keeps, word for word, the user's own sentences that contain a name, a number, a date
or a statement in the first person; in a language it does not know, those with a number or
a date. It does not parse grammar: it would rather miss something than misread it. No I/O.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from construct.clock import Clock
from construct.language.called_off import is_called_off, is_cancelled
from construct.language.clock_times import mentioned_recurrence, mentioned_time, weekday_named
from construct.language.dates import clauses_naming, mentioned_days, tenses
from construct.language.own_words import (
    begins_play,
    is_in_known_language,
    own_sentences,
    without_quotes,
)
from construct.language.sentences import is_question
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
from construct.vocabulary import Priority, Recurrence, Role, Stance

_MAX_MESSAGE_LENGTH = 100_000
"""Characters of a message that are read."""
_MAX_SENTENCE_LENGTH = 400
"""Characters. Longer sentences are skipped."""
_TOKENS_PER_OBSERVATION = 15
_MIN_OBSERVATION_LIMIT = 5
"""Observations allowed even from the shortest batch."""
_MAX_PER_MESSAGE = 40
"""Observations from one message: a pasted page must not crowd out everything else."""
_A_YEAR = timedelta(days=366)
_TITLE_LENGTH = 40
"""Characters of a conversation's title."""

_DIGIT = re.compile(r"\d")
_UNINFORMATIVE = NOTE_STOP_WORDS | SMALL_TALK
# "at 18:30", "9am"
_TIME_OF_DAY = re.compile(r"\b\d{1,2}(?::[0-5]\d| ?[ap]\.?m\b)", re.IGNORECASE)
# Not "I must say today was …", "she must be 70 today"; but "I must be there today at 9:00"
_MUST = re.compile(
    r"\b(?:(?:have|has|need|needs) to|must)\b"
    rf"(?! (?:say|tell you|admit|confess)\b| be\b(?!.*{_TIME_OF_DAY.pattern}))",
    re.IGNORECASE,
)
_TO_BE_KEPT = re.compile(
    r"\b(?:remember (?:that|this|my|I)|don['’]t forget|note that|keep in mind|from now on|"
    r"merk dir|ab jetzt|"
    r"recuerda que|lembra-te|souviens-toi|ricordati)\b",
    re.IGNORECASE,
)


def extract(messages: Sequence[Message], clock: Clock) -> Extraction:
    """Return the most informative of the user's own sentences as observations, in order."""
    by_sentence: dict[tuple[str, str], tuple[float, ProposedObservation]] = {}
    for message in _spoken_as_oneself(messages):
        found = _scored_observations(message, clock.day(message.created_at))
        kept = sorted(found, key=lambda pair: -pair[0])[:_MAX_PER_MESSAGE]
        for score, observation in [pair for pair in found if pair in kept]:
            key = observation.content.casefold(), observation.observation_date
            if key in by_sentence:
                sources = dict.fromkeys((*by_sentence[key][1].sources, message.id))
                observation = replace(by_sentence[key][1], sources=tuple(sources))
            by_sentence[key] = score, observation
    size = sum(by_bytes(message.content[:_MAX_MESSAGE_LENGTH]) for message in messages)
    limit = max(_MIN_OBSERVATION_LIMIT, size // _TOKENS_PER_OBSERVATION)
    best = dict.fromkeys(sorted(by_sentence, key=lambda key: -by_sentence[key][0])[:limit])
    title = next((shorten(by_sentence[key][1].content, _TITLE_LENGTH) for key in best), None)
    return Extraction(
        tuple(by_sentence[key][1] for key in by_sentence if key in best),
        title=title,
        by_rule=True,
        is_title_by_rule=True,
    )


def _spoken_as_oneself(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield the user's messages, up to the one that begins a role-play."""
    for message in messages:
        if message.role == Role.USER:
            yield message
            if begins_play(message.content[:_MAX_MESSAGE_LENGTH]):
                return


def _scored_observations(message: Message, day: date) -> list[tuple[float, ProposedObservation]]:
    """Return what is kept of a message, in order, each with its score."""
    sentences = list(map(one_line, own_sentences(message.content[:_MAX_MESSAGE_LENGTH])))
    is_known = is_in_known_language("\n".join(sentences))
    found: list[tuple[float, ProposedObservation]] = []
    for i, sentence in enumerate(sentences):
        days = mentioned_days(without_quotes(sentence), day)
        if not (is_known or days or _DIGIT.search(sentence)):
            continue
        following = sentences[i + 1] if i + 1 < len(sentences) else ""
        ends_it = is_cancelled(following) and not mentioned_days(following, day)
        may_come = not (is_called_off(sentence) or ends_it)
        if scored := _scored_observation(sentence, message.id, day, days, may_come=may_come):
            found.append(scored)
    return found


def _scored_observation(
    sentence: str, message_id: int, day: date, days: Sequence[date], *, may_come: bool
) -> tuple[float, ProposedObservation] | None:
    """Return a sentence's score and its observation, or None if it is not kept.

    `days` are those it mentions. Without `may_come`, what it tells of is not ahead.
    """
    sentence_words = set(words(sentence))
    informative_count = len(sentence_words - _UNINFORMATIVE)
    names = len(terms(sentence))
    is_lasting = not LIFE.isdisjoint(sentence_words) or bool(LIFE_UNSPACED.search(sentence))
    is_own = (
        not FIRST_PERSON.isdisjoint(sentence_words)
        or bool(FIRST_PERSON_UNSPACED.search(sentence))
        or (is_lasting and "me" in sentence_words)
    )
    is_kept = informative_count > 0 if is_own else informative_count > 1 and (names or days)
    if (
        not is_kept
        or len(sentence) > _MAX_SENTENCE_LENGTH
        or not SUPPOSING.isdisjoint(sentence_words)
    ):
        return None
    is_intended = _is_intended(sentence)
    ahead = next((mentioned for mentioned in days if mentioned > day and may_come), None)
    if ahead is None and may_come and _is_for_today(sentence, day):
        ahead = day
    past = next((mentioned for mentioned in days if mentioned < day), None)
    if is_cancelled(sentence):  # "Friday's party was called off": the tense is not the party's
        past = None
    recurs, first = _repetition(sentence, ahead or past, day) if may_come else (None, None)
    if recurs is not None:
        ahead, past = first, None
    stance = Stance.PLANNED if ahead and is_intended else Stance.STATED
    if is_question(sentence):
        stance = Stance.ASKED
    if stance == Stance.ASKED:
        priority, score = Priority.LOW, -2.0
    elif _TO_BE_KEPT.search(sentence) or (is_own and (is_lasting or ahead)):
        priority, score = Priority.HIGH, 6.0
    elif is_own and (names or days):
        priority, score = Priority.MEDIUM, 1.0
    else:
        priority, score = Priority.LOW, 0.0
    score += is_own + min(names, 3) + bool(days) + 0.15 * min(informative_count, 12)
    if past and day - past > _A_YEAR:  # a birthday, say: the day it refers to, not when it happened
        ahead, past = ahead or past, None
    return score, ProposedObservation(
        content=sentence,
        priority=priority,
        stance=stance,
        observation_date=(past if past and stance == Stance.STATED else day).isoformat(),
        referenced_date=ahead.isoformat() if ahead else None,
        referenced_time=_time_of_day(sentence) if ahead else None,
        recurs=recurs,
        sources=(message_id,),
    )


def _time_of_day(sentence: str) -> str | None:
    named = mentioned_time(sentence)
    return f"{named:%H:%M}" if named else None


def _repetition(
    sentence: str, mentioned: date | None, day: date
) -> tuple[Recurrence | None, date | None]:
    """Return how often something comes again, and its first day; (None, None) if not at all.

    "Every Tuesday" counts only with a time of day: without one it is rather a habit.
    """
    if is_question(sentence):
        return None, None
    recurs = mentioned_recurrence(sentence)
    if recurs is Recurrence.YEARLY and mentioned is not None:
        return recurs, mentioned
    weekday = weekday_named(sentence)
    if recurs is Recurrence.WEEKLY and weekday is not None and mentioned_time(sentence):
        return recurs, day + timedelta(days=(weekday - day.weekday()) % 7)
    return None, None


def _is_intended(text: str) -> bool:
    return not INTENDING.isdisjoint(words(text)) or bool(_MUST.search(text))


def _is_for_today(sentence: str, today: date) -> bool:
    """Return whether a sentence tells of something still to come today.

    When in doubt, the answer is no: otherwise the user would be asked what became of it.
    So only an intention in the very clause that names today outweighs a past tense
    elsewhere.
    """
    clauses = clauses_naming(today, sentence, today)
    if "never" in words(" ".join(clauses)):  # "I will never forget today"
        return False
    if any(_is_intended(clause) and "past" not in tenses(clause) for clause in clauses):
        return True
    may_be = _is_intended(sentence) or bool(_TIME_OF_DAY.search(sentence))
    return bool(clauses) and may_be and "past" not in tenses(sentence)
