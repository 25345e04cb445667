"""`/agenda`: what is ahead, and settling it with one key."""

from functools import partial

from construct.chat.chat import Chat
from construct.chat.commands.memory import group
from construct.chat.commands.registry import Choice
from construct.chat.output import Output
from construct.errors import UsageError
from construct.memory.agenda import AgendaItem
from construct.operations import agenda as operations
from construct.references import parse_reference
from construct.text import shorten
from construct.views.agenda import agenda_item_view, agenda_view, in_shown_order
from construct.views.memory import moved_view, settled_view
from construct.vocabulary import AgendaState, Settled

_USAGE = "/agenda [all|ID|done ID [series]|moved ID DAY [TIME] [series]|cancelled ID [series]]"
_ALL, _SERIES = "all", "series"
_MOVED = "moved"
_KEYS = {"d": Settled.DONE, "c": Settled.CANCELLED}
_MOVE, _STOP = "m", "q"
_QUESTION = "d done · m moved · c cancelled · Enter later · q stop:"


async def agenda_choices(chat: Chat) -> list[Choice]:
    """Return the agenda's items, and the words that settle one."""
    found = (await chat.run(operations.agenda)).shortened()
    items = [Choice(str(item.id), shorten(item.text, 60)) for item in found.items]
    return [
        *items,
        Choice(Settled.DONE, "then the item's ID"),
        Choice(_MOVED, "then the item's ID and a day"),
        Choice(Settled.CANCELLED, "then the item's ID"),
    ]


@group.command(_USAGE, "what is ahead", example="/agenda moved 12 friday", choices=agenda_choices)
async def agenda(chat: Chat, out: Output, argument: str) -> None:
    """Lists what is due today, then what is ahead, then plans whose day has passed.

    It asks how those turned out: press a key for done, moved or cancelled. With an ID
    it asks about that one. Of what comes again only the next day is meant, unless you add
    `series`. `/agenda all` also lists plans without a day, and those long past it. /undo
    takes an answer back.
    """
    words = argument.split()
    is_series = words[-1:] == [_SERIES]
    if is_series:
        words.pop()
    match words:
        case [verb, name, *day] if verb == _MOVED and day:
            await _move(chat, out, name, " ".join(day), whole_series=is_series)
        case [verb, name] if verb in set(Settled):
            await _settle(chat, out, name, Settled(verb), whole_series=is_series)
        case [] if not is_series:
            await _list(chat, out, (await chat.run(operations.agenda)).shortened())
        case [word] if word == _ALL and not is_series:
            await _list(chat, out, await chat.run(operations.agenda))
        case [name] if name not in {_MOVED, *Settled} and not is_series:
            item = await chat.run(operations.agenda_item, parse_reference(name))
            await _ask_about(chat, out, [item])
        case _:
            raise UsageError(f"Usage: {_USAGE}")


async def _list(chat: Chat, out: Output, agenda: operations.Agenda) -> None:
    """Show the agenda, and ask how the plans of unknown outcome turned out."""
    out.show(agenda_view(agenda))
    if agenda.items:
        chat.shown = ("observation", in_shown_order(agenda.items)[-1].id)
    passed = [i for i in agenda.items if i.state is AgendaState.OUTCOME_UNKNOWN]
    if passed and out.interactive and not chat.is_private:
        await _ask_about(chat, out, passed)


async def _ask_about(chat: Chat, out: Output, items: list[AgendaItem]) -> None:
    """Ask how each item turned out, until the user stops."""
    if not out.interactive:
        first = items[0].id
        raise UsageError(
            f"No terminal to ask on. Type /agenda done {first}, /agenda moved {first} DAY"
            f" or /agenda cancelled {first}."
        )
    chat.refuse_in_private()
    for item in items:
        chat.shown = ("observation", item.id)
        out.show(agenda_item_view(item, chat.clock.today()))
        key = await out.ask_key(_QUESTION, "".join([*_KEYS, _MOVE, _STOP]))
        if key == _STOP:
            return
        if key in _KEYS:
            await _settle(chat, out, str(item.id), _KEYS[key])
        elif key == _MOVE:
            await _ask_for_day(chat, out, str(item.id))


async def _ask_for_day(chat: Chat, out: Output, name: str) -> None:
    """Ask to which day a plan is moved, until there is a day or the user declines."""
    while day := (await out.answer_to("Moved to which day?")).strip():
        try:
            await _move(chat, out, name, day)
        except UsageError as error:
            out.error(str(error))
            out.keep_typed(day)
        else:
            return


async def _settle(
    chat: Chat, out: Output, name: str, how: Settled, *, whole_series: bool = False
) -> None:
    chat.refuse_in_private()
    settle = partial(operations.settle, whole_series=whole_series)
    settlement = await chat.run(settle, parse_reference(name), how)
    chat.shown = ("observation", settlement.observation.id)
    out.show(settled_view(how, settlement, chat.clock.today()))


async def _move(
    chat: Chat, out: Output, name: str, day: str, *, whole_series: bool = False
) -> None:
    chat.refuse_in_private()
    move = partial(operations.move, whole_series=whole_series)
    settlement = await chat.run(move, parse_reference(name), day)
    chat.shown = ("observation", settlement.observation.id)
    out.show(moved_view(settlement, chat.clock.today()))
