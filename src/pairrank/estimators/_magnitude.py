"""MagnitudeRanker: the base of MPRank and SVRank, with the stability bound on their error."""

from __future__ import annotations

from abc import ABC
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank import threads
from pairrank._protocols import Features, FloatArray
from pairrank.blocks._contracts import Passes
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._rows import Rows, columns_of
from pairrank.estimators._targets import DifferenceRanker
from pairrank.exceptions import PairrankError
from pairrank.losses import Square, Tube
from pairrank.metrics.stability import StabilityBound, stability_bound
from pairrank.objective.normal_equations import block_rows, dense
from pairrank.preferences import Differences, Pairs

_SHARE = 0.1
"""The default C per row and unit of the labels: the C of RankSVM."""


@ranker
class MagnitudeRanker(DifferenceRanker, ABC):
    r"""A ranker that minimises \|w\|^2 + C times the mean cost of a query's differences.

    Parameters
    ----------
    C : float or None, default None
        Weight of the costs, averaged over the m_q^2 pairs of a query. None is m s^(2 - n)/10, where
        m is the mean number of rows of a query (of Pairs, twice that of the comparisons) and s the
        standard deviation of the labels of a query (of Pairs, the root mean square of magnitudes
        over sqrt(2); all targets together have one). So scores follow a change of the labels' unit,
        and with n = 2 and one query it is RankRLS with alpha = 5. A row then costs as much as by
        the default C of RankSVM.

    Attributes
    ----------
    C_ : float
        The weight that was used.
    """

    C: float | None = None
    _: KW_ONLY
    n: int = 2
    tol: float = 1e-4

    _mean_cost = True
    _solvers: ClassVar[dict[int, tuple[str, ...]]]
    """The solvers besides "auto", by n."""

    def stability_bound(self, X: Features, y: ArrayLike, *, delta: float = 0.05) -> StabilityBound:
        r"""Return how far the true error may be from the one on these training rows.

        `pairrank.metrics.stability_bound` with kappa, the largest distance of a row from zero, or
        from the mean of the rows if that is less, and
        M = range(y)/2 + kappa (C max(0, range(y) - epsilon)^n/2)^(1/2), since \|h\|^2 is at most
        the objective at 0.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
            The training rows; with ``kernel="precomputed"`` their kernel matrix.
        y : array-like of shape (n_rows,)
            Their labels, as one query.
        delta : float, default 0.05
            The probability that the bound fails.

        Returns
        -------
        StabilityBound

        Notes
        -----
        The bound assumes independent rows of one distribution, future rows within the radius and
        the range of labels of these rows, and a kernel that does not depend on them (gamma="scale"
        and the landmarks of "nystroem" do). Costs O(n_rows n_features).

        Examples
        --------
        >>> from pairrank import MPRank
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 2]
        >>> bound = MPRank(C=0.5).fit(X, y).stability_bound(X, y)
        >>> bound.kappa, bound.M, bound.is_vacuous
        (1.5, 2.5, True)
        """
        check_is_fitted(self)
        if isinstance(y, Pairs):
            raise PairrankError(
                "the bound assumes rows drawn independently, which Pairs are not: give labels"
            )
        checked = self._check_X(X, reset=False)
        labels = self._check_y(y, checked.shape[0])
        if labels.ndim > 1:
            raise PairrankError(f"y has {labels.shape[1]} targets: ask for the bound of each one")
        in_kernel = self._is_precomputed and not hasattr(self, "kernel_")
        radius = (
            _radius_of_kernel(checked) if in_kernel else _radius_of_rows(self._features(checked))
        )
        width, C, n = float(np.ptp(labels)), self.C_, int(self.n)
        largest = 0.5 * C * max(0.0, width - getattr(self, "epsilon_", 0.0)) ** n
        M = 0.5 * width + radius * float(np.sqrt(largest))
        return stability_bound(C, radius, M, labels.size, n, delta)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.C is not None:
            validation.check_number(self.C, "C")
        if self.C is not None and not np.isfinite(2.0 * float(self.C)):
            raise PairrankError(f"C = {self.C!r} is so large that 2 C overflows; lower it")
        validation.check_power(self.n)
        choices = ("auto", *self._solvers[int(self.n)])
        validation.check_choice(self.solver, f"solver (for n = {self.n})", choices)

    def _derive(self, size: float, spread: float) -> None:
        """Set the parameters that the rows decide; `spread` is the labels' standard deviation."""
        derived = _SHARE * size * spread ** (2 - int(self.n))
        self.C_ = derived if self.C is None else float(self.C)

    def _loss(self) -> Square | Tube:
        """Return the cost of a difference."""
        return Tube(getattr(self, "epsilon_", 0.0), int(self.n))

    def _prepare_blocks(self, passes: Passes, catalog: Any) -> Any:
        prepared = super()._prepare_blocks(passes, catalog)
        self._derive(prepared.size, prepared.spread)
        return prepared

    def _preferences(self, rows: Rows) -> Differences | Pairs:
        """Return the differences of the first target, with weights C w_i w_j/m_q^2 in query q.

        In `Differences` a pair has the weight w_i w_j/(2 m_q), so rows get the weights 2 C w_i/m_q,
        which sum to 2 C per query. Comparisons get C/T, T their total weight.
        """
        differences = super()._preferences(rows)
        self._derive(*_size_and_spread(differences, columns_of(rows.y)))
        if isinstance(differences, Pairs):
            differences.pair_scale = self.C_ / differences.pair_weight
            return differences
        by_row = 2.0 * self.C_ * differences.share()
        total = np.where(differences.query_weight > 0, 2.0 * self.C_, 0.0)
        return replace(differences, weight=by_row, query_weight=total)


def _size_and_spread(
    preferences: Differences | Pairs, targets: list[FloatArray]
) -> tuple[float, float]:
    """Return the mean size of a query, and the standard deviation of its labels.

    Of several targets it is the root of their mean variance. Of Pairs they are twice the weight of
    the comparisons and the spread of labels whose differences are as large as the magnitudes; it is
    1 where all comparisons are ties.
    """
    if isinstance(preferences, Pairs):
        magnitude, weight = preferences.magnitude, preferences.weight
        size = np.ones(preferences.n_pairs) if magnitude is None else magnitude
        spread = float(np.sqrt(0.5)) * _root_mean_square(size, weight) or 1.0
        return 2.0 * float(preferences.pair_weight), spread
    weight, total = preferences.weight, float(preferences.query_weight.sum())
    deviations = []
    for target in targets:
        aimed = preferences.with_target(target)
        deviations.append(_root_mean_square(aimed.centred(aimed.target), weight))
    n_queries = int(np.count_nonzero(preferences.query_weight))
    return total / n_queries, _root_mean_square(np.array(deviations))


def _root_mean_square(values: FloatArray, weight: FloatArray | None = None) -> float:
    """Return the root of the weighted mean of squares, which may neither overflow nor underflow."""
    values = values if weight is None else values[weight > 0]
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    squares = np.square(values / largest)
    kept = None if weight is None else weight[weight > 0]
    return largest * float(np.sqrt(np.average(squares, weights=kept)))


def _radius_of_rows(features: Any) -> float:
    """Return the largest distance of a row from zero, or from the mean of rows if that is less."""
    n_rows, n_features = features.shape
    parts = threads.blocks(n_rows, block_rows(n_features))
    mean = sum(dense(features[part]).sum(axis=0) for part in parts) / n_rows
    from_zero = max(row_norms(dense(features[part])).max() for part in parts)
    from_mean = max(row_norms(dense(features[part]) - mean).max() for part in parts)
    return float(min(from_zero, from_mean))


def _radius_of_kernel(K: Any) -> float:
    """Return the same for the features of a kernel matrix, (n_rows, n_rows)."""
    if K.shape[0] != K.shape[1]:
        raise PairrankError(
            f"the bound needs the square kernel matrix of the training rows, got shape {K.shape}"
        )
    squares = np.asarray(K.diagonal(), dtype=np.float64)
    means = np.asarray(K.mean(axis=0), dtype=np.float64).ravel()
    from_mean = squares - 2.0 * means + means.mean()
    return float(np.sqrt(max(0.0, min(squares.max(), from_mean.max()))))
