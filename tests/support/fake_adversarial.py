"""Worker models that do what they should not.

Each is a function of the request, ready for `FakeApi.enqueue`.
"""

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from tests.support.fake_types import Answer, Answerer, Json, purpose_of
from tests.support.fake_worker import (
    WORKERS,
    Line,
    note,
    observer_answer,
    read_groups,
    read_known,
    read_lines,
    read_memories,
    read_transcript,
    reflector_answer,
    section,
    verifier_answer,
)

_LINES_MERGED = 5
_MAIN: dict[str, str] = {
    "observer": "observations", "reflector": "reflections", "verifier": "checks",
    "graph": "relations",
}  # fmt: skip
"""The section of each worker's answer without which it is none."""


def competent(body: Json) -> str:
    """Return what the competent worker would answer."""
    return str(WORKERS[purpose_of(body)](body))


def anchors(body: Json) -> list[str]:
    """Return the anchors of what a request asks to be read.

    Known notes are not among them.
    """
    return [
        *(line.anchor for line in read_lines(body)),
        *(said.anchor for said in read_transcript(body)),
        *read_memories(body),
    ]


def silent(body: Json) -> Answer:
    """Answer in the right form, with nothing in it."""
    return section(_MAIN[purpose_of(body)], ())


def prose(_body: Json) -> Answer:
    """Answer in prose, without any section."""
    return (
        "Sure! Here is what I noticed: the user seems to have a number of interests. "
        "Let me know if I can help."
    )


def half_answer(body: Json) -> Answer:
    """Break off in the middle of the main section, as if nothing were missing."""
    name = _MAIN[purpose_of(body)]
    head, _, _ = competent(body).partition(f"</{name}>")
    return head[: (head.index(f"<{name}>") + len(name) + 2 + len(head)) // 2]


def invented_anchors(body: Json) -> Answer:
    """Name anchors that were never sent, wherever there is room for one."""
    answer = re.sub(r"\b([MOP])\d+\b", r"\g<1>99999", competent(body))
    lines = [
        note("User likes herrings", [anchor], replaces=["K99999", "M99999"])
        for anchor in ("M99999", "O99999", "M0", "m99998", "[O99999],", "P1", "K1", "Ж1")
    ]
    pairs = section("same", ["O99999 = O99998", "O1 = O1"]) + section(
        "outdated", ["O99999 by O1", "O1 by O99999"]
    )
    return "\n".join(
        [
            _with_more(body, answer, lines),
            pairs,
            "<drop>O99999 O0</drop>",
            "<forget>K99999 M0</forget>",
        ]
    )


def impossible_dates(body: Json) -> Answer:
    """Give days that no calendar has."""
    return re.sub(r"\b\d{4}-\d\d-\d\d\b", "2026-02-30", competent(body))


def unreadable_lines(body: Json) -> Answer:
    """Put lines of no known form into the main section, and nothing else."""
    first = next(iter(anchors(body)), "M1")
    lines = [
        "User likes tea",
        f"{first} User likes tea",
        f"? 2026-01-01 {first} User likes tea",
        f"! {first}",
        "| | |",
    ]
    lines += [
        '{"content": "User likes tea"}',
        f"! yesterday {first} User likes tea",
        "1 perhaps",
        "User | likes | tea",
    ]
    return section(_MAIN[purpose_of(body)], lines)


def forgets_everything(body: Json) -> Answer:
    """Drop all that was given, or take all of it for something to be forgotten."""
    given = anchors(body)
    match purpose_of(body):
        case "reflector":
            return reflector_answer(
                outdated=((anchor, given[-1]) for anchor in given[:-1]), drop=given
            )
        case "observer":
            return observer_answer(forget=[*given, *(line.anchor for line in read_known(body))])
    return silent(body)


def grows(body: Json) -> Answer:
    """Say everything again, longer than it was."""
    if lines := read_lines(body):
        return reflector_answer(
            _again(line, f"It should be kept in mind that the following holds: {line.text}")
            for line in lines
        )
    return re.sub(r"User said: (.*)", r"User said: \1 And again: \1 And again: \1", competent(body))


def endless_repetition(body: Json) -> Answer:
    """Fall into a loop inside one line, which never ends."""
    return f"<{_MAIN[purpose_of(body)]}>\n" + note(
        "User likes tea and likes tea. " * 700, anchors(body)[:1]
    )


def always_yes(body: Json) -> Answer:
    """Let every proposal pass."""
    return verifier_answer({}, len(read_groups(body)))


def always_no(body: Json) -> Answer:
    """Refuse every proposal."""
    groups = len(read_groups(body))
    return verifier_answer(dict.fromkeys(range(1, groups + 1), "it says something else"), groups)


def garbage_checks(_body: Json) -> Answer:
    """Answer with lines that are no checks, and checks of unknown groups."""
    return section(
        "checks",
        ["perhaps", "0 yes", "99999 yes", "one yes", "yes", "1 maybe", "1", "! 2026-01-01 O1 yes"],
    )


def half_checks(body: Json) -> Answer:
    """Let the first half of the proposals pass, and say nothing of the others."""
    return verifier_answer({}, len(read_groups(body)) // 2)


@dataclass(slots=True)
class Proposal:
    """A reflector's answer in the making."""

    notes: list[str] = field(default_factory=list)
    same: list[tuple[str, str]] = field(default_factory=list)
    outdated: list[tuple[str, str]] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)

    @property
    def answer(self) -> str:
        """The answer as it is sent."""
        return reflector_answer(self.notes, same=self.same, outdated=self.outdated, drop=self.drop)


def adversarial_reflector(rng: random.Random) -> Answerer:
    """Return a reflector that makes one to three mistakes at every request.

    `rng` chooses them.
    """

    def answer(body: Json) -> Answer:
        proposal = Proposal()
        if lines := read_lines(body):
            for mistake in rng.sample(MISTAKES, rng.randint(1, 3)):
                mistake(rng, lines, proposal)
        return proposal.answer

    return answer


def _with_more(body: Json, answer: str, lines: Iterable[str]) -> str:
    closing = f"</{_MAIN[purpose_of(body)]}>"
    return answer.replace(closing, "\n".join([*lines, closing]))


def _again(line: Line, text: str) -> str:
    """Return the line that says this in the place of a note."""
    return note(
        text,
        [line.anchor],
        priority=line.priority,
        stance=line.stance,
        observation_date=line.date,
        referenced_date=line.day,
    )


def _drop(rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    proposal.drop += [line.anchor for line in rng.sample(lines, rng.randint(1, len(lines)))]


def _drop_everything(_rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    proposal.drop += [line.anchor for line in lines]


def _merge_wrongly(rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    chosen = rng.sample(lines, min(len(lines), rng.randint(2, _LINES_MERGED)))
    content = " ".join(word for line in chosen for word in line.text.split()[:3] if word.islower())
    proposal.notes.append(note(f"User {content}".strip(), [line.anchor for line in chosen]))


def _invent(rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    proposal.notes.append(
        note("User wed Gwendolyn in Zanzibar in 1987", [rng.choice(lines).anchor])
    )


def _swap_numbers(rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    line = rng.choice([line for line in lines if re.search(r"\d", line.text)] or lines)
    content = re.sub(r"\d", lambda found: str((int(found[0]) + 1) % 10), line.text)
    proposal.notes.append(_again(line, content if content != line.text else f"{content} 42"))


def _exalt(rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    line = rng.choice(lines)
    proposal.notes.append(_again(replace(line, priority="high", stance="stated"), line.text))


def _deny(rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    line = rng.choice(lines)
    proposal.notes.append(_again(line, re.sub(r"^User\b", "User never", line.text)))


def _equate(rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    first = rng.choice(lines).anchor
    proposal.same += [
        (first, line.anchor) for line in rng.sample(lines, rng.randint(1, len(lines)))
    ]


def _outdate(rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    newer = rng.choice(lines).anchor
    proposal.outdated += [(line.anchor, newer) for line in lines]


def _write_junk(_rng: random.Random, lines: list[Line], proposal: Proposal) -> None:
    first = lines[0].anchor
    proposal.notes += [
        "null",
        "{}",
        first,
        f"! {first}",
        f"! 2026-13-01 {first} User",
        f"- 2026-01-01 {first}",
    ]
    proposal.same += [("", first), (first, first)]
    proposal.drop += ["all", "of", "them,", "O1-O9", "<b>"]


MISTAKES: tuple[Callable[[random.Random, list[Line], Proposal], None], ...] = (
    _drop,
    _drop_everything,
    _merge_wrongly,
    _invent,
    _swap_numbers,
    _exalt,
    _deny,
    _equate,
    _outdate,
    _write_junk,
)
"""What `adversarial_reflector` chooses from."""
