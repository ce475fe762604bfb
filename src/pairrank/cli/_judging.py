"""What a model is judged by while it is trained: a metric, on validation rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairrank.cli._metrics import measure
from pairrank.cli._rows import Columns, count_judged, load_rows, named

if TYPE_CHECKING:
    from pairrank.io import Rows


class Judging(NamedTuple):
    """What a model is judged by: a metric on rows, their labels or their comparisons."""

    metric: str
    source: str | None
    pairs: str | None

    def load_rows(self, rows: Rows, columns: Columns, graph: Any) -> Rows | None:
        """Return the rows to judge by, if any, with the features of those to learn from.

        Raises
        ------
        PairrankError
            If the metric cannot judge them, whatever the scores, or there is no pair among them.
        """
        if self.source is None:
            return None
        others = load_rows(
            self.source,
            columns,
            n_features=rows.X.shape[1],
            features=rows.feature_names,
            pairs=self.pairs,
        )
        count_judged(others, graph, self.pairs or self.source)
        with named(self.source):
            measure(self.metric, others, np.zeros(others.X.shape[0]), graph)
        return others
