"""What compacting changed, in one line."""

from construct.memory.cycles.compaction import Compacted
from construct.memory.learning.guard import Verdict
from construct.repl.views.words import counted


def compact_words(made: int, compacted: Compacted, verdict: Verdict | None) -> str:
    """Return what was observed, committed and condensed; what did not happen is left out."""
    parts = [counted(made, "new observation")] if made else []
    done = [f"{compacted.committed:,} committed"] if compacted.committed else []
    done += [f"{counted(compacted.left_window, 'message')} left the window"] if compacted.left_window else []
    parts += [", ".join(done)] if done else []
    if verdict is not None and verdict.shrinks:
        parts += reflection_words(verdict)
    return ("; ".join(parts) or "No new observations") + "."


def reflection_words(verdict: Verdict) -> list[str]:
    """Return what a reflection did to the observations it was given."""
    parts = []
    if verdict.drafts:
        parts.append(f"{counted(len(verdict.replaced), 'observation')} condensed into {len(verdict.drafts):,}")
    if verdict.dropped:
        parts.append(f"{counted(len(verdict.dropped), 'observation')} of low priority let go")
    if verdict.outdated:
        parts.append(f"{counted(len({old for old, _ in verdict.outdated}), 'observation')} found outdated")
    return parts
