"""Cell sums: units of rows that share a grid, their moments, and sweeps over tables of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.compiled import cells as compiled
from pairrank.pair_sums._bound import Links, borders_of, by_user, links_of, range_of, within_bands
from pairrank.preferences import Levels

LEAST_ROWS = 4000
"""Smaller queries are summed exactly. From here on cells are as fast, faster where levels are few,
and the sample that gives a line search its step needs no other compiled functions."""
ROWS_PER_BAND = 128
"""Levels of fewer rows are merged into bands; under an order graph they are summed exactly."""
ENTRIES_PER_ROW, SMALL_TABLE = 0.6, 1 << 15
"""A table has at most so many entries per row, or as many as a small table."""
NO_WEIGHT = np.empty((1, 0))
ROWS_PER_BLOCK = 1 << 17
"""Threads share blocks of about so many rows."""
MOST_TABLES = 16
"""So many tables of moments exist at a time: blocks of rows that are merged in order."""
ROWS_PER_ENTRY = 8
"""So many rows per entry make a further table of moments cheap to merge."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Rows, of the user's, with codes that are compared through one grid of cells.

    `code` is (n,), `weight` as `weight_of_sides` returns it. `links` says which codes are preferred
    to which, see `compiled.cells`. `scale` multiplies every pair.
    """

    rows: slice | NDArray[np.int32]
    code: NDArray[np.int32]
    weight: FloatArray
    n_codes: int
    links: Links
    scale: float

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        return self.code.size

    @property
    def most_cells(self) -> int:
        """The number of cells beyond which a pass over the table costs more than the rows."""
        most = max(int(ENTRIES_PER_ROW * self.n_rows), SMALL_TABLE)
        return max(most // self.n_codes, 2)


class UnitSum:
    """The sums of one unit at its own scores, by its grid of cells."""

    def __init__(self, unit: Unit, terms: TermArrays, scores: FloatArray, grid: Grid) -> None:
        self.unit, self.terms, self.scores, self.grid = unit, terms, scores, grid
        self._shape = (len(unit.weight), unit.n_codes, grid.position.size)
        self._blocks = threads.blocks(unit.n_rows, ROWS_PER_BLOCK)

    def add_gradient(self, gradient: FloatArray) -> Sums:
        """Add the rows' gradients to those in the user's order, (n_rows,); return the sums."""
        unit, moments = self.unit, self.moments()
        fullest = unit.n_rows if unit.weight.size else float(moments[..., 0].max())
        table, sums = sweep_moments(moments, unit.links, self.grid, self.terms, unit.scale, fullest)
        self.read(table, unit.weight, gradient[np.newaxis])
        return sums

    def moments(self) -> FloatArray:
        """Return the moments of the cells, (S, C, B, 3)."""
        return self._added(self.unit.weight, 3)

    def totals(self, values: FloatArray) -> FloatArray:
        """Return the sums of the own rows' values (S, n) by code and cell, (S, C, B)."""
        return self._added(values, 1).reshape(self._shape)

    def read(self, table: FloatArray, weight: FloatArray, result: FloatArray) -> None:
        """Add to `result` what each row's code and cell have in a table, times its weight.

        The table is (S, C, B), or (S, C, B, 3) of polynomials of places; `weight` is (S, n) or
        (1, 0); `result` is (S, n_rows) in the user's order, or (1, n_rows) for both sides.
        """
        unit, size = self.unit, table.size // math.prod(self._shape)
        out = result[:, unit.rows]
        threads.run(
            lambda rows: compiled.read_rows(
                self.scores[rows], unit.code[rows], weight[:, rows], size, unit.scale,
                *self.grid.place, *compiled.chunk(), by_side(table), out[:, rows],
            ),
            self._blocks,
        )  # fmt: skip
        result[:, unit.rows] = out

    def add_partners(self, values: FloatArray, result: FloatArray) -> None:
        """Add 2 c times the sum of the values of each row's partners that are counted in.

        Both are (S, n_rows): values as winners and as losers, sums over losers and over winners.
        """
        totals = self.totals(values[:, self.unit.rows])
        sums = partner_sums(totals, self.unit.links, self.grid, self.terms)
        self.read(sums, NO_WEIGHT, result)

    def _added(self, values: FloatArray, size: int) -> FloatArray:
        """Return a table of sums, (S, C, B, size), of blocks of rows, as many as cheap to merge."""
        unit, n_rows, n_entries = self.unit, self.unit.n_rows, math.prod(self._shape)

        def add(rows: slice) -> FloatArray:
            table = np.zeros((*self._shape, size))
            compiled.add_rows(
                self.scores[rows], unit.code[rows], values[:, rows], size, *self.grid.place,
                *compiled.chunk(), by_side(table),
            )  # fmt: skip
            return table

        n_tables = int(min(n_rows // (ROWS_PER_ENTRY * n_entries), n_rows // ROWS_PER_BLOCK))
        n_tables = max(1, min(n_tables, MOST_TABLES))
        tables = threads.run(add, threads.blocks(n_rows, -(-n_rows // n_tables)))
        for table in tables[1:]:
            tables[0] += table
        return tables[0]


def _large(levels: Levels) -> NDArray[np.bool_]:
    """Return which queries are summed by cells."""
    rows = np.diff(levels.query_start)
    enough = rows >= LEAST_ROWS
    if levels.edges is not None:
        enough &= rows >= ROWS_PER_BAND * np.diff(levels.query_group)
    return np.asarray(enough & (levels.query_pair_weight > 0.0))


def weight_of_sides(levels: Levels) -> FloatArray:
    """Return the weights of rows as winners and as losers, (2, n_kept), in the layout's order.

    Without weights by role they have one side, (1, n_kept); (1, 0) where all weigh 1.
    """
    if levels.roles is not None:
        return np.stack(levels.roles)
    return NO_WEIGHT if levels.weight is None else levels.weight[np.newaxis]


def divide(levels: Levels) -> tuple[list[Unit], Levels | None]:
    """Return the units of the large queries, and the preferences that no unit holds.

    Successive small levels are merged into bands; the pairs within a band are left over.
    """
    large = _large(levels)
    if not large.any():
        return [], levels if levels.n_pairs else None
    borders = borders_of(levels, large, ROWS_PER_BAND)
    weight, scales = weight_of_sides(levels), np.broadcast_to(levels.pair_scale, levels.n_queries)
    units = []
    for query in np.flatnonzero(large).tolist():
        first, last = levels.query_group[query : query + 2]
        bands = borders[slice(*np.searchsorted(borders, (first, last + 1)))]
        start = levels.group_start[bands]
        here, n_codes = slice(start[0], start[-1]), bands.size - 1
        code = np.repeat(np.arange(n_codes, dtype=np.int32), np.diff(start))
        rows, (code, *sides) = by_user(levels.row_of[here], code, *weight[:, here])
        edges = levels.edges
        if edges is not None:
            edges = edges[slice(*np.searchsorted(edges[:, 0], (first, last)))] - first
        links = links_of(edges, n_codes)
        units.append(Unit(rows, code, np.stack(sides), n_codes, links, float(scales[query])))
    rest = within_bands(levels, large, borders)
    return units, rest if rest.n_pairs else None


TermArrays = tuple[FloatArray, NDArray[np.int64], FloatArray]
"""The margins, powers and factors of all terms."""
Sums = tuple[float, float, float, float]
"""The value, its error, the sum of the errors of the rows' gradients, and the value's rounding."""

_UNIT_ROUNDING = 2.0**-53
_LINEAR = 2.0 * (2.0**0.5 - 1.0)
"""x |x| differs least from _LINEAR R x for |x| <= R: by (1 - _LINEAR) R^2."""
_OFF = 0.0858
"""(1 - _LINEAR) / 2, rounded up."""


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
    compiled.sweep(
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
    compiled.sweep_values(
        by_side(totals), totals.shape[1], links, grid.position, squares,
        np.empty(grid.position.size), by_side(sums),
    )  # fmt: skip
    return sums


CELLS_PER_MARGIN, CELLS_PER_HINGE = 64, 256
"""Cells per margin at first, of powers 2 and 1: of power 2 the relative error of the gradient is
about 1e-7 for a million rows, more for few."""
MARGINS_PER_SPREAD = 16
"""Where no margin is positive, the scores are as many margins wide."""
LARGEST_CELL = 2.0**52
_SAMPLE = 4096
_TAIL, _EXTENT = 0.1, 3.74
"""A window extends from the median to so many times the distance of these quantiles of a sample:
for normal scores 4.8 standard deviations, beyond which 2 rows in a million lie."""
_SLACK = 1.0 / 8.0
_EMPTY_CELLS = 4
"""A contiguous range has at most so many cells per row."""


@dataclass(frozen=True)
class Grid:
    """Cells of width 1/per_h; `position` has their numbers, contiguous from first to last."""

    per_h: float
    position: NDArray[np.int64]
    first: int
    last: int

    @property
    def place(self) -> tuple[float, NDArray[np.int64], int, int]:
        """What compiled functions need to find the cell of a score."""
        return self.per_h, self.position, self.first, self.last


def cells_per_margin(smooth: bool) -> int:
    """Return how many cells a margin has at first; `smooth`: whether all powers are 2."""
    return CELLS_PER_MARGIN if smooth else CELLS_PER_HINGE


def cells_per_score(low: float, high: float, margins: FloatArray, cells: float) -> float:
    """Return 1/h, a power of two: about `cells` per positive margin, else over the scores.

    NaN where the scores from low to high are not finite, or too large for cells of their size.
    """
    margin, spread = margins.max(), high - low
    if not np.isfinite(spread):
        return float("nan")
    per_h = 2.0 ** np.ceil(np.log2(cells / margin)) if margin > 0.0 else np.inf
    if not margin > 0.0 and spread > 0.0:
        per_spread = MARGINS_PER_SPREAD * cells / spread
        most = LARGEST_CELL / -margin if margin < 0.0 else np.inf
        per_h = 2.0 ** np.floor(np.log2(min(per_spread, most)))
    if not 0.0 < per_h < np.inf:
        per_h = 1.0
    fits = max(abs(low), abs(high)) * per_h < LARGEST_CELL
    return float(per_h) if fits else float("nan")


def _sample(scores: FloatArray) -> FloatArray:
    """Return every k-th score, from `_SAMPLE` to twice as many; all where there are fewer."""
    return scores[:: max(1, scores.size // _SAMPLE)]


def make_grid(scores: FloatArray, low: float, high: float, per_h: float, most: int) -> Grid | None:
    """Return the cells of width 1/per_h for scores from low to high; None if more than `most`.

    They are contiguous, or where that would be too many, or several per row, those of a window.
    """
    first, last = int(np.floor(low * per_h)), int(np.floor(high * per_h))
    if last - first < min(most, _EMPTY_CELLS * scores.size):
        return Grid(per_h, np.arange(first, last + 1), 0, last - first)
    return windowed_grid(scores, low, high, per_h, most)


def windowed_grid(
    scores: FloatArray, low: float, high: float, per_h: float, most: int
) -> Grid | None:
    """Return the cells of a window around most rows, and those of the rows beyond.

    The former need no search. The window follows from quantiles, so that it is as wide for many
    rows as for few, and ends at most `_SLACK` of the range beyond the outermost score. None if
    there are more than `most` cells.
    """
    sample, slack = _sample(scores), _SLACK * (high - low)
    if np.unique(np.floor(sample * per_h)).size > most:
        return None
    lower, median, upper = np.quantile(sample, (_TAIL, 0.5, 1.0 - _TAIL)).tolist()
    start = max(low - slack, median - _EXTENT * (median - lower))
    stop = min(high + slack, median + _EXTENT * (upper - median))
    first, last = int(np.floor(start * per_h)), int(np.floor(stop * per_h))
    widest = max(1, min(most // 2, _EMPTY_CELLS * scores.size))
    if last - first >= widest:
        middle = (first + last) // 2
        first, last = middle - widest // 2, middle + (widest - 1) // 2
    beyond = scores[(scores < first / per_h) | (scores >= (last + 1) / per_h)]
    outside = np.unique(np.floor(beyond * per_h).astype(np.int64))
    if outside.size + last - first >= most:
        return None
    below = outside[outside < first]
    position = np.concatenate((below, np.arange(first, last + 1), outside[outside > last]))
    return Grid(per_h, position, below.size, below.size + last - first)


def grid_of_table(per_h: float, position: NDArray[np.int64], scores: FloatArray) -> Grid:
    """Return the merged cells as a grid whose contiguous part has the scores' median.

    The scores are some of those that were summed.
    """
    first, last = np.floor(np.multiply(range_of(scores), per_h))
    assert position[0] <= first, "the scores are not those that were summed"
    assert last <= position[-1], "the scores are not those that were summed"
    middle = np.floor(np.median(_sample(scores)) * per_h)
    at = min(int(np.searchsorted(position, middle)), position.size - 1)
    gaps = np.flatnonzero(np.diff(position) > 1)
    run = int(np.searchsorted(gaps, at))
    start = int(gaps[run - 1]) + 1 if run else 0
    stop = int(gaps[run]) if run < gaps.size else position.size - 1
    return Grid(per_h, position, start, stop)
