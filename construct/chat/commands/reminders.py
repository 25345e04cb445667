"""`/remind`: be reminded of something, or list the reminders."""

from construct.chat.chat import Chat
from construct.chat.commands.status import group
from construct.chat.output import Output
from construct.operations import new_reminder
from construct.operations.reminders import listed_in
from construct.operations.rules import forbidden_word
from construct.views.reminders import reminder_set_view, reminders_view
from construct.views.rules import forbidden_view


@group.command(new_reminder.USAGE, "set a reminder", example="/remind friday 18:30 take the cake")
async def remind(chat: Chat, out: Output, argument: str) -> None:
    """Stores a plan and reminds you of it at that time. /undo takes it back.

    WHEN is a day, a time or both: `friday 18:30`, `2026-03-05 9am`, `in 20 minutes`. A
    reminder comes here if you have pressed a key in the last ten minutes. Otherwise it comes
    where `construct remind install` sends it, or with the next `construct remind`. Without
    anything it lists your reminders.
    """
    if not argument:
        out.show(reminders_view(await chat.run(listed_in), chat.clock))
        return
    chat.refuse_in_private()
    new = await chat.run(new_reminder.remind, argument)
    chat.shown = ("observation", new.id)
    out.show(reminder_set_view(new, chat.clock))
    if word := await chat.run(forbidden_word, new.content):
        out.say(forbidden_view(word))
