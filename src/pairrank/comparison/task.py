"""What is compared: checked rows, folds, metrics and settings, which all models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array

from pairrank import _validation as validation
from pairrank._arrays import refuse_hidden
from pairrank.exceptions import InputTypeError, PairrankError
from pairrank.model_selection.splits import QueryKFold, Split, generator_of, splits_of
from pairrank.preferences import Levels, Pairs
from pairrank.preferences._codes import query_codes


class Rows(NamedTuple):
    """Some rows: features, labels, and the queries and weights that are given."""

    X: Any
    y: NDArray[Any]
    layout: dict[str, Any]

    @property
    def qid(self) -> NDArray[Any] | None:
        """The queries, None if there is one only."""
        return self.layout.get("qid")

    def part(self, places: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        layout = {name: values[places] for name, values in self.layout.items()}
        return Rows(self.X[places], self.y[places], layout)


class Fold(NamedTuple):
    """A split of the rows, and its place among all: the repeat and the fold, from 0."""

    repeat: int
    fold: int
    split: Split


class Task(NamedTuple):
    """Rows and how models are judged on them.

    Attributes
    ----------
    rows : Rows
        Their `qid` holds places in `query_names`.
    query_names : ndarray of shape (n_queries,)
    folds : list of Fold
    metrics : list of str
        Strengths are chosen by the first.
    graph : "full", "chain" or OrderGraph
    inner_cv : int
        The folds in which strengths are chosen; 0: they are not chosen.
    standardize : bool
    seed : int
    """

    rows: Rows
    query_names: NDArray[Any]
    folds: list[Fold]
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

    def inner_splits(self, rows: Rows) -> list[Split]:
        """Return the folds of training rows in which a strength is chosen."""
        return folds_of(self.inner_cv, rows, self.seed)


def checked_rows(X: Any, y: Any, given: Mapping[str, Any]) -> Rows:
    """Return rows as arrays; missing features stay, for the models that take them."""
    if isinstance(y, Pairs):
        raise PairrankError(
            "models are compared on labels: explicit comparisons (Pairs) cannot be learnt by "
            "pointwise models; compare rankers of Pairs by their CV classes"
        )
    refuse_hidden(X, "X")
    try:
        X = check_array(
            X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite="allow-nan"
        )
    except TypeError as error:
        raise InputTypeError(f"X must hold numbers: {error}") from error
    except ValueError as error:
        raise PairrankError(str(error)) from error
    n_rows = X.shape[0]
    labels = validation.check_labels(y, n_rows)
    checked = {name: check(given.get(name), n_rows) for name, check in validation.ALIGNED.items()}
    return Rows(X, labels, {name: part for name, part in checked.items() if part is not None})


def all_folds(cv: Any, n_repeats: int, rows: Rows, seed: int) -> list[Fold]:
    """Return the folds of every repeat, each of another seed."""
    validation.check_number(n_repeats, "n_repeats", low=1, inclusive=True, integer=True)
    generator_of(seed + n_repeats - 1)
    if n_repeats > 1 and not isinstance(cv, Integral):
        raise PairrankError(
            "n_repeats draws folds anew, so cv must be a number of folds (got a splitter or splits)"
        )
    return [
        Fold(repeat, fold, split)
        for repeat in range(n_repeats)
        for fold, split in enumerate(folds_of(cv, rows, seed + repeat))
    ]


def folds_of(cv: Any, rows: Rows, seed: int) -> list[Split]:
    """Return folds of whole queries in random order, or of rows where there are no queries."""
    if isinstance(cv, Integral) and rows.qid is not None:
        validation.check_number(cv, "cv", low=2, inclusive=True, integer=True)
        cv = QueryKFold(int(cv), shuffle=True, random_state=seed)
    return list(splits_of(cv, rows.X, rows.y, rows.qid, seed))


def named_queries(rows: Rows) -> tuple[Rows, NDArray[Any]]:
    """Return the rows with numbered queries, and the names of these; the one query is None."""
    if rows.qid is None:
        return rows, np.array([None])
    names, codes = query_codes(rows.qid)
    return rows._replace(layout={**rows.layout, "qid": codes}), names


def check_preferences(rows: Rows, graph: Any) -> int:
    """Return the number of pairs; raise a PairrankError if there is none."""
    levels = Levels.build(rows.y, graph=graph, **rows.layout)
    levels.require_pairs()
    return int(levels.n_pairs)


def test_ratio(folds: Sequence[Fold]) -> float:
    """Return the mean number of test rows per training row."""
    return float(np.mean([len(fold.split[1]) / len(fold.split[0]) for fold in folds]))
