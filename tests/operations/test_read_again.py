"""What reading again offers to take over."""

from construct.operations.dry_run import DryRun
from construct.operations.read_again import differences
from tests.memory.builders import Life
from tests.support.context import context


def test_a_note_that_took_anothers_place_stays(life: Life) -> None:
    """With it gone neither would be known, and nothing is lost in silence."""
    here = life.talk()
    lisbon, tea = life.learn(here, "User lives in Lisbon"), life.learn(here, "User drinks tea")
    porto = life.learn(here, "User lives in Porto now")
    life.reflect(outdated=[(lisbon, porto)])
    done = DryRun((), (), (), (porto, tea), (), (), 6, None)
    offered = differences(context(life.db, life.clock), done)
    assert [d.before and d.before.content for d in offered] == ["User drinks tea"]
