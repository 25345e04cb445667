"""Load the settings from the environment, `.env` and `config.env`.

The first of these that has a setting wins. `.env` is in the working directory,
`config.env` in the configuration directory. A `.env` may have come with somebody else's
repository, so most of it counts only once the user has trusted it (docs/settings.md).
"""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from platformdirs import user_config_path, user_data_path

from construct.clock import Clock, at_zone
from construct.config import SETTINGS, Settings, Thresholds
from construct.env_file import Trust, read_env_file, trust_in
from construct.errors import UsageError
from construct.setting import AllowedIn, setting_of_each_field
from construct.setting_sources import (
    ANTHROPIC_SECRETS,
    OPENAI_SECRETS,
    Credentials,
    Values,
)
from construct.text import shorten
from construct.user_rules import RulesFile
from construct.vocabulary import Provider

_MISSPELT = 0.85
"""How like a setting's name another one is that is taken for a slip, from 0 to 1."""


def load_settings(environ: Mapping[str, str] | None = None, *, db: Path | None = None) -> Settings:
    """Load the settings; `db` is the command line's `--db`.

    Raises UsageError, which names the variable, if a setting is invalid.
    """
    environ = os.environ if environ is None else environ
    config_dir = user_config_path("construct", appauthor=False)
    env_file = read_env_file(Path(".env"))
    trust = trust_in(env_file, config_dir)
    values = Values(
        SETTINGS,
        environ,
        env_file,
        read_env_file(config_dir / "config.env"),
        is_trusted=trust is Trust.TRUSTED,
    )
    zone = values.get("CONSTRUCT_TZ")
    if zone is None:
        _check_system_zone()
    now = values.get("CONSTRUCT_NOW")
    anthropic = values.credentials("ANTHROPIC_BASE_URL", ANTHROPIC_SECRETS)
    openai = Credentials()
    if values.get("CONSTRUCT_PROVIDER") == Provider.OPENAI or values.env_file_wants(
        Provider.OPENAI
    ):
        openai = values.credentials("OPENAI_BASE_URL", OPENAI_SECRETS)
    if db is None:
        data_dir = user_data_path("construct", appauthor=False)
        db = values.get("CONSTRUCT_DB") or data_dir / "construct.db"
    else:
        values.mark_overridden("CONSTRUCT_DB")
    found = {"memory_rules": RulesFile(config_dir / "memory-rules.md")} | _found(Settings, values)
    found |= {
        "db": db,
        "config_dir": config_dir,
        "clock": Clock(now and at_zone(now, zone), zone),
        "thresholds": Thresholds(**_found(Thresholds, values)),
        "api_key": anthropic.api_key,
        "auth_token": anthropic.auth_token,
        "openai": openai,
    }
    return Settings(
        **found,
        given=values.given(),
        unknown=values.unknown(),
        misplaced=values.misplaced(),
        untrusted=values.untrusted(is_refused=trust is Trust.REFUSED),
        setup_names=values.setup_names,
        is_chosen_by_setup=values.is_chosen_by_setup,
        is_address_from_env_file=anthropic.is_address_from_env_file,
    )


def nearest_setting(name: str, likeness: float = 0.0) -> str | None:
    """Return the setting whose name is most like this one, None if none is as like as that."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, SETTINGS, n=1, cutoff=likeness)), None)


def warnings(settings: Settings) -> Iterator[str]:
    """Yield a sentence about each setting in a wrong place, and each name that is misspelt.

    A name that is like no setting's may be another program's. `construct doctor` lists it.
    """
    for name in settings.misplaced:
        is_for_files = SETTINGS[name].allowed_in is AllowedIn.OWN_FILE
        where = "in the environment" + (" or in config.env" if is_for_files else "")
        yield f"Ignored {name} from .env: it counts only {where}."
    for name in settings.unknown:
        if nearest := nearest_setting(name, _MISSPELT):
            yield f"No such setting: {shorten(name, 60)}. Did you mean {nearest}?"


def _found(holder: type, values: Values) -> dict[str, Any]:
    """Return the values of the fields of a dataclass whose settings are set."""
    given = {
        field_name: values.get(setting.name)
        for field_name, setting in setting_of_each_field(holder).items()
    }
    return {field_name: value for field_name, value in given.items() if value is not None}


def _check_system_zone() -> None:
    """Raise UsageError if the system's time zone, which TZ can set, is a day off or more."""
    try:
        for month in range(1, 13):
            datetime(2000, month, 1).astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"TZ is {os.environ.get('TZ', '')!r}, which is a day or more away from UTC.\n"
            "Set TZ or CONSTRUCT_TZ to one such as Europe/Lisbon."
        ) from None
