"""Views: data in, lines out.

Nothing in them can move a cursor, and they fit their width.
"""

import re
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from rich.console import RenderableType
from rich.text import Text

from construct.chat.commands import all_commands
from construct.chat.commands.help import HelpView, everyday_view
from construct.clock import Clock, from_text
from construct.llm.types import ChatMessage, Request, Tool
from construct.llm.types import Text as Words
from construct.memory.agenda import agenda_items, worth_mentioning
from construct.memory.forgetting import ForgetPlan, Forgotten
from construct.memory.graph.reading import Branch, Tree
from construct.memory.recall.search import Hit
from construct.memory.trace import LifeEvent, Trace, TraceNode
from construct.memory.undo import Undone
from construct.operations.cost_report import CostReport, Estimate, cost_by_day
from construct.operations.forgetting import Undo
from construct.operations.history import Diff, Generations, PeriodSummary
from construct.operations.memory import MemoryList
from construct.operations.memory_filter import MemoryFilter
from construct.operations.search import SearchResult
from construct.operations.status import NextRequest, Progress, Status, Watermark, Work
from construct.operations.why import MessageTrace
from construct.store.agenda import DatedNote
from construct.store.conversations import ConversationSummary
from construct.store.messages import MessageCounts
from construct.store.note_history import Generation
from construct.store.observations import Count
from construct.store.records import Conversation, Cycle, Message, Observation, Watermarks
from construct.store.usage import Spent, UsageLine
from construct.views.console import to_ansi, to_text
from construct.views.context import context_view
from construct.views.conversations import conversations_view
from construct.views.due import due_view
from construct.views.forgetting import (
    forget_plan_view,
    forget_question,
    forgotten_view,
    undone_view,
)
from construct.views.history import diff_view, generations_view, timeline_view
from construct.views.hits import search_view
from construct.views.memory import graph_view, memory_list_view, nothing_listed
from construct.views.status import status_view, watermarks_view
from construct.views.themes import LIGHT, PLAIN
from construct.views.usage import usage_view
from construct.views.why import why_view
from construct.views.words import ago, counted, money, money_in_table, percent
from construct.vocabulary import Mode, Phase, Provider

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
CLOCK = Clock(NOW, UTC)
TODAY = date(2026, 3, 10)
EVIL = "evil\x1b]0;t\x07\x1b[2J\x9b1m\u202etext\r\nnext"
STAMP = "2026-03-09T08:30:00.000000+00:00"


def observation(number: int, content: str = "User likes tea", **more: Any) -> Observation:
    """Return an active observation."""
    values: dict[str, Any] = {
        "id": number,
        "uid": str(number),
        "conversation_id": 1,
        "content": content,
        "priority": "medium",
        "stance": "stated",
        "observation_date": "2026-03-09",
        "referenced_date": None,
        "generation": 0,
        "cycle_id": 1,
        "token_count": 10,
        "pinned": 0,
        "created_at": STAMP,
        "committed_at": STAMP,
        "superseded_at": None,
        "superseded_by": None,
        "origin": "worker",
        "asked_at": None,
    }
    return Observation(**(values | more))


def message(number: int, content: str = "I like tea.", role: str = "user") -> Message:
    """Return a message."""
    return Message(number, "u", 1, role, content, None, "complete", 0, 5, STAMP, None, None, 0, 0)


def conversation(number: int, title: str | None = "Tea", **more: Any) -> Conversation:
    """Return a conversation."""
    values: dict[str, Any] = dict.fromkeys(Conversation._fields)
    return Conversation(
        **(values | {"id": number, "uid": "u", "title": title, "created_at": STAMP} | more)
    )


def cycle(kind: str = "observer") -> Cycle:
    """Return a finished cycle."""
    values: dict[str, Any] = dict.fromkeys(Cycle._fields)
    return Cycle(
        **(
            values
            | {
                "id": 7,
                "conversation_id": 1,
                "uid": "u",
                "kind": kind,
                "status": "succeeded",
                "model": EVIL,
                "started_at": STAMP,
            }
        )
    )


def status(**more: Any) -> Status:
    """Return the panel of a memory in use."""
    progress = Progress(1240, 3000)
    values: dict[str, Any] = {
        "mode": Mode.ACTIVE,
        "phase": Phase.OBSERVING,
        "provider": Provider.ANTHROPIC,
        "work": work(),
        "here": None,
        "observation": progress,
        "compaction": progress,
        "reflection": progress,
        "messages": MessageCounts(total=1048, unobserved=6, window=12),
        "watermarks": Watermarks(observed=1),
        "committed": {0: Count(10, 250), 1: Count(2, 60)},
        "pending": Count(3, 80),
        "superseded": 4,
    }
    return Status(**(values | more))


def work(**more: Any) -> Work:
    """Return nothing unusual."""
    values: dict[str, Any] = {
        "worker": "claude-haiku-5-5",
        "worker_reason": "",
        "now": from_text(STAMP) + timedelta(seconds=7),
        "spent_usd": 0.02,
        "limit_usd": 1.0,
    }
    return Work(**(values | more))


def listed(*observations: Observation, **more: Any) -> MemoryList:
    """Return a list of what is remembered today."""
    values: dict[str, Any] = {"filter": MemoryFilter(), "today": TODAY}
    return MemoryList(observations, **(values | more))


def undo(changes: Undone, *, is_here: bool = True) -> Undo:
    """Return what was taken back, in this conversation or another."""
    return Undo(changes, None, is_here, is_of_archived=False, learns=True)


def trace(
    o: Observation, below: tuple[Observation, ...] = (), messages: tuple[Message, ...] = ()
) -> Trace:
    """Return where an observation comes from."""
    nodes = tuple(TraceNode(b, messages, ()) for b in below)
    tree = TraceNode(o, () if below else messages, nodes)
    return Trace(o, below, messages, tree, (LifeEvent(STAMP, "said", EVIL),))


def plan(**more: Any) -> ForgetPlan:
    """Return what forgetting would take along."""
    values: dict[str, Any] = {
        "words": False,
        "observations": (observation(1, EVIL),),
        "reactivated": (observation(2, EVIL),),
        "messages": (message(1),),
        "replies": (message(2),),
        "conversations": (),
        "cycles": (),
        "marks": (EVIL, "tea"),
        "elsewhere": 3,
        "alike": 1,
    }
    return ForgetPlan(**({field.name: () for field in fields(ForgetPlan)} | values | more))


def request() -> Request:
    """Return what a model would be sent."""
    messages = (
        ChatMessage(
            "user",
            (
                Words("<observations>\n! [2026-03-01] x\n</observations>", True, "observations"),
                Words(EVIL),
            ),
        ),
        ChatMessage("assistant", (Words("long " * 200),)),
        ChatMessage(
            "user",
            (Words("and now?", mark=True), Words("<ambient>\nNow\n</ambient>", part="ambient")),
        ),
    )
    return Request((Words("You are.", mark=True),), messages, (Tool("recall", "Search.", {}),))


def summary(number: int, title: str | None = "Tea") -> ConversationSummary:
    """Return a line of the list of conversations."""
    return ConversationSummary(
        conversation(number, title, parent_id=2 if number == 3 else None), 1200, STAMP, EVIL
    )


USAGE = [
    UsageLine("chat", "claude-sonnet-5-5", 1200, 12_345_678, 2_345_678, 345_678, 45_678, 3.21),
    UsageLine("observer", EVIL, 3, 10, 0, 0, 5, None),
]
SPENT = [
    Spent("2026-03-08T23:30:00+00:00", "chat", 10, 0.3),
    Spent(STAMP, "chat", 10, None),
    Spent(STAMP, "graph", 10, 0.1),
]
COSTS = CostReport(USAGE, [], cost_by_day(SPENT, CLOCK), 0.4, Estimate(20, 0.5, 1.6, 3))
WEEKS = [
    PeriodSummary(date(2026, 2, 9), {"low": 12}, 0, 0, 0, {0: 12}),
    PeriodSummary(date(2026, 2, 16), {}, 0, 0, 0, {0: 12}),
    PeriodSummary(date(2026, 2, 23), {"low": 3}, 9, 2, 1, {0: 6, 1: 2}),
    PeriodSummary(date(2026, 3, 2), {}, 1, 0, 0, {0: 5, 1: 2}),
    PeriodSummary(date(2026, 3, 9), {}, 0, 0, 0, {0: 5, 1: 2}),
]
SINCE = datetime(2026, 3, 1, tzinfo=UTC)
UNDONE = Undone(cycle(), (observation(1, EVIL),), (observation(2),), 0)
DIFF = Diff(
    (observation(1, EVIL),),
    ((observation(2), observation(3)),),
    (observation(4, EVIL),),
    SINCE,
    None,
    2,
    2,
)
HITS = [
    Hit("message", 5, 1, "2026-03-01", EVIL, 1.0, role="user"),
    Hit("observation", 6, 1, "2026-03-01", "x " * 300, 0.5),
]
MADE = [Generation(0, 1200, 1000, 24_000, 3, 197), Generation(1, 12, 12, 300, 0, 0)]
NEWEST = [observation(2, EVIL, generation=1)]
HELP = HelpView(all_commands().groups)
VIEWS: dict[str, RenderableType] = {
    "status": status_view(
        status(
            work=work(running=(cycle(),), worker=EVIL, held_tokens=9, spent_usd=2),
            here=summary(1, EVIL),
        )
    ),
    "memory": memory_list_view(
        listed(
            *(observation(n, EVIL, pinned=1, stance="planned") for n in (1, 2)),
            filter=MemoryFilter(words=("x",)),
        ),
        shown=listed(observation(2, EVIL, pinned=1, stance="planned")),
    ),
    "generations": generations_view(
        Generations(tuple(MADE), tuple(NEWEST), {2: [1]}, (EVIL,)), TODAY
    ),
    "timeline": timeline_view(WEEKS, 2),
    "help": everyday_view(all_commands()),
    "help all": HELP,
    "watermarks": watermarks_view(
        [Watermark("observed", message(3, EVIL), 2), Watermark("window", None, 4)], CLOCK
    ),
    "context": context_view(NextRequest(request(), EVIL, 200_000)),
    "context full": context_view(NextRequest(request(), "m", 200_000), full=True),
    "usage": usage_view(COSTS),
    "conversations": conversations_view([summary(1), summary(2, EVIL), summary(3, None)], CLOCK, 2),
    "hits": search_view(SearchResult("porto", HITS)),
    "diff": diff_view(DIFF, CLOCK),
    "why": why_view(
        trace(observation(3, EVIL), (observation(1, EVIL),), (message(1, EVIL),)), CLOCK
    ),
    "why message": why_view(MessageTrace(message(1, EVIL), (observation(1, EVIL),)), CLOCK),
    "graph": graph_view(
        Tree(
            EVIL,
            "person",
            (EVIL,),
            (Branch(EVIL, True, "2026-01-01", "2026-02-01", 3, Tree("Rui", None, ())),),
        )
    ),
    "forget": forget_plan_view(plan(), TODAY),
    "forget words": forget_plan_view(
        plan(words=True, messages=tuple(message(n, EVIL) for n in range(1, 20))), TODAY
    ),
    "undo": undone_view(undo(UNDONE), TODAY),
}


@pytest.mark.parametrize("name", ["timeline", "generations", "usage", "context"])
def test_bars_are_in_the_colour_of_the_theme(name: str) -> None:
    """On a known background, bars have the theme's colours.

    Otherwise they would be the terminal's magenta.
    """
    drawn = to_ansi(VIEWS[name], 80, LIGHT)
    assert "\x1b[38;5;91m" in drawn
    assert "\x1b[35" not in drawn


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", VIEWS)
def test_fits_its_width_and_is_printable(name: str, width: int) -> None:
    """No line is too wide, ends in blanks, or holds control characters."""
    plain = to_ansi(VIEWS[name], width, PLAIN)
    assert plain.endswith("\n")
    for line in plain.splitlines():
        assert len(line) <= width
        assert line == line.rstrip()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", plain)
    colours = re.sub(r"\x1b\[[\d;]*m", "", to_ansi(VIEWS[name], width))
    assert "\x1b" not in colours


def test_no_colours_where_none_are_wanted() -> None:
    """A plain rendering has no escape sequence at all.

    Otherwise there are only the sixteen colours.
    """
    assert "\x1b" not in to_text(Text("x", style="bold red"))
    assert "\x1b[1;31m" in to_ansi(Text("x", style="error"), 80)


def test_memory_is_grouped_by_day() -> None:
    """Observations stand under their day with all their marks.

    Those are sign, id, stance, generation, pin and state.
    """
    found = [
        observation(1, "Quoted", stance="quoted", priority="low", origin="user"),
        observation(
            2, "Trip", stance="planned", referenced_date="2026-03-08", pinned=1, generation=2
        ),
        observation(5, "Newest", observation_date="2026-03-10", priority="high", committed_at=None),
    ]
    lines = to_text(
        memory_list_view(listed(*found, filter=MemoryFilter(("high",), ("planned",))))
    ).splitlines()
    assert lines == [
        "Monday 2026-03-09  yesterday",
        "  ~ 1 Quoted  quoted · yours",
        "  - 2 Trip  planned · for 2026-03-08 · outcome unknown · generation 2 · pinned",
        "",
        "Tuesday 2026-03-10  today",
        "  ! 5 Newest  pending",
        "",
        "3 observations · high · planned · 1 pending, 1 outcome unknown, 1 pinned, 1 reflection",
    ]
    cut = memory_list_view(listed(*found), shown=listed(*found[1:]))
    assert "3 observations" in to_text(cut)
    assert "1 older not shown. /memory all" in to_text(cut)


def test_nothing_yet() -> None:
    """Where there is nothing, the views say so."""
    assert "/compact observes those of the current conversation" in nothing_listed(listed())
    assert "`construct observe` learns from" in nothing_listed(listed(unobserved=3))
    assert "no observations yet" in to_text(generations_view(Generations((), (), {}, ()), TODAY))
    assert "no observations yet" in to_text(timeline_view([]))
    assert "no conversations" in to_text(conversations_view([], CLOCK))
    assert "Nothing was found" in to_text(search_view(SearchResult("x", [])))
    assert "No observation changed since 2026-03-01." in to_text(
        diff_view(Diff((), (), (), SINCE), CLOCK)
    )
    assert "No model has been called" in to_text(usage_view(CostReport([], [], [], 0, None)))


def test_context_abbreviates_unless_all_is_wanted() -> None:
    """A long text is shown with its beginning and end.

    In full every word of it is there; marks are shown.
    """
    short = to_text(VIEWS["context"])
    assert "characters …" in short
    for part in (
        r"observations .* 12 +4% +1 block\n",
        r"window .* 260 +92% +3 messages\n",
        r"ambient .* 6 +2%",
    ):
        assert re.search(part, short)
    full = to_text(VIEWS["context full"])
    assert full.count("long") == 200
    assert full.count("◄") == 4
    assert "recall: Search." in full


def test_diff_puts_old_and_new_together() -> None:
    """What was learned has a plus, what is gone a minus, a change has both.

    The old line comes first.
    """
    lines = [line.strip() for line in to_text(diff_view(DIFF, CLOCK)).splitlines()]
    assert lines[lines.index("Changed") + 1].startswith("- 2 ")
    assert lines[lines.index("Changed") + 2].startswith("+ 3 ")
    assert lines[-1] == "1 learned, 1 changed, 1 gone · since 2026-03-01 · 2 known now, 2 before"


def test_why_goes_down_to_the_words() -> None:
    """The tree leads from a reflection to the messages and says what became of it."""
    found = trace(
        observation(3, "Both", generation=1), (observation(1), observation(2)), (message(8),)
    )
    text = to_text(why_view(found, CLOCK))
    assert text.splitlines()[0].startswith("- 3 Both")
    assert text.count("message:8 “I like tea.”") == 2
    assert "said  " in text


def test_the_graph_is_a_tree() -> None:
    """Each relation points to the other end, what no longer holds says until when."""
    home = Branch("lives in", True, "2026-01-01", None, 4, Tree("Porto", None, ()))
    rosa = Tree("Rosa", "person", ("Rosinha",), (home,))
    user = Tree(
        "User", None, (), (Branch("sister of", False, "2026-01-01", "2026-02-01", 3, rosa),)
    )
    assert to_text(graph_view(user)).splitlines() == [
        "User",
        "└── ← sister of Rosa (person, also Rosinha)  2026-01-01 to 2026-02-01 · 3",
        "    └── lives in → Porto  since 2026-01-01 · 4",
    ]


def test_a_hub_does_not_flood_the_screen() -> None:
    """Of many relations the first are drawn, the others counted."""
    many = tuple(
        Branch("knows", True, "2026-01-01", None, n, Tree(f"Rui {n}", None, ())) for n in range(300)
    )
    hub = Branch("knows", True, "2026-01-01", None, 1, Tree("Rosa", None, (), many))
    assert "and 260 more" in to_text(graph_view(Tree("User", None, (), many)))
    assert len(to_text(graph_view(Tree("User", None, (), (hub,)))).splitlines()) == 9


def test_forgetting_says_what_stays() -> None:
    """The plan tells what of the same words stays, and what --words would do."""
    text = to_text(forget_plan_view(plan(), TODAY))
    assert "3 other messages" in text
    assert "To empty them too, answer n" in text
    emptying = to_text(
        forget_plan_view(
            plan(words=True, messages=(message(1, "I owe Rui 900"),), beside=(8, 9)), TODAY
        )
    )
    assert "would become “[removed]”." in emptying
    assert "message:1 you “I owe Rui 900”" in emptying
    assert "This would stay: observations 8, 9, drawn from the same messages." in emptying
    counts: dict[str, Any] = dict.fromkeys((field.name for field in fields(Forgotten)), 0)
    gone = Forgotten(**(counts | {"observations": 2, "relations": 3, "pending_erasure": True}))
    assert forgotten_view(gone).startswith(
        "Deleted: 2 observations, 3 relations. What was deleted is still in"
    )
    emptied = Forgotten(**(counts | {"observations": 1, "emptied": 2, "beside": (8,)}))
    assert forgotten_view(emptied) == (
        "Deleted: 1 observation, every word of 2 messages. "
        "Kept: observation 8, drawn from the same messages."
    )
    bare: dict[str, Any] = {"observations": (), "reactivated": ()}
    withheld = to_text(forget_plan_view(plan(**bare), TODAY))
    assert withheld.strip("\n") == withheld.rstrip("\n")
    assert "deleted" not in withheld
    assert to_text(forget_plan_view(plan(words=True, **bare), TODAY)).startswith(
        "Every word of these would be deleted:\n  message:1"
    )
    assert (
        forget_question(plan(**bare))
        != forget_question(plan())
        == forget_question(plan(words=True, **bare))
    )
    assert (
        forgotten_view(Forgotten(**(counts | {"messages": 2})))
        == "No longer recalled or sent to the model: 2 messages."
    )


@pytest.mark.parametrize("width", [24, 40, 80])
def test_what_is_due_is_never_cut(width: int) -> None:
    """Neither when it is due nor a word of the plan, however narrow the terminal."""
    notes = [
        DatedNote(1, "User calls the dentist in Porto about the crown", "planned", "2026-03-10"),
        DatedNote(2, EVIL, "planned", "2026-03-11"),
        DatedNote(3, "Tea with Rui", "planned", "2026-03-08"),
    ]
    items = worth_mentioning(agenda_items(notes, TODAY), TODAY)
    shown = to_text(due_view(items, TODAY), width)
    assert all(len(line) <= width for line in shown.splitlines())
    said = " ".join(shown.split())
    assert "· Due today: User calls the dentist in Porto about the crown · Due tomorrow" in said
    assert said.endswith("· Outcome unknown (2 days ago): Tea with Rui")


def test_words() -> None:
    """Numbers, money, shares, times and titles read as people write them."""
    assert [counted(1, "line"), counted(1240, "line")] == ["1 line", "1,240 lines"]
    assert [counted(0, "memory"), counted(2, "day"), counted(1, "reply")] == [
        "0 memories",
        "2 days",
        "1 reply",
    ]
    assert [money(None), money(0), money(0.00123), money(12.5)] == [
        "unknown",
        "$0.00",
        "$0.0012",
        "$12.50",
    ]
    assert (money_in_table(0.0021, 0.5), money_in_table(0.5, 0.5)) == ("$0.0021", "$0.5000")
    assert (money_in_table(0.5, 12.0), money_in_table(0.0, 0.0)) == ("$0.50", "$0.00")
    assert [percent(0), percent(0.001), percent(0.005), percent(0.414), percent(5.9)] == [
        "0%",
        "<1%",
        "<1%",
        "41%",
        "590%",
    ]
    assert [ago(NOW.isoformat(), CLOCK), ago(STAMP, CLOCK)] == ["just now", "1 day ago"]
    untitled = [
        ConversationSummary(conversation(4, None), 0, STAMP, said) for said in (None, "Hello there")
    ]
    assert [one.name for one in untitled] == ["conversation 4", "Hello there"]


def test_a_plan_to_forget_counts_what_it_does_not_list() -> None:
    """The first of each kind are listed, and how many more there are."""
    many = {"observations": 15, "reactivated": 16, "messages": 18}
    made = {
        "observations": observation(1),
        "reactivated": observation(2),
        "messages": message(1),
    }
    shown = to_text(
        forget_plan_view(
            plan(words=True, replies=(), **{k: (made[k],) * n for k, n in many.items()}), TODAY
        )
    )
    assert re.findall(r"and (\d+) more", shown) == ["3", "6", "4"]
