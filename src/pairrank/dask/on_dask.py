"""What the rankers on a Dask cluster share: fit, predict and score of collections."""

from __future__ import annotations

import copy
import os
from dataclasses import KW_ONLY
from typing import Any, Literal, Self, Unpack

import dask
import numpy as np
from dask import is_dask_collection
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pairrank._protocols import Callback, FloatArray
from pairrank._validation import check_choice
from pairrank.dask import tasks
from pairrank.dask.clients import client_of
from pairrank.dask.metrics import pairwise_accuracy
from pairrank.dask.partitions import column_of, features_of, is_dataframe, partitions_of
from pairrank.dask.passes import DaskPasses
from pairrank.estimators._blocks import fit_on_passes, held_passes
from pairrank.estimators._docstrings import ranker
from pairrank.exceptions import FitInterruptedError, PairrankError
from pairrank.metrics._inputs import AllRowArguments, RowArguments, rows_given, takes_rows

_DOCUMENT = """\
    See `pairrank.{name}` for the objective. Value and gradient are sums over partitions; a query
    may have rows in several of them. The solver runs in this process.

    See Also
    --------
    pairrank.{name} : The same in memory.
    """
"""The rest of the docstring of each ranker."""


@ranker
class OnDask:
    """What the rankers on a cluster share: rows in collections of dask.

    Parameters
    ----------
    client : distributed.Client, optional
        The client of the cluster; None: the one that this process has made last. A copy of the
        ranker has the same client, a pickle has none.
    persist : "auto", True or False, default "auto"
        Whether the workers keep X in memory during the fit. "auto": if X fits in half of their
        memory; otherwise each pass reads X again, with a warning. False: each pass reads it again.
    """

    _: KW_ONLY
    client: Any = None
    persist: Literal["auto"] | bool = "auto"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls.__doc__ = f"{cls.__doc__}\n\n{_DOCUMENT.format(name=cls._in_memory().__name__)}"
        super().__init_subclass__(**kwargs)

    @classmethod
    def _in_memory(cls) -> Any:
        """Return the class of the ranker in memory."""
        return next(base for base in cls.__mro__ if not issubclass(base, OnDask))

    @takes_rows("", "_val")
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        callback: Callback | None = None,
        **rows_by_name: Unpack[AllRowArguments],
    ) -> Self:
        """Learn the weights from every pair; the weights are here when it returns.

        Parameters
        ----------
        X : dask Array or DataFrame of shape (n_rows, n_features)
            Partitioned by rows. Lengths of partitions may be unknown, and partitions may be empty.
        y : dask Array or Series of shape (n_rows,)
            Labels: numbers, or text where `graph` is an OrderGraph.
        qid : dask Array or Series of shape (n_rows,), optional
            Query identifiers; a query may have rows in several partitions. None: one query.
        sample_weight, winner_weight, loser_weight : dask Array or Series, optional
            Weights of rows, as for the ranker in memory.
        X_val, y_val, qid_val, sample_weight_val, winner_weight_val, loser_weight_val : optional
            Validation rows, in collections or in memory.
        callback : callable, optional
            Called in this process with a `Step` after every iteration; returning True stops the
            fit.

        Returns
        -------
        self

        Raises
        ------
        PairrankError
            If a parameter is out of range, or collections are cut at different rows: the message
            names the partition.
        FitInterruptedError
            On Ctrl-C, or if the cluster is lost. Its `partial_coef_` has the last weights. With
            ``warm_start=True`` the next `fit` goes on from them.
        """
        layout, held_layout = rows_given(rows_by_name, "", "_val")
        estimator: Any = self
        estimator._check_parameters()
        estimator._check_blocks()
        check_choice(self.persist, "persist", ("auto", True, False))
        parts = partitions_of(X, y, layout)
        if is_dask_collection(X_val):
            held_parts = partitions_of(X_val, y_val, held_layout, "_val")
        else:
            held = held_passes(X_val, y_val, held_layout)
        client = client_of(self.client)
        passes = DaskPasses(parts, client, self.persist)
        if is_dask_collection(X_val):
            held = DaskPasses(held_parts, client, self.persist)
        fit_on_passes(self, passes, held=held, callback=callback)
        if estimator.status_ == "interrupted":
            raise FitInterruptedError("the fit was interrupted", estimator.coef_)
        return self

    def predict(self, X: Any) -> Any:
        """Return scores, higher ranks better; computed when they are asked for.

        Parameters
        ----------
        X : dask Array or DataFrame of shape (n_rows, n_features), or rows in memory

        Returns
        -------
        dask Array or Series of shape (n_rows,), or ndarray
            Partitioned as X is. Of rows in memory, an array in memory.
        """
        check_is_fitted(self)
        local = self.to_local()
        if not is_dask_collection(X):
            return local.predict(X)
        column_of(X, "X", n_dimensions=2)
        features = features_of(X, "X")
        if is_dataframe(X):
            from pandas import DataFrame

            local.predict(DataFrame(np.zeros((1, features.n_features)), columns=features.names))
            meta = ("score", float)
            return X.map_partitions(_scores_of_frame, dask.delayed(local), meta=meta)
        local.predict(np.zeros((1, X.shape[1])))
        return X.map_blocks(
            _scores, dask.delayed(local), dtype=float, drop_axis=1, meta=np.empty(0)
        )

    @takes_rows("")
    def score(self, X: Any, y: Any = None, **rows: Unpack[RowArguments]) -> float:
        """Return the pairwise accuracy of the scores over the ranker's own order graph.

        Parameters
        ----------
        X : dask Array or DataFrame of shape (n_rows, n_features), or rows in memory
        y : dask Array or Series of shape (n_rows,)
        qid, sample_weight, winner_weight, loser_weight : dask Array or Series, optional

        Returns
        -------
        float
            As `pairrank.dask.metrics.pairwise_accuracy`, which says what travels.
        """
        if not is_dask_collection(X):
            return float(self.to_local().score(X, y, **rows))
        estimator: Any = self
        scores, graph = self.predict(X), estimator.graph
        return pairwise_accuracy(y, scores, graph=graph, client=self.client, **rows)

    def rank(self, X: Any, qid: Any = None) -> Any:
        """Return the position of each row in memory within its query, 1 = best.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        qid : array-like of shape (n_rows,), optional

        Returns
        -------
        ndarray of shape (n_rows,), int64
        """
        if is_dask_collection(X):
            raise PairrankError(
                "rank needs all rows of a query together: take predict(X), and rank whole queries "
                "in memory, as with .to_local().rank(X, qid)"
            )
        return self.to_local().rank(X, qid)

    def to_local(self) -> Any:
        """Return the ranker in memory with the same parameters, fitted if this one is."""
        check_is_fitted(self)
        estimator: Any = self
        parameters = estimator.get_params(deep=False)
        own = {name: parameters.pop(name) for name in ("client", "persist")}
        local = self._in_memory()(**parameters)
        learnt = vars(self).keys() - parameters.keys() - own.keys()
        local.__dict__.update({name: vars(self)[name] for name in learnt})
        return local

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file of the ranker in memory; see `pairrank.load_model`."""
        self.to_local().save(path)

    def export(
        self, path: str | os.PathLike[str], format: str | None = None, **options: Any
    ) -> Any:
        """Write the weights for a search engine or a program; see `pairrank.export.export`."""
        return self.to_local().export(path, format, **options)

    def __sklearn_clone__(self) -> Any:
        cloned = BaseEstimator.__sklearn_clone__(copy.copy(self))  # a copy has no client
        cloned.client = self.client
        return cloned

    def __getstate__(self) -> Any:
        return {**BaseEstimator.__getstate__(self), "client": None}


@tasks.alone
def _scores(X: Any, local: Any) -> FloatArray:
    """Return the scores of a partition, which may be empty."""
    return np.empty(0) if X.shape[0] == 0 else local.predict(X)


def _scores_of_frame(frame: Any, local: Any) -> Any:
    """Return the same as a series with the frame's index."""
    from pandas import Series

    return Series(_scores(frame, local), index=frame.index, name="score")
