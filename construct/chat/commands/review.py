"""The command /review, and the questions that come before the next prompt."""

from construct.chat.chat import Chat
from construct.chat.commands.corrections import group
from construct.chat.output import Output
from construct.errors import ConstructError
from construct.operations import review as operations
from construct.operations.review import Item
from construct.views import forgetting as forgetting_views
from construct.views import review as views
from construct.vocabulary import Answer, ItemKind, WaitingKind


@group.command("/review", "decide what waits")
async def review(chat: Chat, out: Output, argument: str) -> None:
    """Shows what waits for your decision, one at a time, with the words it rests on.

    That is: what you asked to forget, notes that may not hold any more, refused lines, plans
    of which nobody knows how they came out, memories from other programs, dates from texts,
    and what other programs propose. After that you can go through what was learned.

    One key answers. /undo takes back every answer but forget, pin and later. What you leave
    waits for the next time.
    """
    waiting = await chat.run(operations.waiting)
    if not out.interactive:
        out.show(views.list_view(waiting))
        return
    if not waiting:
        out.say(views.NOTHING_WAITS)
    if not await _go_through(chat, out, of_learned=False):
        return
    learned = await chat.run(operations.learned)
    if learned and await out.ask(views.learned_question(len(learned))):
        await _go_through(chat, out, of_learned=True)


async def ask_about_requests(chat: Chat, out: Output) -> None:
    """Ask once about each request to forget that the user made in conversation.

    Nobody called for this question, so no single key may answer it.
    """
    while out.interactive and (item := await chat.run(operations.next_request)):
        out.show(views.item_view(item, chat.clock))
        if await out.ask(views.FORGET_FOR_GOOD):
            answer = Answer.FORGET
        elif await out.ask("Keep it after all?"):
            answer = Answer.KEEP
        else:
            answer = Answer.WITHHOLD
        await _answer(chat, out, item, answer)


async def _go_through(chat: Chat, out: Output, *, of_learned: bool) -> bool:
    """Ask about one thing after the other. Return False if the user leaves."""
    passed: set[tuple[WaitingKind, int]] = set()
    while item := await chat.run(operations.next_item, passed, of_learned=of_learned):
        passed.add(item.waiting.key)
        if not await _ask(chat, out, item):
            return False
    return True


async def _ask(chat: Chat, out: Output, item: Item) -> bool:
    """Ask about one thing until it is answered. Return False if the user leaves."""
    waiting = item.waiting
    out.show(views.item_view(item, chat.clock))
    while key := await out.ask_key(views.answers_line(waiting), views.keys_for(waiting)):
        if key == views.LEAVE:
            return False
        try:
            if await _carry_out(chat, out, item, views.KEYS[key]):
                return True
        except ConstructError as error:
            out.error(str(error))
    return False


async def _carry_out(chat: Chat, out: Output, item: Item, answer: Answer) -> bool:
    """Do what the user answered. Return False if they changed their mind."""
    text = ""
    if answer == Answer.EDIT:
        chat.refuse_in_private()
    if answer == Answer.EDIT and not (text := await out.answer_to(views.IN_YOUR_WORDS)).strip():
        return False
    if not await _confirms(chat, out, item, answer):
        return False
    await _answer(chat, out, item, answer, text)
    return True


async def _confirms(chat: Chat, out: Output, item: Item, answer: Answer) -> bool:
    """Ask whether the user means an answer that goes further than this one thing."""
    if answer == Answer.KEEP_ALL:
        count = await chat.run(operations.count_like, item)
        return await out.ask(views.keep_all_question(count))
    if answer != Answer.FORGET:
        return True
    plan = await chat.run(operations.forget_plan, item)
    if plan is not None:
        out.show(forgetting_views.forget_plan_view(plan, chat.clock.today()))
        return await out.ask(forgetting_views.forget_question(plan))
    return item.request is None or await out.ask(views.FORGET_FOR_GOOD)


async def _answer(chat: Chat, out: Output, item: Item, answer: Answer, text: str = "") -> None:
    note = await chat.run(operations.answer, item, answer, text)
    if answer == Answer.FORGET:
        out.reload_history()
    chat.shown = None if note is None else (ItemKind.OBSERVATION, note.id)
    out.show(views.done_view(item.waiting, answer, note, chat.clock.today()))
