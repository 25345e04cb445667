"""Render observations, messages and the graph."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text
from rich.tree import Tree

from construct.clock import Clock
from construct.language.periods import relative_words
from construct.memory.agenda import outcome_unknown
from construct.memory.graph.reading import Branch
from construct.memory.graph.reading import Tree as GraphTree
from construct.memory.shown.lines import SIGNS, readable_line
from construct.operations.agenda import Settlement
from construct.operations.memory import MemoryList
from construct.program import as_typed
from construct.store.records import Message, Observation
from construct.text import one_line
from construct.views.shapes import NoteJson, note_json
from construct.views.widgets import Prose, grid
from construct.views.words import counted, listed, written_at
from construct.vocabulary import MemorySetting, Origin, Settled, Stance

_STANCES: Mapping[str, str] = {Stance.ASSISTANT: "the assistant's words"}
_MAX_RELATIONS, _MAX_RELATIONS_BELOW = 40, 6
"""Relations shown for the entity asked for, and for each entity below it."""


def memory_list_view(
    memory_list: MemoryList,
    *,
    shown: MemoryList | None = None,
    rest: str = "/memory all shows them; /help memory says how to narrow the list.",
) -> RenderableType:
    """Return observations by day with the newest last, then the counts.

    `shown` is the part of the list to show, all of it by default; the counts are of the
    whole list. `rest` says how to see what is not shown.
    """
    if shown is None:
        shown = memory_list
    parts: list[RenderableType] = []
    for on_day, group in groupby(shown.observations, key=lambda o: o.observation_date):
        parts += [Text()] if parts else []
        parts += [
            _day_head(on_day, memory_list.today),
            observation_table(list(group), memory_list.today),
        ]
    parts += [Text(), _summary(memory_list)]
    if left_out := len(memory_list) - len(shown):
        parts.append(Text(f"{left_out:,} older not shown. {rest}", style="dim"))
    return Group(*parts)


def nothing_listed(memory_list: MemoryList, *, search: str = "") -> str:
    """Return why a list is empty, and what would help.

    `compact` is the command for memory work; `search` is a sentence about searching.
    """
    if memory_list.filter.narrows:
        return f"No matches: {' · '.join(memory_list.filter.parts())}.{search}"
    if memory_list.is_past:
        return "Nothing was remembered then."
    return f"Nothing is remembered yet. {how_to_learn(memory_list)}"


def how_to_learn(memory_list: MemoryList) -> str:
    """Return when or how something will be learned; `compact` is the command for memory work."""
    if memory_list.setting != MemorySetting.ON:
        return (
            f"CONSTRUCT_MEMORY is {memory_list.setting}, so nothing is learned. Set it to on first."
        )
    if memory_list.unobserved:
        return f"{as_typed('observe')} learns from what was imported."
    return (
        "Messages are observed once there are enough of them. "
        f"{as_typed('compact')} observes those of the current conversation now."
    )


def memory_list_lines(memory_list: MemoryList) -> Iterator[str]:
    """Yield one line per observation, for other programs."""
    for o in memory_list.observations:
        yield f"{o.id:>6}  {observation_line(o, memory_list.today)}"


def memory_list_json(memory_list: MemoryList) -> list[NoteJson]:
    """Return the JSON form of `memory_list_view`."""
    return [note_json(o) for o in memory_list.observations]


def shown_view(item: Observation | Message, clock: Clock) -> RenderableType:
    """Return one observation or message for the terminal."""
    match item:
        case Observation():
            today = clock.today()
            return Group(_day_head(item.observation_date, today), observation_table([item], today))
        case Message():
            return f"[{written_at(item, clock)}] {item.role}:\n{item.text}"


def observation_line(o: Observation, today: date) -> str:
    """Return an observation as the model sees it, with its state notes added."""
    marks = state_notes(o, today)
    return readable_line(o) + (f"  [{', '.join(marks)}]" if marks else "")


def settled_view(how: Settled, settlement: Settlement, today: date) -> RenderableType:
    """Return the message that an item is done or cancelled, with its new observation."""
    title = f"Marked as {how}:"
    if settlement.day:
        title = f"Marked as {how} on {settlement.day}; it comes again:"
    return Group(Text(title), observation_table([settlement.observation], today))


def moved_view(settlement: Settlement, today: date) -> RenderableType:
    """Return the message that an item was moved, with its new observation."""
    new = settlement.observation
    moved_to = " ".join(filter(None, (new.referenced_date, new.referenced_time)))
    title = f"Moved to {moved_to}:"
    if settlement.day:
        title = f"Moved from {settlement.day} to {moved_to}, this once:"
    return Group(Text(title), observation_table([new], today))


def observation_table(
    observations: Sequence[Observation], today: date, most: int | None = None
) -> Table:
    """Return a table of observations: sign, id, content and notes.

    Shows at most `most` of them and counts the others.
    """
    width = max(len(str(o.id)) for o in observations)
    rows: list[tuple[RenderableType, ...]] = [
        (Text(f"  {SIGNS[o.priority]}", style=o.priority), str(o.id), _content(o, today))
        for o in observations[:most]
    ]
    if left_out := and_more(len(observations), most):
        rows.append(("", "", left_out))
    ids = Column(no_wrap=True, justify="right", style="dim", min_width=width)
    return grid(rows, Column(no_wrap=True), ids, Column(overflow="fold"), gap=1)


def and_more(total: int, most: int | None) -> Text | None:
    """Return "and 3 more" for a list of which `most` are shown; None if all are shown."""
    if most is None or total <= most:
        return None
    return Text(f"and {total - most:,} more", style="dim")


def notes(o: Observation, today: date) -> list[str]:
    """Return short notes on what is unusual in an observation: stance, date or state."""
    marks = [] if o.stance == Stance.STATED else [_STANCES.get(o.stance, o.stance)]
    if o.when and o.when != o.observation_date:
        marks.append(f"for {o.when}")
    return marks + state_notes(o, today)


def state_notes(o: Observation, today: date) -> list[str]:
    """Return notes on an observation's state, which the model's line does not have."""
    conditions = {
        "outcome unknown": outcome_unknown(o, today),
        o.state: o.state != "active",
        "withheld": o.withheld,
        f"generation {o.generation}": o.generation,
        "pinned": o.pinned,
        "yours": o.origin == Origin.USER,
        "kept by the assistant": o.origin == Origin.ASSISTANT,
    }
    return [note for note, applies in conditions.items() if applies]


def lost_words(lost: Sequence[str], undo: str) -> str:
    """Return a note on the names and numbers that an edit dropped; "" for none.

    `undo` is the command that takes the edit back.
    """
    if not lost:
        return ""
    quoted = listed(f"“{term}”" for term in lost)
    return f"Note: the old line had {quoted}; the new one does not. {undo} takes the edit back."


def graph_view(entity: GraphTree) -> RenderableType:
    """Return an entity and its relations as a tree; ended relations are dim."""
    root = Tree(_entity(entity), guide_style="dim")
    _add_relations(root, entity, _MAX_RELATIONS)
    return root


def graph_json(entity: GraphTree) -> dict[str, Any]:
    """Return the JSON form of `graph_view`."""
    return {
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "relations": [
            {
                "predicate": branch.predicate,
                "forward": branch.forward,
                "since": branch.since,
                "until": branch.until,
                "observation": branch.observation_id,
                "with": graph_json(branch.tree),
            }
            for branch in entity.branches
        ],
    }


def _summary(memory_list: MemoryList) -> Text:
    filter_parts = "".join(f" · {part}" for part in memory_list.filter.parts())
    counts = ", ".join(_counts(memory_list))
    return Text.assemble(
        (counted(len(memory_list.observations), "observation"), "strong"),
        (filter_parts, "accent"),
        (f" · {counts}" if counts else "", "dim"),
    )


def _counts(memory_list: MemoryList) -> Iterator[str]:
    """Yield counts of what is unusual, except what the filter asked for: all have that."""
    observations, asked_for = memory_list.observations, set(memory_list.filter.parts())
    for number, label in (
        (sum(o.state == "pending" for o in observations), "pending"),
        (sum(outcome_unknown(o, memory_list.today) for o in observations), "outcome unknown"),
        (sum(bool(o.pinned) for o in observations), "pinned"),
        (sum(bool(o.kept) for o in observations), "kept on request"),
    ):
        if number and label not in asked_for:
            yield f"{number:,} {label}"
    reflections = sum(o.generation > 0 for o in observations)
    if reflections and "reflections" not in asked_for:
        yield counted(reflections, "reflection")


def _day_head(on_day: str, today: date) -> Text:
    then = date.fromisoformat(on_day)
    ago = f"  {relative_words(then, today)}"
    return Text.assemble((f"{then:%A} {on_day}", "heading3"), (ago, "dim"))


def _content(o: Observation, today: date) -> Text:
    text = Prose(one_line(o.content))
    marks = notes(o, today)
    if marks:
        style = "medium" if "outcome unknown" in marks else "dim"
        text.append(f"  {' · '.join(marks)}", style=style)
    return text


def _add_relations(node: Tree, entity: GraphTree, most: int) -> None:
    for branch in entity.branches[:most]:
        _add_relations(node.add(_relation(branch)), branch.tree, _MAX_RELATIONS_BELOW)
    if left_out := and_more(len(entity.branches), most):
        node.add(left_out)


def _relation(branch: Branch) -> Text:
    predicate = one_line(branch.predicate)
    has_ended = branch.until is not None
    span = f"{branch.since} to {branch.until}" if has_ended else f"since {branch.since}"
    return Text.assemble(
        (f"{predicate} → " if branch.forward else f"← {predicate} ", "accent"),
        _entity(branch.tree),
        (f"  {span} · {branch.observation_id}", "dim"),
        style="dim" if has_ended else "",
    )


def _entity(entity: GraphTree) -> Text:
    text = Text(one_line(entity.name))
    facts = [entity.type] if entity.type else []
    facts += [f"also {alias}" for alias in entity.aliases if alias]
    return text.append(f" ({one_line(', '.join(facts))})", style="dim") if facts else text
