"""Piecewise polynomial losses: hinges over levels, by cells or sorting, and tubes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pairrank._protocols import Curvature, Evaluated, FloatArray, PairSum
from pairrank.compiled.layout import less_labels
from pairrank.pair_sums._bound import (
    MOST,
    OneByOne,
    Terms,
    as_scores,
    no_curvature,
    outside,
    range_of,
)
from pairrank.pair_sums.cells import (
    Sums,
    TermArrays,
    UnitSum,
    cells_per_margin,
    cells_per_score,
    divide,
    make_grid,
    weight_of_sides,
)
from pairrank.pair_sums.sorted import PartState, SortedState, SortedSum
from pairrank.preferences import Differences, Levels

FINER, FINEST = 4, 16
"""`sharpen` divides the width of a cell by 4, twice; more cells would add more rounding."""
COARSEST = 4
"""Where a table would be large, cells may be wider than usual: so many per margin at first, and
after the first `sharpen` of squares `FINER` times as many, of a table `FINER` times as large."""
MOST_PAIRS = 10**10
"""So many pairs of a loss that is summed pair by pair are not summed exactly."""


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


class PiecewiseSum:
    r"""The sum of :math:`\sum_k c_k \max(0, m_k - d)^{p_k}`, p = 1 or 2, over `Levels`.

    In large queries scores fall into cells of width h, and per level and cell the moments (sum w,
    sum w t, sum w t^2) of the places t are kept. With m = (K + f) h, 0 <= f < 1, pairs of cells up
    to K apart are counted in, others are not. Running sums over cells and levels then give each
    cell a polynomial whose value at t is the gradient. Only pairs exactly K and K + 1 cells apart
    can be on either side of the margin. Their max(0, m - d) is replaced by a polynomial of both
    places, `cells.fit`, which is off by a known part of h at most. Their weights are
    known, so the error is computed with the sum. Small levels are merged into bands, and cells are
    wider where a table of them would be large.

    Small queries, the pairs within bands, scores that no grid fits, and after `sharpen` all pairs
    are summed exactly, see `sorted.SortedSum`, whose `kind` of algorithm is given. `terms` are
    (m, p, c); rows may have weights by role.

    Where all powers are 1 and all factors positive, the plane through value and gradient lies below
    the sum at any scores, since a subset of the pairs with their m - d does; the value is lowered
    by its rounding.

    O(rows + cells levels), and what the exact sums cost. Memory of cells: 4 bytes per row. Blocks
    of rows are added to tables of their own, which are merged in order, so the bits do not depend
    on the number of threads.
    """

    error = 0.0
    """Evaluations compute their own errors."""

    def __init__(
        self,
        levels: Levels,
        terms: Terms,
        kind: type[PartState] = PartState,
        *,
        by_cells: bool = False,
    ) -> None:
        self.levels, self.n_rows, self.kind = levels, levels.n_rows, kind
        self._terms, self.terms = terms, term_arrays(terms)
        self.smooth = is_smooth(terms)
        self.finer = 1.0
        self.units, rest = divide(levels) if by_cells else ([], levels)
        self._rest = SortedSum(rest, terms) if self.units and rest is not None else None

    @functools.cached_property
    def _exact(self) -> SortedSum:
        return SortedSum(self.levels, self._terms, self.kind)

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores, which must not change.

        Scores that are not finite give the value infinity and a gradient of NaN.
        """
        scores = as_scores(scores, self.n_rows)
        ends = range_of(scores)
        if not np.isfinite(ends).all():
            return outside(self.n_rows, MOST)
        units, rest = self._parts(scores, ends)
        gradient = np.zeros(scores.size)
        with np.errstate(over="ignore", invalid="ignore"):
            found = [unit.add_gradient(gradient) for unit in units]
            sums = np.sum(found, axis=0).tolist() if found else (0.0,) * 4
            value, error, gradient_error = stated(sums, self.smooth)
            states: list[UnitSum | SortedState] = [*units]
            if rest is not None:
                state = rest.at(scores)
                value += state.add_gradient(gradient)
                states.append(state)
        curvature: Callable[[], Curvature] = no_curvature
        if self.smooth:
            curvature = functools.partial(PartnerCurvature, self.levels, states)
        value = np.inf if np.isnan(value) else value
        return Evaluated(value, gradient, error, curvature, gradient_error)

    def curvature_at(self, scores: FloatArray) -> Curvature:
        """Return the curvature at the scores, in half of the time that `at` takes."""
        scores = as_scores(scores, self.n_rows)
        units, rest = self._parts(scores, range_of(scores))
        return PartnerCurvature(self.levels, [*units, *([rest.at(scores)] if rest else [])])

    def sharpen(self) -> bool:
        """Divide the cells' width by 4, again by 4, then sum exactly; False where it is exact.

        The error of a squared hinge's gradient falls with the square of the width, that of a
        hinge's with the width alone: so a hinge's cells are divided by 16 at once. Several terms
        are summed pair by pair, so more than 10^10 pairs of them are never summed exactly.
        """
        if not self.units:
            return False
        finest = self.finer >= FINEST
        if finest and len(self._terms) > 1 and self.levels.n_pairs > MOST_PAIRS:
            return False
        self.finer *= FINER if self.smooth else FINEST
        if finest:
            self.units, self._rest = [], None
        return True

    def _parts(
        self, scores: FloatArray, ends: tuple[float, float]
    ) -> tuple[list[UnitSum], SortedSum | None]:
        """Return the units at the scores, and the exact sum of all other pairs."""
        units = self._units(scores, ends)
        return units, self._rest if units else self._exact

    def _units(self, scores: FloatArray, ends: tuple[float, float]) -> list[UnitSum]:
        """Return the sums of all units at the scores; none if no grid fits one of them."""
        cells = cells_per_margin(self.smooth) * self.finer
        per_h = cells_per_score(*ends, self.terms[0], cells)
        if np.isnan(per_h):
            return []
        found = []
        larger = FINER if self.finer == FINER else 1
        coarsest = cells if self.finer == FINEST else larger * COARSEST
        n_widths = int(np.log2(cells / coarsest)) + 1
        for unit in self.units:
            own = scores[unit.rows]
            limits = range_of(own) if own.size < scores.size else ends
            widths = [per_h * 2.0**-k for k in range(n_widths)]
            most = larger * unit.most_cells
            grids = (make_grid(own, *limits, width, most) for width in widths)
            grid = next((grid for grid in grids if grid is not None), None)
            if grid is None:
                return []
            found.append(UnitSum(unit, self.terms, own, grid))
        return found


class PartnerCurvature(OneByOne):
    """The generalised Hessian of a sum at fixed scores: diag(partners of 1) - partners.

    Each row's partners are those of its pairs with a quadratic cost, 2 A' D A (Lee & Lin 2014,
    Eqs. 11 to 17).
    """

    def __init__(self, levels: Levels, states: Sequence[UnitSum | SortedState]) -> None:
        self._n_rows, self._states = levels.n_rows, states
        sides = weight_of_sides(levels)
        self._weight = None
        if sides.size:
            self._weight = np.stack([levels.from_layout(side) for side in sides])

    @functools.cached_property
    def _own(self) -> FloatArray:
        """What a row's own value is multiplied by, (n_rows,)."""
        return self._partners(np.ones(self._n_rows))

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self._n_rows)
        return self._own * v - self._partners(v)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._own

    def _partners(self, values: FloatArray) -> FloatArray:
        """Return 2 c times the weighted sum of the values of each row's partners, (n_rows,)."""
        values = values[np.newaxis] if self._weight is None else values * self._weight
        result = np.zeros(values.shape)
        for state in self._states:
            state.add_partners(values, result)
        return result[0] if self._weight is None else (result * self._weight).sum(axis=0)


class TubeSum:
    r"""The sum of a tube loss over all `Differences`, with gradient and curvature.

    With t = s - y, of any two rows of a query at most one, the one of the greater t, is more than
    epsilon above the other, and

    .. math:: \sum_q \frac1{2 n_q} \sum_{i, j \in q} w_i w_j \max(0, |t_j - t_i| - \varepsilon)^n
        = \sum_q \frac1{n_q} \sum_{i, j \in q} w_i w_j \max(0, -\varepsilon - (t_i - t_j))^n,

    which is a hinge of margin -epsilon from the query's rows to themselves: by sorting one sort of
    t and one merge of the sorted t with itself, by cells one table. No term is negative, so neither
    an offset nor a huge score costs digits. `hinge` returns that sum over levels.

    O(n_rows log n_rows) by sorting, O(n_rows) by cells, for queries of any size; Cortes et al.
    2007, Section 3.2, solve a program over all n_rows^2 pairs instead.
    """

    def __init__(self, differences: Differences, hinge: Callable[[Levels], PairSum]) -> None:
        self.levels, self.target = _as_groups(differences), differences.target
        self.hinge = hinge(self.levels)

    @property
    def error(self) -> float:
        """Bound on the error of the values that follow, see `PairSum`."""
        return self.hinge.error

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        levels, residual = self.levels, np.zeros(self.levels.n_rows)
        scores = as_scores(scores, levels.n_rows)
        less_labels(scores, self.target, levels.row_of, levels.query_start, residual)
        return self.hinge.at(residual)

    def sharpen(self) -> bool:
        """Let the sum of hinges take a smaller error."""
        return self.hinge.sharpen()


def _as_groups(differences: Differences) -> Levels:
    """Lay each query's rows out as one group that has an edge to itself, scaled by 1/n_q.

    Weights that are equal within each query are part of the scale: what all rows share costs
    neither time nor memory.
    """
    query_of, weight = differences.query_of, differences.weight
    labels = np.zeros(differences.n_rows)
    levels = Levels.build(labels, query_of, graph="chain", sample_weight=weight)
    first = levels.row_of[levels.query_start[:-1]]
    total, shared = differences.query_weight[query_of[first]], weight[first]
    scale = 1.0 / total
    if np.array_equal(weight[levels.row_of], np.repeat(shared, np.diff(levels.query_start))):
        scale = shared * (shared / total)
        levels = replace(levels, weight=None)
    loops = np.repeat(np.arange(levels.n_queries), 2).reshape(-1, 2)
    pair_scale = scale if scale.size != 1 else float(scale[0])
    return replace(levels, edges=loops, pair_scale=pair_scale)
