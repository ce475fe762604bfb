"""Pictures of a comparison: values per fold, differences per query, time against quality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.report.drawing import (
    BOTTOM,
    TOP,
    WIDTH,
    Axes,
    Mark,
    Picture,
    line,
    room_for,
    short,
    ticks,
)

MOST_BARS = 160
"""More units than this are drawn by as many quantiles of their differences."""

_LETTER = 6.6


def fold_dots(values: Mapping[str, FloatArray], xlabel: str, title: str) -> Picture:
    """Draw a lane per model, with a dot per fold and a line at their mean."""
    lane = 24.0
    height = TOP + lane * len(values) + BOTTOM
    axes = Axes(_range(np.concatenate(list(values.values()))), (0.0, 1.0), height, room_for(values))
    marks = axes.frame(xlabel, "")
    for number, (name, own) in enumerate(values.items()):
        middle = TOP + lane * (number + 0.5)
        for value in own.tolist():
            marks.append(
                Mark("circle", {"cx": axes.x(value), "cy": middle, "r": 4, "class": "point"})
            )
        at = axes.x(float(own.mean()))
        marks.append(line(at, middle - 8, at, middle + 8, "median"))
        marks.append(axes.lane_name(middle + 4, name))
    return Picture(title, height, marks)


def difference_bars(differences: Mapping[str, FloatArray], xlabel: str, title: str) -> Picture:
    """Draw a lane per model, with a bar per unit for its difference, largest first.

    All lanes have the same scale. Bars above the line are larger than 0.
    """
    lane, gap = 46.0, 8.0
    height = TOP + (lane + gap) * len(differences) + BOTTOM
    most = max(float(np.abs(each).max()) for each in differences.values()) or 1.0
    axes = Axes((0.0, 100.0), (0.0, 1.0), height, room_for(differences))
    marks = axes.frame(xlabel, "", grid=False)
    for number, (name, values) in enumerate(differences.items()):
        zero = TOP + (lane + gap) * number + lane / 2
        drawn = np.sort(values)[::-1]
        if drawn.size > MOST_BARS:
            drawn = np.quantile(drawn, 1.0 - (np.arange(MOST_BARS) + 0.5) / MOST_BARS)
        edges = np.linspace(0.0, 100.0, drawn.size + 1).tolist()
        for kind, sign in (("fill", 1.0), ("minus", -1.0)):
            path = _bars(axes, zero, lane / 2 / most, sign, drawn, edges)
            if path:
                marks.append(Mark("path", {"d": path, "class": kind}))
        marks.append(line(axes.left, zero, axes.x(100.0), zero, "axis"))
        marks.append(axes.lane_name(zero + 4, name))
    return Picture(title, height, marks)


def _bars(
    axes: Axes, zero: float, scale: float, sign: float, drawn: FloatArray, edges: Sequence[float]
) -> str:
    """Return the path of the bars of one sign."""
    steps = [
        f"M{axes.x(left)} {zero:.1f}V{zero - scale * value:.1f}H{axes.x(right)}V{zero:.1f}Z"
        for value, left, right in zip(drawn.tolist(), edges[:-1], edges[1:], strict=True)
        if sign * value > 0
    ]
    return "".join(steps)


class Timed(NamedTuple):
    """A model's seconds and its quality."""

    name: str
    seconds: float
    value: float


def time_scatter(models: Sequence[Timed], ylabel: str, title: str) -> Picture:
    """Draw a named dot per model: seconds of a fit across, on a scale of powers of ten."""
    height = 340.0
    logs = [math.log10(max(each.seconds, 1e-4)) for each in models]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    high = high if low < high else low + 1
    decades = [(float(power), f"{10.0**power:g}") for power in range(low, high + 1)]
    values = np.array([each.value for each in models])
    span = _range(values)
    left = 28.0 + _LETTER * max(len(text) for _, text in ticks(*span, 5))
    axes = Axes((low, high), span, height, left, x_ticks=decades)
    marks = axes.frame("seconds of a fit", ylabel)
    dots = [(axes.x(log), axes.y(each.value)) for each, log in zip(models, logs, strict=True)]
    taken = [(x - 5, 10.0, y + 4) for x, y in dots]
    for (x, y), each in sorted(zip(dots, models, strict=True), key=lambda both: -both[1].value):
        name = short(each.name)
        start, at = _free(taken, x, y + 4, _LETTER * len(name), axes.left)
        taken.append((start, _LETTER * len(name), at))
        is_left = start < x
        beside = {"x": x - 7 if is_left else x + 7, "y": at}
        if at > y + 12:
            marks.append(line(x, y, beside["x"], at - 4, "axis"))
        marks.append(Mark("circle", {"cx": x, "cy": y, "r": 4.5, "class": "fill"}))
        marks.append(Mark("text", {**beside, "text-anchor": "end" if is_left else "start"}, name))
    return Picture(title, height, marks)


def _free(
    taken: list[tuple[float, float, float]], x: float, y: float, width: float, edge: float
) -> tuple[float, float]:
    """Return where a name begins beside x, and its line: it covers no dot and no other name.

    The right side comes before the left one, and the same line before those below. `taken` are the
    starts, widths and lines of dots and names; none begins left of `edge`.
    """
    right, left = x + 7, x - 7 - width
    starts = [right] * (right + width <= WIDTH - 4) + [left] * (left >= edge) or [right]
    while True:
        for start in starts:
            if not any(
                start < other + its_width and other < start + width and abs(y - at) < 12
                for other, its_width, at in taken
            ):
                return start, round(y, 1)
        y += 3


def _range(values: FloatArray) -> tuple[float, float]:
    """Return the range of an axis, a little wider than the values."""
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 0.05 * abs(low) or 0.5
    return low - margin, high + margin
