"""Files that the user edits, such as the persona and the rules."""

import subprocess
import sys
from pathlib import Path

CODE = """
import resource, signal, sys
from pathlib import Path
from construct.errors import ConstructError
from construct.operations.user_files import ensure_user_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    ensure_user_file(Path(sys.argv[1]), "word " * 1000, "CONSTRUCT_PERSONA")
except ConstructError as error:
    print(error)
"""


def test_a_full_disk_leaves_no_half_written_file(tmp_path: Path) -> None:
    """It says which file it is, and the next try starts afresh."""
    path = tmp_path / "folder" / "persona.md"
    done = subprocess.run(
        [sys.executable, "-c", CODE, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"Cannot write to {path}: File too large.\n")
    assert done.stdout.count("\n") == 2
    assert list(path.parent.iterdir()) == []
