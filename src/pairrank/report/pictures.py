"""Pictures of a report as marks of SVG: histograms, scatters, intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.report.calibration import PairCalibration
from pairrank.report.score_levels import N_BINS, Levels
from pairrank.report.weights import Weight

WIDTH = 420.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 48.0, 12.0, 8.0, 38.0
_LONGEST_NAME = 22
MOST_POINTS = 1_000
HISTOGRAM_BINS = 24
_LEAST_COUNT = 4
"""The axis of counts goes at least so far, so that its numbers are whole."""


class Mark(NamedTuple):
    """An SVG element: its tag, attributes and text."""

    tag: str
    attributes: dict[str, Any]
    text: str = ""


class Picture(NamedTuple):
    """A drawing of `WIDTH` units; `title` describes it for readers who do not see it."""

    title: str
    height: float
    marks: list[Mark]

    @property
    def view(self) -> str:
        """The viewBox."""
        return f"0 0 {WIDTH:g} {self.height:g}"


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
    low, high = _interval(together)
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
    low, high = _interval(np.concatenate((x, y)))
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
    height = _TOP + (lane + gap) * len(found.levels) + _BOTTOM
    longest = max(len(_short(level.label)) for level in found.levels)
    axes = Axes((found.low, found.high), (0.0, 1.0), height, left=20.0 + 6.6 * longest)
    marks = axes.frame(xlabel, "", grid=False)
    most = max(float(level.shares.max()) for level in found.levels) or 1.0
    edges = np.linspace(found.low, found.high, N_BINS + 1).tolist()
    for number, level in enumerate(reversed(found.levels)):
        base = _TOP + (lane + gap) * (number + 1) - gap / 2
        corners = " ".join(
            f"V{base - lane * share / most:.1f}H{axes.x(right)}"
            for share, right in zip(level.shares.tolist(), edges[1:], strict=True)
        )
        path = f"M{axes.x(found.low)} {base:.1f}{corners}V{base:.1f}Z"
        marks.append(Mark("path", {"d": path, "class": "fill"}))
        at = axes.x(min(max(level.median, found.low), found.high))
        marks.append(_line(at, base - lane, at, base, "median"))
        label = {"x": axes.left - 8, "y": base - lane / 3, "text-anchor": "end"}
        marks.append(Mark("text", label, _short(level.label)))
    return Picture(title, height, marks)


def weight_bars(weights: Sequence[Weight], title: str) -> Picture:
    """Draw each feature's effect as a bar, with its interval where it is known."""
    lane = 20.0
    height = _TOP + lane * len(weights) + _BOTTOM
    spans = [_span(weight) for weight in weights]
    ends = [weight.effect for weight in weights] + [end for span in spans for end in span] + [0.0]
    low, high = min(ends), max(ends)
    longest = max(len(_short(weight.name)) for weight in weights)
    left = 20.0 + 6.6 * longest
    axes = Axes((low, high) if low < high else (-1.0, 1.0), (0.0, 1.0), height, left=left)
    marks = axes.frame("weight times standard deviation", "")
    for number, (weight, span) in enumerate(zip(weights, spans, strict=True)):
        middle = _TOP + lane * (number + 0.5)
        start, end = sorted((axes.x(0.0), axes.x(weight.effect)))
        shape = {"x": start, "y": middle - 6, "width": round(end - start, 1), "height": 12}
        marks.append(Mark("rect", {**shape, "class": "fill" if weight.effect >= 0 else "minus"}))
        if span:
            marks.append(_line(axes.x(span[0]), middle, axes.x(span[1]), middle, "interval"))
        label = {"x": axes.left - 8, "y": middle + 4, "text-anchor": "end"}
        marks.append(Mark("text", label, _short(weight.name)))
    marks.append(_line(axes.x(0.0), _TOP, axes.x(0.0), height - _BOTTOM, "zero"))
    return Picture(title, height, marks)


def _span(weight: Weight) -> tuple[float, ...]:
    """Return the interval of an effect, () if there is none."""
    if weight.low is None or weight.high is None or weight.weight == 0:
        return ()
    deviation = weight.effect / weight.weight
    return weight.low * deviation, weight.high * deviation


class Axes:
    """Linear axes of a picture of some height, and marks in their units."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        height: float,
        left: float = _LEFT,
    ) -> None:
        self.left, self.height = left, height
        self.x_range, self.y_range = x, y
        self.x = _scale(x, (left, WIDTH - _RIGHT))
        self.y = _scale(y, (height - _BOTTOM, _TOP))

    def frame(self, xlabel: str, ylabel: str, *, grid: bool = True) -> list[Mark]:
        """Return the lines, numbers and names of the axes; without `ylabel` only the lower one."""
        bottom, right = self.height - _BOTTOM, WIDTH - _RIGHT
        marks = [_line(self.left, bottom, right, bottom, "axis")]
        room = max(2, int((right - self.left) / 60))
        for value, text in ticks(*self.x_range, room):
            at = self.x(value)
            if grid:
                marks.append(_line(at, _TOP, at, bottom, "grid"))
            place = {"x": at, "y": bottom + 14, "text-anchor": "middle"}
            marks.append(Mark("text", place, text))
        middle = (self.left + right) / 2
        below = {"x": middle, "y": self.height - 6, "text-anchor": "middle", "class": "name"}
        marks.append(Mark("text", below, xlabel))
        if ylabel:
            marks += self._left_axis(ylabel, bottom, right)
        return marks

    def _left_axis(self, ylabel: str, bottom: float, right: float) -> list[Mark]:
        marks = []
        for value, text in ticks(*self.y_range, 5):
            at = self.y(value)
            marks.append(_line(self.left, at, right, at, "grid"))
            place = {"x": self.left - 5, "y": at + 4, "text-anchor": "end"}
            marks.append(Mark("text", place, text))
        turned = f"rotate(-90 11 {(bottom + _TOP) / 2:g})"
        beside = {"x": 11, "y": (bottom + _TOP) / 2, "transform": turned, "class": "name"}
        return [*marks, Mark("text", {**beside, "text-anchor": "middle"}, ylabel)]

    def bar(self, left: float, right: float, top: float, kind: str) -> Mark:
        """Return a bar that stands on 0."""
        width = round(max(self.x(right) - self.x(left) - 1, 0.5), 1)
        height = round(self.y(0.0) - self.y(top), 1)
        place = {"x": self.x(left), "y": self.y(top), "width": width, "height": height}
        return Mark("rect", {**place, "class": kind})

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
        """Return a line between two points."""
        return _line(self.x(x1), self.y(y1), self.x(x2), self.y(y2), kind)

    def dot(self, x: float, y: float, radius: float, kind: str) -> Mark:
        """Return a dot."""
        place = {"cx": self.x(x), "cy": self.y(y), "r": round(radius, 1)}
        return Mark("circle", {**place, "class": kind})


def ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return round numbers from low to high, about `most` of them, with their texts.

    Examples
    --------
    >>> [text for _, text in ticks(0.0, 1.0, 5)]
    ['0', '0.2', '0.4', '0.6', '0.8', '1']
    """
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * each for each in (1, 2, 5, 10) if span / (power * each) <= most * 1.001)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = 12 - math.floor(math.log10(step))
    values = [round(number * step, digits) for number in range(first, last + 1)]
    return [(value, f"{value:.6g}") for value in values]


def _scale(source: tuple[float, float], target: tuple[float, float]) -> Callable[[float], float]:
    (low, high), (start, end) = source, target
    factor = (end - start) / (high - low)
    return lambda value: round(start + (value - low) * factor, 1)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
    return Mark("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def _interval(values: FloatArray) -> tuple[float, float]:
    """Return the range of an axis for values: 0 to 1 where it holds them all."""
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
