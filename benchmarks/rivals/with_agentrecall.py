"""agentrecall-db as it comes, without extras.

Run by `benchmarks/compare.py` in an environment of its own.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from agentrecall import Memory  # type: ignore[import-not-found]

given = json.load(sys.stdin)
with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory.db") as memory:
    ids = {record.id: i for i, record in enumerate(memory.add_many(given["turns"]))}
    answers = []
    for question in given["questions"]:
        start = time.process_time()
        found = memory.search(question, k=given["most"])
        answers.append(
            {"seconds": time.process_time() - start, "found": [ids[hit.id] for hit in found]}
        )
json.dump(answers, sys.stdout)
