"""Scorers that pass queries and row weights to a ranking metric."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from pairrank.exceptions import PairrankError
from pairrank.metrics import kendall_tau, mean_ndcg, ndcg_score, pairwise_accuracy, wmw_score

GRAPH_METRICS = (pairwise_accuracy, wmw_score)


class QueryScorer:
    """A metric as scikit-learn's searches call it: (estimator, X, y, qid, sample_weight) to number.

    Created by `make_query_scorer`. It requests `qid` and `sample_weight` from metadata routing, so
    that both reach the metric without further settings.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, scores, *, qid=None, sample_weight=None, **options)``.
    sign : float
        1 where higher is better, -1 where lower is: searches maximise.
    options : dict
        Further arguments of the metric.
    """

    def __init__(self, metric: Callable[..., float], sign: float, options: dict[str, Any]) -> None:
        self.metric = metric
        self.sign = sign
        self.options = options
        self.requests: dict[str, Any] = {"qid": True, "sample_weight": True}

    def __call__(
        self, estimator: Any, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the metric of the estimator's predictions, times the sign."""
        options = self.options
        if self.metric in GRAPH_METRICS and "graph" not in options:
            options = {**options, "graph": _graph_of(estimator)}
        scores = estimator.predict(X)
        value = self.metric(y, scores, qid=qid, sample_weight=sample_weight, **options)
        return self.sign * float(value)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        sign = "" if self.sign > 0 else ", greater_is_better=False"
        return f"make_query_scorer({self.metric.__name__}{sign}{options})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request for qid and sample_weight, for scikit-learn's routing."""
        request = MetadataRequest(owner=self)
        for name, alias in self.requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def set_score_request(self, **requests: bool | str | None) -> QueryScorer:
        """Return a scorer with other requests, such as sample_weight=False for plain NDCG.

        Parameters
        ----------
        **requests : bool, str or None
            Values for `qid` or `sample_weight`, as scikit-learn's routing knows them.

        Returns
        -------
        QueryScorer
            A changed copy; the predefined scorers do not change.
        """
        unknown = sorted(set(requests) - set(self.requests))
        if unknown:
            raise PairrankError(f"a scorer requests qid and sample_weight, not {unknown[0]!r}")
        changed = copy.copy(self)
        changed.requests = {**self.requests, **requests}
        return changed


def make_query_scorer(
    metric: Callable[..., float], *, greater_is_better: bool = True, **options: Any
) -> QueryScorer:
    """Make a scorer of a metric that takes qid and sample_weight.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, scores, *, qid=None, sample_weight=None, **options)``, as in
        `pairrank.metrics`.
    greater_is_better : bool
        False negates the metric, since searches maximise.
    **options : Any
        Further arguments of the metric. Without `graph`, pairwise accuracy and WMW use the order
        graph of the estimator, where it has one.

    Returns
    -------
    QueryScorer

    Examples
    --------
    >>> make_query_scorer(ndcg_score, k=5)
    make_query_scorer(ndcg_score, k=5)
    """
    return QueryScorer(metric, 1.0 if greater_is_better else -1.0, options)


pairwise_accuracy_scorer = make_query_scorer(pairwise_accuracy)
wmw_scorer = make_query_scorer(wmw_score)
kendall_tau_scorer = make_query_scorer(kendall_tau)
mean_ndcg_scorer = make_query_scorer(mean_ndcg)
ndcg_at_10_scorer = make_query_scorer(ndcg_score, k=10)

READY = {
    "pairwise_accuracy": pairwise_accuracy_scorer,
    "wmw_score": wmw_scorer,
    "kendall_tau": kendall_tau_scorer,
    "mean_ndcg": mean_ndcg_scorer,
    "ndcg_score": make_query_scorer(ndcg_score),
}


def get_query_scorer(scoring: str | Callable[..., float]) -> Callable[..., float]:
    """Return a scorer by its name, or a callable as it is.

    Parameters
    ----------
    scoring : str or callable
        "pairwise_accuracy", "wmw_score", "kendall_tau", "mean_ndcg", "ndcg_score", or "ndcg@k"
        for any number k; or a scorer (estimator, X, y, ...).

    Returns
    -------
    callable

    Raises
    ------
    PairrankError
        If there is no such scorer.

    Examples
    --------
    >>> get_query_scorer("ndcg@5")
    make_query_scorer(ndcg_score, k=5)
    """
    if callable(scoring):
        return scoring
    name, at, depth = str(scoring).partition("@")
    if at and name == "ndcg" and depth.isdecimal() and int(depth):
        return make_query_scorer(ndcg_score, k=int(depth))
    if scoring not in READY:
        raise PairrankError(
            f"there is no scorer {scoring!r}; take one of {', '.join(READY)}, ndcg@k or a callable"
        )
    return READY[scoring]


def requested(scorer: Callable[..., float], metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the metadata (`qid`, `sample_weight`) that a scorer is to be given.

    That is the part it requests by metadata routing, or else the part its signature takes.

    Examples
    --------
    >>> requested(mean_ndcg_scorer.set_score_request(sample_weight=False),
    ...           {"qid": [1, 1], "sample_weight": [1.0, 2.0]})
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


def _graph_of(estimator: Any) -> Any:
    """Return the order graph of a ranker, also inside a pipeline or a search; else "full"."""
    while not hasattr(estimator, "graph"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return "full"
    return estimator.graph
