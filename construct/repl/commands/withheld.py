"""Asks once what is to become of what the user asked to forget in conversation; until then it is withheld."""

import sqlite3

from construct.clock import to_text
from construct.errors import NotFoundError
from construct.memory.curation import forget as forgetting
from construct.memory.curation.memories import promote
from construct.references import Reference
from construct.repl.chat import Chat
from construct.repl.output import Output
from construct.store import forget_requests
from construct.store.database import transaction
from construct.store.forget_requests import ForgetRequest
from construct.text import shorten

_WIDTH = 100


async def ask_about_withheld(chat: Chat, out: Output) -> None:
    """Show what is withheld and was not asked about yet, and do with it what the user says."""
    if not out.interactive:
        return
    while requests := await chat.store.call(forget_requests.unanswered):  # one answer may settle another question
        cycle_id = requests[0].cycle_id
        await _ask(chat, out, cycle_id, [request for request in requests if request.cycle_id == cycle_id])


async def _ask(chat: Chat, out: Output, cycle_id: int | None, requests: list[ForgetRequest]) -> None:
    """Ask about what was heard in one run."""
    listed = (f"  “{shorten(request.words, _WIDTH)}”" for request in requests)
    out.say("\n".join(["You asked to forget this. It is withheld from the model:", *listed]))
    if emptied := await chat.store.call(_emptied, requests):
        out.say("\n".join(["Forgotten for good, every word of these goes:", *emptied]))
    if await out.ask("Forget it for good?"):
        for request in requests:
            await _forget(chat, _reference(request))
        await chat.store.call(forget_requests.leave, cycle_id, to_text(chat.clock.now()))
        chat.shown = None
        out.forgotten()
        out.say("Forgotten.")
    elif await out.ask("Keep it after all?"):
        await chat.store.call(_keep, cycle_id, to_text(chat.clock.now()))
        out.say("Kept.")
    else:
        await chat.store.call(forget_requests.leave, cycle_id, to_text(chat.clock.now()))
        out.say("It stays withheld. /forget deletes it, /undo gives it back.")


async def _forget(chat: Chat, reference: Reference) -> None:
    try:
        await chat.store.call(forgetting.forget, reference, chat.clock, words=True)
    except NotFoundError:  # it went together with one before it
        return


def _reference(request: ForgetRequest) -> Reference:
    if request.observation_id is not None:
        return "observation", request.observation_id
    assert request.message_id is not None
    return "message", request.message_id


def _emptied(db: sqlite3.Connection, requests: list[ForgetRequest]) -> list[str]:
    """Return the messages that would be emptied, but for those that are listed already."""
    named = {request.message_id for request in requests}
    plans = [forgetting.plan_forget(db, _reference(request), words=True) for request in requests]
    messages = {m.id: m for plan in plans for m in (*plan.messages, *plan.replies) if m.id not in named}
    return [f"  message:{i} “{shorten(messages[i].content, _WIDTH)}”" for i in sorted(messages)]


def _keep(db: sqlite3.Connection, cycle_id: int | None, now: str) -> None:
    with transaction(db):
        forget_requests.keep(db, cycle_id)
        promote(db, now)
