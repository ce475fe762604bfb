"""PyTerrier: a transformer that scores results by their features with a ranker."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pairrank.exceptions import PairrankError

try:
    from pyterrier import Estimator
except ImportError:
    Estimator = object


class RankerTransformer(Estimator):
    """A ranker as a stage of a PyTerrier pipeline, after one that makes a column `features`.

    It is a `pyterrier.Estimator` if PyTerrier is installed, or else a plain class that follows its
    contract of columns.

    Parameters
    ----------
    ranker : a ranker of pairrank
        Fitted, as `load_model` returns it, or to be fitted by `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pairrank import RankSVM
    >>> ranker = RankSVM().fit([[0.0], [1.0]], [0, 1])
    >>> results = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "features": [[2.0], [3.0]]})
    >>> RankerTransformer(ranker).transform(results)["rank"].tolist()
    [1, 0]
    """

    def __init__(self, ranker: Any) -> None:
        super().__init__()
        self.ranker = ranker

    def transform(self, results: Any) -> Any:
        """Return results with the columns `score` and `rank`.

        Parameters
        ----------
        results : pandas DataFrame
            Columns `qid`, `docno` and `features` (one array of numbers per row).

        Returns
        -------
        pandas DataFrame
            A copy in the same order. `rank` counts from 0 within a query; equal scores are ranked
            in the order of the rows.

        Raises
        ------
        PairrankError
            If a column is missing, or the features do not fit the ranker.
        """
        _check_columns(results, "results", ("qid", "docno", "features"))
        scores = self.ranker.predict(_matrix(results)) if len(results) else np.empty(0)
        scored = results.assign(score=scores)
        ranks = scored.groupby("qid", sort=False)["score"].rank(ascending=False, method="first")
        return scored.assign(rank=ranks.astype(np.int64) - 1)

    def fit(self, results: Any, qrels: Any, results_val: Any = None, qrels_val: Any = None) -> Self:
        """Fit the ranker to results; unjudged documents have the label 0.

        Parameters
        ----------
        results : pandas DataFrame
            As for `transform`.
        qrels : pandas DataFrame
            Judgements: columns `qid`, `docno` and `label`.
        results_val, qrels_val : pandas DataFrame, optional
            The same for validation, passed to the ranker as `X_val`, `y_val` and `qid_val`.

        Returns
        -------
        RankerTransformer
        """
        X, y, qid = _judged(results, qrels)
        held = {}
        if results_val is not None:
            names = ("X_val", "y_val", "qid_val")
            held = dict(zip(names, _judged(results_val, qrels_val), strict=True))
        self.ranker.fit(X, y, qid=qid, **held)
        return self

    def transform_outputs(self, inputs: list[str]) -> list[str]:
        """Return the columns of the output for those of the input."""
        return [*inputs, *(name for name in ("score", "rank") if name not in inputs)]


def _judged(results: Any, qrels: Any) -> tuple[Any, Any, Any]:
    """Return the features, the labels and the queries of results."""
    _check_columns(results, "results", ("qid", "docno", "features"))
    _check_columns(qrels, "qrels", ("qid", "docno", "label"))
    if not len(results):
        raise PairrankError("there are no results to fit to; give those of some queries")
    labels = dict(zip(zip(qrels["qid"], qrels["docno"], strict=True), qrels["label"], strict=True))
    keys = list(zip(results["qid"], results["docno"], strict=True))
    if labels.keys().isdisjoint(keys):
        raise PairrankError(
            f"the qrels judge none of the results: results have keys such as {keys[0]!r}, qrels "
            f"such as {next(iter(labels), None)!r}; give both the same identifiers, of one type"
        )
    found = [labels.get(key, 0) for key in keys]
    return _matrix(results), np.array(found), results["qid"].to_numpy()


def _check_columns(frame: Any, what: str, needed: tuple[str, ...]) -> None:
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise PairrankError(
            f"the {what} have no column {', '.join(map(repr, missing))}; the columns are "
            f"{', '.join(map(repr, frame.columns))}"
        )


def _matrix(results: Any) -> Any:
    """Return the features of results as a matrix."""
    try:
        return np.stack([np.asarray(row, dtype=np.float64) for row in results["features"]])
    except ValueError as error:
        raise PairrankError(
            f"the column 'features' must hold arrays of one length: {error}"
        ) from None
