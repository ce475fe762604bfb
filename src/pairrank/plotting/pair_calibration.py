"""PairCalibrationDisplay: predicted probabilities of preferences against observed shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pairrank._protocols import Features
from pairrank.exceptions import PairrankError
from pairrank.plotting._common import Display, display_docs
from pairrank.plotting.calibration import MOST_PAIRS, N_BINS, calibration_of, pair_calibration
from pairrank.preferences import Pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


@display_docs
class PairCalibrationDisplay(Display):
    """Observed shares of preferences against predicted probabilities, beside the diagonal.

    Of each pair the row with the higher score is judged. Create it with `from_estimator`.

    Parameters
    ----------
    predicted : array-like of shape (n_bins,)
        The mean probability of each bin.
    observed : array-like of shape (n_bins,)
        The share of its pairs in which the row with the higher score is preferred.
    name : str, optional
        The legend of the curve.

    Attributes
    ----------
    ax_, figure_
    line_ : matplotlib Line2D

    See Also
    --------
    pairrank.report.pair_calibration : The numbers that are drawn.

    Examples
    --------
    >>> from pairrank import RankNCG
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> ranker = RankNCG().fit(X, y)
    >>> display = PairCalibrationDisplay.from_estimator(ranker, X, y, n_bins=2, draw=False)
    >>> display.observed.round(2)
    array([0.67, 1.  ])
    """

    line_: Line2D

    def __init__(
        self, predicted: ArrayLike, observed: ArrayLike, *, name: str | None = None
    ) -> None:
        self.predicted = np.asarray(predicted, dtype=np.float64)
        self.observed = np.asarray(observed, dtype=np.float64)
        if self.predicted.shape != self.observed.shape:
            raise PairrankError(
                f"there are {self.predicted.size} predicted values and {self.observed.size} "
                "observed ones"
            )
        self.name = name

    @classmethod
    @display_docs
    def from_estimator(
        cls,
        estimator: Any,
        X: Features,
        y: ArrayLike | Pairs,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int = N_BINS,
        max_pairs: int = MOST_PAIRS,
        random_state: int = 0,
        name: str | None = None,
        draw: bool = True,
        ax: Axes | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the calibration of a ranker's pair probabilities.

        Parameters
        ----------
        estimator : estimator
            A fitted RankNCG, or a Pipeline or search that ends with one.
        qid, sample_weight, n_bins, max_pairs, random_state : optional
            As in `pairrank.report.pair_calibration`.
        name : str, optional
            The legend; None: the class of the estimator.

        Returns
        -------
        PairCalibrationDisplay

        Raises
        ------
        ValueError
            If the ranker predicts no probabilities, or there is no preference.
        """
        found = pair_calibration(
            estimator, X, y, qid=qid, sample_weight=sample_weight, n_bins=n_bins,
            max_pairs=max_pairs, random_state=random_state,
        )  # fmt: skip
        display = cls(found.predicted, found.observed, name=name or type(estimator).__name__)
        return display.plot(ax, **line_kw) if draw else display

    @classmethod
    @display_docs
    def from_predictions(
        cls,
        outcomes: ArrayLike,
        probabilities: ArrayLike,
        *,
        n_bins: int = N_BINS,
        name: str | None = None,
        draw: bool = True,
        ax: Axes | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the calibration of given probabilities, such as those of `predict_pair_proba`.

        Parameters
        ----------
        outcomes : array-like of shape (n_pairs,)
            1 if the first row of the pair is preferred, 0 if the second is, 0.5 for a tie.
        probabilities : array-like of shape (n_pairs,)
            The probabilities that the first row is preferred, from 0 to 1.
        n_bins, name : optional
            As in `from_estimator`.

        Returns
        -------
        PairCalibrationDisplay

        Raises
        ------
        ValueError
            If a number is out of range, or there are not as many outcomes as probabilities.
        """
        found = calibration_of(outcomes, probabilities, n_bins)
        display = cls(found.predicted, found.observed, name=name)
        return display.plot(ax, **line_kw) if draw else display

    def plot(self, ax: Axes | None = None, **line_kw: Any) -> Self:
        """Draw the curve and the diagonal; return the display, with `ax_`, `figure_`, `line_`."""
        ax = self._axes(ax)
        ax.plot([0.5, 1.0], [0.5, 1.0], color="0.5", linestyle="--", label="as predicted")
        own = {"marker": "o", "label": self.name or "ranker", **line_kw}
        (self.line_,) = ax.plot(self.predicted, self.observed, **own)
        ax.set(xlabel="predicted probability", ylabel="observed share")
        ax.legend()
        return self
