"""A picture of each way's scores with their intervals, and of what it costs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_NAMES = {
    "f1": "F1 of the reply",
    "judged": "judged right",
    "contained": "answer in the reply",
    "shown": "answer in sight",
}


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Write an SVG file, the same for the same figures."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "construct", "font.size": 10}
    ways = list(found["overall"])[::-1]
    metrics = [metric for metric in _NAMES if all(metric in found["overall"][way] for way in ways)]
    fig, axes = plt.subplots(figsize=(8, 1 + 0.8 * len(ways)), layout="constrained")
    for place, metric in enumerate(metrics):
        height = 0.8 / len(metrics)
        rows = [i + 0.4 - height * (place + 0.5) for i in range(len(ways))]
        means = [found["overall"][way][metric] for way in ways]
        edges = [found["overall"][way][f"{metric}_interval"] for way in ways]
        errors = [
            [m - low for m, (low, _) in zip(means, edges, strict=True)],
            [h - m for m, (_, h) in zip(means, edges, strict=True)],
        ]
        axes.barh(
            rows, means, height, xerr=errors, label=_NAMES[metric], error_kw={"linewidth": 0.8}
        )
    axes.set_yticks(
        range(len(ways)), [f"{way}\n{found['overall'][way]['tokens']:,} tokens" for way in ways]
    )
    axes.set_xlim(0, 1)
    fig.legend(loc="outside upper center", ncols=len(metrics), frameon=False)
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)
