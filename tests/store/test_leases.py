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
    """On Linux the moment a process started is reckoned from the present time, so it moves with the clock."""
    lease = cycles.owner()
    booted = psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted + jump)
    assert abs(psutil.Process().create_time() - time.time()) > YEAR / 2
    assert not cycles.is_gone(lease, time.time(), time.time() + jump)


def test_a_lease_from_before_a_restart_is_gone() -> None:
    """Its process number may be somebody else's now, even one that started as long after the restart."""
    lease = json.loads(cycles.owner())
    assert not cycles.is_gone(json.dumps(lease), time.time(), time.time())
    assert cycles.is_gone(json.dumps({**lease, "boot": "another"}), time.time(), time.time())


@pytest.mark.parametrize(("age", "gone"), [(10, False), (-10, False), (YEAR, True), (-YEAR, True)])
def test_a_heartbeat_far_from_now_is_no_sign_of_life(age: float, gone: bool) -> None:
    """One of another machine whose clock was a year ahead must not hold up the memory work until then."""
    lease = json.dumps({**json.loads(cycles.owner()), "host": "elsewhere"})
    now = time.time()
    assert cycles.is_gone(lease, now - age, now) == gone
