"""Tell whose words an observer's line rests on, as far as code can prove it. No I/O."""

import re
from collections.abc import Iterable, Sequence

from construct.language.names import HeardWords, heard_words, letter_pairs, names
from construct.language.numbers import numbers, values_in
from construct.memory.shown.lines import STANCES
from construct.store.records import Message
from construct.vocabulary import Role, Stance

_QUOTED_LINE = re.compile(r"^[^\S\n]*>.*$", re.MULTILINE)
"""A whole line that begins with `>`."""
_ATTACHMENT_LINE = re.compile(r"^\[(?:image|pdf|text): [^\[\]]+\]$", re.MULTILINE)
_TELLING_WORD = re.compile(r"[^\W\d_]{4,}")


def own_words(message: Message) -> str:
    """Return what the user said themselves in a message; "" for the assistant's.

    Pasted and attached text is not theirs.
    """
    if message.role != Role.USER:
        return ""
    return _ATTACHMENT_LINE.sub("", _QUOTED_LINE.sub("", message.content))


def pasted_words(message: Message) -> str:
    """Return the pasted, piped, attached and quoted text of a user's message.

    A reply that had text from outside before it counts as a whole: it may repeat that.
    """
    if message.role == Role.USER:
        return "\n".join(_QUOTED_LINE.findall(message.content))
    return message.content if message.outside else ""


def strongest_stance(
    content: str, sources: Sequence[Message], heard: Sequence[Message], seen: Iterable[int]
) -> Stance:
    """Return the strongest stance that the sources of a line support.

    The line gets this one or a weaker one. `assistant` if all sources are the
    assistant's; `quoted` if one of them had text from outside before it, if the user's own
    words are in none of the sources, or if in `heard` all names and numbers of the line are
    pasted. `seen`: ids of messages with a picture or PDF that the model saw; what it read
    there is `quoted` too.
    """
    if all(m.role == Role.ASSISTANT for m in sources):
        return Stance.QUOTED if any(m.outside for m in sources) else Stance.ASSISTANT
    with_files = [m for m in sources if m.id in seen]
    if not with_files and not any(own_words(m).strip() for m in sources):
        return Stance.QUOTED
    if not with_files and not any(map(pasted_words, heard)):
        return Stance.STATED
    own = heard_words(map(own_words, heard))
    if with_files:
        telling = [*names(content), *_telling_words(content)]
        return Stance.STATED if any(map(own.has, telling)) else Stance.QUOTED
    return Stance.QUOTED if _is_all_pasted(content, heard, own) else Stance.STATED


def weaker(one: str, other: str) -> str:
    """Return the weaker of two stances: the one that comes later in `STANCES`."""
    return max(one, other, key=STANCES.index)


def _is_all_pasted(content: str, heard: Sequence[Message], own: HeardWords) -> bool:
    """Return whether all names and numbers of the line that were heard were pasted.

    If it has none, which scripts without capitals never show, its letters decide.
    """
    pasted = [text for text in map(pasted_words, heard) if text]
    pasted_heard, pasted_values = heard_words(pasted), values_in(pasted)
    own_values = values_in(map(own_words, heard))
    named = [name for name in names(content) if own.has(name) or pasted_heard.has(name)]
    counted = [v for v in numbers(content).values() if v & (own_values | pasted_values)]
    if not named and not counted:
        pairs = letter_pairs(content)
        in_own_words = pairs & letter_pairs("\n".join(map(own_words, heard)))
        in_paste = pairs & letter_pairs("\n".join(pasted))
        return len(in_paste - in_own_words) > len(in_own_words)
    return not any(map(own.has, named)) and not any(v & own_values for v in counted)


def _telling_words(content: str) -> list[str]:
    return [word for word in _TELLING_WORD.findall(content) if word.casefold() != "user"]
