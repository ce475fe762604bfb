"""Scorers that pass queries and row weights to a ranking metric."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, Unpack

from sklearn.utils.metadata_routing import MetadataRequest

from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import RowArguments, takes_rows
from pairrank.metrics._names import Metric, metric_named, metric_of


class QueryScorer:
    """A metric as scikit-learn's searches call it, made by `make_query_scorer`.

    It requests from metadata routing what the metric takes of `qid`, `sample_weight`,
    `winner_weight` and `loser_weight`, so that they reach it without further settings. The score is
    the negated value if less is better.

    Parameters
    ----------
    metric : Metric
        The function, its options, and whether greater is better.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.requests: dict[str, Any] = dict.fromkeys(metric.row_arguments, True)

    @takes_rows("")
    def __call__(self, estimator: Any, X: Any, y: Any, **rows: Unpack[RowArguments]) -> float:
        """Return the metric of the estimator's predictions, negated where less is better."""
        options = self.metric.arguments(ranker_in(estimator))
        value = self.metric.function(y, estimator.predict(X), **rows, **options)
        return float(value) if self.metric.greater_is_better else -float(value)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.metric.options.items())
        sign = "" if self.metric.greater_is_better else ", greater_is_better=False"
        return f"make_query_scorer({self.metric.function.__name__}{sign}{options})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request for queries and row weights, for scikit-learn's routing."""
        request = MetadataRequest(owner=self)
        for name, alias in self.requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def set_score_request(self, **requests: bool | str | None) -> QueryScorer:
        """Return a copy with other requests, such as sample_weight=False for plain NDCG.

        The values are those of scikit-learn's routing: bool, str or None. The predefined scorers
        do not change.
        """
        unknown = sorted(set(requests) - set(self.requests))
        if unknown:
            known = ", ".join(self.requests)
            raise PairrankError(f"a scorer can request {known}, not {unknown[0]!r}")
        changed = copy.copy(self)
        changed.requests = {**self.requests, **requests}
        return changed


def make_query_scorer(
    metric: Callable[..., float], *, greater_is_better: bool | None = None, **options: Any
) -> QueryScorer:
    """Make a scorer of a metric that takes queries and row weights.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, scores, *, qid=None, sample_weight=None, **options)``, as in
        `pairrank.metrics`; perhaps with winner_weight and loser_weight.
    greater_is_better : bool, optional
        False negates the metric, because searches maximise. None: True, except for the errors and
        costs of `pairrank.metrics`.
    **options : Any
        Further arguments of the metric. By default, pairwise accuracy and WMW use the order graph
        of the estimator that they judge, if it has one; `tube_cost` uses its `epsilon` and `n`.

    Returns
    -------
    QueryScorer

    Examples
    --------
    >>> from pairrank.metrics import msd, ndcg_score
    >>> make_query_scorer(ndcg_score, k=5)
    make_query_scorer(ndcg_score, k=5)
    >>> make_query_scorer(msd)
    make_query_scorer(msd, greater_is_better=False)
    """
    if not callable(metric):
        raise PairrankError(f"metric must be a function of labels and scores, got {metric!r}")
    known = metric_of(metric, options)
    if greater_is_better is not None:
        known = known._replace(greater_is_better=greater_is_better)
    return QueryScorer(known)


def get_query_scorer(scoring: str | Callable[..., float]) -> Callable[..., float]:
    """Return a scorer by its name, or a callable as it is.

    Parameters
    ----------
    scoring : str or callable
        "pairwise_accuracy", "wmw", "auc", "kendall_tau", "mean_ndcg", "ndcg", "map",
        "mrr", "err", "rbp"; "log_loss", "msd", "m1d", "tube_cost",
        "hinge_rank_cost", "hinge_magnitude_cost", which are negated; "precision@k", "recall@k", and
        "name@k" for every metric with the option k, such as "ndcg@10"; any of these with
        ":option=value,option=value", such as "rbp:persistence=0.9"; or a scorer
        (estimator, X, y, ...).

    Returns
    -------
    callable

    Raises
    ------
    PairrankError
        If there is no such metric.

    Examples
    --------
    >>> get_query_scorer("ndcg@5")
    make_query_scorer(ndcg_score, k=5)
    >>> get_query_scorer("err@10:max_label=4")
    make_query_scorer(expected_reciprocal_rank, k=10, max_label=4)
    """
    return scoring if callable(scoring) else QueryScorer(metric_named(scoring))


def requested(scorer: Callable[..., float], metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the metadata (`RowArguments`) that a scorer takes.

    That is the part that it requests by metadata routing, or else the part in its signature.

    Examples
    --------
    >>> scorer = get_query_scorer("mean_ndcg").set_score_request(sample_weight=False)
    >>> requested(scorer, {"qid": [1, 1], "sample_weight": [1.0, 2.0]})
    {'qid': [1, 1]}
    """
    routing = getattr(scorer, "get_metadata_routing", None)
    request = None if routing is None else routing()
    if isinstance(request, MetadataRequest):
        sources = {
            name: name if alias is True else alias
            for name, alias in request.score.requests.items()
            if alias
        }
        return {name: metadata[source] for name, source in sources.items() if source in metadata}
    taken = inspect.signature(scorer).parameters
    if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        return metadata
    return {name: value for name, value in metadata.items() if name in taken}


def ranker_in(estimator: Any) -> Any:
    """Return the ranker inside a pipeline or a fitted search, or the estimator itself."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator
