"""`track`: what the lines `track:` of the user's rules collected, added up by week."""

from collections.abc import Sequence
from dataclasses import dataclass

from construct.errors import NotFoundError
from construct.language.moments import parse_moment
from construct.memory.shown.value_lines import is_called
from construct.memory.totals import Series, series_of
from construct.operations.context import Context
from construct.store.forbidden import rules_of
from construct.store.tracked import tracked_values
from construct.text import shorten


@dataclass(frozen=True, slots=True)
class Tracked:
    """What was collected, and what the rules follow now."""

    series: Sequence[Series]
    followed: tuple[str, ...]
    """The names of the `track:` lines."""


def track(ctx: Context, name: str | None = None, since: str | None = None) -> Tracked:
    """Return the values of a name, or of all names, since a moment such as "30d".

    The name may be that of the rule, or how it begins. Raises UsageError if `since` is no
    date, NotFoundError if nothing is followed under that name.
    """
    first = "" if since is None else _day(ctx, since)
    found = series_of(tracked_values(ctx.db, since=first))
    followed = rules_of(ctx.db).track
    if not name:
        return Tracked(found, followed)
    named = [one for one in found if is_called(one.name, name)]
    if not named and not any(is_called(rule, name) for rule in followed):
        raise NotFoundError(
            f"Nothing is followed under that name: {shorten(name, 60)}\n"
            "A line “track: NAME” in your memory rules (`/rules` in the chat) follows a value."
        )
    return Tracked(named, followed)


def _day(ctx: Context, since: str) -> str:
    return ctx.clock.local(parse_moment(since, ctx.clock)).date().isoformat()
