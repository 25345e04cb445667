"""The page: one template, every value in it escaped, and a policy that runs nothing.

Jinja2, because a page is easiest to read and to check as a page, and because its
autoescape forgets no value.
"""

from base64 import b64encode
from collections import Counter
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from construct.clock import Clock
from construct.language.periods import relative_words
from construct.memory.shown.lines import SIGNS
from construct.operations.report import Report
from construct.text import printable, shorten
from construct.views.memory import notes
from construct.views.report.contents import (
    by_month,
    cost_by_month,
    forest,
    generations,
    names,
    plans,
)
from construct.views.words import counted, day, money, when
from construct.vocabulary import MemoryOrigin

_TEMPLATES = Path(__file__).parent / "templates"


def page(found: Report, clock: Clock) -> str:
    """Return the whole page. The same memory gives the same but for the time."""
    style = (_TEMPLATES / "page.css").read_text("utf-8")
    roots = forest(found)
    standing = [node for node in roots if node.observation.superseded_at is None]
    ahead, unknown = plans(found.observations, clock.today())
    first_said = min((m.created_at for m in found.messages.values()), default=None)
    template = _environment(clock).get_template("page.html")
    return template.render(
        style=Markup(style),  # noqa: S704 - our own file
        style_digest=b64encode(sha256(style.encode()).digest()).decode(),
        made=clock.local(clock.now()),
        found=found,
        since=first_said and day(first_said, clock),
        plans={
            title: some for title, some in (("Ahead", ahead), ("Outcome unknown", unknown)) if some
        },
        months=by_month(standing),
        standing=standing,
        left=[node for node in roots if node.observation.superseded_at],
        generations=generations(found),
        kept=[m for m in found.memories if m.origin != MemoryOrigin.OBSERVATION],
        names=names(found.entities, found.relations),
        costs=cost_by_month(found.spent, clock),
    )


def _environment(clock: Clock) -> Environment:
    today = clock.today()
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_cleaned,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FileSystemLoader(_TEMPLATES),
    )
    environment.filters.update(
        when=lambda moment: when(moment, clock),
        notes=lambda o: notes(o, today),
        ago=lambda day: relative_words(day, today),
        date=date.fromisoformat,
        long_day=lambda day: f"{day.day} {day:%B %Y}",
        number=lambda n: f"{n:,}",
        counted=counted,
        money=money,
        total=Counter.total,
        note_count=lambda days: sum(map(len, days.values())),
        short=shorten,
        sign=SIGNS.__getitem__,
    )
    return environment


def _cleaned(value: Any) -> Any:
    """Return a value without control characters and without marks of direction."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value) if is_text else value
