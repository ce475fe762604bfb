"""Scores of RankRLS at every alpha: of queries, pairs or comparisons left out, and of folds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from pairrank._validation import check_choice
from pairrank.design import Design
from pairrank.estimators._multi_target import columns_of
from pairrank.exceptions import PairrankError
from pairrank.model_selection.rls_comparisons import Comparisons
from pairrank.model_selection.rls_pair_out import leave_comparison_out, leave_pair_out
from pairrank.model_selection.rls_rows import CentredRows
from pairrank.model_selection.rls_shortcuts import Spectrum, leave_query_out
from pairrank.model_selection.scorers import requested
from pairrank.preferences import Pairs
from pairrank.preferences._codes import query_codes

FloatArray = NDArray[np.float64]

LEAVE_QUERY_OUT, LEAVE_PAIR_OUT = "leave-query-out", "leave-pair-out"


class _Predicted(BaseEstimator):
    """What was predicted, as a scorer asks for it."""

    graph = "full"

    def __init__(self, scores: Any = None) -> None:
        self.scores = scores

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions, whatever the rows."""
        return self.scores


def check_left_out(cv: str, n_queries: int) -> None:
    """Raise a PairrankError where `cv` names nothing that can be left out."""
    check_choice(cv, "cv", (LEAVE_QUERY_OUT, LEAVE_PAIR_OUT))
    if cv == LEAVE_QUERY_OUT and n_queries < 2:
        raise PairrankError(
            'cv="leave-query-out" needs two queries at least, and there is one: give qid, or take '
            'cv="leave-pair-out" or a number of folds'
        )


def least_squares(
    X: Any, y: Any, qid: NDArray[Any] | None, weight: FloatArray | None
) -> CentredRows | Comparisons:
    """Return the least-squares problem of labels or comparisons; an error where there are none."""
    if isinstance(y, Pairs):
        pairs = y.bound(X.shape[0], qid=qid, sample_weight=weight, ties=False)
        pairs.require_pairs()
        return Comparisons.build(X, pairs, None if qid is None else query_codes(qid)[1])
    return CentredRows.build(X, y.reshape(len(y), -1), qid, weight)


def scores_of_margins(spectrum: Spectrum, grid: FloatArray, method: str) -> FloatArray:
    """Return pairwise accuracies of left-out margins, (n_values, n_targets)."""
    problem = spectrum.problem
    if isinstance(problem, CentredRows):
        return leave_pair_out(spectrum, grid)
    if method == LEAVE_PAIR_OUT:
        margins = leave_comparison_out(spectrum, grid)
    else:
        margins = leave_query_out(spectrum, grid)[:, :, 0]
    agreement = margins * np.sign(problem.b[:, 0])
    weight = np.where(problem.b[:, 0] != 0, problem.root**2, 0.0)
    credit = np.where(agreement == 0, 0.5, agreement > 0)
    total = weight.sum()
    return (credit @ weight / total if total else np.full(grid.size, np.nan))[:, None]


def scores_of_predictions(
    spectrum: Spectrum, grid: FloatArray, scorer: Any, data: tuple[Any, Any, dict[str, Any]]
) -> FloatArray:
    """Return the scores of all left-out queries together, (n_values, n_targets)."""
    X, y, rows = data
    problem = spectrum.problem
    assert isinstance(problem, CentredRows)

    def by_row(of_equations: FloatArray) -> FloatArray:
        scores = np.zeros((len(y), of_equations.shape[1]))
        scores[problem.row_of] = of_equations
        return scores

    return _judged(map(by_row, leave_query_out(spectrum, grid)), X, y, rows, scorer)


def scores_of_fold(
    data: tuple[Any, Any, Any, dict[str, Any]],
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    grid: FloatArray,
    scorer: Any,
) -> FloatArray:
    """Return the scores of a fold's test rows, (n_values, n_targets); NaN where none are learnt."""
    X, features, y, rows = data
    train, test = (
        {
            name: None if value is None else _safe_indexing(value, part)
            for name, value in {"y": y, **rows}.items()
        }
        for part in split
    )
    y_train, y_test = train.pop("y"), test.pop("y")
    n_targets = len(columns_of(y))
    if (isinstance(y_train, Pairs) and not y_train.n_pairs) or not _any_weight(train):
        return np.full((grid.size, n_targets), np.nan)
    learnt = _safe_indexing(features, split[0])
    problem = least_squares(learnt, y_train, *train.values())
    coefs = Spectrum(problem).coefs(grid)
    design = Design(_safe_indexing(features, split[1]))
    scores = [[design.scores(coef) for coef in at_alpha] for at_alpha in coefs]
    predicted = np.array(scores).transpose(0, 2, 1)
    result = _judged(predicted, _safe_indexing(X, split[1]), y_test, test, scorer)
    result[:, ~problem.b.any(axis=0)] = np.nan
    return result


def _any_weight(rows: dict[str, Any]) -> bool:
    weight = rows["sample_weight"]
    return weight is None or bool((weight > 0).any())


def _judged(
    predicted: Iterable[FloatArray], X: Any, y: Any, rows: dict[str, Any], scorer: Any
) -> FloatArray:
    """Return the scorer's value for every alpha and target, (n_values, n_targets)."""
    given = {name: value for name, value in rows.items() if value is not None}
    asked = requested(scorer, given)
    targets = [y] if isinstance(y, Pairs) else columns_of(y)
    return np.array(
        [
            [float(scorer(_Predicted(s[:, t]), X, y_t, **asked)) for t, y_t in enumerate(targets)]
            for s in predicted
        ]
    )
