"""The page: one template, every value in it cleaned and escaped, and a policy that runs nothing.

Jinja2, because a page is easiest to read and to check as a page, and because its autoescape
forgets no value.
"""

from base64 import b64encode
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from construct.clock import Clock
from construct.memory.inspection.survey import Survey
from construct.memory.language.dates import relative_words
from construct.memory.shown.lines import SIGNS
from construct.repl.views.observations import notes
from construct.repl.views.words import counted, day, money, when
from construct.report.days import months, plans
from construct.report.names import names
from construct.report.provenance import forest
from construct.report.tallies import FATES, generations, spent_by_month
from construct.text import printable, shorten

_TEMPLATES = Path(__file__).parent / "templates"


def page(found: Survey, clock: Clock) -> str:
    """Return the whole page; for the same memory it differs only in the time it was made."""
    style = (_TEMPLATES / "page.css").read_text("utf-8")
    roots = forest(found)
    standing = [node for node in roots if node.observation.superseded_at is None]
    by_generation = generations(found)
    first_said = min((m.created_at for m in found.messages.values()), default=None)
    return _environment(clock).get_template("page.html").render(
        style=Markup(style),  # noqa: S704 - our own file
        style_digest=b64encode(sha256(style.encode()).digest()).decode(),
        made=clock.local(clock.now()),
        found=found,
        since=first_said and day(first_said, clock),
        months=months(standing),
        left=[node for node in roots if node.observation.superseded_at],
        reflections=[node for node in standing if node.observation.generation],
        plans=plans(found.observations, clock.today()),
        generations=by_generation,
        fates=[f for f in FATES if any(counts[f] for counts in by_generation.values())],
        kept=[m for m in found.memories if m.origin != "observation"],
        names=names(found.entities, found.relations),
        spent=spent_by_month(found.spent, clock),
    )  # fmt: skip


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
        highest=lambda counters: max(c.total() for c in counters),
        counted=counted,
        money=money,
        short=shorten,
        sign=SIGNS.__getitem__,
    )
    return environment


def _cleaned(value: Any) -> Any:
    """Return a value without characters that move a cursor or turn the direction of reading."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value) if is_text else value
