"""BandedModel: the Hessian of the pairs between bands of neighbouring levels."""

from __future__ import annotations

from pairrank._protocols import FloatArray, LinearMap, PairLoss
from pairrank.design import Design
from pairrank.objective.pair_objective import ExactHessian
from pairrank.pair_sums import bind
from pairrank.preferences import Levels, merge_levels


class BandedModel:
    """A Hessian over every row, its many levels merged into a few bands.

    Leaves out the pairs within a band, about one in `n_bands`, and raises the rest to stand for
    them: its curvature costs O(m log n_bands) where that of every pair costs O(m log levels). It
    fits where rows are too wide for a sample of them to tell the Hessian.

    Parameters
    ----------
    design : Design
        All rows.
    levels : Levels
        Full order graph, more levels than bands.
    loss : PairLoss
    factor, penalty : float
        As for the objective.
    n_bands : int
    """

    def __init__(
        self,
        design: Design,
        levels: Levels,
        loss: PairLoss,
        *,
        factor: float,
        penalty: float,
        n_bands: int,
    ) -> None:
        self.design, self.factor, self.penalty = design, factor, penalty
        self._pair_sum = bind(loss, merge_levels(levels, n_bands))
        self._given_way = False

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return the Hessian of the bands at `w`; None once every pair's is called for."""
        if self._given_way:
            return None
        curvature = self._pair_sum.at(scores).curvature()
        return ExactHessian(self.design, curvature, self.factor, self.penalty)

    def inverse(self, w: FloatArray) -> None:
        """Return nothing: there is no preconditioner here."""

    def refine(self) -> bool:
        """Give way to the Hessian of every pair."""
        changes, self._given_way = not self._given_way, True
        return changes
