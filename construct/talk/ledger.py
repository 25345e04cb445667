"""What a turn needs of the place where messages are kept."""

from typing import TYPE_CHECKING, Protocol

from construct.llm.types import Request
from construct.store.driver import Connection
from construct.store.messages import NewMessage
from construct.store.records import Message
from construct.talk.companion import Companion
from construct.talk.turn import FirstRequest, ReplyInProgress, Turn

if TYPE_CHECKING:
    from construct.attachments import Attachment


class Ledger(Protocol):
    """Keeps the messages of conversations, and builds requests from them.

    The methods run in the database's thread: even in private talk a request begins with
    what is stored. `conversation_id` is None in a new conversation that is not stored yet.
    """

    @property
    def companion(self) -> Companion:
        """The settings, models and database of this process."""

    @property
    def is_private(self) -> bool:
        """Whether nothing is stored, so that the memory's tools may not run either."""

    def begin(self, db: Connection, conversation_id: int | None, new: NewMessage) -> Turn:
        """Keep a message of the user's, and prepare its turn."""

    def begin_again(self, db: Connection, conversation_id: int | None) -> Turn | None:
        """Prepare another turn for the user's last message; None if there is none."""

    def first_request(self, db: Connection, turn: Turn) -> FirstRequest:
        """Return the first request of a turn that had to wait for room in the window."""

    def request(self, db: Connection, turn: Turn) -> Request:
        """Return the request that ends with the turn's message, without tool rounds."""

    def end(self, db: Connection, reply: ReplyInProgress) -> int | None:
        """Keep a reply and record its usage. Return its id if it is stored."""

    def add(self, db: Connection, conversation_id: int | None, new: NewMessage) -> Message:
        """Keep a message of a talk with the notebook, which sends no requests."""

    def drop(self, db: Connection, conversation_id: int | None) -> str | None:
        """Leave the user's last unanswered message out of later requests.

        Returns its text, or None if there is no such message.
        """

    def drop_last(self, db: Connection, conversation_id: int | None) -> "list[Attachment] | None":
        """Leave the user's last message and its replies out of later requests.

        Returns the message's attachments, or None if there is no message.
        """

    def last_reply(self, db: Connection, conversation_id: int | None) -> str | None:
        """Return the text of the newest reply, or None if there is none."""

    def last_with_results(self, db: Connection, conversation_id: int | None) -> Message | None:
        """Return the newest reply that holds a tool's or the web's result, if there is one."""

    def preview(self, db: Connection, conversation_id: int | None) -> Request:
        """Return the request that would be sent now, with a stand-in for the new message."""
