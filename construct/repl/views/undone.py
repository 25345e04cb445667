"""What taking a cycle back changed."""

from datetime import date

from rich.console import Group, RenderableType
from rich.text import Text

from construct.memory.undo import Undone
from construct.repl.views.observations import observation_table
from construct.repl.views.words import counted

_MOST_LISTED = 12
_KINDS = {"edit": "your edit", "observer": "an observation run", "reflector": "a reflection", "graph": "a graph run"}


def undone_view(undone: Undone, today: date) -> RenderableType:
    """Return what was taken back, what is gone with it and what stands again."""
    head = Text(f"Taken back: {_KINDS[undone.cycle.kind]} (cycle {undone.cycle.id}).", style="heading3")
    parts: list[RenderableType] = [head]
    for words, found in (("gone", undone.deactivated), ("standing again", undone.reactivated)):
        if found:
            parts.append(Text(f"{counted(len(found), 'observation')} {words}:"))
            parts.append(observation_table(found[:_MOST_LISTED], today))
    if undone.watermarks is not None:
        parts.append(Text("The messages it had read count as not observed; /compact reads them again.", style="dim"))
    return Group(*parts)
