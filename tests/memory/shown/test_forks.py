from dataclasses import replace

import pytest

from construct.config import Thresholds
from construct.errors import NotFoundError
from construct.memory.config import MemoryConfig
from construct.memory.cycles.situation import read_situation
from construct.memory.shown.forks import (
    condensable,
    fork,
    inherited_window,
    last_said,
    reach,
    uncommitted_below,
)
from construct.memory.shown.frame import Frame
from construct.memory.shown.view import current_blocks
from construct.memory.trace import trace_observation
from construct.memory.undo import undo
from construct.store import observations as rows
from construct.store.conversations import conversation_summary, get_conversation, note_request
from tests.memory.builders import FRAME, Life

BOUND = replace(FRAME, scope="conversation")


def shown(life: Life, here: int, frame: Frame = BOUND) -> list[str]:
    """Return what the conversation's model is shown."""
    return [o.content for block in current_blocks(life.db, here, frame) for o in block]


def in_scope(life: Life, here: int) -> list[str]:
    """Return what may be shown where only its own observations are."""
    return [o.content for o in rows.active_in_scope(life.db, reach(life.db, "conversation", here))]


def inherited(life: Life, here: int) -> list[str]:
    """Return the raw messages from before the fork."""
    return [m.content for m in inherited_window(life.db, get_conversation(life.db, here))]


def test_a_fork_sees_what_its_parent_saw(life: Life) -> None:
    """A fork has its parent's observations and raw messages, and copies nothing."""
    parent = life.talk()
    life.learn(parent, "Fact a")
    life.exchange(parent, "Raw words", "Raw reply")
    messages, observations = life.count("messages"), life.count("observations")
    child = fork(life.db, parent, life.clock)
    assert shown(life, child) == shown(life, parent) == ["Fact a"]
    assert inherited(life, child) == life.window(parent) == ["Raw words", "Raw reply"]
    assert (life.count("messages"), life.count("observations")) == (messages, observations)
    conversation = get_conversation(life.db, child)
    assert (conversation.parent_id, conversation.forked_at_message_id) == (parent, 4)
    assert life.broken() == []


def test_the_owner_reads_on_from_before_the_fork(life: Life) -> None:
    """The newest of what was said in both, imported words too.

    Not the replies that another took the place of.
    """
    parent = life.talk()
    life.exchange(parent, "One", "Two")
    life.exchange(parent, "Three", "Four")
    life.db.execute("UPDATE messages SET archived = 1 WHERE content = 'Three'")
    child = fork(life.db, parent, life.clock)
    life.exchange(child, "Five", "Six")
    life.db.execute("UPDATE messages SET retried = 1 WHERE content = 'Two'")
    assert [m.content for m in last_said(life.db, child, 4)] == ["Three", "Four", "Five", "Six"]
    assert [m.content for m in last_said(life.db, child, 9)] == [
        "One",
        "Three",
        "Four",
        "Five",
        "Six",
    ]


def test_both_go_their_own_ways(life: Life) -> None:
    """What either says and learns after the fork is not the other's."""
    parent = life.talk()
    life.learn(parent, "Fact a")
    life.exchange(parent, "Raw words", "Raw reply")
    child = fork(life.db, parent, life.clock)
    life.learn(parent, "Parent's fact")
    assert inherited(life, child) == ["Raw words", "Raw reply"]
    life.learn(child, "Child's fact")
    assert in_scope(life, child) == ["Fact a", "Child's fact"]
    assert in_scope(life, parent) == ["Fact a", "Parent's fact"]
    assert life.broken() == []


def test_the_inherited_window_ends_with_the_forks_own_first_compaction(life: Life) -> None:
    """From then on it is shown its own messages.

    When that is undone the inherited ones are back.
    """
    parent = life.talk()
    life.exchange(parent, "Raw words", "Raw reply")
    child = fork(life.db, parent, life.clock)
    life.learn(child, "Child's fact")
    assert inherited(life, child) == []
    undo(life.db, life.clock)
    assert inherited(life, child) == ["Raw words", "Raw reply"]


def test_what_the_parent_notes_later_of_earlier_words_is_the_forks_too(life: Life) -> None:
    """Nothing said before the fork is lost to it.

    What mixes in later words is not shown to it.
    """
    parent = life.talk()
    before = life.exchange(parent, "Ana lives in Porto")
    child = fork(life.db, parent, life.clock)
    after = life.exchange(parent, "Rui lives in Faro")
    life.observe(
        parent,
        ("Ana in Porto", [before]),
        ("Rui in Faro", [after]),
        ("Ana and Rui", [before, after]),
    )
    life.compact(parent)
    assert in_scope(life, child) == ["Ana in Porto"]


def test_successors_made_of_earlier_facts_alone_show_in_the_fork(life: Life) -> None:
    """What the parent condenses stays visible in the fork.

    Its sources must all be from before the fork.
    """
    parent = life.talk()
    a, b = life.learn(parent, "Fact a"), life.learn(parent, "Fact b")
    child = fork(life.db, parent, life.clock)
    (both,) = life.reflect(("a and b", [a, b]), here=parent)
    assert shown(life, child) == ["a and b"]
    c = life.learn(parent, "Fact c")
    life.reflect(("a, b and c", [both, c]), here=parent)
    assert shown(life, child) == []


def test_a_reflector_is_never_given_lines_from_both_sides_of_a_fork(life: Life) -> None:
    """Nor its parent's lines: those are the parent's to condense."""
    parent = life.talk()
    life.learn(parent, "Fact a")
    life.learn(parent, "Fact b")
    child = fork(life.db, parent, life.clock)
    life.learn(parent, "Fact c")
    life.learn(child, "Fact d")

    def given(here: int) -> list[str]:
        active = rows.active_in_scope(life.db, reach(life.db, "conversation", here))
        return [o.content for o in condensable(life.db, here, active)]

    assert given(parent) == ["Fact a", "Fact b"]
    assert given(child) == ["Fact d"]
    assert given(life.talk()) == []


def test_a_fork_of_a_fork_sees_through_both(life: Life) -> None:
    """A fork of a fork sees both windows, each up to its fork."""
    first = life.talk()
    life.exchange(first, "One", "1")
    second = fork(life.db, first, life.clock)
    life.exchange(first, "Later", "no")
    life.exchange(second, "Two", "2")
    third = fork(life.db, second, life.clock)
    assert inherited(life, third) == ["One", "1", "Two", "2"]
    life.learn(second, "Second's fact")
    assert inherited(life, second) == []
    assert inherited(life, third) == ["One", "1", "Two", "2"]
    fourth = fork(life.db, second, life.clock)
    assert inherited(life, fourth) == []
    assert in_scope(life, fourth) == ["Second's fact"]
    assert in_scope(life, third) == []


def test_the_parents_window_is_inherited_as_it_was(life: Life) -> None:
    """A compaction of the parent takes nothing from the fork.

    An undo of it gives the raw messages to both.
    """
    parent = life.talk()
    life.learn(parent, "Fact a")
    life.exchange(parent, "Raw words", "Raw reply")
    child = fork(life.db, parent, life.clock)
    life.observe(parent)
    life.compact(parent)
    assert life.window(parent) == []
    assert inherited(life, child) == ["Raw words", "Raw reply"]
    undo(life.db, life.clock)
    assert inherited(life, child) == ["Fact a", "I see.", "Raw words", "Raw reply"]
    assert shown(life, child) == []


def test_ancestors_with_uncommitted_words_are_named(life: Life) -> None:
    """They are to be observed before the fork's compaction lets their messages go."""
    parent = life.talk()
    life.exchange(parent, "Raw words", "Raw reply")
    child = fork(life.db, parent, life.clock)
    assert uncommitted_below(life.db, child) == [parent]
    life.observe(parent)
    life.compact(parent)
    assert uncommitted_below(life.db, child) == []
    assert uncommitted_below(life.db, parent) == []


def test_provenance_crosses_the_fork(life: Life) -> None:
    """A reflection of both talks leads down to the messages of both.

    The fork's observer reads its own only.
    """
    parent = life.talk()
    a = life.learn(parent, "Fact a")
    child = fork(life.db, parent, life.clock)
    b = life.learn(child, "Fact b")
    (both,) = life.reflect(("a and b", [a, b]))
    assert [m.conversation_id for m in trace_observation(life.db, both.id).messages] == [
        parent,
        child,
    ]
    assert life.broken() == []


def test_inherited_messages_count_in_the_forks_window(life: Life) -> None:
    """What is shown raw is what decides when to compact and when to wait."""
    parent = life.talk()
    life.exchange(parent, "Raw words", "Raw reply")
    child = fork(life.db, parent, life.clock)
    config = MemoryConfig(Thresholds(), "user", life.clock, 1.0)
    parents, childs = (read_situation(life.db, here, config) for here in (parent, child))
    assert childs.window_tokens == parents.window_tokens > 0
    assert (childs.unobserved_tokens, childs.compactable) == (0, False)


def test_a_fork_of_an_empty_talk_is_an_empty_talk(life: Life) -> None:
    """There is nothing to refer to, and nothing breaks."""
    child = fork(life.db, life.talk(), life.clock, "Again")
    assert (inherited(life, child), shown(life, child), in_scope(life, child)) == ([], [], [])
    assert get_conversation(life.db, child).title == "Again"
    with pytest.raises(NotFoundError):
        fork(life.db, 999, life.clock)


def test_a_fork_goes_on_with_its_parents_prompt_cache(life: Life) -> None:
    """A fork's prompt begins as its parent's did.

    So the parent's last request decides what is cold.
    """
    parent = life.talk()
    note_request(life.db, parent, life.tick(), "1h")
    child = get_conversation(life.db, fork(life.db, parent, life.clock))
    assert child.cache_life == "1h"
    assert child.last_request_at == get_conversation(life.db, parent).last_request_at


def test_a_fork_is_called_as_its_parent_until_something_is_said(life: Life) -> None:
    """By title or first words, through forks in which nothing was said.

    Then by its own first words.
    """
    titled, untitled = life.talk("The garden"), life.talk()
    life.exchange(untitled, "Shall we buy a tandem?")
    first, other = (fork(life.db, here, life.clock) for here in (titled, untitled))
    second = fork(life.db, first, life.clock)

    def names() -> list[str]:
        return [conversation_summary(life.db, here).name for here in (first, second, other)]

    assert names() == ["The garden", "The garden", "Shall we buy a tandem?"]
    life.exchange(other, "Rather two bicycles?")
    assert names() == ["The garden", "The garden", "Rather two bicycles?"]
