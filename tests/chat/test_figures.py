"""Views of figures: the panel, usage, the timeline, small screens, undo."""

import re
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import pytest
from rich.console import Group

from construct.chat.commands import all_commands
from construct.chat.commands.help import everyday_view
from construct.clock import Clock
from construct.memory.cycles.commit import Compacted
from construct.memory.learning.proposals import ProposedObservation
from construct.memory.learning.reflection_checks import Change, ChangeKind, Reflection
from construct.memory.recall.search import Hit
from construct.operations.cost_report import cost_by_day
from construct.operations.learning import CompactResult
from construct.operations.search import SearchResult
from construct.operations.status import Progress
from construct.program import in_shell_or_chat, write_commands_as
from construct.store.usage import Spent
from construct.views.console import to_ansi, to_text
from construct.views.forgetting import undone_view
from construct.views.history import timeline_view
from construct.views.hits import search_view
from construct.views.learning import compact_view
from construct.views.messages import echo_view, replayed
from construct.views.status import status_notes, status_view
from construct.views.themes import PLAIN
from construct.views.usage import usage_view
from construct.vocabulary import CycleStatus, Match, Mode, Phase
from tests.chat.test_views import (
    CLOCK,
    COSTS,
    HELP,
    NOW,
    SPENT,
    STAMP,
    TODAY,
    UNDONE,
    VIEWS,
    WEEKS,
    cycle,
    message,
    status,
    undo,
    work,
)


def progress(
    observation: float, compaction: float = 0.0, reflection: float = 0.0
) -> dict[str, Progress]:
    """Return meters that stand at these ratios of a thousand tokens."""
    ratios = {"observation": observation, "compaction": compaction, "reflection": reflection}
    return {name: Progress(int(ratio * 1000), 1000) for name, ratio in ratios.items()}


def test_the_panel_says_where_memory_stands() -> None:
    """The panel names mode, phase, counts, what is in flight and the next steps."""
    at_work = cycle()._replace(model="claude-haiku-5-5", first_message_id=3, last_message_id=9)
    text = to_text(status_view(status(work=work(running=(at_work,)))))
    for part in (
        "active",
        "observing",
        "41%",
        "1,240 of 3,000",
        "12 in sight (310 tokens)",
        "3 pending (80)",
        "4 superseded",
        "2 of these (60 tokens)",
        "12 in the window",
        "6 unobserved",
        "observer on messages 3 to 9, claude-haiku-5-5, 7 s",
        "claude-haiku-5-5 · $0.0200 today, at most $1.00 a day",
    ):
        assert part in text
    by_rule = at_work._replace(model="extractive")
    assert "3 to 9, without a model, 7 s" in to_text(
        status_view(status(work=work(running=(by_rule,))))
    )
    idle = to_text(status_view(status(phase=Phase.IDLE, mode=Mode.OFF)))
    assert "no memory work running" in idle
    assert "in flight     nothing" in idle
    assert "neither shown nor learned" in idle
    local = work(
        worker="qwen", has_price=False, spent_usd=0.0, tokens=1_200, limit_tokens=2_000_000
    )
    assert to_text(status_view(status(work=local))).endswith(
        "qwen · 1,200 tokens today, at most 2,000,000 a day"
    )
    without = work(worker="extractive", has_price=False, spent_usd=0.0)
    assert to_text(status_view(status(work=without))).endswith("extractive")


@pytest.mark.parametrize(
    ("at", "more", "said"),
    [
        (progress(0.9, 0.9, 0.9), {}, []),
        (progress(1.2), {}, ["observation run is due"]),
        (progress(1.2), {"running": (cycle(),)}, []),
        (progress(0, 0, 1.6), {"running": (cycle("reflector"),)}, []),
        (
            progress(0, 0, 1.6),
            {},
            ["reflection is due. It starts with your next message, or when you run /compact."],
        ),
        (
            progress(1.2, 0.5),
            {"held_tokens": 700},
            ["will be read again after 700 more tokens"],
        ),
        (
            progress(1.2, 1.1),
            {"held_tokens": 1},
            ["after 1 more token of talk, or when you run /compact. Compaction waits"],
        ),
        (
            progress(0, 0, 1.1),
            {},
            ["runs with the next compaction, or at 1,500 tokens at the latest"],
        ),
        (
            progress(0, 0, 1.1),
            {"reflect_from": 1200},
            ["saved little. The next is due at 1,200"],
        ),
        (
            progress(0, 0, 1.1),
            {"reflect_from": 2100, "last_reflection": CycleStatus.REVERTED},
            ["was undone. The next is due at 2,100"],
        ),
        (
            progress(0, 0, 1.1),
            {"reflect_from": 1200, "last_reflection": CycleStatus.FAILED},
            ["condensed nothing. The next is due at 1,200"],
        ),
        (
            progress(0),
            {"spent_usd": 1.0, "reached": "CONSTRUCT_WORKER_DAILY_USD"},
            ["has cost $1.00 today", "Until midnight, observations are made by fixed rules"],
        ),
        (progress(0), {"reached": "CONSTRUCT_WORKER_DAILY_USD", "worker": "extractive"}, []),
    ],
)
def test_the_panel_explains_what_the_bars_do_not(
    at: dict[str, Progress], more: dict[str, Any], said: list[str]
) -> None:
    """What is due, held, waiting or past the daily limit is said in words."""
    notes = " ".join(status_notes(status(**at, work=work(**more))))
    assert all(part in notes for part in said)
    assert bool(notes) is bool(said)
    assert not list(status_notes(status(**at, mode=Mode.OFF, work=work(**more))))


def test_the_panel_in_the_shell_names_the_chat_for_its_commands() -> None:
    """The shell has no command that opens the rules."""
    left_out = status(work=work(left_out=2))
    assert list(status_notes(left_out))[-1].endswith("so far. /rules opens the rules.")
    write_commands_as(in_shell_or_chat)
    assert list(status_notes(left_out))[-1].endswith("so far. /rules in a chat opens the rules.")


def test_usage_sums_up() -> None:
    """The sum counts every figure.

    An unknown price is said and makes the sum a lower bound.
    """
    text = to_text(usage_view(COSTS))
    assert "15,037,044" in text
    assert "unknown" in text
    assert "$3.21+" in text


def test_unknown_prices_are_not_shown_as_nothing() -> None:
    """With no known price there is no table by day; a day on which all was free is listed."""
    unknown, free = Spent(STAMP, "chat", 10, None), Spent(STAMP, "chat", 10, 0.0)
    paid, graph = Spent(STAMP, "chat", 10, 0.5), Spent(STAMP, "graph", 10, 0.1)

    def day(*spent: Spent) -> str:
        text = to_text(usage_view(replace(COSTS, days=cost_by_day(spent, CLOCK))))
        return "".join(line.strip() for line in text.splitlines() if "2026-03-09" in line)

    assert day(unknown) == ""
    assert re.search(r"\$0\.00 +\$0\.00 +\$0\.00", day(free))
    assert re.search(r"\$0\.1000\+ +unknown +\$0\.1000$", day(unknown, graph))
    assert re.search(r"\$0\.6000\+ +\$0\.5000\+ +\$0\.1000$", day(unknown, paid, graph))


def test_usage_by_day_and_without_a_memory() -> None:
    """A call counts for the user's day.

    Beside what was spent stands what the same conversations would have cost.
    """
    later = Clock(NOW, timezone(timedelta(hours=1)))
    text = to_text(usage_view(replace(COSTS, days=cost_by_day(SPENT, later))))
    assert re.search(r"2026-03-09 .* \$0\.4000\+ +\$0\.3000\+ +\$0\.1000", text)
    for words in (
        r"Construct +█+[^ ]* +\$0\.40",
        r"last 20 messages .* \$0\.50",
        r"whole history .* \$1\.60",
    ):
        assert re.search(words, text)
    basis = " ".join(text.split())
    assert "Construct: what was spent. The others are estimates" in basis
    assert "For 3 replies the whole history would not have fitted" in basis
    assert "without a memory" not in to_text(usage_view(replace(COSTS, instead=None)))


@pytest.mark.parametrize("width", [40, 80])
def test_usage_fits_its_screen(width: int) -> None:
    """Whole: nothing is cut, and no word is broken."""
    text = to_text(usage_view(COSTS), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for line in COSTS.lines:
        for figure in (f"{line.output_tokens:,}", line.purpose):
            assert figure in text


@pytest.mark.parametrize("width", [40, 60, 64, 80])
def test_the_panel_and_the_timeline_lose_no_letter(width: int) -> None:
    """On a narrow screen bars go, words stay whole."""
    text = to_text(Group(status_view(status()), timeline_view(WEEKS)), width)
    words = " ".join(text.split())
    assert max(map(len, text.splitlines())) <= width
    assert words.count(" tokens") >= 3
    assert "1,240 of 3,000 tokens" in words
    assert "9 superseded, 2 reflections, 1 corrected" in words or width >= 64
    assert all(word in words for word in ("superseded", "reflections", "corrected"))


def test_the_timeline_is_by_week() -> None:
    """A week says what it brought, and what was known at its end by generation.

    Quiet ones are one line.
    """
    lines = to_text(timeline_view(WEEKS)).splitlines()
    assert lines[0] == "15 observations learned in 5 weeks; 7 known today"
    assert re.fullmatch(r"2026-02-09 +█+ +12 +12", lines[2])
    assert lines[3] == "1 quiet week"
    assert lines[4].split()[2:] == [
        "3",
        "6",
        "+",
        "2",
        "9",
        "superseded,",
        "2",
        "reflections,",
        "1",
        "corrected",
    ]
    assert lines[5].split()[1:] == ["0", "5", "+", "2", "1", "superseded"]
    months = to_text(timeline_view(WEEKS, 2)).splitlines()
    assert months[1].split() == ["month", "learned", "known"]
    assert months[2].split()[0::2] == ["2026-02", "15", "+", "9", "2", "1"]
    assert months[-1] == "week by week: /timeline all"


@pytest.mark.parametrize("width", [80, 200])
def test_what_was_found_fits_a_small_screen(width: int) -> None:
    """Eight hits, however long, leave the best on a screen of 24 lines.

    A wide one shows more of each.
    """
    text = "Rosa said that the tea is in the tin with the ship on it. " * 20
    hits = [
        Hit("message", n, 1, "2026-03-01", text, 1.0, role="assistant", match=Match.LOOSE)
        for n in range(990, 998)
    ]
    lines = to_text(search_view(SearchResult("tea", hits)), width).splitlines()
    assert len(lines) <= 26
    assert sum(map(len, lines)) > 8 * width
    assert (
        lines[-1] == "loose: lacks the phrase or half the words, is similar, or is next to a match"
    )


def test_what_was_looked_for_is_seen() -> None:
    """A long message is cut to the part that holds the words, and they stand out."""
    text = f"{'Many words. ' * 90}We swam in Tróia. {'More. ' * 90}"
    hit = Hit("message", 1, 1, "2026-03-01", text, 1.0, role="user")
    shown = to_ansi(search_view(SearchResult("swims troia", [hit])), 80)
    assert "\x1b[1mTróia\x1b[0m" in shown
    assert len(shown.splitlines()) <= 3


def test_where_the_tokens_go_stands_at_the_end() -> None:
    """Under all that would be sent is the sum of it."""
    lines = to_text(VIEWS["context"], 80).splitlines()
    head = next(n for n, line in enumerate(lines) if "would be sent to" in line)
    assert len(lines) - 12 < head < len(lines) - 1
    assert lines[0].startswith(("tools", "system"))


def test_help_fits_a_small_screen() -> None:
    """On 80 columns, /help shows the commands and what they do in two columns.

    Where it is narrow, one stands under the other.
    """
    lines = to_text(HELP, 80).splitlines()
    assert len(lines) <= 27
    commands = [command for group in all_commands().groups for command in group.commands]
    assert [c.name for c in commands if c.help not in "\n".join(lines)] == []
    assert sum(line.count("/") for line in lines[:-1]) == len(all_commands().names)
    narrow = to_text(HELP, 50).splitlines()
    assert all(len(line) <= 50 for line in narrow)
    assert [line.split()[0] for line in narrow if line.startswith(" /")][:2] == [
        "/new",
        "/conversations",
    ]


@pytest.mark.parametrize("width", [40, 80])
def test_the_first_help_is_a_dozen_commands(width: int) -> None:
    """A line each, and below them where the others are."""
    commands, _, closing = to_text(everyday_view(all_commands()), width).partition("\n\n")
    assert len(commands.splitlines()) == 12
    assert "/help all" in closing


def test_what_compacting_changed() -> None:
    """Only what happened is told, with nothing condensed into none."""
    line = ProposedObservation("x", "low", "stated", "2026-03-01", None, (1, 2))
    dropped = Change(ChangeKind.DROP, (3,))
    found = Reflection(
        (
            Change(ChangeKind.LINE, (1, 2), line, new_tokens=1, old_tokens=9),
            dropped,
            Change(ChangeKind.OUTDATED, (4,), stays=5),
            Change(ChangeKind.SAME, (6,), stays=5),
        )
    )
    words = (
        "2 new observations; 2 became active, 1 message left the window; "
        "2 observations condensed into 1; "
    )
    words += "1 observation found to repeat another; 1 observation dropped for low priority; "
    words += "1 observation found outdated."
    assert compact_view(compacted(2, Compacted(2, 1), found)) == words
    gone = compacted(1, Compacted(0, 0), Reflection((dropped,)))
    assert compact_view(gone) == "1 new observation; 1 observation dropped for low priority."
    for done, words in (
        (compacted(0, Compacted(0, 0), Reflection()), "No new observations."),
        (compacted(2, Compacted(2, 0)), "2 new observations; 2 became active."),
        (
            compacted(0, Compacted(2, 1)),
            "2 observations became active, 1 message left the window.",
        ),
    ):
        assert compact_view(done) == words


def compacted(
    observed: int, moved: Compacted, reflection: Reflection | None = None
) -> CompactResult:
    """Return what compacting changed."""
    return CompactResult(1, observed, moved, reflection, None)


def test_a_long_message_is_echoed_with_its_end() -> None:
    """A question behind a long paste stays in sight, however the paste is long."""
    for paste, hidden in (
        ("line\n" * 40 + "line", "… 31 more lines …"),
        ("word " * 800, "… 2,019 more characters …"),
    ):
        shown = to_text(echo_view(f"{paste} What does he want?"), 80)
        assert shown.startswith("› ")
        assert shown.endswith("What does he want?")
        assert hidden in shown
    for text in ("line\n" * 10 + "end", "a" * 2001):
        assert "…" not in to_text(echo_view(text), 80)


def test_undone_lists_both_sides() -> None:
    """What an undone cycle made is gone, what it superseded stands again."""
    text = to_text(undone_view(undo(UNDONE), TODAY))
    assert "1 observation removed:" in text
    assert "1 observation active again:" in text
    assert "will be read again after more talk, or when you run /compact." in text
    elsewhere = undone_view(undo(UNDONE, is_here=False), TODAY)
    assert "in conversation 1, will be read again" in to_text(elsewhere, 200)
    reflector = undo(replace(UNDONE, cycle=cycle("reflector")))
    reflection = undone_view(reflector, TODAY)
    assert "once there are more observations, or when you run /compact." in to_text(reflection, 200)


def test_undone_names_all_that_was_taken_back() -> None:
    """What a cycle led to in the graph is named with it, once.

    One that only withheld something says so.
    """
    drawn = replace(UNDONE, cycle=cycle(), along=(cycle("graph"), cycle("graph")))
    head = to_text(undone_view(undo(drawn), TODAY), 200).splitlines()[0]
    named = "an observation run and what was added to the graph"
    assert head == f"Taken back: {named}, in conversation 1."
    withheld = replace(UNDONE, deactivated=(), given_back=("User owes Ana money",))
    assert "The model sees it again:\n  “User owes Ana money”" in to_text(
        undone_view(undo(withheld), TODAY), 200
    )


def test_scripts_without_spaces_break_anywhere() -> None:
    """Behind a word the line goes on, punctuation stays with its character.

    What fits nowhere is cut.
    """
    lines = to_text(echo_view(f"I said 私の娘はくるみアレルギーです。 {'x' * 30}"), 20).splitlines()
    assert lines == [
        "› I said 私の娘はく",
        "  るみアレルギーで",
        "  す。",
        f"  {'x' * 18}",
        f"  {'x' * 12}",
    ]


def test_a_replay_is_what_a_chat_showed() -> None:
    """Words stand behind the sign, replies as Markdown, the time where talk begins."""
    said = [message(1), message(2, "Then **gorreana**.", "assistant"), message(3, "Why?")]
    said[2] = said[2]._replace(created_at="2026-03-10T08:30:00.000000+00:00")
    lines = replayed(said, CLOCK, 80, PLAIN).splitlines()
    assert lines == [
        "2026-03-09 08:30",
        "› I like tea.",
        "",
        "Then gorreana.",
        "",
        "2026-03-10 08:30",
        "› Why?",
    ]
