"""What the displays share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pairrank._docstrings import described_by, entries
from pairrank._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

STRENGTHS = ("alpha", "C", "nu")
"""The parameters that set how strongly a ranker is regularised; each ranker has one."""


class Display:
    """What displays share: the axes that they draw on, a new figure's unless given."""

    ax_: Axes
    figure_: Figure | SubFigure

    def _axes(self, ax: Axes | None, **figure: Any) -> Any:
        """Return where to draw, and remember it; `figure` are the keywords of a new figure."""
        if ax is None:
            ax = pyplot_of().subplots(**figure)[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def pyplot_of() -> Any:
    """Return matplotlib's pyplot, or say how to install it."""
    return require("matplotlib.pyplot", "plot", "plots")


_METHODS = {
    "line_kw": "plot",
    "bar_kw": "barh",
    "hist_kw": "hist",
    "errorbar_kw": "errorbar",
    "imshow_kw": "imshow",
}
"""The method of matplotlib's Axes that further keywords are passed to."""

_SHARED = entries("""
X : array-like, CSR matrix or frame of shape (n_rows, n_features)
    Rows to judge by.
y : array-like of shape (n_rows,), or Pairs
    Their labels.
qid : array-like of shape (n_rows,), optional
    Queries; None: all rows are one query.
draw : bool
    Draw now; an ImportError says so if matplotlib is missing. False: call `plot` later.
ax : matplotlib Axes, optional
    Where to draw; None: a new figure.
ax_ : matplotlib Axes
figure_ : matplotlib Figure
lines_ : list of matplotlib Line2D
    One line per curve.
metric : str
    A name as in `pairrank.model_selection.get_query_scorer`.
n_bins : int
    The number of bins of equal width from 0.5 to 1.
name : str, optional
    The legend.
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
        "Returns": "Display\n    Drawn, unless ``draw=False``.",
        "Raises": "PairrankError\n"
        "    If an argument is of the wrong kind or out of range, or there is nothing to draw.",
    },
)
"""Decorator of their constructors."""
