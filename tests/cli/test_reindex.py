"""`construct reindex`, and what doctor says of search by meaning."""

import json
import sqlite3
from pathlib import Path

import pytest

from construct.llm.embedding import is_available
from tests.memory.builders import Life
from tests.support.program import Program

FOLDER = Path(__file__).parent.parent / "support" / "meanings"
WITH = {"CONSTRUCT_SEMANTIC_MODEL": str(FOLDER)}


def meaning_line(program: Program, more: dict[str, str]) -> str:
    """Return what doctor says of it."""
    checks = json.loads(program.run("doctor", "--json", more=more).stdout)["checks"]
    return next(
        f"{check['ok']} {check['detail']}" for check in checks if check["name"] == "meaning"
    )


def test_without_weights_it_is_one_line(lived: Program) -> None:
    """Reindex exits 3 and says what to install; to doctor it is nothing wrong."""
    done = lived.run("reindex")
    assert (done.returncode, done.stdout) == (3, "")
    assert "uv run --extra semantic construct" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert meaning_line(lived, {}).startswith("True search uses words alone")


@pytest.mark.skipif(not is_available(), reason="onnxruntime has no wheels here")
def test_every_entry_is_given_its_vector(lived: Program) -> None:
    """Doctor counts what is missing; a second run has nothing to do.

    Search goes by meaning then.
    """
    assert "have no vector yet" in meaning_line(lived, WITH)
    made = json.loads(lived.run("reindex", "--json", more=WITH).stdout)["made"]
    assert made > 5
    assert "every entry has its vector" in meaning_line(lived, WITH)
    assert lived.run("reindex", more=WITH).stdout.startswith("Made 0 vectors;")
    with sqlite3.connect(lived.db) as db:
        db.execute(
            "DELETE FROM vectors "
            "WHERE (kind, entry_id) IN (SELECT kind, entry_id FROM vectors LIMIT 1)"
        )
    assert "1 entry has no vector yet" in meaning_line(lived, WITH)
    with sqlite3.connect(lived.db) as db:
        db.execute("UPDATE vector_models SET name = 'another'")
    assert "made by another model: `construct reindex`" in meaning_line(lived, WITH)
    assert json.loads(lived.run("reindex", "--json", more=WITH).stdout)["made"] == made
    assert lived.run("memory", "search", "boat", more=WITH).stdout == "Nothing was found.\n"


@pytest.mark.skipif(not is_available(), reason="onnxruntime has no wheels here")
def test_what_runs_the_model_reports_to_nobody(lived: Program) -> None:
    """The library's telemetry is off.

    By default it would leave a device id and a queue in the home folder.
    """
    with lived.start("reindex", more=WITH) as process:
        assert "vectors; none is missing" in process.communicate()[0]
    assert list(Path.home().rglob("*")) == []


def test_a_folder_without_a_model_is_a_wrong_setting(lived: Program, tmp_path: Path) -> None:
    """It exits 2 and names the variable; doctor says so too."""
    more = {"CONSTRUCT_SEMANTIC_MODEL": str(tmp_path / "nowhere")}
    for command in (["memory", "search", "tandem"], ["reindex"], ["status"]):
        done = lived.run(*command, more=more)
        assert done.returncode == 2, command
        assert "CONSTRUCT_SEMANTIC_MODEL" in done.stderr
    assert meaning_line(lived, more).startswith("False CONSTRUCT_SEMANTIC_MODEL")


def test_a_loose_hit_is_marked(program: Program, life: Life) -> None:
    """What holds only a part of what is asked says so, in print and in JSON."""
    here = life.talk()
    life.say(here, "The tandem needs a chain")
    life.pass_days(1)
    life.say(here, "A lamp for the corridor, and a chain")
    life.db.close()
    done = program.run("memory", "search", "tandem chain wheels repair")
    *_, hit, missing, legend = done.stdout.splitlines()
    assert hit.endswith("[loose]")
    assert legend == "loose: lacks the phrase or half the words, is similar, or is next to a match"
    assert missing == "Nothing holds: wheels, repair."
    found = json.loads(program.run("memory", "search", "tandem chain", "--json").stdout)
    assert [hit.get("match") for hit in found] == [None, "loose"]
