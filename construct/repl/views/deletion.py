"""What deleting a conversation takes along, in words."""

from construct.memory.curation.deletion import Deleted, DeletionPlan
from construct.repl.views.forgetting import STILL_IN_FILE
from construct.repl.views.words import counted, title_of
from construct.store.talk import ConversationSummary


def deletion_words(here: ConversationSummary, plan: DeletionPlan) -> str:
    """Return what would go, before it is asked for."""
    words = (
        f"Conversation {here.conversation.id} “{title_of(here)}”: {counted(plan.messages, 'message')}, "
        f"{counted(len(plan.observations), 'observation')} and {counted(len(plan.memories), 'memory')} from them."
    )
    if plan.forks:
        words += f" Without what they have from it go on: {counted(len(plan.forks), 'fork')}."
    return words


def deleted_words(gone: Deleted) -> str:
    """Return what went."""
    words = f"{counted(gone.messages, 'message')}, {counted(gone.observations, 'observation')}"
    return f"Deleted conversation {gone.conversation}: {words}.{STILL_IN_FILE if gone.pending_erasure else ''}"
