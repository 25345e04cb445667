"""The benchmarks run, on next to nothing."""

import json
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
CONVERSATION = {
    "sample_id": "tiny",
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {
                "speaker": "Ana",
                "dia_id": "D1:1",
                "text": "I planted a walnut tree behind the house.",
            },
            {"speaker": "Ben", "dia_id": "D1:2", "text": "How tall is it?"},
        ],
    },
    "qa": [
        {
            "question": "What did Ana plant?",
            "answer": "a walnut tree",
            "evidence": ["D1:1"],
            "category": 4,
        }
    ],
}


@pytest.mark.parametrize(
    ("script", "arguments", "printed"),
    [
        ("locomo.py", ["PATH", "--json"], '"r@10": 1.0'),
        ("recall.py", ["PATH"], "CPU per query"),
        ("locomo.py", ["PATH", "--passages"], "category 5"),
        (
            "padded.py",
            ["PATH", "--messages", "4"],
            "gate open                                1.000",
        ),
        ("compare.py", ["PATH", "--alone"], "Construct                        1   1.000"),
        ("scale.py", ["--sizes", "200", "--queries", "6", "--json"], '"messages": 200'),
        ("years.py", ["--months", "1", "--turns", "3"], "Of 3 facts"),
        ("cost.py", ["--turns", "3"], "Cheaper than last 20: in total never, per turn never."),
    ],
)
def test_runs(
    script: str,
    arguments: list[str],
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each prints its figures, with the one turn that holds the answer found."""
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([CONVERSATION]), "utf-8")
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(
        sys, "argv", [script, *(str(path) if word == "PATH" else word for word in arguments)]
    )
    runpy.run_path(str(FOLDER / script), run_name="__main__")
    assert printed in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["--sizes", "60"], ["--sizes", "1000,1050"], ["--queries", "3"]]
)
def test_what_scale_cannot_measure_is_refused(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sizes that are too close, and too few questions, are errors before anything is measured."""
    monkeypatch.setattr(sys, "argv", ["scale.py", *arguments])
    with pytest.raises(SystemExit):
        runpy.run_path(str(FOLDER / "scale.py"), run_name="__main__")
    assert f"{arguments[0]} must be more than" in capsys.readouterr().err
