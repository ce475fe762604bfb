"""Pictures of a report: histograms, a scatter, calibration, scores by label, weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.plotting._common import edges_of
from pairrank.plotting.rankings import QueryMetricDisplay, WeightsDisplay
from pairrank.plotting.svg import COLOURS, Picture, picture, short
from pairrank.report.calibration import PairCalibration
from pairrank.report.measures import Measure, Weight

MOST_POINTS = 1_000
HISTOGRAM_BINS = 24
_FIRST, _SECOND = COLOURS["first"], COLOURS["second"]


def histogram_of_queries(
    main: Measure, rival: Measure | None, names: Sequence[str]
) -> Picture | None:
    """Draw a metric's values over the queries; those of another model are drawn as an outline."""
    values = main.counted
    if values.size < 2:
        return None
    title = f"Histogram of {main.name} by query of {names[0]}, with a line at its mean"
    other = values[:0]
    if rival is not None:
        title += f", and of {names[1]} as an outline"
        other = rival.counted
    bins = edges_of(np.concatenate((values, other)), HISTOGRAM_BINS)

    def draw(ax: Any) -> None:
        display = QueryMetricDisplay(values, main.name)
        display.plot(ax, histtype="stepfilled", color=_FIRST, bins=bins)
        if other.size:
            ax.hist(other, histtype="step", color=_SECOND, linewidth=2, bins=bins)
        ax.get_legend().remove()
        ax.yaxis.get_major_locator().set_params(integer=True)

    return picture("by-query-picture", title, 200, draw)


def histogram_of_margins(margins: FloatArray) -> Picture:
    """Draw how often each margin occurs."""

    def draw(ax: Any) -> None:
        ax.hist(
            margins, histtype="stepfilled", color=_FIRST, bins=edges_of(margins, HISTOGRAM_BINS)
        )
        ax.set(xlabel="winner's score less loser's", ylabel="comparisons")

    title = "Histogram of the winner's score less the loser's, over the comparisons"
    return picture("margins-picture", title, 200, draw)


def scatter_of_queries(
    main: Measure, rival: Measure | None, names: Sequence[str], seed: int
) -> tuple[Picture | None, int]:
    """Draw one point per query, and the diagonal; return the number of points too."""
    if rival is None:
        return None, 0
    counted = np.flatnonzero(~(np.isnan(main.by_query) | np.isnan(rival.by_query)))
    if counted.size < 2:
        return None, 0
    if counted.size > MOST_POINTS:
        generator = np.random.default_rng(seed)
        counted = np.sort(generator.choice(counted, MOST_POINTS, replace=False))
    upwards, across = (f"{main.name} of {name}" for name in names)
    x, y = rival.by_query[counted], main.by_query[counted]
    ends = edges_of(np.concatenate((x, y)), 1)

    def draw(ax: Any) -> None:
        ax.plot(ends, ends, color=COLOURS["muted"], linestyle="--", linewidth=1)
        ax.plot(x, y, "o", markersize=6, color=_FIRST, alpha=0.45, markeredgewidth=0)
        ax.set(xlabel=across, ylabel=upwards)

    title = f"Each query's {across} across, {upwards} upwards, with the diagonal"
    return picture("both-picture", title, 400, draw), counted.size


def calibration_curve(found: PairCalibration) -> Picture:
    """Draw observed shares against predicted probabilities; areas of dots grow with their pairs."""

    def draw(ax: Any) -> None:
        ax.plot([0.5, 1.0], [0.5, 1.0], color=COLOURS["muted"], linestyle="--", linewidth=1)
        ax.plot(found.predicted, found.observed, color=_FIRST, linewidth=1.5)
        areas = 20.0 + 180.0 * found.n_pairs / found.n_pairs.max()
        dots = {"marker": "8", "linewidth": 0, "color": _FIRST}
        ax.scatter(found.predicted, found.observed, areas, **dots)
        ax.set(xlabel="predicted probability", ylabel="observed share")

    title = "Observed share of preferences against predicted probability"
    return picture("calibration-picture", title, 320, draw)


def level_intervals(levels: Sequence[Mapping[str, Any]], scores: str) -> Picture:
    """Draw the median score of each level, and the interval that holds 80 % of its scores."""
    places = range(len(levels))
    names = [short(level["label"]) for level in levels]
    low, median, high = ([level[end] for level in levels] for end in ("low", "median", "high"))

    def draw(ax: Any) -> None:
        ax.hlines(places, low, high, color=_FIRST, linewidth=6)
        ax.plot(median, places, "o", color=_SECOND)
        ax.set_yticks(places, names)
        ax.set_xlabel(scores)

    title = "Scores of each label from the 10 % to the 90 % quantile, with a dot at the median"
    return picture("levels-picture", title, 60 + 24 * len(levels), draw)


def weight_bars(weights: Sequence[Weight]) -> Picture:
    """Draw each feature's effect as a bar, with its interval where it is known."""
    effects = np.array([weight.effect for weight in weights])
    errors = np.array([weight.effect_error for weight in weights])
    colours = np.where(effects >= 0, _FIRST, COLOURS["minus"]).tolist()

    def draw(ax: Any) -> None:
        names = [short(weight.name) for weight in weights]
        known = errors if np.isfinite(errors).any() else None
        display = WeightsDisplay(effects, names, standard_errors=known)
        display.plot(ax, color=colours, height=0.6, ecolor=COLOURS["text"], capsize=0)
        ax.set_xlabel("weight times standard deviation")
        ax.spines["left"].set_visible(False)

    title = "Weight times standard deviation of each feature"
    return picture("weights-picture", title, 46 + 20 * len(weights), draw)
