"""What a search in a chat did not reach."""

from construct.repl.chat import Chat
from construct.repl.output import Output
from construct.repl.views.words import counted
from construct.store import search_index


async def say_unsearched(chat: Chat, out: Output) -> None:
    """Say how many imported messages are not in the search index yet: they are entered beside the talk."""
    left = await chat.store.call(search_index.count_missing)
    if left:
        out.say(f"Not searched yet: {counted(left, 'imported message')} (being entered into the index).")
