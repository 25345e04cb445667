"""Decide what a review shows, in which order, and what can be answered. No I/O."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from construct.memory.agenda import AgendaItem
from construct.store.questions import ForgetRequest
from construct.store.records import Observation
from construct.store.reminders import FailedReminder
from construct.store.review import OpenQuestion
from construct.text import one_line
from construct.vocabulary import AgendaState, Answer, Origin, Stance, WaitingKind

_ABOUT_A_NOTE = (
    Answer.KEEP,
    Answer.EDIT,
    Answer.PIN,
    Answer.UNTRUE,
    Answer.FORGET,
    Answer.LATER,
)
_ORDER = {kind: place for place, kind in enumerate(WaitingKind)}
_LOST = "This line was refused, and no words of yours say it."
_IN_PLACE_OF = "Your own words are kept in place of a line that was refused: “{}”"
_DOUBTFUL = "Something that changed since may have made this untrue."
_KEPT_BY_MODEL = "The model kept this, and your words do not plainly say it."
_NEW = "This is new. Other conversations get it once you keep it."
_LEARNED = "Learned since your last review."


@dataclass(frozen=True, slots=True)
class Waiting:
    """One thing that waits for the user's decision."""

    kind: WaitingKind
    id: int
    """The question's id; of what has no question, the note's."""
    text: str
    why: str
    since: str
    observation_id: int | None = None
    """The note it is about, if it is about one."""

    @property
    def key(self) -> tuple[WaitingKind, int]:
        """What tells it from all others."""
        return self.kind, self.id

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What the user can answer."""
        match self.kind:
            case WaitingKind.FORGET:
                return Answer.FORGET, Answer.KEEP, Answer.WITHHOLD, Answer.LATER
            case WaitingKind.REMINDER:
                return Answer.KEEP, Answer.LATER
            case WaitingKind.LIST | WaitingKind.NEW:
                return *_ABOUT_A_NOTE, Answer.KEEP_ALL
        return _ABOUT_A_NOTE


@dataclass(frozen=True, slots=True)
class Rows:
    """What a review is made of, as it is stored."""

    requests: Sequence[ForgetRequest] = ()
    questions: Sequence[OpenQuestion] = ()
    agenda: Sequence[AgendaItem] = ()
    failed: Sequence[FailedReminder] = ()


def waiting_list(rows: Rows) -> list[Waiting]:
    """Return all that waits, one kind after the other, the oldest of each first."""
    found = [*_requests(rows.requests), *map(_question, rows.questions), *_plans(rows.agenda)]
    found += [_reminder(reminder) for reminder in rows.failed]
    return sorted(found, key=lambda waiting: (_ORDER[waiting.kind], waiting.since, waiting.id))


def learned_list(notes: Iterable[Observation]) -> list[Waiting]:
    """Return notes that the user may go through after what waits."""
    return [
        Waiting(WaitingKind.LEARNED, o.id, one_line(o.content), _LEARNED, o.created_at, o.id)
        for o in notes
    ]


def _requests(requests: Iterable[ForgetRequest]) -> Iterable[Waiting]:
    by_question: dict[int, list[ForgetRequest]] = {}
    for request in requests:
        by_question.setdefault(request.question_id, []).append(request)
    for question_id, asked in by_question.items():
        text = " / ".join(one_line(request.words) for request in asked)
        why = "You asked to forget this."
        yield Waiting(WaitingKind.FORGET, question_id, text, why, asked[0].created_at)


def _question(question: OpenQuestion) -> Waiting:
    text = question.text if question.content is None else question.content
    return Waiting(
        WaitingKind(question.kind),
        question.id,
        one_line(text or ""),
        _why(question),
        question.created_at,
        question.observation_id,
    )


def _why(question: OpenQuestion) -> str:
    source = one_line(question.source or "")
    match question.kind:
        case WaitingKind.DOUBTFUL if question.changed:
            return f"{_DOUBTFUL[:-1]}: “{one_line(question.changed)}”"
        case WaitingKind.DOUBTFUL if question.origin == Origin.ASSISTANT:
            return _KEPT_BY_MODEL
        case WaitingKind.DOUBTFUL:
            return _DOUBTFUL
        case WaitingKind.STAND_IN if question.content is None:
            return _LOST
        case WaitingKind.STAND_IN if question.text is None:  # a rule of the user's forbids it
            return "Your own words are kept in place of a line that was refused."
        case WaitingKind.STAND_IN:
            return _IN_PLACE_OF.format(one_line(question.text or ""))
        case WaitingKind.LIST:
            noted = f", noted on {question.noted_on}" if question.noted_on else ""
            return f"From a list of memories{f' ({source})' if source else ''}{noted}."
        case WaitingKind.PROPOSAL:
            return f"{source or 'Another program'} proposes to remember this."
    return _NEW


def _plans(items: Iterable[AgendaItem]) -> Iterable[Waiting]:
    """Return the plans of unknown outcome, and the dated plans that only a text has."""
    for item in items:
        note = item.note
        if item.state is AgendaState.OUTCOME_UNKNOWN:
            why = f"It was planned for {item.when}. How it came out is not known."
            yield Waiting(
                WaitingKind.OUTCOME,
                note.id,
                one_line(note.content),
                why,
                item.days.last.isoformat(),
                note.id,
            )
        elif note.stance == Stance.QUOTED:
            why = f"Only a text says this, for {item.when}. Keep it, and it is a plan of yours."
            yield Waiting(
                WaitingKind.TEXT,
                note.id,
                one_line(note.content),
                why,
                note.created_at or "",
                note.id,
            )


def _reminder(failed: FailedReminder) -> Waiting:
    why = f"This reminder was due at {failed.due} and could not be delivered."
    return Waiting(
        WaitingKind.REMINDER,
        failed.observation_id,
        one_line(failed.text),
        why,
        failed.due,
        failed.observation_id,
    )
