"""Values on the command line, read without pydantic.

Typer takes pydantic for it, whose import is a quarter of a short command's CPU time. What
is read here is what our commands take: words, numbers and paths. A version of typer that
this was not tried with reads them itself.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import typer
from typer import core

_TRIED = "0.29."
_KINDS: dict[Any, str] = {
    bool: "yes or no",
    str: "a text",
    int: "a whole number",
    float: "a number",
    Path: "a path",
}


@dataclass(frozen=True, slots=True)
class _Reader:
    """Stands for typer's RuntimeParam."""

    kind: Any
    least: float | None
    most: float | None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if param.multiple or param.nargs == -1:
            return [self._read(one, param, ctx) for one in value or ()]
        return None if value is None else self._read(value, param, ctx)

    def _read(self, value: Any, param: Any, ctx: Any) -> Any:
        def refused(why: str) -> typer.BadParameter:
            return typer.BadParameter(why, ctx=ctx, param=param)

        try:
            read = self.kind(value)
        except ValueError:
            raise refused(f"{value} is not {_KINDS[self.kind]}.") from None
        if self.least is not None and not read >= self.least:
            raise refused(f"It must be at least {self.least}.")
        if self.most is not None and not read <= self.most:
            raise refused(f"It must be at most {self.most}.")
        return read


def read_plainly() -> None:
    """Have typer's values read here, those that can be."""
    if not typer.__version__.startswith(_TRIED):
        return
    theirs = vars(core)["build_runtime_param"]

    def build(descriptor: Any) -> Any:
        kind = (*get_args(descriptor.annotation), descriptor.annotation)[0]
        if kind not in _KINDS:
            return theirs(descriptor)
        return _Reader(kind, descriptor.parameter_info.min, descriptor.parameter_info.max)

    vars(core)["build_runtime_param"] = build
