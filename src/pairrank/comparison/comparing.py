"""compare: models side by side on the same folds, with tests of their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Unpack

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from pairrank import _validation as validation
from pairrank._protocols import Array
from pairrank.comparison.cells import Cell, Rows, Task, check_inner_folds, folds_of, run_cell
from pairrank.comparison.models import Candidate, candidate_of, models_named, tried_text
from pairrank.comparison.results import ComparisonResults
from pairrank.comparison.tables import Difference, columns_of, differences_of, summary_of, units_of
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import RowArguments, metric
from pairrank.metrics.tables import check_resampling
from pairrank.model_selection.splits import Split, generator_of
from pairrank.preferences import Levels, Pairs
from pairrank.preferences._codes import query_codes
from pairrank.report.measures import chosen_metrics
from pairrank.report.subject import judged_rows

Fold = tuple[int, int, Split]


@metric(roles=True)
def compare(
    X: Any,
    y: ArrayLike,
    *,
    models: str | Sequence[str] | Mapping[str, Any] | None = None,
    metrics: str | Sequence[str] | None = None,
    cv: Any = 5,
    n_repeats: int = 1,
    inner_cv: int = 3,
    graph: Any = "full",
    standardize: bool = True,
    baseline: str | None = None,
    n_resamples: int = 9999,
    random_state: int = 0,
    **rows: Unpack[RowArguments],
) -> ComparisonResults:
    """Compare models on the same folds: quality, time, and whether their differences are chance.

    Every model learns from the training rows of a fold, with the strength that is best in inner
    folds of these rows, and is judged on the others. What a model raises becomes its reason in the
    tables, and the others go on.

    Parameters
    ----------
    X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        Features; NaN is passed on to models that take missing values.
    y : array-like of shape (n_rows,)
        Labels.
    models : str, sequence of str, or mapping of str to estimator or str, optional
        Names of `pairrank.comparison.KNOWN`, also separated by commas, or estimators by names of
        your own. A search of scikit-learn, such as GridSearchCV, chooses its own strength. None:
        rankncg, ranksvm, rankrls, ridge, gradient_boosting.
    metrics : str or sequence of str, optional
        Names as in `pairrank.model_selection.get_query_scorer`. Strengths are chosen by the first,
        and models are sorted by it. None: those that suit the labels.
    cv : int, splitter or iterable of (training rows, test rows)
        The folds. A number means whole queries in random order, or rows stratified by label.
    n_repeats : int
        How often the folds are drawn anew, each time with another seed.
    inner_cv : int
        The number of inner folds; 0: models that are known by name have their default strength.
    graph : "full", "chain" or OrderGraph
        Which labels are preferred to which, for metrics of pairs, the models of this library, and
        the higher class of classifiers. Other models learn labels as numbers.
    standardize : bool
        Divide features by their standard deviation in the training rows and, if X is dense,
        subtract their mean.
    baseline : str, optional
        Compare all models with this one only. None: all pairs of models.
    n_resamples : int
        The number of random swaps, and of bootstrap samples, in tests over queries.
    random_state : int
        The seed of folds, models and tests.
    qid : array-like of shape (n_rows,), optional
        Queries: folds hold whole queries, and tests are over queries. None: folds are made of rows,
        and tests are over folds.
    sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
        Row weights, in training and in metrics. A model that takes none of those given gets its
        reason.

    Returns
    -------
    ComparisonResults
        Tables, `best_`, and `save` for HTML, Markdown, JSON, CSV and Parquet. After Ctrl-C
        it holds the finished cells.

    Raises
    ------
    PairrankError
        If input is wrong, no row should rank above another, a metric cannot judge the labels, or
        torch is not installed for ranknet.

    Notes
    -----
    With queries differences are tested by the paired randomisation test over queries: a query's
    value is its mean over repeats. Without queries, folds share training rows, so the corrected
    resampled t test of Nadeau & Bengio is used over folds. p-values are adjusted by Holm's method
    over all pairs of models, per metric. Warnings of a model's last fit are kept in `scores`.

    Costs n_repeats * n_folds * (inner_cv * n_values + 1) fits per model, one after another, or in
    as many processes as ``joblib.parallel_config(n_jobs=...)`` says.

    References
    ----------
    Smucker, Allan & Carterette 2007; Nadeau & Bengio 2003, "Inference for the generalization
    error"; Holm 1979, "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> from pairrank.datasets import make_queries
    >>> data = make_queries(12, 10, 4, random_state=0)
    >>> found = compare(data.X, data.y, qid=data.qid, models="ranksvm,ridge", cv=3, inner_cv=2)
    >>> found.models, found.scores["fold"].tolist(), found.settings["units"]
    (['ranksvm', 'ridge'], [0, 0, 1, 1, 2, 2], 'queries')
    """
    check_inner_folds(inner_cv)
    check_resampling(n_resamples, 0.95, random_state)
    chosen = models_named(models, baseline)
    candidates = [candidate_of(name, chosen[name], graph, random_state) for name in chosen]
    if isinstance(y, Pairs):
        raise PairrankError(
            "models are compared on labels: explicit comparisons (Pairs) cannot be learnt by "
            "pointwise models; compare rankers of Pairs by their CV classes"
        )
    # missing features stay, for the models that take them
    X = validation.check_features(BaseEstimator(), X, reset=True, missing=True)
    labels, layout = judged_rows(y, X.shape[0], rows)
    query_names: Array = np.array([None])
    if "qid" in layout:
        query_names, layout["qid"] = query_codes(layout["qid"])
    given = Rows(X, labels, layout)
    judged_by = chosen_metrics(metrics, given.y, given.layout)
    levels = Levels.build(given.y, graph=graph, **given.layout)
    levels.require_pairs()
    folds = _all_folds(cv, n_repeats, given, random_state)
    task = Task(given, judged_by, graph, inner_cv, bool(standardize), random_state)
    cells, interrupted = _run(task, candidates, folds)
    by_queries = query_names.size > 1
    settings = {
        "n_rows": given.X.shape[0],
        "n_features": given.X.shape[1],
        "n_queries": int(query_names.size),
        "n_pairs": int(levels.n_pairs),
        "n_folds": len(folds) // n_repeats,
        "n_repeats": n_repeats,
        "inner_cv": inner_cv,
        "standardize": bool(standardize),
        "seed": random_state,
        "baseline": baseline,
        "tried": {each.name: tried_text(each.grid) for each in candidates},
        "units": "queries" if by_queries else "folds",
    }
    scores = columns_of([cell.score for cell in cells])
    queries = {
        name: np.concatenate([cell.queries[name] for cell in cells]) for name in cells[0].queries
    }
    judged, unit, ratio = queries, queries["qid"], None
    if not by_queries:
        judged = {name: values[scores["reason"] == ""] for name, values in scores.items()}
        unit = judged["repeat"] * settings["n_folds"] + judged["fold"]
        ratio = float(np.mean([len(test) / len(train) for _, _, (train, test) in folds]))
    units = {name: units_of(judged, name, unit) for name in judged_by}
    tests = differences_of(units, baseline, ratio, n_resamples, random_state)
    return ComparisonResults(
        models=list(chosen),
        metrics=judged_by,
        scores=scores,
        queries={**queries, "qid": query_names[queries["qid"]]},
        summary=summary_of(list(chosen), scores, judged_by),
        differences=columns_of([test._asdict() for test in tests], Difference._fields),
        units=units,
        settings=settings,
        interrupted=interrupted,
    )


def _all_folds(cv: Any, n_repeats: int, rows: Rows, seed: int) -> list[Fold]:
    """Return the folds of every repeat, each of another seed: repeat, fold and split."""
    validation.check_number(n_repeats, "n_repeats", low=1, inclusive=True, integer=True)
    generator_of(seed + n_repeats - 1)
    if n_repeats > 1 and not isinstance(cv, Integral):
        raise PairrankError(
            "n_repeats draws folds anew, so cv must be a number of folds (got a splitter or splits)"
        )
    return [
        (repeat, fold, split)
        for repeat in range(n_repeats)
        for fold, split in enumerate(folds_of(cv, rows, seed + repeat))
    ]


def _run(
    task: Task, candidates: Sequence[Candidate], folds: Sequence[Fold]
) -> tuple[list[Cell], bool]:
    """Return the finished cells, and whether they were interrupted; Ctrl-C before any is raised."""
    cells: list[Cell] = []
    work = [delayed(run_cell)(task, model, *fold) for fold in folds for model in candidates]
    try:
        for cell in Parallel(return_as="generator")(work):
            cells.append(cell)
    except KeyboardInterrupt:
        if all(cell.score["reason"] for cell in cells):
            raise
        return cells, True
    return cells, False
