"""The figures: by way and category, with intervals, and paired differences. Pure."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.remembering import scores
from benchmarks.remembering.asking import CONSTRUCT, Answer
from benchmarks.remembering.lives import Question

Key = tuple[str, str]
"""A life's name and a question's id."""
ADVERSARIAL = "adversarial"


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer with its scores, each from 0 to 1."""

    key: Key
    way: str
    category: str
    tokens: int
    scores: Mapping[str, float]
    """`f1`; `contained`: the answer's words in the reply.

    `shown`: in what the reader saw; `judged`: by a model.
    """


def scored(answer: Answer, question: Question, judged: float | None) -> Scored:
    """Return an answer scored."""
    found = {
        "f1": scores.score(answer.reply, question.answer, question.category),
        "contained": scores.contained(answer.reply, question.answer),
    }
    if question.answer is not None:
        found["shown"] = scores.share(answer.shown, question.answer)
    if judged is not None:
        found["judged"] = judged
    category = question.category if question.answer is not None else ADVERSARIAL
    return Scored((answer.life, answer.question), answer.way, category, answer.tokens, found)


def figures(results: Sequence[Scored]) -> dict[str, Any]:
    """Return all figures: `overall` is over the questions that have an answer."""
    ways = list(dict.fromkeys(one.way for one in results))
    answerable = [one for one in results if one.category != ADVERSARIAL]
    categories = sorted({one.category for one in results})
    return {
        "overall": {way: _summary(_of(answerable, way)) for way in ways},
        "categories": {
            category: {
                way: _summary(r for r in _of(results, way) if r.category == category)
                for way in ways
            }
            for category in categories
        },
        "construct_minus": {
            way: {metric: _difference(answerable, way, metric) for metric in ("f1", "contained")}
            for way in ways
            if way != CONSTRUCT and CONSTRUCT in ways
        },
    }


def _of(results: Iterable[Scored], way: str) -> list[Scored]:
    return [one for one in results if one.way == way]


def _summary(results: Iterable[Scored]) -> dict[str, Any]:
    found = list(results)
    metrics = dict.fromkeys(metric for one in found for metric in one.scores)
    summary: dict[str, Any] = {"n": len(found)}
    for metric in metrics:
        values = [one.scores[metric] for one in found if metric in one.scores]
        summary[metric] = round(statistics.fmean(values), 4)
        summary[f"{metric}_interval"] = [round(edge, 4) for edge in scores.interval(values)]
    if found:
        summary["tokens"] = round(statistics.fmean(one.tokens for one in found))
    return summary


def _difference(results: Sequence[Scored], way: str, metric: str) -> dict[str, Any]:
    """Return how much better Construct does than another way, question by question."""
    other = {one.key: one.scores[metric] for one in _of(results, way)}
    paired = [
        one.scores[metric] - other[one.key] for one in _of(results, CONSTRUCT) if one.key in other
    ]
    mean = statistics.fmean(paired) if paired else 0.0
    return {
        "mean": round(mean, 4),
        "interval": [round(edge, 4) for edge in scores.interval(paired)],
        "n": len(paired),
    }


def print_table(found: Mapping[str, Any], show: Callable[[str], None] = print) -> None:
    """Print the figures for people."""
    categories = list(found["categories"])
    judged = any("judged" in own for own in found["overall"].values())
    head = (
        f"{'':14}{'n':>5}{'F1':>7} {'95 %':15}{'holds':>7}{'shown':>7}"
        + f"{'judge':>7}" * judged
        + f"{'tokens':>8}"
    )
    show(head + "".join(f"{name[:11]:>12}" for name in categories))
    for way, own in found["overall"].items():
        low, high = own.get("f1_interval", (0.0, 0.0))
        cells = (
            f"{way:14}{own['n']:>5}{_cell(own, 'f1')} "
            f"{f'[{low:.3f}, {high:.3f}]':15}{_cell(own, 'contained')}"
        )
        cells += _cell(own, "shown") + _cell(own, "judged") * judged + f"{own.get('tokens', 0):>8}"
        by_category = (found["categories"][name][way] for name in categories)
        show(cells + "".join(f"{_cell(c, 'f1'):>8}/{c['n']:<3}" for c in by_category))
    for way, own in found["construct_minus"].items():
        f1, holds = own["f1"], own["contained"]
        show(f"construct - {way}: F1 {_signed(f1)}, holds {_signed(holds)}")
    show("cycles: " + ", ".join(f"{n} {what}" for what, n in sorted(found["cycles"].items())))


def _cell(own: Mapping[str, Any], metric: str) -> str:
    return f"{own[metric]:>7.3f}" if metric in own else f"{'':7}"


def _signed(own: Mapping[str, Any]) -> str:
    return f"{own['mean']:+.3f} [{own['interval'][0]:+.3f}, {own['interval'][1]:+.3f}]"
