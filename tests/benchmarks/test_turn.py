"""The benchmark of a turn runs."""

from pathlib import Path

from benchmarks.turn import make_file, measure_turns


async def test_a_few_turns_are_measured(tmp_path: Path) -> None:
    """The file holds what was stored before and every turn.

    What is measured is above nothing.
    """
    make_file(tmp_path, 20)
    row = await measure_turns(tmp_path, turns=3, stored=20, traced=2)
    assert (row.stored, row.turns) == (20, 3)
    assert min(row.turn_p50, row.upkeep_mean, row.resident_mb, row.peak_kb, row.bytes_a_byte) > 0
