"""What is remembered: observations by day, and the generations they have been through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from construct.memory.dates import relative_words
from construct.memory.lines import SIGNS
from construct.repl.views.words import counted
from construct.store.records import Memory, Observation
from construct.text import one_line

_STANCES = {"assistant": "the assistant's words"}
_BAR_WIDTH = 24


def by_day(observations: Sequence[Observation]) -> list[Observation]:
    """Return observations in the order in which they are listed."""
    return sorted(observations, key=lambda o: (o.observation_date, o.id))


def memory_view(
    observations: Sequence[Observation], today: date, *, kept: Sequence[Memory] = (), left_out: int = 0
) -> RenderableType:
    """Return what was kept by hand, then observations grouped by day, the newest last.

    `left_out` older ones are only counted.
    """
    if not observations and not kept:
        return Text("Nothing is remembered yet.", style="dim")
    parts: list[RenderableType] = [Text("Kept for good", style="heading3"), memory_table(kept)] if kept else []
    if left_out:
        parts.append(Text(f"{left_out:,} older not shown: /memory all, or /memory WORDS", style="dim"))
    for day, group in groupby(by_day(observations), key=lambda o: o.observation_date):
        parts += [Text(), _day_head(day, today)] if parts else [_day_head(day, today)]
        parts.append(observation_table(list(group), today))
    return Group(*parts)


def memory_table(memories: Sequence[Memory]) -> Table:
    """Return memories one under the other."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for m in memories:
        who = "" if m.origin == "user" else f"  by the {m.origin}"
        table.add_row(f"  memory:{m.id}", Text(one_line(m.content)).append(who, style="dim"))
    return table


def observation_table(observations: Sequence[Observation], today: date) -> Table:
    """Return observations one under the other: sign, id, content with what is to be known of it."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right", style="dim", min_width=max(len(str(o.id)) for o in observations))
    table.add_column(overflow="fold")
    for o in observations:
        table.add_row(Text(f"  {SIGNS[o.priority]}", style=o.priority), str(o.id), _content(o, today))
    return table


def notes(o: Observation, today: date) -> list[str]:
    """Return what is to be known of an observation beside its words."""
    found = [] if o.stance == "stated" else [_STANCES.get(o.stance, o.stance)]
    if o.referenced_date and o.referenced_date != o.observation_date:
        found.append(f"for {o.referenced_date}")
    if outcome_unknown(o, today):
        found.append("outcome unknown")
    found += [o.state] if o.state != "active" else []
    found += [f"generation {o.generation}"] if o.generation else []
    found += ["pinned"] if o.pinned else []
    return found + (["yours"] if o.origin == "user" else [])


def outcome_unknown(o: Observation, today: date) -> bool:
    """Tell whether an observation is a plan whose day has passed without a word of how it went."""
    passed = o.referenced_date is not None and o.referenced_date < today.isoformat()
    return o.stance == "planned" and passed and o.superseded_at is None


@dataclass(frozen=True, slots=True)
class Generation:
    """What there is of one generation."""

    number: int
    active: int
    tokens: int
    superseded: int


def generations(observations: Sequence[Observation]) -> list[Generation]:
    """Return the observations, superseded ones too, counted by generation."""
    found = []
    for number in sorted({o.generation for o in observations}):
        mine = [o for o in observations if o.generation == number]
        active = [o for o in mine if o.state == "active"]
        gone = sum(o.state == "superseded" for o in mine)
        found.append(Generation(number, len(active), sum(o.token_count for o in active), gone))
    return found


def generations_view(
    counted_up: Sequence[Generation], newest: Sequence[Observation], sources: Mapping[int, Sequence[int]], today: date
) -> RenderableType:
    """Return how many observations each generation has, and the newest reflections with what they were made of."""
    if not counted_up:
        return Text("Nothing is remembered yet.", style="dim")
    if not newest:
        return Group(_generation_table(counted_up), Text("\nNothing has been condensed yet.", style="dim"))
    parts: list[RenderableType] = [_generation_table(counted_up), Text("\nNewest reflections", style="heading3")]
    for o in newest:
        made_of = ", ".join(map(str, sources.get(o.id, ())))
        parts.append(observation_table([o], today))
        parts.append(Padding(Text(f"from {made_of}  (/why {o.id})", style="dim"), (0, 0, 0, 5 + len(str(o.id)))))
    return Group(*parts)


def _generation_table(counted_up: Sequence[Generation]) -> Table:
    most = max(1, *(g.active for g in counted_up)) if counted_up else 1
    table = Table.grid(padding=(0, 2))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(max_width=_BAR_WIDTH)
    table.add_column(overflow="fold")
    for g in counted_up:
        made = "from messages" if g.number == 0 else f"from generation {g.number - 1}"
        words = f"{g.active:,} active ({counted(g.tokens, 'token')})"
        words += f", {g.superseded:,} superseded" if g.superseded else ""
        bar = Bar(most, 0, g.active, color="magenta")
        table.add_row(f"  generation {g.number}", Text(made, style="dim"), bar, words)
    return table


def _day_head(day: str, today: date) -> Text:
    when = date.fromisoformat(day)
    head = Text()
    head.append(f"{when:%A} {day}", style="heading3")
    head.append(f"  {relative_words(when, today)}", style="dim")
    return head


def _content(o: Observation, today: date) -> Text:
    text = Text(one_line(o.content))
    if found := notes(o, today):
        text.append(f"  {' · '.join(found)}", style="medium" if "outcome unknown" in found else "dim")
    return text
