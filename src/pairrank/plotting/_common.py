"""What the displays share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairrank._docstrings import described_by, entries
from pairrank._extras import require
from pairrank._protocols import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Display:
    """What displays share: the axes that they draw on, a new figure's unless given."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _axes(self, ax: Axes | None, **figure: Any) -> Any:
        """Return where to draw, and remember it; `figure` are the keywords of a new figure."""
        if ax is None:
            ax = require("matplotlib.pyplot", "plot", "plots").subplots(**figure)[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _axes_of_rows(self, ax: Axes | None, names: Sequence[str]) -> Any:
        """Return where to draw one row per name, the first on top."""
        height = max(2.0, 1.0 + 0.25 * len(names))
        ax = self._axes(ax, figsize=(6.4, height), layout="constrained")
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        return ax


def edges_of(values: FloatArray, n_bins: int) -> FloatArray:
    """Return the edges of bins for values, from 0 to 1 where these hold them all."""
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, n_bins + 1)


_METHODS = {
    "bar_kw": "barh",
    "hist_kw": "hist",
    "errorbar_kw": "errorbar",
}
"""The method of matplotlib's Axes that further keywords are passed to."""

_SHARED = entries("""
X : array-like, CSR matrix or frame of shape (n_rows, n_features)
    Rows to judge by.
y : array-like of shape (n_rows,), or Pairs
    Their labels.
qid : array-like of shape (n_rows,), optional
    Queries; None: all rows are one query.
ax : matplotlib Axes, optional
    Where to draw; None: a new figure.
ax_ : matplotlib Axes
figure_ : matplotlib Figure
metric : str
    A name as in `pairrank.model_selection.get_query_scorer`.
top : int, optional
    How many of the best items; None: all.
""")

display_docs = described_by(_SHARED)
"""Decorator of displays: what they share is described once, here."""

constructor_docs = described_by(
    _SHARED,
    {
        f"**{name}": f"**{name} : Any\n    Passed to matplotlib's `{method}`."
        for name, method in _METHODS.items()
    },
    {
        "Returns": "Display\n    Drawn; an ImportError says so if matplotlib is missing.",
        "Raises": "PairrankError\n"
        "    If an argument is of the wrong kind or out of range, or there is nothing to draw.",
    },
)
"""Decorator of their constructors."""
