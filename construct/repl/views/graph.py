"""What the graph knows of one name, as a tree."""

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree as Drawing

from construct.memory.graph.reading import Branch, Tree
from construct.text import one_line

_MOST, _MOST_BELOW = 40, 6
"""Branches that are drawn of the entity itself, and of each one behind it."""


def graph_view(found: Tree) -> RenderableType:
    """Return an entity with what it is related to; what no longer holds is dim and says until when."""
    root = Drawing(_name(found), guide_style="dim")
    _grow(root, found, _MOST)
    return root


def _grow(drawing: Drawing, found: Tree, most: int) -> None:
    for branch in found.branches[:most]:
        _grow(drawing.add(_relation(branch)), branch.tree, _MOST_BELOW)
    if (left_out := len(found.branches) - most) > 0:
        drawing.add(Text(f"and {left_out:,} more", style="dim"))


def _relation(branch: Branch) -> Text:
    past = branch.until is not None
    text = Text(style="dim" if past else "")
    arrow = f"{one_line(branch.predicate)} →" if branch.forward else f"← {one_line(branch.predicate)}"
    text.append(f"{arrow} ", style="accent")
    text.append_text(_name(branch.tree))
    span = f"{branch.since} to {branch.until}" if past else f"since {branch.since}"
    return text.append(f"  {span} · memory:{branch.memory_id}", style="dim")


def _name(entity: Tree) -> Text:
    text = Text(one_line(entity.name))
    notes = [entity.type or "", *(f"also {alias}" for alias in entity.aliases)]
    known = ", ".join(one_line(note) for note in notes if note)
    return text.append(f" ({known})", style="dim") if known else text
