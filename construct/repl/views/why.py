"""Where something remembered comes from, as a tree down to the words that were said."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from construct.clock import Clock
from construct.memory.inspection.life import LifeEvent
from construct.memory.inspection.trace import MemoryTrace, MessageTrace, Node, ReplyTrace, Trace, drawn
from construct.memory.shown.lines import SIGNS
from construct.repl.views.prose import Prose
from construct.repl.views.words import counted, when
from construct.store.records import Memory, Message, Observation
from construct.text import one_line, shorten

_WORDS_WIDTH = 300


def traced_view(found: Trace | MessageTrace | MemoryTrace, clock: Clock) -> RenderableType:
    """Return where something comes from, or what rests on a message."""
    match found:
        case Trace():
            return why_view(found, clock)
        case MessageTrace():
            return why_message_view(found, clock)
        case MemoryTrace():
            return why_memory_view(found, clock)


def why_view(found: Trace, clock: Clock) -> RenderableType:
    """Return what an observation rests on, and what became of it."""
    return Group(_tree(found.tree, clock), Text(), _life(found.life, clock))


def _life(life: Iterable[LifeEvent], clock: Clock) -> Table:
    """Return what happened to an observation, a row for each event."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for event in life:
        table.add_row(when(event.at, clock), event.event, Text(shorten(event.text, _WORDS_WIDTH), style="dim"))
    return table


def why_message_view(found: MessageTrace, clock: Clock) -> RenderableType:
    """Return what rests on a message."""
    tree = Tree(_message(found.message, clock), guide_style="dim")
    for o in found.observations:
        tree.add(_observation(o))
    if found.observations:
        return tree
    return Group(tree, Text("Nothing remembered rests on it.", style="dim"))


def why_memory_view(found: MemoryTrace, clock: Clock) -> RenderableType:
    """Return where a memory comes from."""
    head = Text(f"memory:{found.memory.id}  {one_line(found.memory.content)}")
    if found.trace is None:
        kept = f"kept by the {found.memory.origin}, {when(found.memory.created_at, clock)}"
        return Group(head, Text(kept, style="dim"))
    return Group(head, why_view(found.trace, clock))


_WAYS = {"due": "due", "passage": "came back by itself", "recall": "recalled", "source": "read again"}


def why_last_view(found: ReplyTrace, clock: Clock) -> RenderableType:
    """Return what a reply was given of memory, by the way it came."""
    tree = Tree(_message(found.reply, clock), guide_style="dim")
    for way, words in _WAYS.items():
        came = [given.what for given in found.given if given.way == way]
        branch = tree.add(Text(words, style="dim")) if came else tree
        for what in came:
            branch.add(_given(what, clock))
    lines = f"{counted(found.lines, 'line')} of observations in {counted(found.blocks, 'block')}"
    tree.add(Text(f"{lines} stood before the talk" if found.lines else "no observations stood before it", style="dim"))
    return tree


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
            _add_messages(here, node.messages, clock)
    return places[0]


def _add_messages(tree: Tree, messages: Iterable[Message], clock: Clock) -> None:
    for message in messages:
        tree.add(_message(message, clock))


def _observation(o: Observation) -> Text:
    text = Prose()
    text.append(f"{SIGNS[o.priority]} ", style=o.priority)
    text.append(f"{o.id} ", style="dim")
    text.append(one_line(o.content))
    notes = [o.observation_date, *([] if o.stance == "stated" else [o.stance])]
    notes += [f"generation {o.generation}"] if o.generation else []
    notes += [o.state] if o.state != "active" else []
    return text.append(f"  {' · '.join(notes)}", style="dim")


def _message(message: Message, clock: Clock) -> Text:
    text = Prose()
    text.append("you " if message.role == "user" else "reply ", style="accent" if message.role == "user" else "dim")
    text.append(f"{when(message.created_at, clock)} message:{message.id} ", style="dim")
    return text.append(f"“{shorten(message.content, _WORDS_WIDTH)}”")
