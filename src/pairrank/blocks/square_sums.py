"""The normal equations of squares over all differences, from one pass over the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import Passes
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.crossing_squares import SquareSums
from pairrank.blocks.differences import DifferenceLayout
from pairrank.blocks.tasks import design_of
from pairrank.exceptions import PairrankError
from pairrank.objective import CentredSums, centred_sums
from pairrank.preferences import Differences

LARGEST_EQUATIONS = 5000
"""More features than this have no normal equations: 200 MB travel for each block."""
_SMALL = 1000
_FLOP, _ENTRY, _ITERATIONS = 1e-10, 1.1e-8, 30
"""Seconds of a multiplication in a matrix product, and of an entry of X that a pass reads and
multiplies; the least number of iterations of a fit."""


def few_enough(catalog: Catalog, is_asked_for: bool) -> bool:
    """Return whether the equations cost less than iterations, or are asked for.

    A PairrankError says that equations that are asked for are too many.
    """
    d = catalog.n_features
    if is_asked_for and d > LARGEST_EQUATIONS:
        raise PairrankError(
            f'solver="direct" would send a matrix of {d} x {d} for each block, at most '
            f'{LARGEST_EQUATIONS} is sensible: use solver="cg"'
        )
    cheap = d <= _SMALL and _FLOP * d**2 <= _ITERATIONS * _ENTRY * catalog.width
    return is_asked_for or cheap


def summed_squares(passes: Passes, origin: FloatArray | None) -> SquareSums:
    """Return the equations of all blocks, by one pass."""
    return passes.reduce(square_sums, origin, SquareSums.merged)


def square_sums(
    index: int, X: Any, layout: DifferenceLayout, origin: FloatArray | None
) -> SquareSums:
    """Return the sums of a block; O(n_rows (n_features + n_targets)^2).

    `origin` is subtracted from every row of X: means of crossing queries keep their digits.
    """
    X = design_of(X, origin).X
    width = X.shape[1] + layout.targets.shape[1]
    products = np.zeros((width, width))
    if isinstance(layout.whole, Differences):
        products += centred_sums(X, layout.targets, layout.whole).products
    query, of_row = layout.query, np.repeat(np.arange(layout.query.size), np.diff(layout.start))
    if not query.size:
        return SquareSums(products, query, np.empty(0), np.empty((0, width)))
    weight = layout.weight[0] if len(layout.weight) else np.ones(of_row.size)
    total: FloatArray = np.bincount(of_row, weight, query.size).astype(np.float64)
    crossing = _of_crossing(X, layout, of_row.astype(np.int32), weight, total)
    products += crossing.products
    return SquareSums(products, query, total, crossing.mean)


def _of_crossing(
    X: Any,
    layout: DifferenceLayout,
    of_row: NDArray[np.int32],
    weight: FloatArray,
    total: FloatArray,
) -> CentredSums:
    """Return the sums of a block's crossing rows about the means of their queries in the block."""
    single = total.size == 1
    places = slice(None) if single and layout.rows.size == layout.n_rows else layout.rows
    own, targets = X[places], layout.targets[places]
    local = Differences(targets[:, 0], None if single else of_row, weight, total)
    return centred_sums(own, targets, local)
