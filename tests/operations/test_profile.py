"""What is known of the user now, by subject."""

from dataclasses import replace

import pytest

from construct.operations.profile import profile
from construct.vocabulary import Stance
from tests.memory.builders import Life, stated
from tests.support.context import context


def subjects(life: Life) -> dict[str, list[str]]:
    """Return what each subject's lines say."""
    found = profile(context(life.db, life.clock))
    return {subject.name: [line.item.content for line in subject.lines] for subject in found}


def test_names_said_twice_are_subjects_and_the_newest_comes_first(life: Life) -> None:
    """A line with no name, or a name said once, is filed by its subject matter."""
    here = life.talk()
    first = life.learn(here, "User's sister Ana Reis lives in Porto")
    life.relate_as(first, "User", "Ana Reis")
    life.relate_as(first, "User", "Porto")
    life.pass_days(1)
    life.learn(here, "Ana Reis is a nurse")
    life.learn(here, "User is allergic to peanuts")
    life.learn(here, "User has two cats")
    life.remember("The spare key is with Rui")
    found = subjects(life)
    assert found == {
        "You and yours": ["The spare key is with Rui", "User has two cats"],
        "Health": ["User is allergic to peanuts"],
        "Ana Reis": ["Ana Reis is a nurse", "User's sister Ana Reis lives in Porto"],
    }
    assert list(found) == ["You and yours", "Health", "Ana Reis"]


@pytest.mark.parametrize("stance", Stance)
def test_only_what_is_known_is_in_it(life: Life, stance: Stance) -> None:
    """A plan is; what was asked, supposed or quoted is no fact about the user."""
    here = life.talk()
    said = life.exchange(here, "Tandem")
    life.observe(here, replace(stated("User rides a tandem", [said.id]), stance=stance))
    known = {Stance.STATED, Stance.PLANNED, Stance.INFERRED}
    assert bool(subjects(life)) == (stance in known)


def test_what_was_replaced_is_not_in_it(life: Life) -> None:
    """Of an edit only the new words, of what was condensed only the reflection."""
    here = life.talk()
    old = life.learn(here, "User has a cat")
    other = life.learn(here, "User has a dog")
    life.reflect(("User has a cat and a dog", [old, other]))
    assert subjects(life) == {"You and yours": ["User has a cat and a dog"]}
