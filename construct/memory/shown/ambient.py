"""What holds for one turn only: the block behind the last cache mark. Pure, and never stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from construct.clock import gap_words
from construct.memory.language.dates import relative_words
from construct.memory.shown.escaping import inline
from construct.store.briefings import Told

_PAUSE_WORTH_SAYING = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class DuePlan:
    """Something that lies ahead, or whose day has passed with its outcome unknown."""

    observation_id: int
    content: str
    day: date


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of earlier talk that recall found."""

    kind: str
    id: int
    when: date
    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Ambience:
    """All that the ambient block says."""

    now: datetime
    """The user's wall clock."""
    pause: timedelta | None = None
    due: Sequence[DuePlan] = field(default_factory=tuple)
    passages: Sequence[Passage] = field(default_factory=tuple)
    task: str | None = None


def render(a: Ambience) -> str:
    """Return the block; relative dates belong here and nowhere else."""
    lines = [f"Now: {a.now:%A %Y-%m-%d %H:%M}"]
    if a.pause and a.pause >= _PAUSE_WORTH_SAYING:
        lines.append(f"Last message: {gap_words(a.pause)} ago")
    lines += [f"{due_words(plan, a.now.date())}: {inline(plan.content)}" for plan in a.due]
    for p in a.passages:
        lines.append(f"{inline(p.who)}, {p.when} ({relative_words(p.when, a.now.date())}): {inline(p.text)}")
    if a.task:
        lines.append(f"The talk was about: {inline(a.task)}")
    return "<ambient>\n" + "\n".join(lines) + "\n</ambient>"


def told(a: Ambience) -> tuple[Told, ...]:
    """Return what of memory the block says, in its order."""
    due = [Told("due", "observation", plan.observation_id) for plan in a.due]
    return (*due, *(Told("passage", passage.kind, passage.id) for passage in a.passages))


def due_words(plan: DuePlan, today: date) -> str:
    """Return "Due tomorrow", or that a plan's day has passed and its outcome is unknown."""
    words = relative_words(plan.day, today)
    return f"Outcome unknown ({words})" if plan.day < today else f"Due {words}"
