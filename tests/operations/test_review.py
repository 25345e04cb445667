"""A review: what waits, what each answer does, and that undo asks again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from construct.memory.agenda import agenda_items
from construct.memory.corrections import edit
from construct.memory.forgetting import forget
from construct.memory.undo import undo
from construct.operations import review
from construct.operations.context import Context
from construct.operations.review import Item
from construct.store import questions, reminders
from construct.store.agenda import dated_notes
from construct.store.database import transaction
from construct.store.flags import flagged, set_flag
from construct.store.invariants import violations
from construct.store.observations import observation, unsuperseded
from construct.store.review import count_waiting
from construct.store.sql import insert, new_uid
from construct.store.transfer.jsonl import export_jsonl
from construct.views.review import answers_line, evening_line, list_json
from construct.vocabulary import Answer, Flag, Stance, WaitingKind
from tests.memory.builders import Life, stated
from tests.store.transfer_world import bring
from tests.support.context import context
from tests.support.database import new_database, use_rules


def ctx(life: Life) -> Context:
    """Return the context of the life's user, now."""
    return context(life.db, life.clock)


def doubtful(life: Life) -> None:
    """Let a note be doubtful: a later change may have made it untrue."""
    here = life.talk()
    note = life.learn(here, "User takes tram 28 to work")
    said = life.exchange(here, "I live in Porto now.")
    change = replace(stated("User lives in Porto now", [said.id]),
                     borrowed=(note.id,), unsettles=(note.id,))  # fmt: skip
    life.observe(here, change)
    life.compact(here)


def stand_in(life: Life) -> None:
    """Let the user's own sentence stand in for a refused line."""
    here = life.talk()
    said = life.exchange(here, "I swim every week.")
    line = replace(stated("I swim every week.", [said.id]), stands_in_for="User swims daily")
    life.observe(here, line)
    life.compact(here)


def lost_line(life: Life) -> None:
    """Let a refused line wait for which no words of the user's stand in."""
    here = life.talk()
    said = life.exchange(here, "Thanks!", "The clinic is in Rua Augusta.")
    life.observe(here)
    with transaction(life.db):
        cycle = int(life.db.execute("SELECT max(id) FROM cycles").fetchone()[0])
        questions.add_lost_line(
            life.db, cycle, "The clinic is in Rua Augusta", "2026-03-01", [said.id], life.tick()
        )


def past_plan(life: Life) -> None:
    """Let the day of a plan be over."""
    here = life.talk()
    said = life.exchange(here, "I will see the dentist on 3 March.")
    plan = replace(
        stated("User sees the dentist on 3 March", [said.id]),
        stance="planned",
        referenced_date="2026-03-03",
    )
    life.observe(here, plan)
    life.compact(here)
    life.pass_days(5)


def dated_text(life: Life) -> None:
    """Let a letter say a day."""
    here = life.talk()
    said = life.exchange(here, "> Enrolment closes on 18 March.")
    letter = replace(
        stated("Enrolment closes on 18 March", [said.id]),
        stance="quoted",
        referenced_date="2026-03-18",
    )
    life.observe(here, letter)
    life.compact(here)


def a_question(life: Life, kind: str, text: str, source: str, noted_on: str | None = None) -> None:
    """Let a text wait that is no note yet."""
    row = {"uid": new_uid(), "kind": kind, "text": text, "source": source, "noted_on": noted_on}
    insert(life.db, "questions", {**row, "created_at": life.tick()})


def listed(life: Life) -> None:
    """Let a fact from another program's list wait."""
    a_question(life, "list", "Sings alto", "memories.json", "2025-01-02")


def proposed(life: Life) -> None:
    """Let another program's proposal wait."""
    a_question(life, "proposal", "User prefers tabs", "zed")


def request(life: Life) -> None:
    """Let the user have asked to forget something."""
    here = life.talk()
    note = life.learn(here, "User failed an exam")
    with transaction(life.db):
        cycle = int(life.db.execute("SELECT max(id) FROM cycles").fetchone()[0])
        questions.add_forget(life.db, cycle, [note.id], [], life.tick())
        questions.withhold_committed(life.db, here, life.tick())


def only(life: Life) -> Item:
    """Return the one thing that waits."""
    (waiting,) = review.waiting(ctx(life))
    item = review.next_item(ctx(life), ())
    assert item is not None
    assert item.waiting == waiting
    return item


def state(life: Life) -> list[tuple[object, ...]]:
    """Return what counts of the notes and questions."""
    notes = [
        (
            o.content,
            o.state,
            o.stance,
            o.origin,
            o.withheld,
            o.id in flagged(life.db, Flag.DOUBTFUL),
        )
        for o in unsuperseded(life.db)
    ]
    return [*sorted(notes), *(one.key for one in review.waiting(ctx(life)))]


WAITING: dict[Callable[[Life], None], tuple[str, str]] = {
    request: ("forget", "User failed an exam"),
    doubtful: ("doubtful", "User takes tram 28 to work"),
    stand_in: ("stand-in", "I swim every week."),
    lost_line: ("stand-in", "The clinic is in Rua Augusta"),
    past_plan: ("outcome", "User sees the dentist on 3 March"),
    dated_text: ("text", "Enrolment closes on 18 March"),
    listed: ("list", "Sings alto"),
    proposed: ("proposal", "User prefers tabs"),
}
EDITS = [
    (make, answer)
    for make in WAITING
    for answer in (Answer.KEEP, Answer.EDIT, Answer.UNTRUE, Answer.WITHHOLD)
    if (answer == Answer.WITHHOLD) == (make is request) or answer == Answer.KEEP
]


@pytest.mark.parametrize("make", WAITING)
def test_each_kind_is_listed(life: Life, make: Callable[[Life], None]) -> None:
    """With its words, why it waits and since when; no question waits where there is none."""
    make(life)
    (shown,) = list_json(review.waiting(ctx(life)))
    assert (shown["kind"], shown["text"]) == WAITING[make]
    assert shown["why"].endswith((".", "”"))
    assert shown["since"]
    assert count_waiting(life.db) == int(shown["kind"] not in {"outcome", "text"})
    assert "q leave" in answers_line(only(life).waiting)


@pytest.mark.parametrize(("make", "answer"), EDITS)
def test_each_answer_is_an_edit_that_undo_takes_back(
    life: Life, make: Callable[[Life], None], answer: Answer
) -> None:
    """Afterwards nothing waits; undone, all is as before."""
    make(life)
    before = state(life)
    review.answer(ctx(life), only(life), answer, "Rosa said so in May")
    assert review.waiting(ctx(life)) == []
    assert state(life) != before
    with transaction(life.db):
        assert violations(life.db) == []
    undone = undo(life.db, life.clock)
    assert undone.cycle.kind == "edit"
    assert state(life) == before
    with transaction(life.db):
        assert violations(life.db) == []


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (doubtful, ("User takes tram 28 to work", "stated", "worker")),
        (stand_in, ("I swim every week.", "stated", "worker")),
        (lost_line, ("The clinic is in Rua Augusta", "stated", "user")),
        (past_plan, ("User sees the dentist on 3 March (done)", "stated", "user")),
        (dated_text, ("Enrolment closes on 18 March", "planned", "user")),
        (listed, ("Sings alto", "stated", "import")),
        (proposed, ("User prefers tabs", "quoted", "door")),
    ],
)
def test_what_is_kept(life: Life, make: Callable[[Life], None], kept: tuple[str, str, str]) -> None:
    """The note has the origin and the stance that the contract gives it."""
    make(life)
    note = review.answer(ctx(life), only(life), Answer.KEEP)
    assert note is not None
    assert (note.content, note.stance, note.origin) == kept


@pytest.mark.parametrize("make", [make for make in WAITING if make not in {request, past_plan}])
def test_a_pin_keeps_and_pins(life: Life, make: Callable[[Life], None]) -> None:
    """It is settled, and no reflector changes it."""
    make(life)
    note = review.answer(ctx(life), only(life), Answer.PIN)
    assert note is not None
    assert observation(life.db, note.id).pinned
    assert review.waiting(ctx(life)) == []


@pytest.mark.parametrize("make", WAITING)
def test_what_is_forgotten_is_gone(life: Life, make: Callable[[Life], None]) -> None:
    """No note and no question has its words any more; undo brings nothing back."""
    make(life)
    item = only(life)
    words = item.waiting.text
    review.answer(ctx(life), item, Answer.FORGET)
    assert review.waiting(ctx(life)) == []
    tables = [
        *life.db.execute("SELECT content FROM observations"),
        *life.db.execute("SELECT text FROM questions"),
    ]
    assert words not in str(tables)
    with transaction(life.db):
        assert violations(life.db) == []


@pytest.mark.parametrize("make", WAITING)
def test_later_leaves_it(life: Life, make: Callable[[Life], None]) -> None:
    """It waits as before, and a request to forget is not asked about at the prompt again."""
    make(life)
    before = state(life)
    review.answer(ctx(life), only(life), Answer.LATER)
    assert state(life) == before
    assert review.next_request(ctx(life)) is None


def test_a_doubtful_note_says_what_changed(life: Life) -> None:
    """The words of the newer note."""
    doubtful(life)
    assert only(life).waiting.why.endswith("may have made this untrue: “User lives in Porto now”")


def test_what_the_model_kept_on_its_own_is_said_to_be_that(life: Life) -> None:
    """It is doubtful although nothing has changed."""
    life.learn(life.talk(), "User lives in Porto")
    note = life.learn(life.talk(), "User likes figs")
    with transaction(life.db):
        life.db.execute("UPDATE observations SET origin = 'assistant' WHERE id = ?", (note.id,))
        set_flag(life.db, note.id, Flag.DOUBTFUL, note.cycle_id)
        questions.add_doubtful(life.db, note.cycle_id, note.id, life.tick())
    assert only(life).waiting.why.startswith("The model kept this")


def test_all_kinds_come_in_the_order_of_the_contract(life: Life) -> None:
    """Whatever came first."""
    for make in reversed(WAITING):
        make(life)
    kinds = [one.kind for one in review.waiting(ctx(life))]
    order = [*WaitingKind]
    assert kinds == sorted(kinds, key=order.index)
    assert len(kinds) == len(WAITING)


def test_a_question_whose_note_was_edited_elsewhere_waits_no_more(life: Life) -> None:
    """Undoing that edit lets it wait again."""
    doubtful(life)
    item = only(life)
    assert item.note is not None
    edit(life.db, item.note.id, "User walks to work", life.clock)
    assert review.waiting(ctx(life)) == []
    undo(life.db, life.clock)
    assert only(life).waiting.key == item.waiting.key


def test_forgetting_a_kept_proposal_forgets_its_question(life: Life) -> None:
    """Its words were in both."""
    proposed(life)
    review.answer(ctx(life), only(life), Answer.KEEP)
    (note,) = unsuperseded(life.db)
    forget(life.db, ("observation", note.id), life.clock, words=False)
    assert "prefers tabs" not in "\n".join(life.db.iterdump())


def test_rules_hold_for_what_is_kept(life: Life) -> None:
    """A list's fact with a word that the rules forbid makes no note."""
    listed(life)
    rules = life.path.with_name("rules.md")
    rules.write_text("never: alto")
    use_rules(life.db, rules)
    assert review.answer(ctx(life), only(life), Answer.KEEP) is None
    assert unsuperseded(life.db) == []


def test_a_reminder_that_was_not_delivered_waits(life: Life) -> None:
    """Until the user says that they have seen it."""
    here = life.talk()
    said = life.exchange(here, "Remind me to call Rosa tomorrow at nine.")
    plan = replace(stated("Call Rosa", [said.id]), stance="planned",
                   referenced_date="2026-03-02", referenced_time="09:00")  # fmt: skip
    (note,) = life.observe(here, plan)
    life.compact(here)
    reminders.claim(life.db, note.id, "2026-03-02 08:00", 1.0)
    reminders.note_failed(life.db, note.id, "2026-03-02 08:00", life.tick())
    assert only(life).waiting.kind == "reminder"
    review.answer(ctx(life), only(life), Answer.KEEP)
    assert review.waiting(ctx(life)) == []


def test_what_was_learned_comes_last_and_once(life: Life) -> None:
    """Note by note: who leaves goes on where they left."""
    here = life.talk()
    for name in ("Ana", "Rui", "Zoe"):
        life.learn(here, f"{name} lives in Porto")
    found = review.learned(ctx(life))
    assert [one.text[:3] for one in found] == ["Ana", "Rui", "Zoe"]
    first = review.next_item(ctx(life), (), of_learned=True)
    assert first is not None
    assert [m.text for m in first.messages] == ["Ana lives in Porto"]
    review.answer(ctx(life), first, Answer.KEEP)
    assert [one.text[:3] for one in review.learned(ctx(life))] == ["Rui", "Zoe"]
    second = review.next_item(ctx(life), (), of_learned=True)
    assert second is not None
    review.answer(ctx(life), second, Answer.UNTRUE)
    assert [o.content[:3] for o in unsuperseded(life.db)] == ["Ana", "Zoe"]


def test_the_evening_says_what_was_learned(life: Life) -> None:
    """Notes, plans and questions since a chat began, in one line; nothing if there is nothing."""
    assert evening_line(review.evening(ctx(life), 0)) == ""
    here = life.talk()
    life.learn(here, "Ana lives in Porto")
    dated_text(life)
    past_plan(life)
    listed(life)
    assert evening_line(review.evening(ctx(life), 0)) == (
        "2 new notes, 1 plan; 1 question waits for you: `construct review`"
    )


def test_answers_survive_export_and_import(life: Life, tmp_path: Path) -> None:
    """Also which edit gave them: undo asks again there."""
    listed(life)
    review.answer(ctx(life), only(life), Answer.KEEP)
    parts: list[str] = []
    export_jsonl(life.db, parts.append)
    (tmp_path / "elsewhere").mkdir()
    copy = new_database(tmp_path / "elsewhere" / "b.db")
    bring(copy, tmp_path / "elsewhere", "".join(parts), life.tick())
    assert count_waiting(copy) == 0
    assert [o.content for o in unsuperseded(copy)] == ["Sings alto"]
    undo(copy, life.clock)
    assert count_waiting(copy) == 1
    copy.close()


def test_a_kept_text_reminds_only_then(life: Life) -> None:
    """A letter's date is in the agenda as a text's, and never reminds before it is kept."""
    dated_text(life)
    today = life.clock.today()
    assert [i.note.stance for i in agenda_items(dated_notes(life.db), today)] == [Stance.QUOTED]
    assert reminders.reminding_notes(life.db, today) == []
    review.answer(ctx(life), only(life), Answer.KEEP)
    assert len(reminders.reminding_notes(life.db, today)) == 1
