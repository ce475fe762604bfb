"""Pictures of the measurements in benchmarks/RESULTS.md, as SVG for light and dark pages.

Run `python docs/pictures.py` to draw the picture of the README again. The site draws all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from results import number, table

STATIC = Path(__file__).resolve().parent / "_static"
README_PICTURE = "time-against-rows"
INK = {"light": "#1c2733", "dark": "#e6e9ec"}
SOFT = {"light": "#6b7785", "dark": "#a0a9b3"}
OURS = {"light": "#0b6e99", "dark": "#58c4e8"}
OTHER = {"light": "#b8500f", "dark": "#f0985a"}
Series = dict[str, tuple[list[float], list[float]]]


def time_against_rows() -> Series:
    """Return seconds of a sum over all pairs against rows, by method."""
    found = table("The fast sum of erfc")
    rows = [number(text) for text in found.column("points")]
    names = {
        "every pair, one by one": "direct",
        "Raykar et al. 2007": "beaulieu",
        "pairrank": "boxes",
        "a sigmoid per row": "expit",
    }
    return {
        name: (rows, [1e-9 * number(each) * n for each, n in zip(column, rows, strict=True)])
        for name, column in ((name, found.column(titled)) for name, titled in names.items())
    }


def boosting_against_rows() -> Series:
    """Return seconds of a round of RankBoost against rows, of the list of pairs and of ours."""
    found = table("RankBoost")
    measured = [row for row in found.rows if row[0][0].isdigit()]
    rows = [number(row[0]) for row in measured]
    return {
        "list of pairs": (rows, [number(row[2]) for row in measured]),
        "pairrank": (rows, [number(row[1]) for row in measured]),
    }


def fits_beside_liblinear() -> dict[str, float]:
    """Return how many times faster RankSVM reaches LIBLINEAR-ranksvm's objective, by data."""
    found = table("Beside LIBLINEAR-ranksvm")
    pairs = zip(found.column("data"), found.column("LIBLINEAR's eps"), strict=True)
    names = [f"{data}, eps {eps}" for data, eps in pairs]
    return dict(zip(names, map(number, found.column("geometric mean")), strict=True))


def fits_beside_logistic_regression() -> dict[str, float]:
    """Return seconds of a fit over those of LogisticRegression, 1e6 x 20, by ranker."""
    wanted = {"noise": "1", "label noise": "1", "C": "1", "loss": "logistic"}
    found = {}
    for place, name in enumerate(("RankSVM", "RankNCG")):
        measured = table("Beside LogisticRegression", number=place)
        for row in measured.rows:
            named = dict(zip(measured.columns, row, strict=True))
            if all(named.get(each, value) == value for each, value in wanted.items()):
                found[f"{name}, {row[0]}"] = number(row[-1])
    return found


def hull_beside_clarabel() -> dict[str, float]:
    """Return how many times faster the hull is fitted than by a general solver, by graph and nu."""
    found = table("Beside Clarabel")
    title = next(each for each in found.columns if each.startswith("times faster"))
    names = [f"{row[0]}, nu = {row[1]}" for row in found.rows]
    return dict(zip(names, map(number, found.column(title)), strict=True))


def least_squares_beside_rlscore() -> dict[str, float]:
    """Return how many times faster RankRLS is than RLScore's learners."""
    found = table("Beside RLScore")
    return dict(
        zip(found.column("its learner"), map(number, found.column("times faster")), strict=True)
    )


@contextmanager
def figure(theme: str, height: float = 3.2) -> Iterator[tuple[Any, Any]]:
    """Lend a transparent figure of 4.8 inches, in the colours of a theme."""
    settings = {
        "svg.fonttype": "none", "svg.hashsalt": "pairrank", "font.size": 11, "font.family":
        ["sans-serif"], "text.color": INK[theme], "axes.labelcolor": INK[theme],
        "xtick.color": SOFT[theme], "ytick.color": SOFT[theme], "axes.edgecolor": SOFT[theme],
        "axes.spines.top": False, "axes.spines.right": False, "savefig.transparent": True,
    }  # fmt: skip
    with mpl.rc_context(settings):
        drawn, axes = plt.subplots(figsize=(4.8, height), layout="constrained")
        yield drawn, axes
        plt.close(drawn)


def save(drawn: Any, data: Any, target: Path) -> None:
    """Write a figure with its data in its description, the same bytes every time."""
    described = {"Date": None, "Creator": None, "Description": json.dumps(data)}
    drawn.savefig(target, metadata=described)


def seconds(value: float, _: Any = None) -> str:
    """Return a time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= 0.999 * size:
            return f"{value / size:,.0f} {unit}"
    return f"{value / 1e-9:,.0f} ns"


def draw_lines(series: Series, target: Path, theme: str, measured: dict[str, float]) -> None:
    """Draw times against rows on logarithmic axes; each line has its name at its right end.

    `measured` has the rows up to which a line was measured; beyond, it is dashed.
    """
    names: dict[str, Any] = {}
    with figure(theme) as (drawn, axes):
        for place, (name, (rows, times)) in enumerate(series.items()):
            ours = name.startswith("pairrank")
            colour = OURS[theme] if ours else (OTHER[theme] if place == 0 else SOFT[theme])
            known = sum(n <= measured.get(name, max(rows)) for n in rows)
            style = {"color": colour, "linewidth": 2.8 if ours else 1.6}
            axes.plot(rows[:known], times[:known], marker="o", markersize=4, **style)
            if known < len(rows):
                axes.plot(rows[known - 1 :], times[known - 1 :], linestyle=(0, (3, 2)), **style)
            weight = "bold" if ours else "normal"
            names[name] = axes.annotate(
                name, (rows[-1], times[-1]), (6, 0), textcoords="offset points", va="center",
                color=colour, fontweight=weight, annotation_clip=False,
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlabel="rows")
        axes.yaxis.set_major_formatter(FuncFormatter(seconds))
        axes.yaxis.set_major_locator(LogLocator(10, numticks=8))
        axes.xaxis.set_major_formatter(FuncFormatter(count))
        if max(rows) < 100 * min(rows):
            axes.set_xticks(rows)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
        axes.grid(axis="y", color=SOFT[theme], alpha=0.25, linewidth=0.8)
        drawn.canvas.draw()
        separate(list(names.values()), 72.0 / drawn.dpi)
        save(drawn, series, target)


def separate(names: list[Any], points_per_pixel: float) -> None:
    """Move names of lines up where they are closer to one below, beside the same place."""
    occupied: list[tuple[float, float]] = []
    for name in sorted(names, key=lambda each: each.axes.transData.transform(each.xy)[1]):
        x, y = points_per_pixel * name.axes.transData.transform(name.xy)
        lowest = max([y, *(14.0 + other for at, other in occupied if at == x)])
        occupied.append((x, lowest))
        name.set_position((6, lowest - y))


def count(n: float, _: Any = None) -> str:
    """Return a number of rows in few letters."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if n >= size:
            return f"{n / size:,.0f} {unit}"
    return f"{n:,.0f}"


def draw_bars(values: dict[str, float], target: Path, theme: str, unit: str) -> None:
    """Draw horizontal bars with their values, and a line at 1."""
    with figure(theme, 0.8 + 0.36 * len(values)) as (drawn, axes):
        places = range(len(values))[::-1]
        axes.barh(places, list(values.values()), color=OURS[theme], height=0.62)
        axes.set_yticks(places, list(values), color=INK[theme])
        axes.set_xlabel(unit)
        axes.set_xlim(0, 1.15 * max(1.0, *values.values()))
        axes.axvline(1.0, color=OTHER[theme], linewidth=1.4)
        axes.tick_params(axis="y", length=0)
        for place, value in zip(places, values.values(), strict=True):
            axes.annotate(f"{value:g}", (value, place), (5, 0), textcoords="offset points",
                          va="center")  # fmt: skip
        save(drawn, values, target)


Draw = Callable[[Path, str], None]


def _lines(read: Callable[[], Series], **measured: float) -> Draw:
    return lambda target, theme: draw_lines(read(), target, theme, measured)


def _bars(read: Callable[[], dict[str, float]], unit: str) -> Draw:
    return lambda target, theme: draw_bars(read(), target, theme, unit)


PICTURES: dict[str, Draw] = {
    README_PICTURE: _lines(time_against_rows, **{"every pair, one by one": 3_200.0}),
    "boosting-against-rows": _lines(boosting_against_rows),
    "liblinear": _bars(fits_beside_liblinear, "times faster than LIBLINEAR-ranksvm"),
    "logistic-regression": _bars(
        fits_beside_logistic_regression, "time over that of LogisticRegression"
    ),
    "clarabel": _bars(hull_beside_clarabel, "times faster than Clarabel"),
    "rlscore": _bars(least_squares_beside_rlscore, "times faster than RLScore"),
}
"""What draws each picture, by its name."""


def draw(name: str, folder: Path) -> None:
    """Draw a picture for light and for dark pages."""
    folder.mkdir(exist_ok=True)
    for theme in INK:
        PICTURES[name](folder / f"{name}-{theme}.svg", theme)


if __name__ == "__main__":
    draw(README_PICTURE, STATIC)
