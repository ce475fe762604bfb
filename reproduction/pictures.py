"""Pictures as SVG that can be read in black and white."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.study import NotRun, Study

STYLES = (
    {"color": "#000000", "linestyle": "-", "marker": "o"},
    {"color": "#555555", "linestyle": "--", "marker": "s"},
    {"color": "#888888", "linestyle": "-.", "marker": "^"},
    {"color": "#222222", "linestyle": ":", "marker": "D"},
    {"color": "#777777", "linestyle": "-", "marker": "v"},
    {"color": "#333333", "linestyle": "--", "marker": "x"},
    {"color": "#999999", "linestyle": "-.", "marker": "P"},
    {"color": "#444444", "linestyle": ":", "marker": "*"},
)
"""Greys that differ in dash and marker too; `style(i)` takes them in turn."""

_SETTINGS: Any = {
    "svg.hashsalt": "pairrank",
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def style(place: int) -> dict[str, Any]:
    """Return the style of a curve: colour, dash and marker."""
    return {**STYLES[place % len(STYLES)], "markersize": 4.0, "linewidth": 1.2}


def new_figure(n_axes: int = 1, *, n_rows: int = 1) -> tuple[Any, list[Any]]:
    """Return a figure and its axes, side by side in rows."""
    from matplotlib.figure import Figure

    n_columns = -(-n_axes // n_rows)
    figure = Figure(figsize=(3.6 * n_columns + 0.4, 2.9 * n_rows + 0.2), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    return figure, list(axes.ravel())


def draw_curves(
    axes: Any,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str = "",
    x: str = "",
    y: str = "",
    log: str = "",
    dense: bool = False,
) -> None:
    """Draw curves of one axes, one style each, with a legend.

    Parameters
    ----------
    axes : matplotlib Axes
    curves : mapping of names to (x values, y values)
    title, x, y : str
        The axes' title and labels.
    log : "", "x", "y" or "xy"
        Which axes are logarithmic.
    dense : bool
        Draw a marker at about every tenth of the points.
    """
    for place, (name, (across, up)) in enumerate(curves.items()):
        every = max(1, len(across) // 10) if dense else 1
        axes.plot(across, up, label=name, markevery=every, **style(place))
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
    if len(curves) > 1:
        axes.legend(fontsize=7)


def draw_pictures(study: Study, folder: Path) -> set[str]:
    """Draw a study's pictures and return their names; one without cells is left out."""
    import matplotlib

    drawn = set()
    folder.mkdir(parents=True, exist_ok=True)
    for table in study.tables:
        path = folder / f"{study.name}-{table.name}.svg"
        if table.draw is None:
            continue
        try:
            with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                figure = table.draw(study)
                figure.savefig(path, format="svg", metadata={"Date": None})
            drawn.add(path.name)
        except NotRun:
            path.unlink(missing_ok=True)
    return drawn
