"""Render where a memory comes from, as a tree down to the messages it rests on."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text
from rich.tree import Tree

from construct.clock import Clock
from construct.memory.shown.lines import SIGNS
from construct.memory.trace import LifeEvent, Trace, TraceNode, nodes_in_order
from construct.operations.why import MessageTrace, ReplyTrace
from construct.program import as_typed
from construct.store.records import Message, Observation, StoredAttachment
from construct.text import one_line, shorten
from construct.views.shapes import (
    attachment_json,
    item_json,
    note_json,
    source_json,
)
from construct.views.unmarked import without_markup
from construct.views.widgets import Prose, grid
from construct.views.words import counted, when, written_at
from construct.vocabulary import Role, Stance

_QUOTE_LENGTH = 300
_MAX_OBSERVATIONS = 20
_WAYS = {
    "due": "what is due",
    "passage": "what your words brought back",
    "recall": "what the model searched for",
    "source": "what the model read again",
}
"""Headings for the ways in which an item gets into a request."""


def why_view(trace: Trace | MessageTrace, clock: Clock) -> RenderableType:
    """Return where an observation comes from, or what rests on a message."""
    match trace:
        case Trace():
            files = _attachment_lines(trace.attachments)
            return Group(_tree(trace.tree, clock), *files, Text(), _life(trace.life, clock))
        case MessageTrace():
            return _message_view(trace, clock)


def why_json(trace: Trace | MessageTrace) -> dict[str, Any]:
    """Return the JSON form of `why_view`."""
    match trace:
        case MessageTrace():
            return {
                "message": source_json(trace.message),
                "observations": [note_json(o) for o in trace.observations],
                "attachments": [attachment_json(attached) for attached in trace.attachments],
            }
        case Trace():
            return {
                "observation": note_json(trace.observation),
                "sources": [note_json(o) for o in trace.sources],
                "messages": [source_json(m) for m in trace.messages],
                "attachments": [attachment_json(attached) for attached in trace.attachments],
                "life": [asdict(event) for event in trace.life],
            }


def _attachment_lines(attachments: Iterable[StoredAttachment]) -> list[Text]:
    return [
        Text.assemble(
            attached.line, (f"  {as_typed(f'attachment {attached.id} -o FILE')} saves it", "dim")
        )
        for attached in attachments
    ]


def _life(life: Iterable[LifeEvent], clock: Clock) -> Table:
    rows = (
        (when(event.at, clock), event.event, Text(shorten(event.text, _QUOTE_LENGTH), style="dim"))
        for event in life
    )
    columns = Column(no_wrap=True, style="dim"), Column(no_wrap=True), Column(overflow="fold")
    return grid(rows, *columns)


def _message_view(trace: MessageTrace, clock: Clock) -> RenderableType:
    tree = Tree(_message(trace.message, clock), guide_style="dim")
    for o in trace.observations:
        tree.add(_observation(o))
    files = _attachment_lines(trace.attachments)
    if trace.observations:
        return Group(tree, *files)
    return Group(tree, *files, Text("Nothing that is remembered comes from it.", style="dim"))


def why_last_view(trace: ReplyTrace, clock: Clock) -> RenderableType:
    """Return what the model was given from memory for a reply, and how it got there.

    `full_command` is the command that shows all that it is sent now.
    """
    tree = Tree(_message(trace.reply, clock), guide_style="dim")
    for way, heading in _WAYS.items():
        items = [given.item for given in trace.given if given.way == way]
        if items:
            branch = tree.add(Text(heading, style="dim"))
            for item in items:
                branch.add(_item(item, clock))
    if trace.lines:
        heading = f"{counted(trace.lines, 'observation')} at the start of the prompt"
    else:
        heading = "no observations" if trace.given else "nothing from memory"
    branch = tree.add(Text(heading, style="dim"))
    newest = trace.still_shown[-_MAX_OBSERVATIONS:]
    for o in newest:
        branch.add(_observation(o))
    others = trace.lines - len(newest)
    if others > 0:
        everything = as_typed("memory context --full")
        hint = f"and {others:,} more; {everything} shows what the model is sent now"
        branch.add(Text(hint, style="dim"))
    return tree


def why_last_json(trace: ReplyTrace) -> dict[str, Any]:
    """Return the JSON form of `why_last_view`."""
    items = [{"way": given.way, **item_json(given.item)} for given in trace.given]
    return {
        "message": source_json(trace.reply),
        "observations": {
            "blocks": trace.blocks,
            "lines": trace.lines,
            "ids": [o.id for o in trace.still_shown],
        },
        "given": items,
    }


def _item(item: Observation | Message, clock: Clock) -> Text:
    match item:
        case Observation():
            return _observation(item)
        case Message():
            return _message(item, clock)


def _tree(root: TraceNode, clock: Clock) -> Tree:
    path: list[Tree] = []  # from the root to the branch drawn last
    for depth, node, is_repeated in nodes_in_order(root):
        label = _observation(node.observation)
        if is_repeated:
            label.append("  (above)", style="dim")
        branch = path[depth - 1].add(label) if depth else Tree(label, guide_style="dim")
        path = [*path[:depth], branch]
        if not is_repeated:
            for message in node.messages:
                branch.add(_message(message, clock))
    return path[0]


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
    if message.role == Role.USER:
        speaker, text = ("you ", "accent"), message.text
    else:
        speaker, text = ("reply ", "dim"), without_markup(message.text)
    head = (f"{written_at(message, clock)} message:{message.id} ", "dim")
    return Prose.assemble(speaker, head, f"“{shorten(text, _QUOTE_LENGTH)}”")
