"""Convert command-line values without pydantic, and keep Python types out of the help.

Typer uses pydantic, whose import is a quarter of a short command's CPU time. Our
commands only take words, numbers and paths. With a version of typer other than the
tested one, typer converts the values itself.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import typer
from typer import core

_TESTED_VERSION = "0.29."
_TYPE_NAMES: dict[Any, str] = {
    bool: "yes or no",
    str: "a text",
    int: "a whole number",
    float: "a number",
    Path: "a path",
}


@dataclass(frozen=True, slots=True)
class _Converter:
    """Replaces typer's RuntimeParam."""

    type_: Any
    minimum: float | None
    maximum: float | None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if param.multiple or param.nargs == -1:
            return [self._convert(item, param, ctx) for item in value or ()]
        return None if value is None else self._convert(value, param, ctx)

    def _convert(self, value: Any, param: Any, ctx: Any) -> Any:
        def error(message: str) -> typer.BadParameter:
            return typer.BadParameter(message, ctx=ctx, param=param)

        try:
            converted = self.type_(value)
        except ValueError:
            raise error(f"{value} is not {_TYPE_NAMES[self.type_]}.") from None
        if self.minimum is not None and not converted >= self.minimum:
            raise error(f"it must be at least {self.minimum}.")
        if self.maximum is not None and not converted <= self.maximum:
            raise error(f"it must be at most {self.maximum}.")
        return converted


def convert_without_pydantic() -> None:
    """Make typer convert values here, except those of types not in `_TYPE_NAMES`."""
    if not typer.__version__.startswith(_TESTED_VERSION):
        return
    original = vars(core)["build_runtime_param"]

    def build(descriptor: Any) -> Any:
        # `int | None` and `list[int]` are converted as int.
        type_ = (*get_args(descriptor.annotation), descriptor.annotation)[0]
        if type_ not in _TYPE_NAMES:
            return original(descriptor)
        return _Converter(type_, descriptor.parameter_info.min, descriptor.parameter_info.max)

    vars(core)["build_runtime_param"] = build


def hide_argument_types() -> None:
    """Make help texts show arguments as `DATE`, not as `DATE <list[str]>`."""
    core.TyperArgument.display_type_rich = lambda self, ctx: None  # type: ignore[method-assign]
