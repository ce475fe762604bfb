"""Rows cut into blocks: layouts of their crossing queries, and the passes over them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from definitions import preferences_of
from loss_table import weights_of
from pairrank.blocks._contracts import BlockLayout
from pairrank.blocks.crossing import MomentQuery, merged_summaries
from pairrank.preferences import Differences, Levels
from sum_table import scale_of_rows


class EveryPair:
    """Every preference of a problem, one by one: its rows, weight and margin."""

    def __init__(self, problem, levels):
        pairs = np.array(preferences_of(problem.y, problem.qid, problem.graph), dtype=np.int64)
        self.i, self.j = pairs.reshape(-1, 2).T
        winner, loser = weights_of(problem)
        scale = scale_of_rows(levels)
        self.weight = winner[self.i] * loser[self.j] * scale[self.i]
        self.d = problem.scores[self.i] - problem.scores[self.j]
        self.n_rows = problem.y.size

    def value(self, loss):
        return float((self.weight * loss.phi(self.d)).sum())

    def gradient(self, loss):
        return self.at_ends(self.weight * loss.phi(self.d, order=1))

    def product(self, loss, v):
        return self.at_ends(self.weight * loss.phi(self.d, order=2) * (v[self.i] - v[self.j]))

    def at_ends(self, values):
        n = self.n_rows
        return np.bincount(self.i, values, n) - np.bincount(self.j, values, n)

    def sizes(self, terms):
        """Return the sums of absolute contributions to the value and to the gradients."""
        value = slope = 0.0
        for margin, power, c in terms:
            over = np.maximum(margin - self.d, 0.0)
            value += abs(c) * float((self.weight * over**power).sum())
            slope += abs(c) * float((self.weight * (2.0 * over if power == 2 else 1.0)).sum())
        return value, 2.0 * slope

    def at_kinks(self, terms, largest):
        """Return the weight of pairs whose margin is known to rounding only, at a hinge's kink."""
        close = 4.0 * np.finfo(float).eps * largest
        return sum(
            2.0 * abs(c) * float(self.weight[np.abs(m - self.d) <= close].sum())
            for m, p, c in terms
            if p == 1
        )


@dataclass
class Cut:
    """Rows of crossing queries cut into blocks of consecutive rows, each query by query."""

    borders: np.ndarray
    query: np.ndarray
    code: np.ndarray
    label: np.ndarray
    weight: np.ndarray

    @property
    def parts(self):
        """The rows of each block."""
        blocks = [
            np.arange(*each) for each in zip(self.borders[:-1], self.borders[1:], strict=True)
        ]
        return [rows[np.argsort(self.query[rows], kind="stable")] for rows in blocks]

    def layouts(self):
        layouts = []
        for rows in self.parts:
            query, sizes = np.unique(self.query[rows], return_counts=True)
            layouts.append(
                BlockLayout(
                    n_rows=rows.size,
                    whole=None,
                    rows=np.arange(rows.size, dtype=np.int32),
                    query=query.astype(np.int32),
                    start=np.concatenate(([0], np.cumsum(sizes))),
                    code=self.code[rows].astype(np.int32),
                    label=self.label[rows] if self.label.size else self.label,
                    weight=np.ascontiguousarray(self.weight[:, rows]),
                )
            )
        return layouts


def borders_of(n_rows, n_blocks, rng):
    """Return ascending borders of blocks, some of them empty."""
    inner = np.sort(rng.integers(0, n_rows + 1, n_blocks - 1))
    return np.concatenate(([0], inner, [n_rows]))


class Crossed:
    """A pair sum over blocks, evaluated as passes would, all of it pickled on the way."""

    def __init__(self, loss_sum, cut):
        self.sum, self.cut = loss_sum, cut

    def _sent(self, value):
        return pickle.loads(pickle.dumps(value))

    def _merged(self, parts):
        """Merge the parts two by two, as a tree."""
        parts = [self._sent(part) for part in parts]
        while len(parts) > 1:
            pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
            parts = [
                self._sent(merged_summaries(*pair)) if len(pair) > 1 else pair[0] for pair in pairs
            ]
        return parts[0]

    def _blocks(self):
        return list(zip(self.cut.parts, self.cut.layouts(), strict=True))

    def _joined(self, values):
        """Return values by block in the order of the rows."""
        result = np.empty(self.cut.query.size)
        for rows, own in zip(self.cut.parts, values, strict=True):
            result[rows] = own
        return result

    def placed(self, scores):
        """Return the sum with cells for these scores, less labels and centred for differences."""
        centred = scores
        if self.cut.label.size:
            residual, query = scores - self.cut.label, self.cut.query
            centred = residual - (np.bincount(query, residual) / np.bincount(query))[query]
        return self.sum.placed(scores, centred)

    def summaries(self, scores):
        sent = self._sent(self.placed(scores))
        return [sent.summary(scores[rows], layout) for rows, layout in self._blocks()]

    def table(self, scores):
        return self.placed(scores).finish(self._merged(self.summaries(scores)))

    def at(self, scores):
        """Return the totals with the table's parts, and the gradient of all rows."""
        table = self.table(scores)
        sent = self._sent(table)
        gradient = [sent.entries(scores[rows], layout) for rows, layout in self._blocks()]
        found = SimpleNamespace(parts=table.parts, **table.totals._asdict())
        return found, self._joined(gradient)

    def product(self, scores, values):
        """Return the Hessian times values, by two passes."""
        curvature = self.placed(scores).curvature(self._merged(self.summaries(scores)))
        sent = self._sent(curvature)
        parts = [
            sent.summary(scores[rows], layout, values[rows]) for rows, layout in self._blocks()
        ]
        product = self._sent(curvature.finish(self._merged(parts)))
        return self._joined(
            [product.entries(scores[rows], layout, values[rows]) for rows, layout in self._blocks()]
        )


def cut_levels(levels: Levels, n_blocks: int, rng):
    """Cut the rows of preferences into blocks; return (cut, crossing queries).

    Rows that the preferences have dropped are in no query and must not be given.
    """
    n_rows = levels.row_of.size
    query, code = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int32)
    group = np.repeat(np.arange(levels.group_level.size), np.diff(levels.group_start))
    of_group = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_group))[group]
    query[levels.row_of] = of_group
    code[levels.row_of] = group - levels.query_group[of_group]
    sides = [side for side in levels.sides if side is not None][: 1 + (levels.roles is not None)]
    weight = np.empty((len(sides), n_rows))
    for side, values in enumerate(sides):
        weight[side, levels.row_of] = values
    cut = Cut(borders_of(n_rows, n_blocks, rng), query, code, np.empty(0), weight)
    scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=float), levels.n_queries)
    records = tuple(
        moment_query(levels, number, scale[number])
        for number in range(levels.n_queries)
        if levels.query_pair_weight[number] > 0.0
    )
    return cut, records


def moment_query(levels, number, scale):
    first, last = levels.query_group[number : number + 2]
    edges = None
    if levels.edges is not None:
        mine = (levels.edges[:, 0] >= first) & (levels.edges[:, 0] < last)
        edges = levels.edges[mine] - first
    return MomentQuery(number, int(last - first), edges, float(scale))


def cut_differences(differences: Differences, n_blocks: int, rng):
    """Cut the rows of differences into blocks."""
    n_rows = differences.n_rows
    query = differences.query_of
    query = np.zeros(n_rows, dtype=np.int32) if query is None else query
    weight = np.empty((0, n_rows))
    if differences.weight is not None:
        weight = differences.weight[np.newaxis].astype(float)
    code = np.zeros(n_rows, dtype=np.int32)
    return Cut(borders_of(n_rows, n_blocks, rng), query, code, differences.target, weight)
