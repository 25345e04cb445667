"""`construct conversations …`."""

from dataclasses import asdict
from typing import Annotated

import typer

from construct.cli.completing import conversation_ids
from construct.cli.environment import complain, confirmed, print_json, say
from construct.cli.options import Json, environment, examples, in_range
from construct.errors import UsageError
from construct.store import talk
from construct.store.database import transaction
from construct.text import one_line

conversations = typer.Typer(help="List, show, rename, fork and delete conversations.", rich_markup_mode=None)

Id = Annotated[
    int,
    typer.Argument(metavar="ID", help="The conversation's number.", callback=in_range, autocompletion=conversation_ids),
]


@conversations.command("list")
def list_conversations(
    context: typer.Context,
    as_json: Json = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="At most so many.", callback=in_range)
    ] = None,
) -> None:
    """List conversations, the one last talked in first."""
    from construct.cli import shapes

    env = environment(context)
    with env.looking() as db:
        found = talk.conversations(db, limit)
    if as_json:
        print_json([shapes.conversation(c) for c in found])
        return
    from construct.repl.views.words import counted, title_of, when

    for c in found:
        moment = when(c.last_at, env.settings.clock)
        say(f"{c.conversation.id:>5}  {moment}  {counted(c.messages, 'message'):>15}  {title_of(c)}")
    if not found:
        say("There are no conversations yet. `construct` begins one.")


@conversations.command()
def show(context: typer.Context, conversation_id: Id, as_json: Json = False) -> None:
    """Print a conversation word for word."""
    from construct.cli import shapes

    env = environment(context)
    with env.looking() as db:
        found = talk.summary(db, conversation_id)
        messages = talk.messages_of(db, conversation_id)
    if as_json:
        print_json(shapes.talk(found.conversation, messages))
        return
    from construct.repl.views.words import LEFT_OUT_WORDS, title_of, when

    say(f"# {title_of(found)}")
    for m in messages:
        notes = ["interrupted"] if m.status == "interrupted" else []
        notes += [LEFT_OUT_WORDS[m.left_out]] if m.left_out else []
        note = f" ({', '.join(notes)})" if notes else ""
        say(f"\n[{when(m.created_at, env.settings.clock)}] {m.role}{note}:\n{m.content}")


@conversations.command(epilog=examples('construct conversations rename 3 "The flat in Porto"'))
def rename(
    context: typer.Context,
    conversation_id: Id,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
    as_json: Json = False,
) -> None:
    """Give a conversation a title; it stays yours."""
    cleaned = one_line(title)
    if not cleaned:
        raise UsageError("A title needs at least one character.")
    with environment(context).database() as db:
        talk.conversation(db, conversation_id)
        with transaction(db):
            talk.rename_conversation(db, conversation_id, cleaned)
    if as_json:
        print_json({"id": conversation_id, "title": cleaned})
    else:
        say(f"Conversation {conversation_id} is now “{cleaned}”.")


@conversations.command()
def fork(
    context: typer.Context,
    conversation_id: Id,
    compact: Annotated[
        bool, typer.Option("--compact", help="Do its memory work first, so that the fork begins small.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Begin a new conversation where this one stands.

    Both go their own ways from there; the old one is left as it is.
    """
    from construct.cli.upkeep import compact_conversation
    from construct.memory.shown import forks

    env = environment(context)
    with env.database() as db:
        talk.conversation(db, conversation_id)
        if compact:
            compact_conversation(env, conversation_id)
        new = forks.fork(db, conversation_id, env.settings.clock)
        parent = talk.conversation(db, new).parent_id
    if as_json:
        print_json({"id": new, "parent": parent})
    else:
        say(f"Conversation {new} goes on from where {conversation_id} stands.")


@conversations.command()
def delete(
    context: typer.Context,
    conversation_id: Id,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a conversation for good, and what was learned from it.

    It says first what goes, and asks. `construct memory forget` deletes a single thing instead.
    """
    from construct.memory.curation.deletion import delete_conversation, plan_deletion
    from construct.repl.views.deletion import deleted_words, deletion_words

    env = environment(context)
    with env.database() as db:
        plan = plan_deletion(db, conversation_id)
        if not yes:
            complain(deletion_words(talk.summary(db, conversation_id), plan))
            if not confirmed("Delete this for good?"):
                complain("Nothing was deleted.")
                return
        gone = delete_conversation(db, conversation_id, env.settings.clock)
    if as_json:
        print_json({"deleted": asdict(gone)})
    else:
        say(deleted_words(gone))
