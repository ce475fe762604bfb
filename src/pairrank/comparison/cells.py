"""A cell: one model on one fold, its strength chosen on the training rows, judged on the others."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metadata_routing import get_routing_for_object

from pairrank._protocols import FloatArray
from pairrank.comparison.models import Candidate
from pairrank.comparison.task import Fold, Rows, Task
from pairrank.exceptions import PairrankError
from pairrank.metrics._names import metric_named
from pairrank.model_selection.scorers import ranker_in
from pairrank.preferences._codes import query_codes
from pairrank.preferences.order_graph import OrderGraph, as_graph
from pairrank.report.measures import measure, overall

Step = Callable[[int, int], None]
"""Is told how many fits of a choice are done, and how many there are."""

_LONGEST_REASON = 300


class Cell(NamedTuple):
    """What a model did on a fold.

    Attributes
    ----------
    model : str
    repeat, fold : int
    n_train, n_test : int
        The rows learnt from, and judged by.
    params : dict
        The strengths that were chosen.
    choice_seconds, fit_seconds, predict_seconds : float
        Of the choice (NaN: there was none), of the fit on all training rows, and of the scores of
        the test rows.
    values : dict of str to float
        Each metric over the test rows.
    queries : list of int
        The codes of the test queries.
    by_query : dict of str to list of float
        Each metric of each test query; NaN for a query that does not count.
    warnings : list of str
        The warnings of scaling, of the fit on all training rows, and of the metrics.
    reason : str
        Why there are no values; "" if there are.
    """

    model: str
    repeat: int
    fold: int
    n_train: int
    n_test: int
    params: dict[str, Any]
    choice_seconds: float
    fit_seconds: float
    predict_seconds: float
    values: dict[str, float]
    queries: list[int]
    by_query: dict[str, list[float]]
    warnings: list[str]
    reason: str = ""


def empty_cell(model: str, fold: Fold, reason: str) -> Cell:
    """Return the cell of a model that gave no values."""
    nan, (train, test) = float("nan"), fold.split
    where = model, fold.repeat, fold.fold, len(train), len(test)
    return Cell(*where, {}, nan, nan, nan, {}, [], {}, [], reason)


def run_cell(task: Task, candidate: Candidate, fold: Fold, step: Step) -> Cell:
    """Return the cell of a model on a fold; whatever the model raises becomes its reason."""
    try:
        if candidate.reason:
            raise PairrankError(candidate.reason)
        with config_context(enable_metadata_routing=True):
            return _judged(task, candidate, fold, step)
    except Exception as error:
        return empty_cell(candidate.name, fold, _reason_of(error))


def _reason_of(error: Exception) -> str:
    """Return what an error says in one line; the errors of others are named."""
    said = " ".join(str(error).split())
    if not isinstance(error, PairrankError):
        said = f"{type(error).__name__}: {said}"
    return said if len(said) <= _LONGEST_REASON else f"{said[: _LONGEST_REASON - 1]}…"


def _judged(task: Task, candidate: Candidate, fold: Fold, step: Step) -> Cell:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _seconds() as choosing:
            params = _chosen(task, candidate, task.rows.part(fold.split[0]), step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train, test = task.parts(task.rows, fold.split)
        with _seconds() as fitting:
            model = _fitted(candidate, params, train)
        with _seconds() as predicting:
            scores = scores_of(model, test.X, task.graph)
        measured = {
            name: measure(name, test.y, scores, test.layout, None, task.graph)
            for name in task.metrics
        }
    queries = [0] if test.qid is None else query_codes(test.qid)[0].tolist()
    said = dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
    return Cell(
        candidate.name, fold.repeat, fold.fold, train.X.shape[0], test.X.shape[0], params,
        choosing[0] if params else float("nan"), fitting[0], predicting[0],
        {name: each.value for name, each in measured.items()},
        queries,
        {name: each.by_query.tolist() for name, each in measured.items()},
        list(said),
    )  # fmt: skip


def _chosen(task: Task, candidate: Candidate, rows: Rows, step: Step) -> dict[str, Any]:
    """Return the strengths with the best mean of the first metric over folds of some rows.

    Folds without a value do not count. Of equal strengths the first one is taken.
    """
    grid = list(ParameterGrid(dict(candidate.grid)))
    if len(grid) == 1 or not task.inner_cv:
        return dict(grid[0]) if len(grid) == 1 else {}
    name = task.metrics[0]
    sign = 1.0 if metric_named(name).greater_is_better else -1.0
    splits = task.inner_splits(rows)
    values = np.full((len(splits), len(grid)), np.nan)
    for row, split in enumerate(splits):
        train, test = task.parts(rows, split)
        for column, params in enumerate(grid):
            step(row * len(grid) + column, values.size)
            scores = scores_of(_fitted(candidate, params, train), test.X, task.graph)
            value = overall(name, test.y, scores, test.layout, None, task.graph)
            values[row, column] = sign * value
    means = np.nanmean(values, axis=0)
    if np.isnan(means).all():
        raise PairrankError(f"no inner fold has a value of {name}: take fewer inner folds")
    return dict(grid[int(np.nanargmax(means))])


def _fitted(candidate: Candidate, params: Mapping[str, Any], rows: Rows) -> Any:
    """Return a fitted clone; an interrupted fit of a ranker, which returns, interrupts all."""
    model = clone(candidate.estimator).set_params(**params)
    taken = _taken_by(model, list(rows.layout))
    refused = sorted(rows.layout.keys() - taken - {"qid"})
    if refused:
        raise PairrankError(f"it takes no {' and no '.join(refused)}")
    if is_classifier(model) and np.unique(rows.y).size > 2:
        raise PairrankError(
            f"a classifier orders two levels, and there are {np.unique(rows.y).size}"
        )
    model.fit(rows.X, rows.y, **{name: rows.layout[name] for name in rows.layout if name in taken})
    if getattr(ranker_in(model), "status_", None) == "interrupted":
        raise KeyboardInterrupt
    return model


def _taken_by(model: Any, names: list[str]) -> set[str]:
    """Return the arguments per row that `fit` takes, also those that a meta-estimator routes."""
    routed = get_routing_for_object(model).consumes("fit", names)
    return set(routed) | set(inspect.signature(model.fit).parameters) & set(names)


def scores_of(model: Any, X: Any, graph: Any) -> FloatArray:
    """Return a fitted model's scores of rows: of a classifier those of its higher class.

    The higher class is the second one, unless the graph prefers the first one to it.
    """
    if not is_classifier(model):
        scores = model.predict(X)
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    else:
        scores = model.predict_proba(X)[:, 1]
    scores = np.asarray(scores, dtype=np.float64).reshape(X.shape[0], -1)
    if scores.shape[1] != 1 or not np.isfinite(scores).all():
        raise PairrankError("its predictions are not one finite number per row")
    return -scores[:, 0] if is_classifier(model) and _is_turned(model, graph) else scores[:, 0]


def _is_turned(classifier: Any, graph: Any) -> bool:
    """Return whether a graph prefers the first class to the second."""
    order = as_graph(graph)
    return isinstance(order, OrderGraph) and tuple(classifier.classes_[::-1]) in order.edges


@contextmanager
def _seconds() -> Iterator[list[float]]:
    """Yield a list that holds the seconds of the block at its end."""
    spent: list[float] = []
    start = time.perf_counter()
    yield spent
    spent.append(time.perf_counter() - start)
