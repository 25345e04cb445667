"""Observations as trees: under each one, what it was made of or replaced, down to the messages."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from construct.memory.inspection.survey import Survey
from construct.store.records import Cycle, Message, Observation

_DEEPEST = 12
"""Levels of nesting that still leave room for the text; what lies deeper hangs side by side."""

_Below = dict[int, list[int]]
_Parents = dict[int, int | None]


@dataclass(frozen=True, slots=True)
class Node:
    """An observation and what it rests on."""

    observation: Observation
    cycle: Cycle
    """The cycle that made it."""
    messages: tuple[Message, ...]
    sources: tuple["Node", ...]
    replaced: tuple["Node", ...]
    """Notes that it made outdated, or that it was edited from."""
    elsewhere: tuple[Observation, ...]
    """Notes below it that are drawn in another tree, because others rest on them too."""


def forest(found: Survey) -> list[Node]:
    """Return the root nodes. Every observation is in exactly one tree.

    The roots are the observations that stand, then the superseded ones that nothing standing
    leads to. A note that several rest on is drawn under the nearest root.
    """
    below: _Below = defaultdict(list)
    for above, source in (*found.sources, *found.replaced):
        below[above].append(source)
    parents: _Parents = {}
    _adopt([o.id for o in found.observations if o.superseded_at is None], below, parents)
    for o in reversed(found.observations):
        _adopt([o.id], below, parents)
    return _nodes(found, below, parents)


def _adopt(roots: Sequence[int], below: _Below, parents: _Parents) -> None:
    """Give each root and everything below it a parent, level by level, unless it has one."""
    level = [i for i in roots if i not in parents]
    parents.update(dict.fromkeys(level))
    depth = 0
    while level:
        depth += 1
        reached: _Parents = {}
        for above in level:
            for child in below[above]:
                if child not in parents:
                    reached.setdefault(child, above if depth <= _DEEPEST else parents[above])
        parents.update(sorted(reached.items()))
        level = sorted(reached)


def _nodes(found: Survey, below: _Below, parents: _Parents) -> list[Node]:
    known = {o.id: o for o in found.observations}
    replaced = set(found.replaced)
    messages: dict[int, list[Message]] = defaultdict(list)
    for observation_id, message_id in found.message_links:
        messages[observation_id].append(found.messages[message_id])
    children: dict[int | None, list[int]] = defaultdict(list)
    for child, parent in parents.items():
        children[parent].append(child)
    nodes: dict[int, Node] = {}
    for i in reversed(parents):  # children come after their parents, so they are made first
        nodes[i] = Node(
            known[i],
            found.cycles[known[i].cycle_id],
            tuple(messages[i]),
            sources=tuple(nodes[c] for c in children[i] if (i, c) not in replaced),
            replaced=tuple(nodes[c] for c in children[i] if (i, c) in replaced),
            elsewhere=tuple(known[c] for c in dict.fromkeys(below[i]) if parents[c] != i),
        )
    return [nodes[i] for i in children[None]]
