"""Render the memory page from a Jinja2 template.

Jinja2 escapes what comes from the memory, and the page's content security policy
forbids scripts.
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
from construct.memory.agenda import agenda_items
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
)
from construct.views.words import counted, day, money, money_sum, when
from construct.vocabulary import AgendaState

_TEMPLATES = Path(__file__).parent / "templates"


def page(report: Report, clock: Clock) -> str:
    """Return the memory page as HTML.

    The same memory gives the same page on one day, except for the time it was made.
    """
    style = (_TEMPLATES / "page.css").read_text("utf-8")
    roots = forest(report)
    standing = [node for node in roots if node.observation.superseded_at is None]
    items = agenda_items(report.dated, clock.today())
    unknown = [item for item in items if item.state is AgendaState.OUTCOME_UNKNOWN]
    ahead = [item for item in items if item.state is not AgendaState.OUTCOME_UNKNOWN]
    plan_lists = {"Ahead": ahead, "Outcome unknown": unknown[::-1]}
    first_said = min((m.created_at for m in report.messages.values()), default=None)
    template = _environment(clock).get_template("page.html")
    return template.render(
        style=Markup(style),  # noqa: S704 - our own file
        style_digest=b64encode(sha256(style.encode()).digest()).decode(),
        made=clock.local(clock.now()),
        report=report,
        since=first_said and day(first_said, clock),
        plans={title: listed for title, listed in plan_lists.items() if listed},
        months=by_month(standing),
        standing=standing,
        left=[node for node in roots if node.observation.superseded_at],
        generations=generations(report),
        kept=[o for o in report.observations if o.kept and not o.superseded_at],
        names=names(report.entities, report.relations, clock),
        costs=cost_by_month(report.spent, clock),
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
        money_sum=money_sum,
        total=Counter.total,
        note_count=lambda days: sum(map(len, days.values())),
        short=shorten,
        sign=SIGNS.__getitem__,
    )
    return environment


def _cleaned(value: Any) -> Any:
    """Return a value without control characters and bidirectional overrides."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value) if is_text else value
