"""The command /track."""

from construct.chat.chat import Chat
from construct.chat.commands.status import group
from construct.chat.output import Output
from construct.operations import track as operations
from construct.views.track import track_view


@group.command("/track [NAME] [since DATE]", "amounts you follow", example="/track weight")
async def track(chat: Chat, out: Output, argument: str) -> None:
    """Shows what the lines “track: NAME” in your rules collected: by week, sum and mean.

    What you say of it in talk is noted by the memory worker's model, and added up here by
    the program. For example: /track coffee spending since 30d.
    """
    name, since = split_since(argument)
    out.show(track_view(await chat.run(operations.track, name, since)))


def split_since(argument: str) -> tuple[str, str | None]:
    """Return a name, and the moment after the last word `since`, if there is one."""
    words = argument.split()
    places = [place for place, word in enumerate(words) if word.lower() == "since"]
    if not places:
        return " ".join(words), None
    return " ".join(words[: places[-1]]), " ".join(words[places[-1] + 1 :])
