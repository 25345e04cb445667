"""The user's rules for the memory: create the rules file, read it, check text against it."""

from dataclasses import dataclass
from pathlib import Path

from construct.config import Settings
from construct.operations.context import Context
from construct.operations.user_files import ensure_user_file
from construct.user_rules import EXAMPLE, Rules, RulesFile, read_rules


@dataclass(frozen=True, slots=True)
class RulesInForce:
    """The current rules, and the file they are in."""

    file: Path
    rules: Rules


def ensure_rules_file(settings: Settings) -> Path:
    """Return the path of the rules file, created with an example if it is missing.

    A new file can be read by its owner only. Raises ConstructError.
    """
    rules = settings.memory_rules
    file = rules.path if rules else settings.config_dir / "memory-rules.md"
    ensure_user_file(file, EXAMPLE, "CONSTRUCT_MEMORY_RULES")
    return file


def rules_in_force(settings: Settings) -> RulesInForce:
    """Return the current rules, with the file created if it is missing.

    Raises ConstructError if the file cannot be read or created.
    """
    file = ensure_rules_file(settings)
    return RulesInForce(file, read_rules(RulesFile(file)))


def forbidden_word(ctx: Context, text: str) -> str | None:
    """Return the first `never:` word of the user's rules that is in a text, or None."""
    return read_rules(ctx.settings.memory_rules).forbidden_in(text)
