"""`python -m docs.demo_life` writes data/demo.jsonl, the life that `construct demo` shows.

It is the sample life of data/samples/life.jsonl, lived turn by turn with workers that answer
from a script (docs/pictures/observer.jsonl), and then exported.
"""

import asyncio
import tempfile
from contextlib import closing
from pathlib import Path

from construct.store.database import open_database
from construct.store.transfer.jsonl import export_jsonl
from docs.screenshots import live
from tests.support.fake_api import FakeApi

TARGET = Path(__file__).parents[1] / "data" / "demo.jsonl"


def main() -> None:
    """Live the life and export it."""
    with tempfile.TemporaryDirectory() as folder, FakeApi() as api:
        asyncio.run(live(Path(folder), api))
        (file,) = Path(folder).glob("*.db")
        with closing(open_database(file)) as db, TARGET.open("w", encoding="utf-8") as target:
            export_jsonl(db, target.write)
    print(TARGET)


if __name__ == "__main__":
    main()
