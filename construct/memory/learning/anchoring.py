"""Whether an observation names the messages that say it. Pure.

Small models are often one anchor off, or give the anchor of the question for what the answer says. Then provenance
would show the wrong words, and the stance be judged by them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from construct.memory.language.terms import content_stems
from construct.memory.learning.proposals import Draft
from construct.store.records import Message

_LITTLE = 0.34
"""Share of an observation's words: whoever says no more of it does not say it."""
_MOST = 0.6
"""And whoever says as much does."""
_FEWEST_WORDS = 2

Said = Mapping[int, frozenset[str]]


def said_by(messages: Sequence[Message]) -> Said:
    """Return the words of each message, by its id, without their inflection."""
    said: dict[int, frozenset[str]] = {}
    for m in messages:  # a large one may stand here in pieces
        said[m.id] = said.get(m.id, frozenset()) | content_stems(m.content)
    return said


def anchored(draft: Draft, said: Said, days: Mapping[int, date]) -> Draft:
    """Return the draft with the message that says it, where those it names do not and one plainly does.

    Of several that say as much it is the nearest. `days`: of each message; nothing happened later than it was said.
    """
    wanted = content_stems(draft.content) - {"user"}
    named = frozenset[str]().union(*(said[i] for i in draft.sources))
    if len(wanted) < _FEWEST_WORDS or len(wanted & named) > _LITTLE * len(wanted):
        return draft
    best = max(said, key=lambda i: (len(wanted & said[i]), -min(abs(i - source) for source in draft.sources)))
    if len(wanted & said[best]) < _MOST * len(wanted):
        return draft
    return replace(draft, sources=(best,), observation_date=min(draft.observation_date, days[best].isoformat()))
