"""Where something remembered comes from, as a tree down to the words that were said."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text
from rich.tree import Tree

from construct.clock import Clock
from construct.memory.provenance import LifeEvent, Node, Trace, drawn
from construct.memory.shown.lines import SIGNS
from construct.operations.memory import StoredMemory
from construct.operations.provenance import MemoryTrace, MessageTrace, ReplyTrace
from construct.store.records import Attached, Memory, Message, Observation
from construct.text import one_line, shorten
from construct.views.memory import observation_json, shown_json
from construct.views.unmarked import without_markup
from construct.views.widgets import Prose, grid
from construct.views.words import counted, when
from construct.vocabulary import Role, Stance

_WORDS_WIDTH = 300


def why_view(found: Trace | MessageTrace | MemoryTrace, clock: Clock) -> RenderableType:
    """Return where something comes from, or what rests on a message."""
    match found:
        case Trace():
            files = _attachments(found.attachments)
            return Group(_tree(found.tree, clock), *files, Text(), _life(found.life, clock))
        case MessageTrace():
            return _message_view(found, clock)
        case MemoryTrace():
            return _memory_view(found, clock)


def why_json(found: Trace | MessageTrace | MemoryTrace | None) -> dict[str, Any]:
    """Return the same for programs."""
    match found:
        case MemoryTrace():
            return why_json(found.trace)
        case MessageTrace():
            return {
                "message": source_message_json(found.message),
                "observations": [observation_json(o) for o in found.observations],
                "attachments": [attachment_json(one) for one in found.attachments],
            }
        case Trace():
            return {
                "observation": observation_json(found.observation),
                "sources": [observation_json(o) for o in found.sources],
                "messages": [source_message_json(m) for m in found.messages],
                "attachments": [attachment_json(one) for one in found.attachments],
                "life": [asdict(event) for event in found.life],
            }
        case None:  # stored by hand: it rests on nothing
            return {"observation": None, "sources": [], "messages": [], "attachments": []}


def source_message_json(m: Message) -> dict[str, Any]:
    """Return a message for programs, as `memory why` has it."""
    return {"id": m.id, "role": m.role, "content": m.content, "created_at": m.created_at}


def attachment_json(one: Attached) -> dict[str, Any]:
    """Return an attachment for programs."""
    return {"id": one.id, "name": one.name, "media_type": one.media_type}


def _attachments(found: Iterable[Attached]) -> list[Text]:
    return [
        Text.assemble(one.line, (f"  construct attachment {one.id} -o FILE", "dim"))
        for one in found
    ]


def _life(life: Iterable[LifeEvent], clock: Clock) -> Table:
    rows = (
        (when(event.at, clock), event.event, Text(shorten(event.text, _WORDS_WIDTH), style="dim"))
        for event in life
    )
    columns = Column(no_wrap=True, style="dim"), Column(no_wrap=True), Column(overflow="fold")
    return grid(rows, *columns)


def _message_view(found: MessageTrace, clock: Clock) -> RenderableType:
    tree = Tree(_message(found.message, clock), guide_style="dim")
    for o in found.observations:
        tree.add(_observation(o))
    if found.observations:
        return tree
    return Group(tree, Text("Nothing remembered rests on it.", style="dim"))


def _memory_view(found: MemoryTrace, clock: Clock) -> RenderableType:
    head = Text(f"memory:{found.memory.id}  {one_line(found.memory.content)}")
    if found.trace is None:
        kept = f"kept by the {found.memory.origin}, {when(found.memory.created_at, clock)}"
        return Group(head, Text(kept, style="dim"))
    return Group(head, why_view(found.trace, clock))


_MOST_LINES = 20
_WAYS = {
    "due": "what is due",
    "passage": "what your words brought back",
    "recall": "what the model searched for",
    "source": "what the model read again",
}


def why_last_view(found: ReplyTrace, clock: Clock) -> RenderableType:
    """Return what a reply was given of memory, by the way it came."""
    tree = Tree(_message(found.reply, clock), guide_style="dim")
    for way, words in _WAYS.items():
        came = [given.what for given in found.given if given.way == way]
        branch = tree.add(Text(words, style="dim")) if came else tree
        for what in came:
            branch.add(_given(what, clock))
    before = "it was shown nothing else that is remembered"
    if found.lines:
        before = (
            f"before the talk it was shown {counted(found.lines, 'line')} of what is remembered"
        )
    branch = tree.add(Text(before, style="dim"))
    newest = found.standing[-_MOST_LINES:]
    for o in newest:
        branch.add(_observation(o))
    others = found.lines - len(newest)
    if others > 0:
        branch.add(
            Text(f"and {others:,} more; /context full shows all it is shown now", style="dim")
        )
    return tree


def why_last_json(found: ReplyTrace, clock: Clock) -> dict[str, Any]:
    """Return the same for programs."""
    given = []
    for one in found.given:
        what = StoredMemory(one.what) if isinstance(one.what, Memory) else one.what
        given.append({"way": one.way} | shown_json(what, clock))
    return {
        "message": source_message_json(found.reply),
        "observations": {
            "blocks": found.blocks,
            "lines": found.lines,
            "ids": [o.id for o in found.standing],
        },
        "given": given,
    }


def _given(what: Observation | Memory | Message, clock: Clock) -> Text:
    match what:
        case Observation():
            return _observation(what)
        case Message():
            return _message(what, clock)
        case Memory():
            return Text(f"memory:{what.id}  {one_line(what.content)}")


def _tree(root: Node, clock: Clock) -> Tree:
    places: list[Tree] = []
    for depth, node, again in drawn(root):
        label = _observation(node.observation)
        if again:
            label.append("  (above)", style="dim")
        here = Tree(label, guide_style="dim") if depth == 0 else places[depth - 1].add(label)
        places[depth:] = [here]
        if not again:
            for message in node.messages:
                here.add(_message(message, clock))
    return places[0]


def _observation(o: Observation) -> Text:
    notes = [o.observation_date, *([] if o.stance == Stance.STATED else [o.stance])]
    notes += [f"generation {o.generation}"] if o.generation else []
    notes += [o.state] if o.state != "active" else []
    return Prose.assemble(
        (f"{SIGNS[o.priority]} ", o.priority),
        (f"{o.id} ", "dim"),
        one_line(o.content),
        (f"  {' · '.join(notes)}", "dim"),
    )


def _message(message: Message, clock: Clock) -> Text:
    who, words = ("you ", "accent"), message.text
    if message.role != Role.USER:
        who, words = ("reply ", "dim"), without_markup(words)
    head = (f"{when(message.created_at, clock)} message:{message.id} ", "dim")
    return Prose.assemble(who, head, f"“{shorten(words, _WORDS_WIDTH)}”")
