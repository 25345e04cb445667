"""What taking a cycle back changed."""

from datetime import date

from rich.console import Group, RenderableType
from rich.text import Text

from construct.memory.curation.undo import Undone
from construct.repl.views.observations import observation_table
from construct.repl.views.words import counted

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
_FOUND_NOTHING = (
    "Nothing that it found is remembered, so all that is remembered stays as it was. "
    "Undo once more takes back the cycle before it."
)


def undone_view(undone: Undone, today: date, here: int | None, *, compact: str = "/compact") -> RenderableType:
    """Return what was taken back, what is gone with it, what is active again, and what is held for now.

    `compact` is what the user types to have the work of the conversation `here` done at once.
    """
    kind = undone.cycle.kind
    parts: list[RenderableType] = [Text(f"Taken back: {_named(undone)}.", style="heading3")]
    for words, found in (("gone", undone.deactivated), ("active again", undone.reactivated)):
        if found:
            parts.append(Text(f"{counted(len(found), 'observation')} {words}:"))
            parts.append(observation_table(found, today, _MOST_LISTED))
    if kind == "observer" and not undone.deactivated:
        parts.append(Text(_FOUND_NOTHING))
    if undone.relations:
        parts.append(Text(f"{counted(undone.relations, 'relation')} of the graph gone."))
    if kind == "observer" and undone.cycle.conversation_id != here:
        parts.append(Text(_HELD_ELSEWHERE.format(there=undone.cycle.conversation_id), style="dim"))
    elif kind in _HELD:
        parts.append(Text(_HELD[kind].format(compact=compact), style="dim"))
    return Group(*parts)


def _named(undone: Undone) -> str:
    """Return the cycle that was taken back, and those that went with it, oldest first."""
    cycles = [undone.cycle, *reversed(undone.along)]
    named = [f"{_KINDS[cycle.kind]} (cycle {cycle.id})" for cycle in cycles]
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
