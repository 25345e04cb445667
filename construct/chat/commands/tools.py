"""`/tools`: the tools from outside, and the question before one of them is called."""

from construct.chat.chat import Chat
from construct.chat.commands.registry import choose
from construct.chat.commands.status import group
from construct.chat.output import Output
from construct.errors import NotFoundError, UsageError
from construct.text import shorten
from construct.tools.call_types import Answer, ToolQuestion

_USAGE = "/tools [allow NAME [--harmless]|forbid NAME|show [N]|private on|off]"
_DESCRIPTION_WIDTH = 300
_ONCE = {"": Answer.NO, "no": Answer.NO, "o": Answer.ONCE, "once": Answer.ONCE} | {
    "y": Answer.ONCE, "yes": Answer.ONCE,
}  # fmt: skip
_ANSWERS_NOW = _ONCE | {"n": Answer.NO}
_ANSWERS_FIRST = _ONCE | {
    "a": Answer.ALWAYS, "always": Answer.ALWAYS, "n": Answer.NEVER, "never": Answer.NEVER,
}  # fmt: skip


@group.command(
    _USAGE,
    "tools from outside",
    example="/tools allow files",
    choices=choose(
        ("allow", "let a server start, or a tool be called without asking"),
        ("forbid", "forbid a server or a tool"),
        ("show", "the last results, whole"),
        ("private", "on: tools in private talk too"),
    ),
)
async def tools(chat: Chat, out: Output, argument: str) -> None:
    """Lists the servers in `mcp.json` and their tools; none starts before you allow it.

    The first use of each tool asks. While a text that is not your own is before the model,
    each call asks and shows its arguments, unless you said --harmless: such a text can tell
    the model to send away what it knows of you. /tools show prints the results behind the
    last reply that used tools; with N only that one. /tools private on lets tools run in
    private talk, in this chat only.
    """
    from construct.operations import tools as operations
    from construct.views.tools import server_text, tools_text

    verb, _, rest = argument.partition(" ")
    folder, outside_tools = chat.settings.config_dir, chat.companion.tools
    match verb, rest.split():
        case "" | "list", []:
            out.say(tools_text(operations.tools_status(folder)))
        case "allow", [name] | [name, "--harmless"]:
            await _allow(chat, out, name, harmless=rest.endswith("--harmless"))
        case "forbid", [name]:
            out.say(server_text(operations.forbid(folder, name)))
            outside_tools.reload()
        case "show", [] | [_]:
            await _show(chat, out, rest.strip())
        case "private", ["on" | "off" as state]:
            outside_tools.is_allowed_in_private = state == "on"
            out.say(f"Tools are {state} in private talk, in this chat.")
        case _:
            raise UsageError(f"Usage: {_USAGE}")


async def _allow(chat: Chat, out: Output, name: str, *, harmless: bool) -> None:
    from construct.operations import tools as operations
    from construct.views.tools import server_text

    folder = chat.settings.config_dir
    if operations.is_server(folder, name):
        if not out.interactive:
            raise UsageError("A server can only be allowed on a terminal: it starts a program.")
        with out.busy(f"starting {shorten(name, 40)}"):
            server = await operations.allow_server(folder, name, harmless=harmless)
    else:
        server = operations.allow_tool(folder, name, harmless=harmless)
    out.say(server_text(server))
    chat.companion.tools.reload()


async def _show(chat: Chat, out: Output, number: str) -> None:
    from construct.operations.tools import called_tools
    from construct.views.tools import results_text

    message = await chat.store.call(chat.ledger.last_with_results, chat.conversation_id)
    called = called_tools(message) if message else []
    if number:
        if not number.isdecimal() or not 0 < int(number) <= len(called):
            raise NotFoundError(f"There is no result {shorten(number, 20)}.")
        called = [called[int(number) - 1]]
    if not called:
        raise NotFoundError("No reply here used a tool from outside.")
    out.say(results_text(called))


async def ask_about_tool(out: Output, question: ToolQuestion) -> Answer:
    """Ask whether a tool may be called, showing its arguments."""
    lines = [f"The model wants to call {question.name} with {question.arguments}"]
    if question.holds_outside_text:
        lines.append("A text that is not yours is before the model. It may have asked for this.")
    known, words = _ANSWERS_NOW, "Call it? [y/N]"
    if question.is_first:
        known, words = _ANSWERS_FIRST, "Call it? once, always, never; Enter: not now"
        if question.description:
            said = shorten(question.description, _DESCRIPTION_WIDTH)
            lines.insert(1, f"It says of itself: {said}")
    out.say("\n".join(lines))
    while True:
        typed = await out.answer_to(words)
        answer = known.get(typed.strip().lower())
        if answer is not None:
            return answer
        out.say(f"Not sent: “{shorten(typed.strip(), 60)}”. Please answer first.")
        out.keep_typed(typed)
