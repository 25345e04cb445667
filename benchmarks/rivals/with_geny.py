"""geny-memory-adaptor as it comes.

Run by `benchmarks/compare.py` in an environment of its own.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from geny_memory_adaptor import SynapseMemory  # type: ignore[import-not-found]

given = json.load(sys.stdin)
with (
    tempfile.TemporaryDirectory() as folder,
    SynapseMemory.open(str(Path(folder) / "memory.db")) as memory,
):
    memory.index_many(
        [{"node_id": str(i), "text": text, "kind": "turn"} for i, text in enumerate(given["turns"])]
    )
    answers = []
    for question in given["questions"]:
        start = time.process_time()
        found = memory.search(question, top_k=given["most"])
        answers.append(
            {"seconds": time.process_time() - start, "found": [int(hit.id) for hit in found]}
        )
json.dump(answers, sys.stdout)
