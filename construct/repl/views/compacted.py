"""What compacting changed, in one line."""

from construct.memory.cycles.compaction import Compacted
from construct.memory.learning.floor import Reflection
from construct.repl.views.words import counted

_RETIRED = {
    "same": "found to say the same as another",
    "drop": "of low priority let go",
    "outdated": "found outdated",
}


def compact_words(made: int, compacted: Compacted, reflection: Reflection | None) -> str:
    """Return what was observed, committed and condensed; what did not happen is left out."""
    parts = [counted(made, "new observation")] if made else []
    done = [f"{compacted.committed:,} committed"] if compacted.committed else []
    done += [f"{counted(compacted.left_window, 'message')} left the window"] if compacted.left_window else []
    parts += [", ".join(done)] if done else []
    if reflection is not None and reflection.shrinks:
        parts += reflection_words(reflection)
    return ("; ".join(parts) or "No new observations") + "."


def reflection_words(reflection: Reflection) -> list[str]:
    """Return what a reflection did to the observations it was given."""
    parts = []
    if reflection.lines:
        replaced = counted(len(reflection.retired("line")), "observation")
        parts.append(f"{replaced} condensed into {len(reflection.lines):,}")
    for kind, words in _RETIRED.items():
        if retired := reflection.retired(kind):
            parts.append(f"{counted(len(retired), 'observation')} {words}")
    return parts
