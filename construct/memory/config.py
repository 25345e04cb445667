"""Settings of memory work, fitted to the main model's context window."""

from dataclasses import dataclass, field
from math import inf

from construct.clock import Clock
from construct.config import Settings, Thresholds
from construct.memory.agenda import plans_in_sight_from
from construct.memory.policy import fit_to
from construct.memory.recall.meaning import Meaning, meaning_for
from construct.memory.shown.frame import Frame
from construct.user_rules import RulesFile
from construct.vocabulary import LearnSetting


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """Settings of memory work in one process."""

    thresholds: Thresholds
    """Tokens at which work is due, fitted to the main model's context window."""
    scope: str
    clock: Clock
    daily_usd: float
    """The most US dollars that memory work may cost in a day."""
    rules_file: RulesFile | None = None
    """The file with the user's rules for what to remember or leave out. It may not exist."""
    learn: str = LearnSetting.ON
    """A value of `LearnSetting`: whether the user is asked about each new note."""
    daily_tokens: float = inf
    """The most tokens that it may use in a day by models whose price is unknown."""
    meaning: Meaning | None = field(default=None, compare=False)
    """Lets recall compare texts by meaning; None if it uses words alone."""

    @property
    def frame(self) -> Frame:
        """The settings that decide which observations are shown."""
        return Frame(self.scope, self.thresholds.budget, self.plans_from)

    @property
    def plans_from(self) -> str:
        """The first day of which plans are still in sight."""
        return plans_in_sight_from(self.clock.today()).isoformat()

    @property
    def retained(self) -> int:
        """Minimum tokens of messages that stay verbatim after compacting."""
        return int(self.thresholds.retain * self.thresholds.compact)


def memory_config_for(settings: Settings, context_window: int) -> MemoryConfig:
    """Return the settings of memory work for a main model with this context window."""
    thresholds, meaning = fit_to(settings.thresholds, context_window), meaning_for(settings)
    return MemoryConfig(
        thresholds,
        settings.scope,
        settings.clock,
        settings.worker_daily_usd,
        settings.memory_rules,
        settings.learn,
        settings.worker_daily_tokens,
        meaning,
    )
