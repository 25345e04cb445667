"""What changed in memory between two moments."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from construct.memory.inspection.history import Diff
from construct.memory.shown.lines import SIGNS
from construct.repl.views.prose import Prose
from construct.store.records import Observation
from construct.text import one_line


def diff_view(found: Diff, period: str) -> RenderableType:
    """Return what was learned (+), changed (- and + together) and is gone (-); `period` says when, in words."""
    if not (found.learned or found.changed or found.gone):
        return Text(f"Nothing changed {period}.", style="dim")
    parts: list[RenderableType] = []
    for title, lines in _sections(found):
        if lines:
            parts += [Text(), Text(title, style="heading3")] if parts else [Text(title, style="heading3")]
            parts.append(_table(lines))
    return Group(*parts, Text(), _closing(found, period))


def _closing(found: Diff, period: str) -> Text:
    counts = (
        (len(found.learned), "learned"),
        (len({new.id for _, new in found.changed}), "changed"),
        (len(found.gone), "gone"),
    )
    return Text.assemble((", ".join(f"{n:,} {what}" for n, what in counts if n), "strong"), (f" · {period}", "dim"))


_Line = tuple[str, Observation]


def _sections(found: Diff) -> list[tuple[str, list[_Line]]]:
    changed: list[_Line] = []
    done: set[int] = set()
    for new in dict.fromkeys(new.id for _, new in found.changed):
        olds = [old for old, by in found.changed if by.id == new and old.id not in done]
        done |= {old.id for old in olds}
        changed += [("-", old) for old in olds] + [("+", by) for _, by in found.changed if by.id == new][:1]
    return [
        ("Learned", [("+", o) for o in found.learned]),
        ("Changed", changed),
        ("Gone", [("-", o) for o in found.gone]),
    ]


def _table(lines: list[_Line]) -> Table:
    table = Table.grid(padding=(0, 1))
    for justify in ("left", "right", "left"):
        table.add_column(no_wrap=True, justify=justify)
    table.add_column(overflow="fold")
    for sign, o in lines:
        style = "success" if sign == "+" else "error"
        priority = Text(SIGNS[o.priority], style=o.priority)
        table.add_row(Text(f"  {sign}", style=style), Text(str(o.id), style="dim"), priority, _content(o, sign))
    return table


def _content(o: Observation, sign: str) -> Text:
    text = Prose(one_line(o.content), style="" if sign == "+" else "dim")
    return text.append(f"  {o.observation_date}", style="dim")
