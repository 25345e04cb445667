"""Choose the user's own sentence that stands in for a line that was refused twice. No I/O."""

import re
from collections.abc import Sequence

from construct.language.names import letter_pairs
from construct.language.sentences import is_question, sentences_to_keep
from construct.memory.learning.proposals import LostLine, ProposedObservation
from construct.memory.learning.reading import Reading
from construct.memory.learning.whose_words import own_words
from construct.memory.shown.lines import ReadNote
from construct.store.records import Message
from construct.text import one_line
from construct.vocabulary import Role, Stance

_LONGEST = 1_000
"""Characters. A longer sentence is taken apart at its line ends and commas."""
_PIECE = re.compile(r"[^\n,;:，；：、]+[\n,;:，；：、]*")


def stand_in(
    line: ReadNote, reading: Reading, forgotten: frozenset[int]
) -> ProposedObservation | LostLine | None:
    """Return what is stored in the place of a line that was refused for good.

    Of the user's own sentences in the messages it names, that is the one that shares most
    pairs of letters with it. Messages that the user asked to forget (`forgotten`) give
    nothing: None if there is no other. If the user said nothing there, the line is lost.
    """
    by_anchor = reading.by_anchor
    named = {anchor: by_anchor[anchor] for anchor in line.anchors}
    allowed = [m for m in named.values() if m.id not in forgotten]
    if not allowed:
        return None
    wanted = letter_pairs(line.content)
    best: tuple[int, int, str, Message] | None = None
    for message in allowed:
        for sentence in _sentences(message):
            shared = len(wanted & letter_pairs(sentence))
            if best is None or (shared, -len(sentence)) > best[:2]:
                best = shared, -len(sentence), sentence, message
    if best is None:
        sources = tuple(dict.fromkeys(m.id for m in allowed))
        return LostLine(line.content, max(map(reading.day, allowed)), sources)
    _, _, sentence, message = best
    return ProposedObservation(
        content=sentence,
        priority=line.priority,
        stance=Stance.ASKED if is_question(sentence) else line.stance,
        observation_date=reading.day(message),
        referenced_date=None,
        sources=(message.id,),
        stands_in_for=line.content,
    )


def _sentences(message: Message) -> Sequence[str]:
    """Return the user's own sentences of a message, each on one line."""
    if message.role != Role.USER:
        return ()
    found: list[str] = []
    for sentence in map(one_line, sentences_to_keep(own_words(message))):
        found += [sentence] if len(sentence) <= _LONGEST else _PIECE.findall(sentence)
    return [sentence.strip()[:_LONGEST] for sentence in found if any(map(str.isalnum, sentence))]
