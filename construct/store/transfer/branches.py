"""Finds the current branch in a conversation that is a tree of messages."""

from collections.abc import Iterable, Mapping


def current_branch(
    parents: Mapping[str, object], current: object, times: Mapping[str, str]
) -> list[str]:
    """Return the keys of the messages from the first to the current one.

    `parents` gives each message's parent, which may be anything for a first one; `times` the
    time, or "", of those that say something. If the current message or one above it is
    missing, it is the branch of the newest message: the one with the latest time, or the
    last one.
    """
    if isinstance(current, str):
        branch, is_whole = _above(parents, current)
        if is_whole and not times.keys().isdisjoint(branch):
            return branch
    if not times:
        return []
    order = {key: number for number, key in enumerate(parents)}
    ends = [key for key in _leaves(parents) if key in times] or list(times)
    newest = max(ends, key=lambda key: (times[key], order[key]))
    return _above(parents, newest)[0]


def _above(parents: Mapping[str, object], key: object) -> tuple[list[str], bool]:
    """Return the branch that ends with a message, and whether nothing above it is missing."""
    branch: list[str] = []
    visited: set[str] = set()
    while isinstance(key, str) and key in parents and key not in visited:
        visited.add(key)
        branch.append(key)
        key = parents[key]
    is_whole = bool(branch) and key is None
    return branch[::-1], is_whole


def _leaves(parents: Mapping[str, object]) -> Iterable[str]:
    """Return the messages that no other follows."""
    inner = {parent for parent in parents.values() if isinstance(parent, str)}
    return [key for key in parents if key not in inner]
