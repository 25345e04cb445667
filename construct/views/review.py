"""Render what waits for the user's decision, and the answers they can give."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from construct.clock import Clock
from construct.memory.review import Waiting
from construct.operations.review import Evening, Item
from construct.program import in_shell
from construct.store.records import Observation
from construct.text import one_line, shorten
from construct.views.forgetting import forget_request_view
from construct.views.memory import observation_table
from construct.views.words import counted, written_at
from construct.vocabulary import Answer, Role, WaitingKind

KEYS = {
    "k": Answer.KEEP,
    "a": Answer.KEEP_ALL,
    "e": Answer.EDIT,
    "p": Answer.PIN,
    "n": Answer.UNTRUE,
    "w": Answer.WITHHOLD,
    "f": Answer.FORGET,
    "l": Answer.LATER,
}
LEAVE = "q"
NOTHING_WAITS = "Nothing waits for your decision."
FORGET_FOR_GOOD = "Forget it for good?"
IN_YOUR_WORDS = "In your words:"
_QUOTE_LENGTH = 300
_TITLES = {
    WaitingKind.FORGET: "Asked to forget",
    WaitingKind.DOUBTFUL: "Does this still hold?",
    WaitingKind.STAND_IN: "A line that was refused",
    WaitingKind.OUTCOME: "How did this come out?",
    WaitingKind.REMINDER: "A reminder that did not reach you",
    WaitingKind.LIST: "From a list of memories",
    WaitingKind.TEXT: "A date from a text",
    WaitingKind.PROPOSAL: "Proposed by another program",
    WaitingKind.NEW: "New",
    WaitingKind.LEARNED: "Learned",
}
_WORDS = {
    (WaitingKind.FORGET, Answer.FORGET): "forget for good",
    (WaitingKind.FORGET, Answer.KEEP): "keep after all",
    (WaitingKind.FORGET, Answer.WITHHOLD): "leave it withheld",
    (WaitingKind.OUTCOME, Answer.KEEP): "it happened",
    (WaitingKind.OUTCOME, Answer.EDIT): "say how",
    (WaitingKind.OUTCOME, Answer.UNTRUE): "it did not",
    (WaitingKind.REMINDER, Answer.KEEP): "seen",
    (WaitingKind.TEXT, Answer.KEEP): "keep as a plan",
    (WaitingKind.TEXT, Answer.UNTRUE): "not true",
    (WaitingKind.LIST, Answer.UNTRUE): "not true",
    (WaitingKind.PROPOSAL, Answer.UNTRUE): "not true",
}
_DONE = {
    Answer.KEEP: "Kept.",
    Answer.KEEP_ALL: "Kept.",
    Answer.PIN: "Pinned.",
    Answer.UNTRUE: "Noted: it is true no longer.",
    Answer.WITHHOLD: "It stays withheld. To delete it, forget it by its ID, with --words.",
    Answer.FORGET: "Forgotten.",
    Answer.LATER: "Left for later.",
}
_DONE_OTHERWISE = {
    (WaitingKind.OUTCOME, Answer.KEEP): "Noted: it happened.",
    (WaitingKind.OUTCOME, Answer.UNTRUE): "Noted: it did not happen.",
    (WaitingKind.REMINDER, Answer.KEEP): "Noted.",
}


def item_view(item: Item, clock: Clock) -> RenderableType:
    """Return one thing that waits, why, and the words that it rests on."""
    waiting = item.waiting
    head = Text(_TITLES[waiting.kind], style="heading3")
    if item.request is not None:
        return Group(head, forget_request_view(item.request, clock.today()))
    parts: list[RenderableType] = [head, _text(item, clock.today()), Text(waiting.why, style="dim")]
    for message in item.messages:
        who = "you" if message.role == Role.USER else "reply"
        quote = f"{written_at(message, clock)} {who}: “{shorten(message.text, _QUOTE_LENGTH)}”"
        parts.append(Padding(Text(quote), (0, 0, 0, 2)))
    return Group(*parts)


def _text(item: Item, today: date) -> RenderableType:
    if item.note is None:
        return Text(item.waiting.text)
    return observation_table([item.note], today)


def answers_line(waiting: Waiting) -> str:
    """Return the keys with what each answers: "k keep · e edit · … · q leave"."""
    words = [
        f"{key} {_WORDS.get((waiting.kind, answer), str(answer))}"
        for key, answer in KEYS.items()
        if answer in waiting.answers
    ]
    return " · ".join([*words, f"{LEAVE} leave"])


def keys_for(waiting: Waiting) -> str:
    """Return the keys that answer this."""
    keys = [key for key, answer in KEYS.items() if answer in waiting.answers]
    return "".join([*keys, LEAVE])


def done_view(
    waiting: Waiting, answer: Answer, note: Observation | None, today: date
) -> RenderableType:
    """Return what an answer has done."""
    if answer == Answer.EDIT and note is not None:
        return observation_table([note], today)
    return _DONE_OTHERWISE.get((waiting.kind, answer)) or _DONE.get(answer, "Done.")


def list_view(waiting: Sequence[Waiting]) -> RenderableType:
    """Return all that waits, for where nobody can be asked."""
    if not waiting:
        return NOTHING_WAITS
    lines: list[RenderableType] = []
    for one in waiting:
        title = _TITLES[one.kind]
        lines.append(Text(f"{title}{'' if title.endswith('?') else ':'} {one_line(one.text)}"))
        lines.append(Padding(Text(one.why, style="dim"), (0, 0, 0, 2)))
    return Group(*lines)


def list_json(waiting: Sequence[Waiting]) -> list[dict[str, Any]]:
    """Return all that waits as JSON; `observation` is the id of the note it is about."""
    return [
        {
            "kind": one.kind,
            "id": one.id,
            "text": one.text,
            "why": one.why,
            "since": one.since,
            "observation": one.observation_id,
        }
        for one in waiting
    ]


def evening_line(evening: Evening) -> str:
    """Return what was learned and what waits in one line, for a shell; "" if there is nothing."""
    counts = ((evening.notes, "new note"), (evening.plans, "plan"))
    parts = [", ".join(counted(number, noun) for number, noun in counts if number)]
    if evening.waiting:
        parts.append(waiting_words(evening.waiting))
    said = "; ".join(filter(None, parts))
    return f"{said}: {in_shell('review')}" if said else ""


def waiting_words(count: int) -> str:
    """Return "2 questions wait for you"."""
    return f"{counted(count, 'question')} {'waits' if count == 1 else 'wait'} for you"


def keep_all_question(count: int) -> str:
    """Return the question whether to keep all of a kind."""
    return f"Keep all {count}?"


def learned_question(count: int) -> str:
    """Return the question whether to go on with what was learned."""
    return f"{counted(count, 'note')} learned since your last review. Go through them?"
