"""Pictures as SVG that can be read in black and white."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.study import Cell, NotRun, Study, Table, numbers

_COLORS = ("000000", "555555", "888888", "222222", "777777", "333333", "999999", "444444")
_LOOKS = {
    "color": [f"#{color}" for color in _COLORS],
    "linestyle": ["-", "--", "-.", ":"] * 2,
    "marker": [*"os^DvxP*"],
}
"""Greys that differ in dash and marker too, taken in turn."""

_SETTINGS: Any = {
    "svg.hashsalt": "pairrank",
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 7.0,
    "axes.titlesize": 9.0,
    "lines.markersize": 4.0,
    "lines.linewidth": 1.2,
}


def draw_pictures(study: Study, folder: Path) -> set[str]:
    """Draw the tables that have curves and return the pictures' names; none without cells."""
    import matplotlib
    from cycler import cycler

    settings = _SETTINGS | {"axes.prop_cycle": cycler(**_LOOKS)}
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
            with matplotlib.rc_context(settings), warnings.catch_warnings():
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
            for cell in cells:
                found = study.records[cell.key]["values"]
                if cell.row == row and curve.value in found:
                    up = numbers(found[curve.value])
                    across = found[curve.against] if curve.against else range(1, len(up) + 1)
                    axes.plot(across, up, label=cell.column, markevery=max(1, len(up) // 10))
            axes.set(title=row, xlabel=curve.against or "steps + 1", ylabel=curve.title)
            axes.set(xscale="log", yscale="log" if curve.is_log else "linear")
            if len(axes.lines) > 1:
                axes.legend()
    return figure
