"""compare: models side by side on the same folds, with tests of their differences."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

from numpy.typing import ArrayLike

from pairrank import _validation as validation
from pairrank._docstrings import described_by, entries
from pairrank.comparison.cells import Cell
from pairrank.comparison.limits import Run, cells_within
from pairrank.comparison.models import Candidate, candidates_of, tried_text
from pairrank.comparison.results import ComparisonResults, results_of
from pairrank.comparison.store import CellStore
from pairrank.comparison.task import (
    Fold,
    Task,
    all_folds,
    check_preferences,
    checked_rows,
    named_queries,
)
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import RowArguments, rows_given, takes_rows
from pairrank.metrics.comparison import check_resampling
from pairrank.report.measures import check_metrics, usual_metrics


class Progress(NamedTuple):
    """Where a comparison is.

    Attributes
    ----------
    n_done, n_cells : int
        The finished cells, and all: one per model and fold.
    model : str
        The model at work, or the one that has finished a cell.
    repeat, fold : int
        Its fold, from 0.
    n_fits, n_choice : int
        The finished fits of the choice of its strength, and all.
    cell : Cell or None
        The cell that has just been finished.
    """

    n_done: int
    n_cells: int
    model: str
    repeat: int
    fold: int
    n_fits: int = 0
    n_choice: int = 0
    cell: Cell | None = None


Callback = Callable[[Progress], Any]


@described_by(
    entries("""
qid : array-like of shape (n_rows,), optional
    Queries: folds hold whole queries, and tests are over queries. None: folds are made of rows, and
    tests are over folds.
sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
    Row weights, in training and in metrics. A model that takes none of those given gets its reason.
""")
)
@takes_rows("")
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
    time_limit: float | None = None,
    cells: str | os.PathLike[str] | None = None,
    callback: Callback | None = None,
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
    time_limit : float, optional
        The seconds that a model may take on a fold, its choice of strength included. Every model
        then runs in another process, which is ended; its other folds are left out.
    cells : path-like, optional
        A folder for finished cells, a file per model and fold. The same call finds them again, also
        after an interrupt. A cell counts only for the same rows, fold, metrics, settings, model and
        versions of libraries.
    callback : callable, optional
        Called with the `Progress` before every fit of a choice and after every cell.

    Returns
    -------
    ComparisonResults
        Tables, `best_`, and `save` for HTML, Markdown, LaTeX, JSON, CSV and Parquet. After Ctrl-C
        it holds the finished cells.

    Raises
    ------
    PairrankError
        If input is wrong, no row should rank above another, or a metric cannot judge the labels.

    Notes
    -----
    With queries differences are tested by the paired randomisation test over queries: a query's
    value is its mean over repeats. Without queries, folds share training rows, so the corrected
    resampled t test of Nadeau & Bengio is used over folds. p-values are adjusted by Holm's method
    over all pairs of models, per metric. Warnings of a model's last fit are kept in `scores`.

    Costs n_repeats * n_folds * (inner_cv * n_values + 1) fits per model.

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
    validation.check_number(inner_cv, "inner_cv", low=0, inclusive=True, integer=True)
    if inner_cv == 1:
        raise PairrankError("inner_cv must be 0, or at least 2 (got 1)")
    if time_limit is not None:
        validation.check_number(time_limit, "time_limit")
    check_resampling(n_resamples, 0.95, random_state)
    candidates = candidates_of(models, graph, random_state)
    names = [each.name for each in candidates]
    if baseline is not None and baseline not in names:
        raise PairrankError(f"baseline {baseline!r} is not one of the models: {', '.join(names)}")
    (layout,) = rows_given(rows, "")
    given, queries = named_queries(checked_rows(X, y, layout))
    asked = [metrics] if isinstance(metrics, str) else list(metrics or ())
    check_metrics(asked, given.y)
    judged_by = list(dict.fromkeys(asked))
    judged_by = judged_by or usual_metrics(given.y, given.layout, probabilities=False)
    n_pairs = check_preferences(given, graph)
    folds = all_folds(cv, n_repeats, given, random_state)
    task = Task(given, queries, folds, judged_by, graph, inner_cv, bool(standardize), random_state)
    work = Work(task, candidates, CellStore(cells, task, candidates), callback or _silent)
    found, interrupted = _run(work, time_limit)
    settings = {
        "n_rows": given.X.shape[0],
        "n_features": given.X.shape[1],
        "n_queries": int(queries.size),
        "n_pairs": n_pairs,
        "n_folds": len(folds) // n_repeats,
        "n_repeats": n_repeats,
        "inner_cv": inner_cv,
        "standardize": bool(standardize),
        "seed": random_state,
        "baseline": baseline,
        "time_limit": time_limit,
        "tried": {each.name: tried_text(each.grid) for each in candidates},
        "units": "queries" if queries.size > 1 else "folds",
    }
    return results_of(
        task, names, found, settings, n_resamples=n_resamples, interrupted=interrupted
    )


class Work(NamedTuple):
    """What is to be run, where it is kept, and who is told."""

    task: Task
    candidates: list[Candidate]
    store: CellStore
    callback: Callback


def _silent(progress: Progress) -> None:
    """Show no progress."""


def _run(work: Work, time_limit: float | None) -> tuple[list[Cell], bool]:
    """Return the finished cells, and whether they were interrupted; Ctrl-C before any is raised."""
    found: list[Cell] = []
    n_cells = len(work.task.folds) * len(work.candidates)
    try:
        with cells_within(time_limit) as run:
            for fold in work.task.folds:
                for candidate in work.candidates:
                    here = Progress(len(found), n_cells, candidate.name, fold.repeat, fold.fold)
                    cell = _cell(work, run, candidate, fold, here)
                    found.append(cell)
                    work.callback(here._replace(n_done=len(found), cell=cell))
    except KeyboardInterrupt:
        if not any(not cell.reason for cell in found):
            raise
        return found, True
    return found, False


def _cell(work: Work, run: Run, candidate: Candidate, fold: Fold, here: Progress) -> Cell:
    """Return a kept cell, or a new one, which is then kept."""
    kept = work.store.find(candidate, fold)
    if kept is not None:
        return kept

    def step(n_fits: int, n_choice: int) -> None:
        work.callback(here._replace(n_fits=n_fits, n_choice=n_choice))

    work.callback(here)
    cell = run(work.task, candidate, fold, step)
    work.store.keep(candidate, fold, cell)
    return cell
