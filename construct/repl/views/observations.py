"""What is remembered: observations by day."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.memory.inspection.narrow import outcome_unknown
from construct.memory.language.dates import relative_words
from construct.memory.shown.lines import SIGNS
from construct.repl.views.prose import Prose
from construct.repl.views.words import counted
from construct.store.records import Memory, Observation
from construct.text import one_line

_STANCES = {"assistant": "the assistant's words"}


def by_day(observations: Sequence[Observation]) -> list[Observation]:
    """Return observations in the order in which they are listed."""
    return sorted(observations, key=lambda o: (o.observation_date, o.id))


def memory_view(
    observations: Sequence[Observation],
    today: date,
    *,
    kept: Sequence[Memory] = (),
    most: int | None = None,
    narrowed: Sequence[str] = (),
    rest: str = "/memory all, or narrow it (/help memory)",
) -> RenderableType:
    """Return what was kept by hand, then observations grouped by day, the newest last, then what there is in all.

    Older ones than the newest `most` are only counted, `rest` being how to see them; `narrowed` says by what all were
    chosen, in words.
    """
    parts: list[RenderableType] = [Text("Kept for good", style="heading3"), memory_table(kept)] if kept else []
    shown = by_day(observations)[-most:] if most else by_day(observations)
    for day, group in groupby(shown, key=lambda o: o.observation_date):
        parts += [Text(), _day_head(day, today)] if parts else [_day_head(day, today)]
        parts.append(observation_table(list(group), today))
    parts += [Text(), _closing(observations, kept, today, narrowed)]
    if left_out := len(observations) - len(shown):
        parts.append(Text(f"{left_out:,} older not shown: {rest}", style="dim"))
    return Group(*parts)


def _closing(observations: Sequence[Observation], kept: Sequence[Memory], today: date, narrowed: Sequence[str]) -> Text:
    """Return what there is in all, so that it stands next to the prompt."""
    closing = Text().append(counted(len(observations), "observation"), style="strong")
    if narrowed:
        closing.append(f" · {' · '.join(narrowed)}", style="accent")
    counts = ", ".join(_counts(observations, kept, today))
    return closing.append(f" · {counts}" if counts else "", style="dim")


def _counts(observations: Sequence[Observation], kept: Sequence[Memory], today: date) -> Iterator[str]:
    for number, words in (
        (sum(o.state == "pending" for o in observations), "pending"),
        (sum(outcome_unknown(o, today) for o in observations), "outcome unknown"),
        (sum(bool(o.pinned) for o in observations), "pinned"),
        (len(kept), "kept for good"),
    ):
        if number:
            yield f"{number:,} {words}"
    if reflections := sum(o.generation > 0 for o in observations):
        yield counted(reflections, "reflection")


def memory_table(memories: Sequence[Memory], most: int | None = None) -> Table:
    """Return memories one under the other, `most` of them."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for m in memories[:most]:
        table.add_row(f"  memory:{m.id}", Prose(one_line(m.content)).append(_whence(m), style="dim"))
    if left_out := more(len(memories), most):
        table.add_row("", left_out)
    return table


def _whence(m: Memory) -> str:
    if m.observation_id is not None:
        return f"  from {m.observation_id}"
    return "" if m.origin == "user" else f"  by the {m.origin}"


def observation_table(observations: Sequence[Observation], today: date, most: int | None = None) -> Table:
    """Return observations one under the other, `most` of them: sign, id, content with what is to be known of it."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right", style="dim", min_width=max(len(str(o.id)) for o in observations))
    table.add_column(overflow="fold")
    for o in observations[:most]:
        table.add_row(Text(f"  {SIGNS[o.priority]}", style=o.priority), str(o.id), _content(o, today))
    if left_out := more(len(observations), most):
        table.add_row("", "", left_out)
    return table


def more(total: int, most: int | None) -> Text | None:
    """Return how many are left out of a list that is cut; None where it is whole."""
    return None if most is None or total <= most else Text(f"and {total - most:,} more", style="dim")


def observation_view(o: Observation, today: date) -> RenderableType:
    """Return one observation, with its day."""
    return Group(_day_head(o.observation_date, today), observation_table([o], today))


def notes(o: Observation, today: date) -> list[str]:
    """Return what is to be known of an observation beside its words."""
    found = [] if o.stance == "stated" else [_STANCES.get(o.stance, o.stance)]
    if o.referenced_date and o.referenced_date != o.observation_date:
        found.append(f"for {o.referenced_date}")
    return found + standing_notes(o, today)


def standing_notes(o: Observation, today: date) -> list[str]:
    """Return what is to be known of an observation beside its line as the model is shown it."""
    found = ["outcome unknown"] if outcome_unknown(o, today) else []
    found += [o.state] if o.state != "active" else []
    found += ["withheld"] if o.withheld else []
    found += [f"generation {o.generation}"] if o.generation else []
    found += ["pinned"] if o.pinned else []
    return found + (["yours"] if o.origin == "user" else [])


def _day_head(day: str, today: date) -> Text:
    when = date.fromisoformat(day)
    head = Text()
    head.append(f"{when:%A} {day}", style="heading3")
    head.append(f"  {relative_words(when, today)}", style="dim")
    return head


def _content(o: Observation, today: date) -> Text:
    text = Prose(one_line(o.content))
    if found := notes(o, today):
        text.append(f"  {' · '.join(found)}", style="medium" if "outcome unknown" in found else "dim")
    return text
