"""The choice of an algorithm for a loss over preferences, by the loss's family."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from pairrank._protocols import (
    Exponential,
    Generic,
    PairLoss,
    PiecewisePolynomial,
    Sigmoidal,
    Squares,
    Tubes,
)
from pairrank._validation import check_number
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._bound import Terms
from pairrank.preferences import Differences, Levels, Pairs, Preferences

ALGORITHMS: dict[type, tuple[str, ...]] = {
    PiecewisePolynomial: ("auto", "cells", "sorted", "selection_tree", "level_counting", "direct"),
    Sigmoidal: ("auto", "boxes", "beaulieu", "direct"),
    Exponential: ("auto", "separable", "direct"),
    Generic: ("auto", "direct"),
    Squares: ("auto",),
    Tubes: ("auto", "cells", "sorted"),
}
"""The names that `pair_sum` may have, by the family of the loss."""


def check_eps(eps: float) -> None:
    """Raise a PairrankError unless eps is a number between 0 and 1."""
    check_number(eps, "eps")
    if eps >= 1:
        raise PairrankError(f"eps must be below 1, got {eps!r}: 1e-6 is usual")


def bind(
    loss: PairLoss,
    preferences: Preferences | Differences,
    *,
    pair_sum: str = "auto",
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
    pair_sum : str, default "auto"
        The algorithm. "direct" is every pair, for any loss. For hinges over Levels, and for tubes
        over Differences: "cells" (linear in the rows, to a computed error) or "sorted" (sorted
        scores and merges, exact). For hinges also "selection_tree" (Lee & Lin 2014, Algorithm 2) or
        "level_counting" (one accumulator per level). For logistic and probit over Levels: "boxes"
        (linear in the rows) or "beaulieu" (the sum of Raykar 2007, probit only). For exponentials:
        "separable". "auto" takes the one that costs least, for each query. Over Pairs every name is
        one loop over them, exact.
    eps : float, default 1e-6
        Between 0 and 1. For logistic and probit a row's gradient may be off by eps times the weight
        of its pairs, the value by eps times the weight of all. Cell sums compute their own error;
        other sums are exact.

    Returns
    -------
    PairSum

    Raises
    ------
    PairrankError
        If the algorithm does not exist for this loss, eps is out of range, the preferences are of a
        kind that the loss is not summed over, or there are too many pairs to sum them one by one.
    """
    family = loss.family
    names = ALGORITHMS[type(family)]
    if pair_sum not in names:
        listed = ", ".join(map(repr, names))
        raise PairrankError(
            f"pair_sum={pair_sum!r} does not exist for this loss; choose one of {listed}"
        )
    if isinstance(family, Sigmoidal):
        check_eps(eps)
        if pair_sum == "beaulieu" and family.slope == "logistic":
            raise PairrankError(
                "pair_sum='beaulieu' sums erfc functions only: take the loss 'probit' or 'raykar', "
                "or pair_sum='boxes'"
            )
    if isinstance(preferences, Pairs):
        return _made("direct", "ExplicitSum", preferences, loss)
    if isinstance(family, Squares | Tubes):
        return _of_differences(family, preferences, pair_sum)
    if isinstance(preferences, Differences):
        raise PairrankError(f"the loss {type(loss).__name__} is summed over Levels or Pairs")
    if isinstance(family, Sigmoidal):
        return _made("sigmoid", "sigmoid_sum", preferences, family, pair_sum, float(eps))
    if isinstance(family, PiecewisePolynomial) and pair_sum != "direct":
        return _piecewise(family.terms, preferences, pair_sum=pair_sum)
    if isinstance(family, Exponential) and pair_sum != "direct":
        return _made("separable", "SeparableSum", preferences)
    return _made("direct", "DirectSum", preferences, loss, insist=pair_sum == "direct")


def _made(module: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """Return a new sum; its module is imported now, since numba takes long to load."""
    return getattr(import_module(f"pairrank.pair_sums.{module}"), name)(*args, **kwargs)


def _of_differences(family: Squares | Tubes, preferences: Any, pair_sum: str) -> Any:
    if not isinstance(preferences, Differences):
        what = "squares" if isinstance(family, Squares) else "tubes"
        raise PairrankError(
            f"{what} are summed over Differences or Pairs, not {type(preferences).__name__}"
        )
    if isinstance(family, Squares):
        return _made("centred_squares", "SquareSum", preferences)
    terms = ((-family.epsilon, family.power, 1.0),)
    hinge = functools.partial(_piecewise, terms, pair_sum=pair_sum)
    return _made("piecewise", "TubeSum", preferences, hinge)


def _piecewise(terms: Terms, levels: Levels, *, pair_sum: str) -> Any:
    """Return a sum by cells where queries are large, else an exact one."""
    if len(terms) > 1 and pair_sum not in ("auto", "cells"):
        raise PairrankError(
            f"pair_sum={pair_sum!r} sums the hinge and the squared hinge only; choose 'auto', "
            "'cells' or 'direct'"
        )
    if pair_sum in ("selection_tree", "level_counting") and levels.edges is None:
        from pairrank.pair_sums.papers.sweeps import KINDS

        return _made("piecewise", "PiecewiseSum", levels, terms, KINDS[pair_sum])
    by_cells = pair_sum in ("auto", "cells")
    return _made("piecewise", "PiecewiseSum", levels, terms, by_cells=by_cells)
