"""The guard: what happens with a call, as one table."""

import pytest

from construct.tools.guard import Situation, Verdict, decide
from construct.vocabulary import Permission

ALWAYS, NEVER = Permission.ALWAYS, Permission.NEVER
RUN, FIRST, NOW, REFUSE = Verdict.RUN, Verdict.ASK_FIRST, Verdict.ASK_NOW, Verdict.REFUSE


@pytest.mark.parametrize(
    ("permission", "harmless", "outside", "on_terminal", "without_terminal"),
    [
        (None, False, False, FIRST, REFUSE),
        (None, False, True, FIRST, REFUSE),
        (None, True, False, FIRST, REFUSE),
        (None, True, True, FIRST, REFUSE),
        (ALWAYS, False, False, RUN, RUN),
        (ALWAYS, False, True, NOW, REFUSE),
        (ALWAYS, True, False, RUN, RUN),
        (ALWAYS, True, True, RUN, RUN),
        (NEVER, False, False, REFUSE, REFUSE),
        (NEVER, False, True, REFUSE, REFUSE),
        (NEVER, True, False, REFUSE, REFUSE),
        (NEVER, True, True, REFUSE, REFUSE),
    ],
)
@pytest.mark.parametrize("can_ask", [True, False])
@pytest.mark.parametrize("server_allowed", [True, False])
@pytest.mark.parametrize(
    ("private", "in_private"), [(False, False), (False, True), (True, True), (True, False)]
)
def test_what_happens_with_a_call(
    permission: Permission | None,
    harmless: bool,
    outside: bool,
    on_terminal: Verdict,
    without_terminal: Verdict,
    can_ask: bool,
    server_allowed: bool,
    private: bool,
    in_private: bool,
) -> None:
    """All that decides, in every combination; a refusal says why."""
    decision = decide(
        Situation(
            is_server_allowed=server_allowed,
            permission=permission,
            is_harmless=harmless,
            holds_outside_text=outside,
            can_ask=can_ask,
            is_private=private,
            is_allowed_in_private=in_private,
        )
    )
    expected = on_terminal if can_ask else without_terminal
    if not server_allowed or (private and not in_private):
        expected = REFUSE
    assert decision.verdict is expected
    assert bool(decision.reason) == (expected is REFUSE)
