"""What was learned week by week."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.memory.timeline import Week
from construct.repl.views.bars import AccentBar
from construct.repl.views.words import counted

_BAR_WIDTH = 24
_LEGEND = "known: generation 0 + 1 + …, each + one more round of condensing"


def timeline_view(
    found: Sequence[Week], most: int | None = None, *, everything: str = "/timeline all"
) -> RenderableType:
    """Return the newest `most` weeks in which something changed, oldest first, those in which nothing did as one line.

    `everything` is what the user types to see them all.
    """
    if not found:
        return Text("Nothing is remembered yet.", style="dim")
    busy = [week.monday for week in found if not week.is_quiet]
    first = found[0].monday if most is None else busy[-most:][0]
    shown = [week for week in found if week.monday >= first]
    left_out = sum(monday < first for monday in busy)
    parts: list[RenderableType] = [_head(found)]
    if left_out:
        parts.append(Text(f"{counted(left_out, 'earlier week')} not shown: {everything}", style="dim"))
    return Group(*parts, _table(shown), Text(f"\n{_LEGEND}", style="dim"))


def _head(found: Sequence[Week]) -> Text:
    head = Text()
    head.append(f"{counted(sum(week.learned for week in found), 'observation')} learned", style="heading3")
    return head.append(f" in {counted(len(found), 'week')}; {sum(found[-1].active.values()):,} known today")


def _table(shown: Sequence[Week]) -> Table:
    most = max(1, *(week.learned for week in shown))
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("week of", no_wrap=True)
    table.add_column("learned", max_width=_BAR_WIDTH, min_width=7)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("known", justify="right", no_wrap=True)
    table.add_column("", style="dim", overflow="fold")
    for is_quiet, group in groupby(shown, key=lambda week: week.is_quiet):
        weeks = list(group)
        if is_quiet:
            table.add_row(Text(f"{counted(len(weeks), 'quiet week')}", style="dim"))
            continue
        for week in weeks:
            bar = AccentBar(most, 0, week.learned)
            table.add_row(str(week.monday), bar, f"{week.learned:,}", _known(week), ", ".join(_notes(week)))
    return table


def _known(week: Week) -> str:
    """Return what was known at the week's end, generation by generation."""
    return " + ".join(f"{week.active.get(g, 0):,}" for g in range(max(week.active, default=0) + 1))


def _notes(week: Week) -> Iterator[str]:
    if week.condensed:
        yield f"{week.condensed:,} superseded"
    if week.into:
        yield counted(week.into, "reflection")
    if week.corrected:
        yield f"{week.corrected:,} corrected"
