"""The choice of an algorithm for a loss over preferences, by the loss's family."""

from __future__ import annotations

from typing import Any

from pairrank._protocols import PairLoss, PiecewisePolynomial, Sigmoidal, Squares, Tubes
from pairrank.exceptions import PairrankError
from pairrank.preferences import Differences, Pairs, Preferences

ALGORITHMS: dict[type, tuple[str, ...]] = {
    PiecewisePolynomial: ("auto", "flat_tree", "selection_tree", "direct"),
    Sigmoidal: ("auto", "boxes", "beaulieu", "direct"),
    Squares: ("auto",),
    Tubes: ("auto",),
}
"""The names that `route` may have, by the family of the loss."""


def bind(
    loss: PairLoss,
    preferences: Preferences | Differences,
    *,
    route: str = "auto",
    eps: float = 1e-6,
) -> Any:
    """Return the pair sum of a loss over preferences.

    Parameters
    ----------
    loss : PairLoss
    preferences : Levels, Pairs or Differences
        Over the rows of an X; Pairs must be bound to them. Squares and tubes are summed over
        Differences or Pairs (which keep their magnitudes: ``bound(..., ties=False)``), other losses
        over Levels or Pairs.
    route : str, default "auto"
        The algorithm. For hinges over Levels: "flat_tree" (sorted scores and merges),
        "selection_tree" (Lee & Lin 2014, Algorithm 2) or "direct" (one accumulator per level). For
        logistic and probit over Levels: "direct" (every pair, exact), "boxes" (linear in the rows)
        or "beaulieu" (the sum of Raykar 2007, probit only). "auto" takes for each query the one
        that costs least. Over Pairs every name is one loop over them, exact.
    eps : float, default 1e-6
        Between 0 and 1. For logistic and probit a row's gradient may be off by eps times the weight
        of its pairs, the value by eps times the weight of all. Other sums are exact.

    Returns
    -------
    PairSum

    Raises
    ------
    PairrankError
        If the route does not exist for this loss, eps is out of range, or the preferences are of a
        kind that the loss is not summed over.
    """
    family = loss.family
    names = ALGORITHMS[type(family)]
    if route not in names:
        listed = ", ".join(map(repr, names))
        raise PairrankError(f"there is no pair sum route {route!r}; choose one of {listed}")
    if isinstance(family, Squares | Tubes):
        return _of_differences(family, preferences)
    assert not isinstance(preferences, Differences)
    if isinstance(family, Sigmoidal):
        return _sigmoidal(family, preferences, route, eps)
    assert isinstance(family, PiecewisePolynomial)
    return _hinge(family, preferences, route)


def _of_differences(family: Squares | Tubes, preferences: Preferences | Differences) -> Any:
    if isinstance(preferences, Pairs):
        if isinstance(family, Squares):
            from pairrank.pair_sums.pairs_square import PairsSquareSum

            return PairsSquareSum(preferences)
        from pairrank.pair_sums.pairs_tube import PairsTubeSum

        return PairsTubeSum(preferences, family.epsilon, family.power == 2)
    if not isinstance(preferences, Differences):
        what = "squares" if isinstance(family, Squares) else "tubes"
        raise PairrankError(
            f"{what} are summed over Differences or Pairs, not {type(preferences).__name__}"
        )
    if isinstance(family, Squares):
        from pairrank.pair_sums.centred_squares import SquareSum

        return SquareSum(preferences)
    from pairrank.pair_sums.tube_sums import TubeSum

    return TubeSum(preferences, family.epsilon, family.power == 2)


def _hinge(family: PiecewisePolynomial, preferences: Preferences, route: str) -> Any:
    ((margin, power, _),) = family.terms
    squared = power == 2
    if isinstance(preferences, Pairs):
        from pairrank.pair_sums.pairs_hinge import PairsHingeSum

        return PairsHingeSum(preferences, margin, squared)
    if route in ("selection_tree", "direct") and preferences.edges is None:
        from pairrank.pair_sums.papers.sweeps import SweptHingeSum

        return SweptHingeSum(preferences, margin, squared, route)
    from pairrank.pair_sums.hinge_sums import HingeSum

    return HingeSum(preferences, margin, squared)


def _sigmoidal(family: Sigmoidal, preferences: Preferences, route: str, eps: float) -> Any:
    if not 0.0 < eps < 1.0:
        raise PairrankError(f"eps must lie between 0 and 1, got {eps!r}; 1e-6 is usual")
    if route == "beaulieu" and family.slope == "logistic":
        raise PairrankError(
            "the route 'beaulieu' sums erfc functions only: take the loss 'probit' or 'raykar', "
            "or the route 'boxes'"
        )
    from pairrank.pair_sums import sigmoid_sums

    return sigmoid_sums.bind(preferences, family.value, family.slope, route, float(eps))
