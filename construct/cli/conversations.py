"""The commands `construct conversations …`."""

from typing import Annotated

import typer

from construct.cli.options import (
    Json,
    Yes,
    conversation_ids,
    environment,
    examples,
    in_range,
    refuse_json_before,
)
from construct.cli.streams import complain, confirmed, print_json, say
from construct.cli.streams import show as show_view

conversations = typer.Typer(rich_markup_mode=None)

Id = Annotated[
    int,
    typer.Argument(
        metavar="ID",
        help="The conversation's number.",
        callback=in_range,
        autocompletion=conversation_ids,
    ),
]


@conversations.callback(invoke_without_command=True)
def bare(context: typer.Context, as_json: Json = False) -> None:
    """List, show, rename, fork and delete conversations. Without a command, list them."""
    if context.invoked_subcommand is None:
        list_conversations(context, as_json=as_json)
    else:
        refuse_json_before(context, as_json)


@conversations.command("list")
def list_conversations(
    context: typer.Context,
    as_json: Json = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, metavar="N", help="Show at most this many.", callback=in_range
        ),
    ] = None,
) -> None:
    """List conversations, most recently used first."""
    from construct.operations import conversations as operations
    from construct.views.conversations import conversations_json, conversations_view

    with environment(context).reading() as ctx:
        summaries = operations.conversations(ctx, limit)
    print_json(conversations_json(summaries)) if as_json else show_view(
        conversations_view(summaries, ctx.clock)
    )


@conversations.command()
def show(context: typer.Context, conversation_id: Id, as_json: Json = False) -> None:
    """Print a conversation word for word."""
    from construct.operations.conversations import transcript
    from construct.views.conversations import transcript_json, transcript_text

    with environment(context).reading() as ctx:
        messages = transcript(ctx, conversation_id)
    print_json(transcript_json(messages)) if as_json else say(transcript_text(messages, ctx.clock))


@conversations.command(epilog=examples('construct conversations rename 3 "The flat in Porto"'))
def rename(
    context: typer.Context,
    conversation_id: Id,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
    as_json: Json = False,
) -> None:
    """Rename a conversation. The observer will not change its title."""
    from construct.operations import conversations as operations
    from construct.views.shapes import conversation_json

    with environment(context).context() as ctx:
        renamed = operations.rename(ctx, conversation_id, title)
    print_json(conversation_json(renamed)) if as_json else say(
        f"Conversation {renamed.id} is now “{renamed.title}”."
    )


@conversations.command()
def fork(
    context: typer.Context,
    conversation_id: Id,
    compact: Annotated[
        bool, typer.Option("--compact", help="Compact it first, so that the fork starts small.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Begin a new conversation that continues another.

    Messages that follow are not shared. What is learned in one is known in the other
    too, unless CONSTRUCT_SCOPE is `conversation`.
    """
    from construct.cli.memory_work import compact_conversation
    from construct.operations import conversations as operations
    from construct.views.shapes import conversation_json

    env = environment(context)
    with env.context() as ctx:
        if compact:
            operations.conversation(ctx, conversation_id)
            compact_conversation(env, conversation_id)
        new = operations.fork(ctx, conversation_id)
    print_json(conversation_json(new)) if as_json else say(
        f"Forked conversation {conversation_id} into {new.id}."
    )


@conversations.command()
def delete(
    context: typer.Context, conversation_id: Id, yes: Yes = False, as_json: Json = False
) -> None:
    """Delete a conversation for good, and what was learned from it.

    Shows what would be deleted, and asks. `construct memory forget` deletes a single
    item instead.
    """
    from construct.operations import conversations as operations
    from construct.views.conversations import deleted_text, deletion_text

    with environment(context).context() as ctx:
        preview = operations.preview_deletion(ctx, conversation_id)
        if not yes:
            complain(deletion_text(preview))
            if not confirmed("Delete this for good?"):
                complain("Nothing was deleted.")
                return
        deleted = operations.delete(ctx, conversation_id, None if yes else preview)
    print_json({"deleted": deleted}) if as_json else say(deleted_text(deleted))
