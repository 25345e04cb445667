"""The page: a template, everything said in it cleaned and escaped, and a policy that lets nothing else in.

Jinja2, since a page is easiest to read and to check as a page, and since its autoescape leaves no
value to be forgotten; `finalize` cleans every value in the same one place.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from construct.clock import Clock
from construct.memory.inspection.survey import Survey
from construct.memory.language.dates import relative_words
from construct.memory.shown.lines import SIGNS
from construct.repl.views.observations import notes
from construct.repl.views.words import counted, day, money, percent, when
from construct.report.days import months, plans
from construct.report.flow import FATES, by_generation, flow
from construct.report.network import MOST, NAME, network
from construct.report.provenance import forest
from construct.report.timeline import learned, spending
from construct.text import printable, shorten

_TEMPLATES = Path(__file__).parent / "templates"
_POLICY = "default-src 'none'; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many messages of the latest conversation that are alike to the memory."""

    kind: str
    words: str
    count: int


def page(found: Survey, clock: Clock) -> str:
    """Return the whole page; the same for the same memory, but for the time it was made."""
    style, script = _file("page.css"), _file("page.js")
    trees, generations = forest(found), by_generation(found)
    return _environment(clock).get_template("page.html").render(
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704
        policy=_POLICY.format(style=_digest(style), script=_digest(script)),
        made=clock.local(clock.now()),
        found=found,
        since=_since(found, clock),
        stretches=_stretches(found),
        months=months(trees.standing),
        left=trees.left,
        plans=plans(found.observations, clock.today()),
        learned=learned(found, clock),
        generations=generations,
        fates=[fate for fate in FATES if any(counts[fate] for counts in generations.values())],
        flow=flow(found),
        network=network(found.entities, found.relations),
        most_drawn=MOST,
        longest_name=NAME,
        spending=spending(found.spent, clock),
    )  # fmt: skip


def _file(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def _digest(code: str) -> str:
    """Return what the policy knows a piece of inline code by."""
    return f"sha256-{b64encode(sha256(code.encode()).digest()).decode()}"


def _environment(clock: Clock) -> Environment:
    today = clock.today()
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_cleaned, trim_blocks=True, lstrip_blocks=True,
        loader=FileSystemLoader(_TEMPLATES),
    )  # fmt: skip
    environment.filters.update(
        when=lambda moment: when(moment, clock),
        notes=lambda o: notes(o, today),
        ago=lambda day: relative_words(day, today),
        long_day=_long_day,
        number=lambda n: f"{n:,}",
        counted=counted,
        money=money,
        percent=percent,
        short=shorten,
        sign=SIGNS.__getitem__,
    )
    return environment


def _cleaned(value: Any) -> Any:
    """Return a value as it may be shown: text without what could move a cursor or turn the way of reading."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _long_day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _since(found: Survey, clock: Clock) -> date | None:
    """Return the day of the first words that something remembered rests on."""
    first = min((m.created_at for m in found.messages.values()), default=None)
    return None if first is None else day(first, clock)


def _stretches(found: Survey) -> tuple[Stretch, ...]:
    """Return the latest conversation's messages between the watermarks."""
    marks: Mapping[str, int | None] = found.panel["watermarks"]
    bounds = [0, *(marks[name] or 0 for name in ("window", "compacted", "observed")), 1 << 62]
    kinds = (
        ("window", "known by observations alone"),
        ("compacted", "known by observations, and still shown word for word"),
        ("observed", "observed, and shown word for word"),
        ("new", "not observed yet"),
    )
    counts = [sum(low < i <= high for i in found.live) for low, high in pairwise(bounds)]
    return tuple(Stretch(*kind, n) for kind, n in zip(kinds, counts, strict=True))
