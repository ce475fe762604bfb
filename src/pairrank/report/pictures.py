"""Pictures of a report: histograms, scatters, calibration, curves of levels, weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.report.calibration import PairCalibration
from pairrank.report.drawing import BOTTOM, TOP, Axes, Mark, Picture, interval_of, line, room_for
from pairrank.report.score_levels import N_BINS, Levels
from pairrank.report.weights import Weight

MOST_POINTS = 1_000
HISTOGRAM_BINS = 24
_LEAST_COUNT = 4
"""The axis of counts goes at least so far, so that its numbers are whole."""


def histogram(
    values: FloatArray,
    xlabel: str,
    title: str,
    other: FloatArray | None = None,
    *,
    ylabel: str = "queries",
) -> Picture:
    """Draw how often each value occurs; `other` values are drawn as an outline."""
    together = values if other is None else np.concatenate((values, other))
    low, high = interval_of(together)
    edges = np.linspace(low, high, HISTOGRAM_BINS + 1)
    counts = np.histogram(values, edges)[0]
    outline = None if other is None else np.histogram(other, edges)[0]
    most = float(max(counts.max(), 0 if outline is None else outline.max(), _LEAST_COUNT))
    axes = Axes((low, high), (0.0, most), 200.0)
    marks = axes.frame(xlabel, ylabel)
    for count, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        if count:
            marks.append(axes.bar(left, right, float(count), "fill"))
    if outline is not None:
        steps = [f"M{axes.x(low)} {axes.y(0.0)}"]
        for count, right in zip(outline, edges[1:], strict=True):
            steps.append(f"V{axes.y(float(count))}H{axes.x(right)}")
        marks.append(Mark("path", {"d": " ".join([*steps, f"V{axes.y(0.0)}"]), "class": "other"}))
    return Picture(title, 200.0, marks)


def scatter(x: FloatArray, y: FloatArray, xlabel: str, ylabel: str, title: str) -> Picture:
    """Draw one point per query, and the diagonal."""
    low, high = interval_of(np.concatenate((x, y)))
    axes = Axes((low, high), (low, high), 400.0)
    marks = [*axes.frame(xlabel, ylabel), axes.line(low, low, high, high, "guide")]
    marks += [axes.dot(*point, 3.0, "point") for point in zip(x.tolist(), y.tolist(), strict=True)]
    return Picture(title, 400.0, marks)


def calibration_curve(found: PairCalibration, title: str) -> Picture:
    """Draw observed shares against predicted probabilities; areas of dots grow with their pairs."""
    low = min(0.5, math.floor(10 * found.observed.min(initial=0.5)) / 10)
    axes = Axes((0.5, 1.0), (low, 1.0), 320.0)
    marks = axes.frame("predicted probability", "observed share")
    marks.append(axes.line(0.5, 0.5, 1.0, 1.0, "guide"))
    points = list(zip(found.predicted.tolist(), found.observed.tolist(), strict=True))
    for before, after in pairwise(points):
        marks.append(axes.line(*before, *after, "curve"))
    largest = float(found.n_pairs.max())
    for point, count in zip(points, found.n_pairs.tolist(), strict=True):
        marks.append(axes.dot(*point, 2.5 + 6.0 * math.sqrt(count / largest), "fill"))
    return Picture(title, 320.0, marks)


def level_curves(found: Levels, xlabel: str, title: str) -> Picture:
    """Draw the histogram of each level above the same axis, with a line at its median."""
    lane, gap = 44.0, 6.0
    height = TOP + (lane + gap) * len(found.levels) + BOTTOM
    left = room_for(level.label for level in found.levels)
    axes = Axes((found.low, found.high), (0.0, 1.0), height, left=left)
    marks = axes.frame(xlabel, "", grid=False)
    most = max(float(level.shares.max()) for level in found.levels) or 1.0
    edges = np.linspace(found.low, found.high, N_BINS + 1).tolist()
    for number, level in enumerate(reversed(found.levels)):
        base = TOP + (lane + gap) * (number + 1) - gap / 2
        corners = " ".join(
            f"V{base - lane * share / most:.1f}H{axes.x(right)}"
            for share, right in zip(level.shares.tolist(), edges[1:], strict=True)
        )
        path = f"M{axes.x(found.low)} {base:.1f}{corners}V{base:.1f}Z"
        marks.append(Mark("path", {"d": path, "class": "fill"}))
        at = axes.x(min(max(level.median, found.low), found.high))
        marks.append(line(at, base - lane, at, base, "median"))
        marks.append(axes.lane_name(base - lane / 3, level.label))
    return Picture(title, height, marks)


def weight_bars(weights: Sequence[Weight], title: str) -> Picture:
    """Draw each feature's effect as a bar, with its interval where it is known."""
    lane = 20.0
    height = TOP + lane * len(weights) + BOTTOM
    spans = [_span(weight) for weight in weights]
    ends = [weight.effect for weight in weights] + [end for span in spans for end in span] + [0.0]
    low, high = min(ends), max(ends)
    left = room_for(weight.name for weight in weights)
    axes = Axes((low, high) if low < high else (-1.0, 1.0), (0.0, 1.0), height, left=left)
    marks = axes.frame("weight times standard deviation", "")
    for number, (weight, span) in enumerate(zip(weights, spans, strict=True)):
        middle = TOP + lane * (number + 0.5)
        start, end = sorted((axes.x(0.0), axes.x(weight.effect)))
        shape = {"x": start, "y": middle - 6, "width": round(end - start, 1), "height": 12}
        marks.append(Mark("rect", {**shape, "class": "fill" if weight.effect >= 0 else "minus"}))
        if span:
            marks.append(line(axes.x(span[0]), middle, axes.x(span[1]), middle, "interval"))
        marks.append(axes.lane_name(middle + 4, weight.name))
    marks.append(line(axes.x(0.0), TOP, axes.x(0.0), height - BOTTOM, "zero"))
    return Picture(title, height, marks)


def _span(weight: Weight) -> tuple[float, ...]:
    """Return the interval of an effect, () if there is none."""
    if weight.low is None or weight.high is None or weight.weight == 0:
        return ()
    deviation = weight.effect / weight.weight
    return weight.low * deviation, weight.high * deviation
