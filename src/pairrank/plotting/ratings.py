"""Plots of BradleyTerry: scores with intervals, and probabilities of wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pairrank._validation import check_number
from pairrank.exceptions import PairrankError
from pairrank.plotting._common import Display, constructor_docs, display_docs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.image import AxesImage
    from matplotlib.text import Text

_MOST_TEXTS = 30
"""Probabilities are written into matrices of at most this many items."""


@display_docs
class RatingsDisplay(Display):
    """Scores with their intervals, best on top (a caterpillar plot).

    Create it with `from_estimator`.

    Parameters
    ----------
    items : array-like of shape (n_items,)
        Names, best first.
    scores, low, high : array-like of shape (n_items,)
        Scores and the ends of their intervals.

    Attributes
    ----------
    ax_, figure_
    errorbar_ : matplotlib ErrorbarContainer
        Points and intervals.

    Examples
    --------
    >>> from pairrank import BradleyTerry, RatingsDisplay
    >>> model = BradleyTerry().fit(["a", "b", "b", "c"], ["b", "a", "c", "a"])
    >>> RatingsDisplay.from_estimator(model, draw=False).items
    ['b', 'c', 'a']
    """

    errorbar_: ErrorbarContainer

    def __init__(
        self, items: ArrayLike, scores: ArrayLike, low: ArrayLike, high: ArrayLike
    ) -> None:
        self.items = [str(item) for item in np.asarray(items, dtype=object)]
        self.scores, self.low, self.high = (
            np.asarray(values, dtype=np.float64) for values in (scores, low, high)
        )
        sizes = {len(self.items), self.scores.size, self.low.size, self.high.size}
        if len(sizes) > 1:
            raise PairrankError("items, scores, low and high must have one length")

    @classmethod
    @constructor_docs
    def from_estimator(
        cls,
        estimator: Any,
        *,
        top: int | None = None,
        draw: bool = True,
        ax: Axes | None = None,
        **errorbar_kw: Any,
    ) -> Self:
        """Draw the scores of a fitted BradleyTerry.

        Parameters
        ----------
        estimator : BradleyTerry
            Fitted with a covariance.
        """
        ranking = _ranking_of(estimator, top)
        if "low" not in list(ranking):
            raise PairrankError("covariance=None gives no intervals: set covariance and fit again")
        columns = (ranking[name][:top] for name in ("item", "score", "low", "high"))
        display = cls(*columns)
        return display.plot(ax, **errorbar_kw) if draw else display

    def plot(self, ax: Axes | None = None, **errorbar_kw: Any) -> Self:
        """Draw the scores; return the display, with `ax_`, `figure_` and `errorbar_`."""
        height = max(2.0, 0.8 + 0.25 * len(self.items))
        ax = self._axes(ax, figsize=(6.4, height), layout="constrained")
        place = np.arange(len(self.items))
        self.errorbar_ = ax.errorbar(
            self.scores,
            place,
            xerr=np.array([self.scores - self.low, self.high - self.scores]),
            **{"fmt": "o", "markersize": 4, "capsize": 2, **errorbar_kw},
        )
        ax.set_yticks(place, _written(self.items))
        ax.set(xlabel="score", ylim=(len(self.items) - 0.5, -0.5))
        ax.grid(axis="x", alpha=0.3)
        return self


@display_docs
class WinMatrixDisplay(Display):
    """The probability that each item wins against each other one, as colours and numbers.

    Create it with `from_estimator`. A tie is half a win.

    Parameters
    ----------
    items : array-like of shape (n_items,)
        Names, best first.
    probabilities : array-like of shape (n_items, n_items)
        Entry (i, j): that item i wins against item j.

    Attributes
    ----------
    ax_, figure_
    image_ : matplotlib AxesImage
    text_ : list of matplotlib Text
        The numbers; empty for more than 30 items.

    Examples
    --------
    >>> from pairrank import BradleyTerry, WinMatrixDisplay
    >>> model = BradleyTerry().fit(["a", "b", "b", "c"], ["b", "a", "c", "a"])
    >>> WinMatrixDisplay.from_estimator(model, draw=False).probabilities.shape
    (3, 3)
    """

    image_: AxesImage
    text_: list[Text]

    def __init__(self, items: ArrayLike, probabilities: ArrayLike) -> None:
        self.items = [str(item) for item in np.asarray(items, dtype=object)]
        self.probabilities = np.asarray(probabilities, dtype=np.float64)
        if self.probabilities.shape != (len(self.items),) * 2:
            raise PairrankError(
                f"probabilities has shape {self.probabilities.shape} for {len(self.items)} items"
            )

    @classmethod
    @constructor_docs
    def from_estimator(
        cls,
        estimator: Any,
        *,
        top: int | None = None,
        draw: bool = True,
        ax: Axes | None = None,
        **imshow_kw: Any,
    ) -> Self:
        """Draw the probabilities of a fitted BradleyTerry.

        Parameters
        ----------
        estimator : BradleyTerry
            Fitted.
        """
        items = _ranking_of(estimator, top)["item"][:top]
        display = cls(items, estimator.win_matrix(items))
        return display.plot(ax, **imshow_kw) if draw else display

    def plot(self, ax: Axes | None = None, **imshow_kw: Any) -> Self:
        """Draw the matrix; return the display, with `ax_`, `figure_`, `image_` and `text_`."""
        size = len(self.items)
        side = min(2.5 + 0.4 * size, 14.0)
        ax = self._axes(ax, figsize=(side + 1.0, side), layout="constrained")
        shown = np.where(np.eye(size, dtype=bool), np.nan, self.probabilities)
        options = {"cmap": "RdBu", "vmin": 0.0, "vmax": 1.0, **imshow_kw}
        self.image_ = ax.imshow(shown, **options)
        self.text_ = []
        if size <= _MOST_TEXTS:
            for i, j in zip(*np.nonzero(~np.eye(size, dtype=bool)), strict=True):
                colour = "black" if 0.2 < shown[i, j] < 0.8 else "white"
                style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
                self.text_.append(
                    ax.text(j, i, f"{100.0 * shown[i, j]:.0f}", color=colour, **style)
                )
        names, place = _written(self.items), np.arange(size)
        ax.set_xticks(place, names, rotation=90)
        ax.set_yticks(place, names)
        ax.set(xlabel="against", ylabel="item")
        self.figure_.colorbar(self.image_, ax=ax, label="probability of a win")
        return self


def _ranking_of(estimator: Any, top: int | None) -> Any:
    check_is_fitted(estimator)
    if top is not None:
        check_number(top, "top", integer=True)
    if not hasattr(estimator, "ranking_"):
        raise PairrankError(f"a {type(estimator).__name__} has no ranking: give a BradleyTerry")
    return estimator.ranking_


def _written(items: list[str]) -> list[str]:
    """Return names as matplotlib writes them: a dollar sign would start a formula."""
    return [item.replace("$", r"\$") for item in items]
