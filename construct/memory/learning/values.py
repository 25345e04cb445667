"""Work out what code can prove of the values in an observer's answer. No I/O."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from construct.language.numbers import unfound_numbers, values_in
from construct.memory.learning.proposals import ProposedValue
from construct.memory.learning.reading import Reading
from construct.memory.learning.verifier import Group, GroupKind
from construct.memory.learning.whose_words import strongest_stance
from construct.memory.shown.value_lines import (
    ReadValue,
    amount_words,
    anchored_value_line,
    folded,
    is_name_of,
    value_line,
)
from construct.store.tracked import TrackedValue
from construct.vocabulary import Role, Stance


@dataclass(frozen=True, slots=True)
class CheckedValue:
    """A value with what code knows about it."""

    read: ReadValue
    """As the observer wrote it."""
    replaced: tuple[TrackedValue, ...]
    """The known values of the same name that it is to correct."""
    look: tuple[str, ...]
    """Its amount, if no message that it names, or the two before it, has that number."""
    value: ProposedValue
    """What would be stored."""

    @property
    def group(self) -> Group:
        """What the verifier is asked."""
        above = tuple(map(value_line, self.replaced))
        return Group(GroupKind.VALUE, above, anchored_value_line(self.read), self.look)


def check_value(read: ReadValue, reading: Reading) -> CheckedValue | str:
    """Return a value as it would be stored, or why it cannot be: nobody follows it.

    Only what the user says in their own words counts. Its day is never after the message.
    """
    name = followed_name(read.name, reading.tracked, reading.value_names)
    if name is None:
        return "no line of the user's rules follows this"
    messages = [reading.by_anchor[anchor] for anchor in read.anchors]
    context = reading.context(read.anchors)
    line = f"{read.name} {amount_words(read.amount, read.unit)}"
    if strongest_stance(line, messages, context, reading.pictures) != Stance.STATED:
        return "the user does not say this in their own words"
    newest = max((m for m in messages if m.role == Role.USER), key=lambda m: m.id)
    look: tuple[str, ...] = ()
    if not any(m.id in reading.pictures for m in messages):
        said = values_in(m.content for m in context)
        look = tuple(unfound_numbers(amount_words(abs(read.amount)), said))
    known = {anchor: reading.values[anchor] for anchor in read.replaces}
    replaced = tuple(v for v in known.values() if v.name == name)
    value = ProposedValue(
        name=name,
        amount=read.amount,
        unit=read.unit,
        day=min(read.day, reading.day(newest)),
        message_id=newest.id,
        replaces=tuple(v.id for v in replaced),
    )
    return CheckedValue(read, replaced, look, value)


def without_replacing(value: ProposedValue) -> ProposedValue:
    """Return a value that corrects nothing: nobody has checked it."""
    return replace(value, replaces=())


def followed_name(name: str, tracked: Sequence[str], stored: Iterable[str]) -> str | None:
    """Return the name that a value is stored under; None if no rule follows it.

    A rule such as "coffee spending in euros" is for values named "coffee spending" too. What
    is stored under a name for the same rule keeps that name.
    """
    rule = _rule_of(name, tracked)
    if rule is None:
        return None
    same = (known for known in stored if _rule_of(known, tracked) == rule)
    return next(same, " ".join(name.split()))


def _rule_of(name: str, tracked: Sequence[str]) -> str | None:
    """Return the rule that has this name, else the first that begins with it."""
    wanted = folded(name)
    begun = [rule for rule in tracked if is_name_of(wanted, rule)]
    return next((rule for rule in begun if folded(rule) == wanted), next(iter(begun), None))
