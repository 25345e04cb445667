"""What is remembered: observations, memories, messages and the graph."""

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
from construct.memory.graph.reading import Branch
from construct.memory.graph.reading import Tree as GraphTree
from construct.memory.shown.lines import SIGNS, shown_line
from construct.operations.memory import MemoryList, StoredMemory
from construct.operations.memory_filter import outcome_unknown
from construct.store.records import Memory, Message, Observation
from construct.text import one_line
from construct.views.widgets import Prose, grid
from construct.views.words import counted, day, when
from construct.vocabulary import MemoryOrigin, Stance

_STANCES: Mapping[str, str] = {Stance.ASSISTANT: "the assistant's words"}
_MOST_BRANCHES, _MOST_BRANCHES_BELOW = 40, 6
"""Relations that are drawn of an entity itself, and of each one behind it."""


def memory_list_view(
    found: MemoryList,
    *,
    most: int | None = None,
    memories: Sequence[Memory] | None = None,
    rest: str = "/memory all, or narrow it (/help memory)",
) -> RenderableType:
    """Return memories, then observations by day, the newest last, then the counts.

    Observations older than the newest `most` are only counted; `rest` says how to see
    them. `memories` are those to show, all unless given.
    """
    kept = found.memories if memories is None else memories
    parts: list[RenderableType] = []
    if kept:
        parts = [Text("Kept for good", style="heading3"), memory_table(kept)]
    shown = found.observations[-most:] if most else found.observations
    for on_day, group in groupby(shown, key=lambda o: o.observation_date):
        parts += [Text()] if parts else []
        parts += [_day_head(on_day, found.today), observation_table(list(group), found.today)]
    parts += [Text(), _closing(found, kept)]
    if left_out := len(found.observations) - len(shown):
        parts.append(Text(f"{left_out:,} older not shown: {rest}", style="dim"))
    return Group(*parts)


def nothing_listed(found: MemoryList, *, compact: str, search: str = "") -> str:
    """Return why a list is empty, and what would help. `search` is a sentence on it."""
    if found.filter.narrows:
        return f"No matches: {' · '.join(found.filter.parts())}.{search}"
    if found.is_past:
        return "Nothing was remembered then."
    if found.unread:
        return "Nothing is remembered yet: `construct observe` learns from what was imported."
    return (
        "Nothing is remembered yet: what is said is observed as it adds up, or at once by "
        f"{compact}."
    )


def memory_list_lines(found: MemoryList, clock: Clock) -> Iterator[str]:
    """Yield a line for each, for other programs to read."""
    for o in found.observations:
        yield f"{o.id:>6}  {observation_line(o, found.today)}"
    for m in found.memories:
        notes = [note for note in (m.category, "superseded" if m.superseded_at else None) if note]
        noted = f" ({', '.join(notes)})" if notes else ""
        yield f"memory:{m.id}  {_memory_line(m, clock)}{noted}"


def memory_list_json(found: MemoryList, clock: Clock) -> list[dict[str, Any]]:
    """Return the same for programs."""
    return [
        *(observation_json(o) for o in found.observations),
        *(
            memory_json(StoredMemory(m, found.homes.get(m.observation_id)), clock)
            for m in found.memories
        ),
    ]


def shown_view(found: Observation | Message | StoredMemory, clock: Clock) -> RenderableType:
    """Return one observation, message or memory."""
    match found:
        case Observation():
            return observation_view(found, clock.today())
        case Message():
            return f"[{when(found.created_at, clock)}] {found.role}:\n{found.text}"
        case StoredMemory():
            return _memory_line(found.memory, clock)


def shown_json(found: Observation | Message | StoredMemory, clock: Clock) -> dict[str, Any]:
    """Return the same for programs."""
    match found:
        case Observation():
            return observation_json(found)
        case Message():
            return message_json(found)
        case StoredMemory():
            return memory_json(found, clock)


def observation_json(o: Observation) -> dict[str, Any]:
    """Return an observation for programs."""
    return {
        "kind": "observation",
        "id": o.id,
        "conversation": o.conversation_id,
        "date": o.observation_date,
        "text": o.content,
        "generation": o.generation,
        "priority": o.priority,
        "stance": o.stance,
        "state": o.state,
        "referenced_date": o.referenced_date,
        "pinned": bool(o.pinned),
        "origin": o.origin,
        "withheld": bool(o.withheld),
    }


def memory_json(stored: StoredMemory, clock: Clock) -> dict[str, Any]:
    """Return a memory for programs."""
    m = stored.memory
    return {
        "kind": "memory",
        "id": f"memory:{m.id}",
        "conversation": stored.conversation,
        "date": str(day(m.created_at, clock)),
        "text": m.content,
        "state": "active" if m.superseded_at is None else "superseded",
        "category": m.category,
        "origin": m.origin,
        "observation": m.observation_id,
    }


def message_json(m: Message) -> dict[str, Any]:
    """Return a message for programs, as `memory show` has it."""
    return {
        "kind": "message",
        "id": f"message:{m.id}",
        "conversation": m.conversation_id,
        "date": m.created_at,
        "text": m.text,
        "role": m.role,
        "status": m.status,
    }


def observation_view(o: Observation, today: date) -> RenderableType:
    """Return one observation, with its day."""
    return Group(_day_head(o.observation_date, today), observation_table([o], today))


def observation_line(o: Observation, today: date) -> str:
    """Return an observation as the model is shown it, with its other notes."""
    found = standing_notes(o, today)
    return shown_line(o) + (f"  [{', '.join(found)}]" if found else "")


def observation_table(
    observations: Sequence[Observation], today: date, most: int | None = None
) -> Table:
    """Return observations one below the other: sign, id, content and notes.

    With `most`, the others are only counted.
    """
    width = max(len(str(o.id)) for o in observations)
    rows: list[tuple[RenderableType, ...]] = [
        (Text(f"  {SIGNS[o.priority]}", style=o.priority), str(o.id), _content(o, today))
        for o in observations[:most]
    ]
    if left_out := more(len(observations), most):
        rows.append(("", "", left_out))
    ids = Column(no_wrap=True, justify="right", style="dim", min_width=width)
    return grid(rows, Column(no_wrap=True), ids, Column(overflow="fold"), gap=1)


def memory_table(memories: Sequence[Memory], most: int | None = None) -> Table:
    """Return memories one below the other. With `most`, the others are only counted."""
    rows: list[tuple[str, Text]] = [
        (f"  memory:{m.id}", Prose(one_line(m.content)).append(_whence(m), style="dim"))
        for m in memories[:most]
    ]
    if left_out := more(len(memories), most):
        rows.append(("", left_out))
    return grid(rows, Column(no_wrap=True, style="dim"), Column(overflow="fold"), gap=1)


def more(total: int, most: int | None) -> Text | None:
    """Return how many a cut list leaves out. None where it is whole."""
    if most is None or total <= most:
        return None
    return Text(f"and {total - most:,} more", style="dim")


def notes(o: Observation, today: date) -> list[str]:
    """Return what is to be known of an observation beside its words."""
    found = [] if o.stance == Stance.STATED else [_STANCES.get(o.stance, o.stance)]
    if o.referenced_date and o.referenced_date != o.observation_date:
        found.append(f"for {o.referenced_date}")
    return found + standing_notes(o, today)


def standing_notes(o: Observation, today: date) -> list[str]:
    """Return the notes that an observation's line for the model does not have."""
    found = ["outcome unknown"] if outcome_unknown(o, today) else []
    found += [o.state] if o.state != "active" else []
    found += ["withheld"] if o.withheld else []
    found += [f"generation {o.generation}"] if o.generation else []
    found += ["pinned"] if o.pinned else []
    return found + (["yours"] if o.origin == MemoryOrigin.USER else [])


def lost_words(lost: Sequence[str], undo: str) -> str:
    """Return what to say of names and numbers that an edit left out; "" for none."""
    if not lost:
        return ""
    quoted = [f"“{one}”" for one in lost]
    listed = " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
    return f"Note: the old line had {listed}, the new one does not. {undo} takes the edit back."


def graph_view(found: GraphTree) -> RenderableType:
    """Return an entity with what it is related to.

    What no longer holds is dim and says until when.
    """
    root = Tree(_entity(found), guide_style="dim")
    _add_branches(root, found, _MOST_BRANCHES)
    return root


def graph_json(found: GraphTree) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "name": found.name,
        "type": found.type,
        "aliases": list(found.aliases),
        "relations": [
            {
                "predicate": branch.predicate,
                "forward": branch.forward,
                "since": branch.since,
                "until": branch.until,
                "memory": f"memory:{branch.memory_id}",
                "with": graph_json(branch.tree),
            }
            for branch in found.branches
        ],
    }


def _closing(found: MemoryList, kept: Sequence[Memory]) -> Text:
    narrowed, counts = " · ".join(found.filter.parts()), ", ".join(_counts(found, kept))
    return Text.assemble(
        (counted(len(found.observations), "observation"), "strong"),
        (f" · {narrowed}" if narrowed else "", "accent"),
        (f" · {counts}" if counts else "", "dim"),
    )


def _counts(found: MemoryList, kept: Sequence[Memory]) -> Iterator[str]:
    listed = found.observations
    for number, words in (
        (sum(o.state == "pending" for o in listed), "pending"),
        (sum(outcome_unknown(o, found.today) for o in listed), "outcome unknown"),
        (sum(bool(o.pinned) for o in listed), "pinned"),
        (len(kept), "kept for good"),
    ):
        if number:
            yield f"{number:,} {words}"
    if reflections := sum(o.generation > 0 for o in listed):
        yield counted(reflections, "reflection")


def _whence(m: Memory) -> str:
    if m.observation_id is not None:
        return f"  from {m.observation_id}"
    return "" if m.origin == MemoryOrigin.USER else f"  by the {m.origin}"


def _memory_line(m: Memory, clock: Clock) -> str:
    return f"[{day(m.created_at, clock)}] {one_line(m.content)}"


def _day_head(on_day: str, today: date) -> Text:
    then = date.fromisoformat(on_day)
    ago = f"  {relative_words(then, today)}"
    return Text.assemble((f"{then:%A} {on_day}", "heading3"), (ago, "dim"))


def _content(o: Observation, today: date) -> Text:
    text = Prose(one_line(o.content))
    found = notes(o, today)
    style = "medium" if "outcome unknown" in found else "dim"
    return text.append(f"  {' · '.join(found)}", style=style) if found else text


def _add_branches(drawing: Tree, found: GraphTree, most: int) -> None:
    for branch in found.branches[:most]:
        _add_branches(drawing.add(_relation(branch)), branch.tree, _MOST_BRANCHES_BELOW)
    if left_out := more(len(found.branches), most):
        drawing.add(left_out)


def _relation(branch: Branch) -> Text:
    predicate = one_line(branch.predicate)
    past = branch.until is not None
    span = f"{branch.since} to {branch.until}" if past else f"since {branch.since}"
    return Text.assemble(
        (f"{predicate} → " if branch.forward else f"← {predicate} ", "accent"),
        _entity(branch.tree),
        (f"  {span} · memory:{branch.memory_id}", "dim"),
        style="dim" if past else "",
    )


def _entity(entity: GraphTree) -> Text:
    text = Text(one_line(entity.name))
    known = [entity.type or "", *(f"also {alias}" for alias in entity.aliases)]
    listed = ", ".join(one_line(note) for note in known if note)
    return text.append(f" ({listed})", style="dim") if listed else text
