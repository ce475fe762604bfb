"""Logistic and probit over a crossing query by boxes: moments per level and box are merged."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray, Sigmoidal
from pairrank.blocks.crossing_cells import codes_of
from pairrank.blocks.crossing_parts import OwnRows
from pairrank.blocks.crossing_queries import MomentQuery
from pairrank.pair_sums._bound import range_of
from pairrank.pair_sums.bands import links_of
from pairrank.pair_sums.box_sum import Boxes, Moments
from pairrank.pair_sums.boxes import CodedRows, LevelBoxes
from pairrank.pair_sums.cell_grid import window_of
from pairrank.pair_sums.sigmoid import KINDS
from pairrank.pair_sums.sigmoid_pairs import NONE

_FURTHER = 1.7
"""Boxes cover so many times the windows of cells: few rows, whose number varies, lie beyond."""
_FEW_BOXES = 64


class BoxedLevels(LevelBoxes):
    """The sum of a sigmoidal loss over one crossing query; every level has its own boxes."""

    most_moments = 1 << 24
    """More moments than this, 128 MB, mean that scores are too far apart."""

    def __init__(self, family: Sigmoidal, query: MomentQuery, eps: float) -> None:
        links = links_of(query.edges, query.n_codes)
        slope, value = KINDS[family.slope], KINDS[family.value]
        super().__init__(slope, value, query.n_codes, links, query.scale, eps)
        self.query = query

    def coded(self, rows: OwnRows) -> CodedRows:
        """Return the scores, codes and weights of a block's rows."""
        code = codes_of(self.query, rows.level, rows.scores.size)
        sides = [np.ascontiguousarray(side) for side in rows.weight] or [NONE]
        return CodedRows(rows.scores, code, sides)

    def moments(self, placed: Boxes, weight: list[FloatArray]) -> Moments:
        """Return the moments of every level in the boxes of a window, and in boxes beyond it.

        So many rows send as many bytes as few do, although their extremes are further apart.
        """
        keys = _window_keys(placed)
        none = np.zeros((len(weight), self.n_codes * keys.size, placed.rule.degree))
        code = np.repeat(np.arange(self.n_codes), keys.size)
        return Moments(code, np.tile(keys, self.n_codes), none).merged(placed.moments(*weight))


def _window_keys(placed: Boxes) -> FloatArray:
    """Return the boxes of a window around the points, if they are few."""
    low, high = range_of(placed.points)
    with np.errstate(over="ignore", invalid="ignore"):
        start, stop = window_of(placed.points, low, high, slack=1.0)
        more = 0.5 * (_FURTHER - 1.0) * (stop - start)
        start, stop = max(start - more, 2.0 * low - high), min(stop + more, 2.0 * high - low)
        first, last = (np.floor(end / placed.rule.width) for end in (start, stop))
    if not 0 <= last - first < _FEW_BOXES:
        return np.empty(0)
    return np.asarray(first + np.arange(last - first + 1.0))
