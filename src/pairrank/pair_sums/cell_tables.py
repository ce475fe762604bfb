"""Terms of cell sums, and the sweeps over tables of cells that turn moments into gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import cell_sweeps
from pairrank.pair_sums.bands import Links
from pairrank.pair_sums.cell_grid import Grid

Terms = tuple[tuple[float, int, float], ...]
TermArrays = tuple[FloatArray, NDArray[np.int64], FloatArray]
"""The margins, powers and factors of all terms."""
Sums = tuple[float, float, float, float]
"""The value, its error, the sum of the errors of the rows' gradients, and the value's rounding."""

_UNIT_ROUNDING = 2.0**-53
_LINEAR = 2.0 * (2.0**0.5 - 1.0)
"""x |x| differs least from _LINEAR R x for |x| <= R: by (1 - _LINEAR) R^2."""
_OFF = 0.0858
"""(1 - _LINEAR) / 2, rounded up."""


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


def fit(e: float, power: int) -> tuple[tuple[float, ...], float, float]:
    """Return a polynomial for max(0, x)^power, one for its slope, and what each is off by at most.

    For e - 1 < x < e + 1. They have the coefficients of x, x^2 and of 1, x, x^2. For the square
    they follow from x |x| ~ _LINEAR R x and |x| ~ x^2 / R + R / 6 for |x| <= R = 1 + |e|, unless to
    count all of the pairs, or none, is off by less. Where e is 0 and places are spread evenly, the
    fits have no bias. Of power 1 a share of the pairs is counted, so that a plane through value and
    slope is below the sum.
    """
    reach, counted = 1.0 + abs(e), 1.0 if e >= 0.0 else 0.0
    wrong = 1.0 - abs(e)
    if power == 1:
        share = 0.5 * (1.0 + e)
        most = 0.0 if wrong == 0.0 and e < 0.0 else max(share, 1.0 - share)
        return (share, 0.0, share, 0.0, 0.0), 0.5 * (1.0 - e * e), most
    v1, v2, of_value = 0.5 * _LINEAR * reach, 0.5, _OFF * reach * reach
    if wrong * wrong <= of_value:
        v1, v2, of_value = 0.0, counted, wrong * wrong
    s0, s1, s2, of_slope = reach / 6.0, 1.0, 1.0 / reach, reach / 6.0
    if 2.0 * wrong <= of_slope:
        s0, s1, s2, of_slope = 0.0, 2.0 * counted, 0.0, 2.0 * wrong
    return (v1, v2, s0, s1, s2), of_value, of_slope


def sweep_moments(
    moments: FloatArray,
    links: Links,
    grid: Grid,
    terms: TermArrays,
    scale: float,
    additions: float,
) -> tuple[FloatArray, Sums]:
    """Return the table of gradients (S, C, B, 3), and the sums, from moments (S, C, B, 3).

    `additions` is the most that an entry is made of: the rounding is relative to it. Where all
    excesses are far below a cell's width, or factors differ in sign, the sizes of what is added up
    are far above the results.
    """
    table, n_cells, h = np.zeros(moments.shape), grid.position.size, 1.0 / grid.per_h
    lines, off = [], []
    for margin, power, factor in zip(*(each.tolist() for each in terms), strict=True):
        K = np.floor(margin * grid.per_h)
        f = margin * grid.per_h - K
        near, beyond = fit(f, power), fit(f - 1.0, power)
        lines.append((K, f, power, factor * h ** (power - 1), *near[0], *beyond[0]))
        off.append((abs(factor) * h ** (power - 1), *near[1:], *beyond[1:]))
    found = np.zeros((len(lines), 6))
    cell_sweeps.sweep(
        by_side(moments), moments.shape[1], links, grid.position, np.array(lines),
        np.empty(3 * n_cells), by_side(table), found,
    )  # fmt: skip
    value, size, at_border, past_it, counted, slopes = scale * found.T
    unit, value_off, slope_off, value_off_beyond, slope_off_beyond = np.array(off).T
    within = 4.0 * (counted + at_border + past_it)
    """What places within cells add."""
    value_size = (size * h + unit * h * within).sum()
    slope_size = (unit * 2.0 * (abs(slopes) + within)).sum()
    error = (unit * h * (value_off * at_border + value_off_beyond * past_it)).sum()
    slope_error = (unit * 2.0 * (slope_off * at_border + slope_off_beyond * past_it)).sum()
    # Each cell of the sweep rounds a sum of weights, one of places, and one of their squares.
    of_value = (additions + 8.0 * n_cells) * _UNIT_ROUNDING * value_size
    slope_error += (additions + 4.0 * n_cells) * _UNIT_ROUNDING * slope_size
    return table, (float(value.sum() * h), float(error), float(slope_error), float(of_value))


def by_side(table: FloatArray) -> FloatArray:
    """Return a contiguous table as compiled functions take it: one line per side."""
    return table.reshape(len(table), -1)


def partner_sums(totals: FloatArray, links: Links, grid: Grid, terms: TermArrays) -> FloatArray:
    """Return 2 c times the sums of the partners' values of each cell, both (S, C, B)."""
    sums = np.zeros(totals.shape)
    margins, powers, factors = terms
    whole = np.floor(margins * grid.per_h)
    squares = np.column_stack((whole, margins * grid.per_h - whole, factors))[powers == 2]
    cell_sweeps.sweep_values(
        by_side(totals), totals.shape[1], links, grid.position, squares,
        np.empty(grid.position.size), by_side(sums),
    )  # fmt: skip
    return sums
