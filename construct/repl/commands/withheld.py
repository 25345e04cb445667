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
    asked = to_text(chat.clock.now())
    requests = await chat.store.call(forget_requests.unanswered)
    if not requests:
        return
    listed = (f"  “{shorten(request.words, _WIDTH)}”" for request in requests)
    out.say("\n".join(["You asked to forget this. It is withheld from the model:", *listed]))
    if await out.ask("Forget it for good, with the words it came from?"):
        for request in requests:
            await _forget(chat, _reference(request))
        chat.shown = None
        out.forgotten()
        out.say("Forgotten.")
    elif await out.ask("Keep it after all?"):
        await chat.store.call(_keep, asked, to_text(chat.clock.now()))
        out.say("Kept.")
    else:
        await chat.store.call(forget_requests.leave, asked, to_text(chat.clock.now()))
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


def _keep(db: sqlite3.Connection, asked: str, now: str) -> None:
    with transaction(db):
        forget_requests.keep(db, asked)
        promote(db, now)
