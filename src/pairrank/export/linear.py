"""LinearModel: the weights of features, their names and the offset."""

from __future__ import annotations

from typing import NamedTuple

from pairrank._protocols import FloatArray


class LinearModel(NamedTuple):
    """A score that is linear in the raw features: sum of weight times feature, plus the offset.

    Attributes
    ----------
    names : list of str
        The names of the features, all different.
    weights : ndarray of shape (n_features,), float64
    offset : float
        The same for all rows, so it does not change their order.
    ranker : str
        The class of the ranker.
    title : str
        The name of the model in a search engine.
    """

    names: list[str]
    weights: FloatArray
    offset: float
    ranker: str
    title: str = "pairrank"
