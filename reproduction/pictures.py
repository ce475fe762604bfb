"""Pictures as SVG that can be read in black and white."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.study import Cell, Curve, NotRun, Study, Table

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
"""Greys that differ in dash and marker too, taken in turn."""

_SETTINGS: Any = {
    "svg.hashsalt": "pairrank",
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def draw_pictures(study: Study, folder: Path) -> set[str]:
    """Draw the tables that have curves and return the pictures' names; none without cells."""
    import matplotlib

    drawn = set()
    folder.mkdir(parents=True, exist_ok=True)
    for table in study.tables:
        path = folder / f"{study.name}-{table.name}.svg"
        try:
            cells = study.done(table.name) if table.curves else []
        except NotRun:
            path.unlink(missing_ok=True)
            continue
        if cells:
            with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                figure = _figure(study, table, cells)
                figure.savefig(path, format="svg", metadata={"Date": None})
            drawn.add(path.name)
    return drawn


def _figure(study: Study, table: Table, cells: Sequence[Cell]) -> Any:
    """Draw a row of axes for each curve, and a curve for each column that has it."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys(cell.row for cell in cells))
    n_curves = len(table.curves)
    size = (3.6 * len(rows) + 0.4, 2.9 * n_curves + 0.2)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(n_curves, len(rows), squeeze=False)
    for curve, line in zip(table.curves, grid, strict=True):
        for row, axes in zip(rows, line, strict=True):
            columns = [cell.column for cell in cells if cell.row == row]
            _draw_curves(study, table.name, row, columns, curve, axes)
    return figure


def _draw_curves(
    study: Study, table: str, row: str, columns: Sequence[str], curve: Curve, axes: Any
) -> None:
    """Draw the curves of a row, one style each, with a legend."""
    place = 0
    for column in columns:
        try:
            up = study.values(table, row, column, curve.value)
        except KeyError:
            continue
        across: Sequence[float] = range(1, len(up) + 1)
        if curve.against:
            across = study.values(table, row, column, curve.against)
        looks = {**STYLES[place % len(STYLES)], "markersize": 4.0, "linewidth": 1.2}
        axes.plot(across, up, label=column, markevery=max(1, len(up) // 10), **looks)
        place += 1
    axes.set_title(row, fontsize=9)
    axes.set_xlabel(curve.against or "steps + 1")
    axes.set_ylabel(curve.title)
    axes.set_xscale("log")
    if curve.is_log:
        axes.set_yscale("log")
    if place > 1:
        axes.legend(fontsize=7)
