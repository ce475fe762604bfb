"""Marks of SVG, pictures made of them, and axes: what pictures share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pairrank._protocols import FloatArray

WIDTH = 420.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 12.0, 8.0, 38.0
LONGEST_NAME = 22


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


class Axes:
    """Linear axes of a picture of some height, and marks in their units.

    `x_ticks` are places and texts of the numbers below; None: round numbers.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        height: float,
        left: float = LEFT,
        x_ticks: list[tuple[float, str]] | None = None,
    ) -> None:
        self.left, self.height, self.x_ticks = left, height, x_ticks
        self.x_range, self.y_range = x, y
        self.x = _scale(x, (left, WIDTH - RIGHT))
        self.y = _scale(y, (height - BOTTOM, TOP))

    def frame(self, xlabel: str, ylabel: str, *, grid: bool = True) -> list[Mark]:
        """Return the lines, numbers and names of the axes; without `ylabel` only the lower one."""
        bottom, right = self.height - BOTTOM, WIDTH - RIGHT
        marks = [line(self.left, bottom, right, bottom, "axis")]
        room = max(2, int((right - self.left) / 60))
        for value, text in self.x_ticks or ticks(*self.x_range, room):
            at = self.x(value)
            if grid:
                marks.append(line(at, TOP, at, bottom, "grid"))
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
            marks.append(line(self.left, at, right, at, "grid"))
            place = {"x": self.left - 5, "y": at + 4, "text-anchor": "end"}
            marks.append(Mark("text", place, text))
        turned = f"rotate(-90 11 {(bottom + TOP) / 2:g})"
        beside = {"x": 11, "y": (bottom + TOP) / 2, "transform": turned, "class": "name"}
        return [*marks, Mark("text", {**beside, "text-anchor": "middle"}, ylabel)]

    def bar(self, left: float, right: float, top: float, kind: str) -> Mark:
        """Return a bar that stands on 0."""
        width = round(max(self.x(right) - self.x(left) - 1, 0.5), 1)
        height = round(self.y(0.0) - self.y(top), 1)
        place = {"x": self.x(left), "y": self.y(top), "width": width, "height": height}
        return Mark("rect", {**place, "class": kind})

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
        """Return a line between two points."""
        return line(self.x(x1), self.y(y1), self.x(x2), self.y(y2), kind)

    def lane_name(self, y: float, name: str) -> Mark:
        """Return the name of a lane, to the left of the axes; `y` is in units of the picture."""
        return Mark("text", {"x": self.left - 8, "y": y, "text-anchor": "end"}, short(name))

    def dot(self, x: float, y: float, radius: float, kind: str) -> Mark:
        """Return a dot."""
        place = {"cx": self.x(x), "cy": self.y(y), "r": round(radius, 1)}
        return Mark("circle", {**place, "class": kind})


def room_for(names: Iterable[str]) -> float:
    """Return where axes begin, so that the names of their lanes have room on the left."""
    return 20.0 + 6.6 * max(len(short(name)) for name in names)


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


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
    """Return a line between two points in units of the picture."""
    return Mark("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def interval_of(values: FloatArray) -> tuple[float, float]:
    """Return the range of an axis for values: 0 to 1 where it holds them all."""
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def short(name: str) -> str:
    """Return a name, cut where it is too long for a picture."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
