"""Logistic and probit over a crossing query by boxes: moments per level and box are merged."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import Sigmoidal
from pairrank.blocks.crossing_queries import MomentQuery, OwnRows
from pairrank.pair_sums._bound import links_of
from pairrank.pair_sums.boxes import CodedRows, LevelBoxes
from pairrank.pair_sums.sigmoid import KINDS
from pairrank.pair_sums.sigmoid_pairs import NONE


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
        code = np.ascontiguousarray(self.query.codes(rows))
        sides = [np.ascontiguousarray(side) for side in rows.weight] or [NONE]
        return CodedRows(rows.scores, code, sides)
