"""Forgetting: plans what goes along, deletes it, and clears every byte of it out."""

from construct.memory.forgetting.carry_out import (
    Deleted,
    Forgotten,
    delete_conversation,
    forget,
)
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
    "forget",
    "plan_deletion",
    "plan_forget",
]
