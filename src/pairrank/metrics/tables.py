"""Several metrics at once: their values, and one value per query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._protocols import FloatArray
from pairrank._validation import check_query_ids
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import RowArguments, metric
from pairrank.metrics._names import metric_named
from pairrank.preferences import Pairs
from pairrank.preferences._codes import query_codes


@metric(roles=True)
def evaluate(
    y_true: ArrayLike | Pairs,
    scores: ArrayLike,
    metrics: str | Iterable[str],
    *,
    per_query: bool = False,
    **rows: Unpack[RowArguments],
) -> dict[str, Any]:
    """Return several metrics by name.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,), or Pairs
        Labels, or explicit comparisons for metrics of pairs.
    metrics : str or iterable of str
        Names as in `get_query_scorer`, such as "ndcg@10", "map" or "rbp:persistence=0.9".
    per_query : bool
        Return one value per query instead: the columns of a table.

    Returns
    -------
    dict
        {name: value}. With `per_query` {"qid": queries, name: values of shape (n_queries,)}, NaN
        where a query does not count in a metric, such as a query of one label in metrics of pairs.

    Notes
    -----
    Costs the sum of the metrics' costs.

    Examples
    --------
    >>> y, scores, qid = [1, 0, 1, 0], [2.0, 1.0, 1.0, 2.0], ["a", "a", "b", "b"]
    >>> evaluate(y, scores, ["map", "auc"], qid=qid)
    {'map': 0.75, 'auc': 0.5}
    >>> evaluate(y, scores, "map", qid=qid, per_query=True)["map"]
    array([1. , 0.5])
    """
    if not isinstance(metrics, Iterable):
        raise PairrankError(f"metrics must be a name or several, not {metrics!r}")
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    known = {name: metric_named(name) for name in names}
    if not known:
        raise PairrankError('metrics names none; give at least one, such as "ndcg@10"')
    found = {
        name: each.function(
            y_true, scores, **rows, **each.options, **({"per_query": True} if per_query else {})
        )
        for name, each in known.items()
    }
    return columns_of(found, check_query_ids(rows.get("qid"))) if per_query else found


def columns_of(
    found: Mapping[str, Mapping[Any, float]], qid: NDArray[Any] | None
) -> dict[str, NDArray[Any]]:
    """Return the columns of a table with one row per query, from {query: value} of each metric.

    The one query of rows without `qid` is called None.
    """
    queries: NDArray[Any] = np.array([None]) if qid is None else query_codes(qid)[0]
    listed = queries.tolist()

    def column(values: Mapping[Any, float]) -> FloatArray:
        return np.array([values.get(query, np.nan) for query in listed], dtype=np.float64)

    return {"qid": queries, **{name: column(values) for name, values in found.items()}}
