"""Forget an item or delete a conversation: plan what goes with it, then delete that."""

from construct.memory.forgetting.carry_out import (
    Deleted,
    Forgotten,
    delete_conversation,
    forget,
)
from construct.memory.forgetting.follow import follow
from construct.memory.forgetting.plan import (
    DeletionPlan,
    ForgetPlan,
    plan_deletion,
    plan_forget,
)

__all__ = [
    "Deleted",
    "DeletionPlan",
    "ForgetPlan",
    "Forgotten",
    "delete_conversation",
    "follow",
    "forget",
    "plan_deletion",
    "plan_forget",
]
