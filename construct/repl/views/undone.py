"""What taking a cycle back changed."""

from dataclasses import replace
from datetime import date

from rich.console import Group, RenderableType
from rich.text import Text

from construct.memory.curation.undo import Undone
from construct.repl.views.observations import observation_table
from construct.repl.views.words import counted
from construct.text import one_line, shorten

_MOST_LISTED = 12
_KINDS = {"edit": "your edit", "observer": "an observation run", "reflector": "a reflection", "graph": "a graph run"}
_HELD = {
    "observer": "What it had read is held: it is observed again after a further threshold of talk, or by {compact}.",
    "reflector": "They are condensed again when observations have grown by a further threshold, or by {compact}.",
}
_HELD_ELSEWHERE = (
    "What it had read, in conversation {there}, is held: it is observed again after a further threshold of talk there, "
    "or by /compact there."
)
_WITHHELD = "You had asked to forget this. The model {} it again:"
_WIDTH = 72


UNDO_QUESTION = "Take this back?"


def undo_plan_view(plan: Undone, today: date, title: str | None) -> RenderableType:
    """Return what an undo would take back, in which conversation (of this title), and what that would change."""
    would = [Text(f"This would be taken back: {_named(plan)}{_where(plan, title)}.", style="heading3")]
    still = tuple(o._replace(superseded_at=None, superseded_by=None) for o in plan.deactivated)
    plan = replace(plan, deactivated=still)
    return Group(*would, *_changes(plan, today, "would go", "would be active again", "would be shown"))


def undone_view(
    undone: Undone, today: date, here: int | None, *, compact: str = "/compact", title: str | None = None
) -> RenderableType:
    """Return what was taken back, what is gone with it, what is active again, and what is held for now.

    `title` is that of the cycle's conversation, `compact` what the user types to have the work of the conversation
    `here` done at once.
    """
    kind = undone.cycle.kind
    parts: list[RenderableType] = [Text(f"Taken back: {_named(undone)}{_where(undone, title)}.", style="heading3")]
    parts += _changes(undone, today, "gone", "active again", "is shown")
    if kind == "observer" and undone.cycle.conversation_id != here:
        parts.append(Text(_HELD_ELSEWHERE.format(there=undone.cycle.conversation_id), style="dim"))
    elif kind in _HELD:
        parts.append(Text(_HELD[kind].format(compact=compact), style="dim"))
    return Group(*parts)


def _changes(undone: Undone, today: date, gone: str, again: str, shown: str) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for words, found in ((gone, undone.deactivated), (again, undone.reactivated)):
        if found:
            parts.append(Text(f"{counted(len(found), 'observation')} {words}:"))
            parts.append(observation_table(found, today, _MOST_LISTED))
    if undone.given_back:
        listed = [f"  “{shorten(words, _WIDTH)}”" for words in undone.given_back[:_MOST_LISTED]]
        parts.append(Text("\n".join([_WITHHELD.format(shown), *listed])))
    if undone.relations:
        parts.append(Text(f"{counted(undone.relations, 'relation')} of the graph {gone}."))
    return parts


def _where(undone: Undone, title: str | None) -> str:
    """Return in which conversation a cycle ran; "" for one over several."""
    if undone.cycle.conversation_id is None:
        return ""
    return f", in conversation {undone.cycle.conversation_id}" + (f" “{one_line(title)}”" if title else "")


def _named(undone: Undone) -> str:
    """Return the cycle that was taken back, and those that went with it, oldest first."""
    cycles = [undone.cycle, *reversed(undone.along)]
    named = [f"{_KINDS[cycle.kind]} (cycle {cycle.id})" for cycle in cycles]
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
