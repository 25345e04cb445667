"""The notebook: replies by rule, stored as what they quote."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from construct.companion import Companion
from construct.config import load_settings
from construct.llm.providers import choose_models
from construct.memory.shown.context import stored_rounds
from construct.notebook import NOTED, is_question, rendered
from construct.store.conversations import create_conversation
from construct.store.database import Store, transaction
from construct.store.messages import is_readable, messages_of
from construct.store.records import Message
from construct.turns import Delta


class Notes:
    """A conversation with the notebook."""

    def __init__(self, db: Path) -> None:
        self.environ = {"CONSTRUCT_DB": str(db), "CONSTRUCT_NOW": "2026-03-01T10:00:00+00:00"}
        settings = load_settings(self.environ)
        self.clock = settings.clock
        self.companion = Companion(settings, choose_models(settings))
        self.store: Store = self.companion.store
        self.here = 0

    async def say(self, text: str) -> str:
        """Say something and return the reply."""
        if not self.here:
            self.here = await self.store.call(_begin)
        heard: list[str] = []
        result = await self.companion.turn(
            self.here,
            text,
            lambda event: heard.append(event.text) if isinstance(event, Delta) else None,
        )
        assert result.complete
        assert heard == [result.text]
        return result.text

    async def messages(self) -> list[Message]:
        """Return what is stored."""
        return await self.store.call(messages_of, self.here)


def _begin(db):  # type: ignore[no-untyped-def]
    with transaction(db):
        return create_conversation(db, "2026-03-01T10:00:00+00:00")


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[Notes]:
    """A new notebook."""
    made = Notes(tmp_path / "a.db")
    yield made
    await made.companion.close()


async def test_what_bears_on_a_question_is_quoted(notes: Notes) -> None:
    """With its day and its id, and no word that was not said."""
    assert await notes.say("My dentist is Dr. Sousa in Rua das Flores.") == NOTED
    await notes.say("I planted tomatoes today.")
    reply = await notes.say("Who was my dentist?")
    assert "- 2026-03-01, you: “My dentist is Dr. Sousa in Rua das Flores.” (message:1)" in reply
    assert "tomatoes" not in reply


async def test_a_reply_is_stored_as_what_it_quotes(notes: Notes) -> None:
    """Its words are nowhere in the file; a model would be sent nothing of it."""
    await notes.say("My dentist is Dr. Sousa.")
    await notes.say("Who is my dentist?")
    said, noted, _, answer = await notes.messages()
    assert [noted.content, answer.content] == ["", ""]
    assert json.loads(answer.blocks or "") == {"type": "notebook", "quotes": [said.uid]}
    assert not is_readable(answer)
    assert stored_rounds(answer.blocks) == []


async def test_what_is_forgotten_disappears_from_it(notes: Notes) -> None:
    """The reply is made anew each time that it is shown."""
    await notes.say("My dentist is Dr. Sousa.")
    await notes.say("Who is my dentist?")
    *_, answer = await notes.messages()
    assert "Sousa" in await notes.store.call(rendered, answer, notes.clock)
    await notes.store.call(lambda db: db.execute("UPDATE messages SET withheld = 1 WHERE id = 1"))
    assert await notes.store.call(rendered, answer, notes.clock) == NOTED


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Who?", True), ("Who? ", True), ("“Who?”", True), ("どこ？", True), ("Who? Me.", False)],
)
def test_questions(text: str, asks: bool) -> None:
    """A message asks when it ends in a question mark of any script."""
    assert is_question(text) is asks
