"""A cell: one model on one fold, its strength chosen on the training rows, judged on the others."""

from __future__ import annotations

import inspect
import textwrap
import time
import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object

from pairrank import _validation as validation
from pairrank._protocols import Array, FloatArray
from pairrank.comparison.models import Candidate
from pairrank.exceptions import PairrankError
from pairrank.metrics._names import metric_named
from pairrank.model_selection.scorers import ranker_in
from pairrank.model_selection.splits import QueryKFold, Split, splits_of
from pairrank.preferences._codes import query_codes
from pairrank.preferences.order_graph import OrderGraph, as_graph
from pairrank.report.measures import measure

Columns = dict[str, Array]
SECONDS = ("choice_seconds", "fit_seconds", "predict_seconds")
_LONGEST_REASON = 300


class Rows(NamedTuple):
    """Some rows: features, labels, and the queries and weights that are given."""

    X: Any
    y: Array
    layout: dict[str, Any]

    def part(self, places: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        layout = {name: values[places] for name, values in self.layout.items()}
        return Rows(self.X[places], self.y[places], layout)


class Task(NamedTuple):
    """Rows and how models are judged on them; strengths are chosen by the first metric."""

    rows: Rows
    metrics: list[str]
    graph: Any
    inner_cv: int
    standardize: bool
    seed: int

    def parts(self, rows: Rows, split: Split) -> tuple[Rows, Rows]:
        """Return training and test rows, standardised by the training rows where asked."""
        train, test = rows.part(split[0]), rows.part(split[1])
        if not self.standardize:
            return train, test
        scaler = StandardScaler(with_mean=isinstance(train.X, np.ndarray)).fit(train.X)
        return (
            train._replace(X=scaler.transform(train.X)),
            test._replace(X=scaler.transform(test.X)),
        )


class Cell(NamedTuple):
    """What a model did on a fold: its row of the table of scores, its rows of that of queries."""

    score: dict[str, Any]
    queries: Columns


def run_cell(task: Task, candidate: Candidate, repeat: int, fold: int, split: Split) -> Cell:
    """Return the cell of a model on a fold; whatever the model raises becomes its reason."""
    place: dict[str, Any] = {"model": candidate.name, "repeat": repeat, "fold": fold}
    sizes = {"n_train": len(split[0]), "n_test": len(split[1])}
    unknown = dict.fromkeys((*SECONDS, *task.metrics), np.nan)
    score = {**place, **sizes, "params": "", **unknown, "warnings": "", "reason": ""}
    queries: Columns = {"qid": np.empty(0, int), **{name: np.empty(0) for name in task.metrics}}
    try:
        with config_context(enable_metadata_routing=True):
            found, queries = _judged(task, candidate, split)
        score |= found
    except Exception as error:
        said = (
            str(error) if isinstance(error, PairrankError) else f"{type(error).__name__}: {error}"
        )
        score["reason"] = textwrap.shorten(said, _LONGEST_REASON, placeholder=" …")
    n_queries = queries["qid"].size
    return Cell(score, {**{name: np.repeat(place[name], n_queries) for name in place}, **queries})


def _judged(task: Task, candidate: Candidate, split: Split) -> tuple[dict[str, Any], Columns]:
    """Return the values of a model and the seconds that it took; its values by query.

    Warnings of the choice of the strength are not kept.
    """
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        params = _chosen(task, candidate, task.rows.part(split[0]))
    chosen = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train, test = task.parts(task.rows, split)
        prepared = time.perf_counter()
        model = _fitted(candidate, params, train)
        fitted = time.perf_counter()
        scores = scores_of(model, test.X, task.graph)
        predicted = time.perf_counter()
        measured = {
            name: measure(name, test.y, scores, test.layout, None, task.graph)
            for name in task.metrics
        }
    said = dict.fromkeys(" ".join(str(each.message).split()) for each in caught)
    seconds = (chosen - start if params else np.nan, fitted - prepared, predicted - fitted)
    score = {
        "params": ", ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in params.items()
        ),
        **dict(zip(SECONDS, seconds, strict=True)),
        **{name: each.value for name, each in measured.items()},
        "warnings": "; ".join(said),
    }
    qid = test.layout.get("qid")
    codes = np.zeros(1, int) if qid is None else query_codes(qid)[0]
    return score, {"qid": codes, **{name: each.by_query for name, each in measured.items()}}


def folds_of(cv: Any, rows: Rows, seed: int) -> list[Split]:
    """Return folds of whole queries in random order, or of rows where there are no queries."""
    qid = rows.layout.get("qid")
    if isinstance(cv, Integral) and qid is not None:
        validation.check_number(cv, "cv", low=2, inclusive=True, integer=True)
        cv = QueryKFold(int(cv), shuffle=True, random_state=seed)
    return list(splits_of(cv, rows.X, rows.y, qid, seed))


def check_inner_folds(inner_cv: Any) -> None:
    """Raise a PairrankError for a wrong number of inner folds."""
    validation.check_number(inner_cv, "inner_cv", low=0, inclusive=True, integer=True)
    if inner_cv == 1:
        raise PairrankError("inner_cv must be 0, or at least 2 (got 1)")


def _chosen(task: Task, candidate: Candidate, rows: Rows) -> dict[str, Any]:
    """Return the strengths with the best mean of the first metric over folds of some rows.

    Folds without a value do not count. Of equal strengths the first one is taken.
    """
    if not (candidate.grid and task.inner_cv):
        return {}
    grid = list(ParameterGrid(dict(candidate.grid)))
    name = task.metrics[0]
    metric = metric_named(name)
    sign = 1.0 if metric.greater_is_better else -1.0
    values = []
    for split in folds_of(task.inner_cv, rows, task.seed):
        train, test = task.parts(rows, split)
        for params in grid:
            scores = scores_of(_fitted(candidate, params, train), test.X, task.graph)
            values.append(metric.of(test.y, scores, test.layout, graph=task.graph))
    means = np.nanmean(sign * np.reshape(values, (-1, len(grid))), axis=0)
    if np.isnan(means).all():
        raise PairrankError(f"no inner fold has a value of {name}: take fewer inner folds")
    return dict(grid[int(np.nanargmax(means))])


def _fitted(candidate: Candidate, params: Mapping[str, Any], rows: Rows) -> Any:
    """Return a fitted clone; an interrupted fit of a ranker, which returns, interrupts all."""
    model = clone(candidate.estimator).set_params(**params)
    routed = get_routing_for_object(model).consumes("fit", list(rows.layout))
    taken = {*routed, *inspect.signature(model.fit).parameters}
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
    order = as_graph(graph) if is_classifier(model) else None
    is_turned = isinstance(order, OrderGraph) and tuple(model.classes_[::-1]) in order.edges
    return -scores[:, 0] if is_turned else scores[:, 0]
