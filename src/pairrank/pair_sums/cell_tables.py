"""Terms of cell sums, and the sweeps over tables of cells that turn moments into gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import cell_sweeps
from pairrank.pair_sums.cell_grid import Grid
from pairrank.pair_sums.cell_plan import Links

Terms = tuple[tuple[float, int, float], ...]
TermArrays = tuple[FloatArray, NDArray[np.int64], FloatArray]
"""The margins, powers and factors of all terms."""
Sums = tuple[float, float, float, float]
"""The value, its error, the sum of the errors of the rows' gradients, and the value's rounding."""

_UNIT_ROUNDING = 2.0**-53


def term_arrays(terms: Terms) -> TermArrays:
    """Return the margins, powers and factors of terms (m, p, c)."""
    margins, powers, factors = zip(*terms, strict=True)
    return (
        np.array(margins, dtype=np.float64),
        np.array(powers, dtype=np.int64),
        np.array(factors, dtype=np.float64),
    )


def is_smooth(terms: Terms) -> bool:
    """Whether all powers are 2, so that the sum has a curvature."""
    return min(power for _, power, _ in terms) == 2


def stated(sums: Sums, smooth: bool) -> tuple[float, float, float]:
    """Return value, error and error of the gradient; a sum of hinges is lowered by its rounding."""
    value, error, gradient_error, rounding = sums
    error += rounding
    return (
        (value, error, gradient_error)
        if smooth
        else (value - rounding, error + rounding, gradient_error)
    )


def sweep_moments(
    moments: FloatArray,
    links: Links,
    grid: Grid,
    terms: TermArrays,
    scale: float,
    additions: float,
) -> tuple[FloatArray, Sums]:
    """Return the table of gradients (S, C, B, 3), and the sums, from moments (S, C, B, 3).

    `additions` is the most that an entry is made of: the rounding is relative to it.
    """
    table = np.zeros(moments.shape)
    sums = cell_sweeps.sweep(
        by_side(moments), moments.shape[1], links, grid.per_h, grid.position, *terms,
        np.empty(3 * grid.position.size), by_side(table),
    )  # fmt: skip
    return table, with_rounding(scale * np.array(sums), additions, grid.position.size)


def with_rounding(found: FloatArray, additions: float, n_cells: int = 0) -> Sums:
    """Return the sums of a sweep, (5,), of moments that so many additions have made.

    Each cell of the sweep rounds a sum of weights, one of places, which slopes have, and one of
    their squares.
    """
    value, error, gradient_error, value_size, slope_size = found.tolist()
    of_value = (additions + 8.0 * n_cells) * _UNIT_ROUNDING * value_size
    of_slopes = (additions + 4.0 * n_cells) * _UNIT_ROUNDING * slope_size
    return value, error, gradient_error + of_slopes, of_value


def by_side(table: FloatArray) -> FloatArray:
    """Return a contiguous table as compiled functions take it: one line per side."""
    return table.reshape(len(table), -1)


def partner_sums(totals: FloatArray, links: Links, grid: Grid, terms: TermArrays) -> FloatArray:
    """Return 2 c times the sums of the partners' values of each cell, both (S, C, B)."""
    sums = np.zeros(totals.shape)
    cell_sweeps.sweep_values(
        by_side(totals), totals.shape[1], links, grid.per_h, grid.position, *squares_of(terms),
        np.empty(grid.position.size), by_side(sums),
    )  # fmt: skip
    return sums


def squares_of(terms: TermArrays) -> tuple[FloatArray, FloatArray]:
    """Return the margins and factors of the terms that have a curvature."""
    margins, powers, factors = terms
    return margins[powers == 2], factors[powers == 2]
