"""When the owner of a lease counts as gone."""

import json
import sys
import time

import psutil
import pytest

from construct.store import cycles

YEAR = 365 * 86_400.0


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the system keeps the moment a process started"
)
@pytest.mark.parametrize("jump", [YEAR, -YEAR])
def test_setting_the_clock_takes_no_lease_from_a_living_process(
    monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """Setting the clock takes no lease from a living process.

    Linux gives a process's start relative to the present time, so it moves with the
    clock.
    """
    lease = cycles.owner()
    booted = psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted + jump)
    assert abs(psutil.Process().create_time() - time.time()) > YEAR / 2
    assert not cycles.is_gone(lease, time.time(), time.time() + jump)


def test_a_lease_from_before_a_restart_is_gone() -> None:
    """A lease from before a restart is gone.

    Another process may have its number now, even one that started equally long after
    boot.
    """
    lease = json.loads(cycles.owner())
    assert not cycles.is_gone(json.dumps(lease), time.time(), time.time())
    assert cycles.is_gone(json.dumps({**lease, "boot": "another"}), time.time(), time.time())


@pytest.mark.parametrize(("age", "gone"), [(10, False), (-10, False), (YEAR, True), (-YEAR, True)])
def test_a_heartbeat_far_from_now_is_no_sign_of_life(age: float, gone: bool) -> None:
    """A heartbeat far in the future does not hold up the memory work.

    It may come from a machine whose clock was a year ahead.
    """
    lease = json.dumps({**json.loads(cycles.owner()), "host": "elsewhere"})
    now = time.time()
    assert cycles.is_gone(lease, now - age, now) == gone
