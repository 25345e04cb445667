"""A life so small that every command has something to show."""

import asyncio
import shutil
from pathlib import Path

import pytest

from construct.config import Settings
from tests.chat.commands.plainly import talking
from tests.support.fake_api import FakeApi


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database in which one thing has been said and observed."""
    db = tmp_path_factory.mktemp("talked") / "construct.db"

    async def talk(api: FakeApi) -> None:
        own = Settings(
            db, config_dir=db.parent, api_key="k", base_url=api.url, worker_model="extractive"
        )
        async with talking(own) as dialogue:
            await dialogue.run_line("My sister Rosa lives in Porto since 2001.")
            await dialogue.run_line("/compact")

    with FakeApi() as api:
        asyncio.run(talk(api))
    return db


@pytest.fixture
def settings(settings: Settings, talked: Path) -> Settings:
    """Return settings with a database of their own in which that has been said."""
    shutil.copy(talked, settings.db)
    return settings
