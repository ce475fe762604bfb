"""Cell sums: piecewise polynomial losses over all pairs, in time linear in the rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pairrank._protocols import Evaluated, FloatArray, MultipleCurvature, PairSum
from pairrank.compiled import cell_bands
from pairrank.compiled import cells as compiled
from pairrank.pair_sums._bound import OneByOne, as_scores
from pairrank.pair_sums.cell_grid import CELLS_PER_MARGIN, Grid, cells_per_score, make_grid
from pairrank.pair_sums.cell_plan import Tier, Unit, divide, has_many_levels
from pairrank.preferences import Levels

Terms = tuple[tuple[float, int, float], ...]

FINER = 16
"""`sharpen` divides the width of a cell by this, once: more cells add more rounding."""
_UNIT_ROUNDING = 2.0**-53
_NONE = np.empty(0)


class CellSum:
    r"""The sum of :math:`\sum_k c_k \max(0, m_k - d)^{p_k}`, p = 1 or 2, over `Levels`.

    Scores fall into cells of width h, and per level and cell the moments (sum w, sum w t,
    sum w t^2) of the places t are kept. With m = (K + f) h, 0 <= f < 1, pairs of cells up to K
    apart are counted in, others are not. Running sums over cells and levels then give each cell a
    polynomial whose value at t is the gradient. Only pairs exactly K cells apart (off by at most
    (1 - f) h) and K + 1 apart (at most f h) can be on the wrong side of the margin. Their weights
    are known, so the error is computed with the sum.

    Parameters
    ----------
    levels : Levels
        Any order graph.
    terms : tuple of (m, p, c)
    exact : callable
        Returns the same sum by sorting for levels: for pairs that no unit holds, for scores that no
        grid fits, and once `sharpen` asks for it.

    Notes
    -----
    O(rows + cells levels). With labels as many as rows the rows are cut into bands of labels, the
    bands into groups of about a hundred rows, which are summed exactly. Memory: 4 bytes per row
    and tier, and 12 more for rows that are not in order.
    """

    error = 0.0
    """Equal scores are summed without an error; others compute their own."""

    def __init__(self, levels: Levels, terms: Terms, exact: Callable[[Levels], PairSum]) -> None:
        self.levels, self.terms = levels, terms
        self._exact_of = exact
        self.plan = divide(levels)
        rest = self.plan.rest
        self._rest = exact(rest) if rest is not None and self.plan.units else None
        self._margin = max(max(m for m, _, _ in terms), 0.0)
        self.finer = 1.0
        self.is_exact = not self.plan.units

    @functools.cached_property
    def _exact(self) -> PairSum:
        return self._exact_of(self.levels)

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores, which must not change."""
        scores = as_scores(scores, self.levels.n_rows)
        states = None if self.is_exact else self._states(scores)
        if states is None:
            return self._exact.at(scores)
        gradient = np.zeros(scores.size)
        value = error = gradient_error = 0.0
        for state in states:
            value += state.value
            error += state.error
            gradient_error += state.gradient_error
            state.add_gradient(scores, gradient)
        if self._rest is not None:
            rest = self._rest.at(scores)
            value += rest.value
            gradient += rest.gradient
        curvature = functools.partial(CellCurvature, self, scores, states)
        return Evaluated(float(value), gradient, float(error), curvature, float(gradient_error))

    def sharpen(self) -> bool:
        """Divide the cells' width by 16, next time sum exactly; False where it is exact."""
        if self.is_exact:
            return False
        self.finer *= FINER
        self.is_exact = self.finer > FINER
        return True

    def _states(self, scores: FloatArray) -> list[_UnitState | _TierState] | None:
        """Return the sums of all parts at the scores; None where no grid fits."""
        per_h = cells_per_score(scores, self._margin, CELLS_PER_MARGIN * self.finer)
        if np.isnan(per_h):
            return None
        states: list[_UnitState | _TierState] = []
        for unit in self.plan.units:
            grid = make_grid(unit.of_rows(scores), per_h, unit.most_cells)
            if grid is None:
                return None
            states.append(_UnitState(unit, self.terms, scores, grid))
        weight = _NONE if self.levels.weight is None else self.levels.weight
        for tier in self.plan.tiers:
            states.append(_TierState(tier, self.terms, scores, per_h / tier.coarser, weight))
        if self.plan.parts is not None:
            states.append(_TierState(self.plan.parts, self.terms, scores, 0.0, weight))
        return states


class _UnitState:
    """The sums of one unit at some scores: its grid, moments, polynomials, value and error."""

    def __init__(self, unit: Unit, terms: Terms, scores: FloatArray, grid: Grid) -> None:
        self.unit, self.terms, self.grid = unit, terms, grid
        self.moments = np.zeros((unit.n_codes, grid.position.size, 3))
        own = unit.of_rows(scores)
        compiled.add_rows(own, unit.code, unit.weight, *grid.place, self.moments)
        self.value = self.error = self.gradient_error = 0.0
        self._sweep()

    def _sweep(self) -> None:
        unit, grid, moments = self.unit, self.grid, self.moments
        position = grid.position
        h = 1.0 / grid.per_h
        self.table = np.zeros((unit.n_codes, position.size, 2))
        for margin, power, c in self.terms:
            K, f = _cells_of(margin, grid)
            factor = c * h if power == 2 else c
            how = (position, K, f, power, factor)
            sums = np.array(compiled.sweep_ranges(moments, unit.ranges, *how, self.table))
            for code, below in unit.linked(moments, unit.below):
                sums += compiled.sweep_winners(moments[code], below, *how, self.table[code])
            for code, above in unit.linked(moments, unit.above):
                compiled.sweep_losers(above, *how, self.table[code])
            value, border, beyond = sums * unit.scale
            self.value += value * h
            over, under = ((1.0 - f) * h) ** power, (f * h) ** power
            self.error += abs(c) * (border * over + beyond * under)
            slope = 2.0 if power == 1 else 4.0 * h
            self.gradient_error += (
                abs(c)
                * slope
                * (
                    border * (1.0 - f if power == 2 else 1.0)
                    + beyond * (f if power == 2 else float(f > 0.0))
                )
            )
        fullest = unit.n_rows if unit.weight.size else moments[..., 0].max()
        rounding = (fullest + 8.0 * position.size) * _UNIT_ROUNDING
        self.error += rounding * abs(self.value)

    def add_gradient(self, scores: FloatArray, gradient: FloatArray) -> None:
        """Add the rows' gradients, (n_rows,) in the user's order."""
        unit = self.unit
        with unit.adding_to(gradient) as out:
            compiled.read_rows(
                unit.of_rows(scores), unit.code, unit.weight, unit.scale, *self.grid.place,
                self.table, out,
            )  # fmt: skip

    @functools.cached_property
    def counts(self) -> FloatArray:
        """Twice the weight of each cell's partners that are counted in, (n_codes, n_cells)."""
        return self._partners(np.ascontiguousarray(self.moments[..., 0]))

    def product(self, scores: FloatArray, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v to `result`."""
        unit, grid = self.unit, self.grid
        own, values = unit.of_rows(scores), unit.of_rows(v)
        table = np.zeros((unit.n_codes, grid.position.size))
        weighed = values * unit.weight if unit.weight.size else values
        compiled.add_values(own, unit.code, weighed, *grid.place, table)
        sums = self._partners(table)
        with unit.adding_to(result) as out:
            compiled.multiply_rows(
                own, unit.code, unit.weight, values, unit.scale, *grid.place, self.counts, sums, out
            )

    def diagonal(self, scores: FloatArray, result: FloatArray) -> None:
        """Add the diagonal of the Hessian to `result`."""
        unit = self.unit
        own = unit.of_rows(scores)
        with unit.adding_to(result) as out:
            compiled.multiply_rows(
                own, unit.code, unit.weight, np.ones(own.size), unit.scale, *self.grid.place,
                self.counts, np.zeros_like(self.counts), out,
            )  # fmt: skip

    def _partners(self, values: FloatArray) -> FloatArray:
        """Return 2 c times the sums of a value per cell over the partners counted in."""
        unit, position = self.unit, self.grid.position
        result = np.zeros_like(values)
        for margin, power, c in self.terms:
            if power != 2:
                continue
            K, _ = _cells_of(margin, self.grid)
            compiled.count_ranges(values, unit.ranges, position, K, c, result)
            for wins, links in ((True, unit.below), (False, unit.above)):
                for code, others in unit.linked(values, links):
                    compiled.sweep_counts(others, position, K, c, wins, result[code])
        return result


class _TierState:
    """The sums of the pairs within bands at some scores, by cells, or pair by pair (per_h = 0)."""

    def __init__(
        self, tier: Tier, terms: Terms, scores: FloatArray, per_h: float, weight: FloatArray
    ) -> None:
        margins, powers, factors = zip(*terms, strict=True)
        self._weight, self._per_h = weight, per_h
        self._bands = (tier.bands, tier.part_start, tier.scale)
        self._margins, self._factors = np.array(margins), np.array(factors, dtype=np.float64)
        self._powers = np.array(powers, dtype=np.int64)
        self._n_rows = scores.size
        self._gradient = np.zeros(self._n_rows)
        how = (self._margins, self._powers, self._factors, self._gradient)
        self.error = self.gradient_error = 0.0
        if not per_h:
            self.value = cell_bands.gradient_of_parts(scores, weight, *self._bands, *how)
            return
        self.value, error, self.gradient_error = cell_bands.gradient_of_bands(
            scores, weight, *self._bands, per_h, *how
        )
        self.error = error + scores.size / max(len(tier.bands), 1) * _UNIT_ROUNDING * self.value

    def add_gradient(self, scores: FloatArray, gradient: FloatArray) -> None:
        """Add the rows' gradients, and let them go."""
        gradient += self._gradient * self._weight if self._weight.size else self._gradient
        del self._gradient

    def _partners(self, scores: FloatArray, values: FloatArray) -> FloatArray:
        sums = np.zeros(scores.size)
        squares = self._factors * (self._powers == 2)
        how = (self._margins, squares, sums)
        if self._per_h:
            cell_bands.partners_of_bands(scores, values, *self._bands, self._per_h, *how)
        else:
            cell_bands.partners_of_parts(scores, values, *self._bands, *how)
        return sums

    @functools.cached_property
    def _ones(self) -> FloatArray:
        return self._weight if self._weight.size else np.ones(self._n_rows)

    def diagonal(self, scores: FloatArray, result: FloatArray) -> None:
        """Add the diagonal of the Hessian to `result`."""
        if not hasattr(self, "_counts"):
            self._counts = self._partners(scores, self._ones)
        result += self._ones * self._counts

    def product(self, scores: FloatArray, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v to `result`."""
        diagonal = np.zeros(v.size)
        self.diagonal(scores, diagonal)
        result += diagonal * v - self._ones * self._partners(scores, self._ones * v)


class InLayout:
    """A sum over rows in the order of their labels, for scores in the user's order."""

    error = 0.0

    def __init__(self, levels: Levels, inner: CellSum) -> None:
        self._levels, self._inner = levels, inner

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        scores = as_scores(scores, self._levels.n_rows)
        found = self._inner.at(scores[self._levels.row_of])
        return found._replace(
            gradient=self._levels.from_layout(found.gradient),
            curvature=lambda: _LayoutCurvature(self._levels, found.curvature()),
        )

    def sharpen(self) -> bool:
        """Sharpen the sum."""
        return self._inner.sharpen()


class _LayoutCurvature(OneByOne):
    def __init__(self, levels: Levels, inner: MultipleCurvature) -> None:
        self._levels, self._inner = levels, inner

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        return self._levels.from_layout(self._inner.matvec(v[self._levels.row_of]))

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._levels.from_layout(self._inner.diagonal())


def cell_sum(
    levels: Levels, terms: Terms, exact: Callable[[Levels], PairSum]
) -> CellSum | InLayout:
    """Return the cell sum of a loss over levels, see `CellSum`."""
    if levels.in_order or not has_many_levels(levels):
        return CellSum(levels, terms, exact)
    n_kept = levels.row_of.size
    laid = replace(levels, n_rows=n_kept, row_of=np.arange(n_kept, dtype=np.int32), in_order=True)
    return InLayout(levels, CellSum(laid, terms, exact))


class CellCurvature(OneByOne):
    """The generalised Hessian of a `CellSum` at fixed scores."""

    def __init__(self, owner: CellSum, scores: FloatArray, states: list[Any]) -> None:
        self._owner, self._scores, self._states = owner, scores, states
        self._rest = None if owner._rest is None else owner._rest.at(scores).curvature()

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self._owner.levels.n_rows)
        result = np.zeros(v.size) if self._rest is None else self._rest.matvec(v)
        for state in self._states:
            state.product(self._scores, v, result)
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        n_rows = self._owner.levels.n_rows
        result = np.zeros(n_rows) if self._rest is None else self._rest.diagonal()
        for state in self._states:
            state.diagonal(self._scores, result)
        return result


def _cells_of(margin: float, grid: Grid) -> tuple[int, float]:
    """Return K and f with margin = (K + f) h, 0 <= f < 1."""
    cells = margin * grid.per_h
    whole = np.floor(cells)
    return int(whole), float(cells - whole)
