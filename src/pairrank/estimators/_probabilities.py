"""Probabilities of preferences from scores, for rankers with a likelihood of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from pairrank._protocols import Features, FloatArray
from pairrank.exceptions import PairrankError
from pairrank.losses import Logistic, Probit


def _is_likelihood(ranker: Any) -> bool:
    """Whether the loss is the likelihood of a pair."""
    return isinstance(ranker.loss, str) and ranker.loss in ("logistic", "probit", "raykar")


class PairProbabilities:
    """A ranker that gives probabilities where its `loss` is the likelihood of a pair."""

    loss: Any
    predict: Any

    @available_if(_is_likelihood)
    def predict_pair_proba(self, Xi: Features, Xj: Features) -> FloatArray:
        """Return the probability that each row of Xi is preferred to the same row of Xj.

        Parameters
        ----------
        Xi, Xj : array-like, CSR matrix or frame of shape (n_pairs, n_features)

        Returns
        -------
        ndarray of shape (n_pairs,), float64
            S of the difference of scores; the logistic sigmoid for "raykar" (Eq. 2).

        Raises
        ------
        ValueError
            If Xi and Xj differ in shape, or `predict` raises for one of them.

        Notes
        -----
        Costs two predictions.
        """
        first, second = self.predict(Xi), self.predict(Xj)
        if first.size != second.size:
            raise PairrankError(shapes_differ(first, second))
        return self.preference_proba(first - second)

    @available_if(_is_likelihood)
    def preference_proba(self, margins: FloatArray) -> FloatArray:
        """Return the probabilities of preferences by how much higher the scores are.

        Parameters
        ----------
        margins : ndarray of shape (n_pairs,), float64
            The score of each pair's first row minus that of its second.

        Returns
        -------
        ndarray of shape (n_pairs,), float64
        """
        loss = Probit() if self.loss == "probit" else Logistic()
        with np.errstate(over="ignore"):
            return -loss.phi(-margins, order=1)


def shapes_differ(first: Any, second: Any) -> str:
    """Return why two sets of rows make no pairs."""
    rows = f"Xi has {first.shape[0]} rows and Xj {second.shape[0]}"
    return f"{rows}: row k of each makes pair k"
