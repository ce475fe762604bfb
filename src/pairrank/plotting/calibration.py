"""Calibration of pair probabilities: what a ranker predicts against what is observed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.plotting.pair_sample import Drawn, draw_pairs
from pairrank.plotting.subject import Subject, subject_of
from pairrank.preferences import Levels, Pairs, as_graph

N_BINS = 10
MOST_PAIRS = 200_000


class PairCalibration(NamedTuple):
    """Predicted probabilities of preferences against observed shares, by bin.

    Of each pair the row with the higher score is judged, so probabilities are from 0.5 to 1. Bins
    without a pair are left out.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        The borders of all bins.
    predicted : ndarray of shape (n_filled,)
        The mean probability of the pairs of each bin.
    observed : ndarray of shape (n_filled,)
        The weighted share of these pairs in which the row with the higher score is preferred.
    n_pairs : ndarray of shape (n_filled,)
        The number of pairs of each bin.
    is_sample : bool
        Whether the pairs are a sample.
    """

    edges: FloatArray
    predicted: FloatArray
    observed: FloatArray
    n_pairs: Any
    is_sample: bool


def pair_calibration(
    model: Any,
    X: Any,
    y: ArrayLike | Pairs,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    winner_weight: ArrayLike | None = None,
    loser_weight: ArrayLike | None = None,
    n_bins: int = N_BINS,
    max_pairs: int = MOST_PAIRS,
    random_state: int = 0,
) -> PairCalibration:
    """Compare the probabilities of preferences that a ranker predicts with observed shares.

    Parameters
    ----------
    model : estimator
        A fitted RankNCG, or a Pipeline or search that ends with one.
    X : array-like, CSR matrix or frame of shape (n_rows, n_features)
    y : array-like of shape (n_rows,), or Pairs
        Labels, compared by the ranker's own order graph, or explicit comparisons, where a tie
        counts half in each direction.
    qid, sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
        As in `pairrank.metrics.pairwise_accuracy`.
    n_bins : int
        The number of bins of equal width from 0.5 to 1.
    max_pairs : int
        If there are more pairs than this, as many are drawn uniformly, with replacement.
    random_state : int
        The seed of the sample.

    Returns
    -------
    PairCalibration

    Raises
    ------
    PairrankError
        If the ranker predicts no probabilities, or there is no preference.

    Notes
    -----
    Costs a prediction and O(n_rows log n_rows + max_pairs).

    Examples
    --------
    >>> from pairrank import RankNCG
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> found = pair_calibration(RankNCG().fit(X, y), X, y, n_bins=2)
    >>> found.n_pairs, found.observed.round(2)
    (array([3, 1]), array([0.67, 1.  ]))
    """
    subject = subject_of(model, X)
    if not subject.gives_probabilities:
        raise PairrankError(
            f"a {type(subject.ranker).__name__} predicts no probabilities of pairs: give a RankNCG"
        )
    validation.check_number(n_bins, "n_bins", integer=True)
    validation.check_number(max_pairs, "max_pairs", integer=True)
    n_rows = subject.X.shape[0]
    given = {"qid": qid, "sample_weight": sample_weight}
    given |= {"winner_weight": winner_weight, "loser_weight": loser_weight}
    layout = {name: check(given[name], n_rows) for name, check in validation.ALIGNED.items()}
    judged = y if isinstance(y, Pairs) else validation.check_labels(y, n_rows)
    preferences = preferences_of(judged, n_rows, layout, subject.ranker.graph)
    drawn = draw_pairs(preferences, int(max_pairs), np.random.default_rng(random_state))
    return calibrate(subject, subject.scores(), drawn, int(n_bins))


def preferences_of(y: Any, n_rows: int, layout: dict[str, Any], graph: Any) -> Levels | Pairs:
    """Return the preferences of checked labels or comparisons; raise an error if there are none."""
    preferences: Levels | Pairs
    if isinstance(y, Pairs):
        preferences = y.signed().bound(n_rows, **layout)
    else:
        preferences = Levels.build(y, graph=as_graph(graph), **layout)
    preferences.require_pairs()
    return preferences


def calibrate(
    subject: Subject, scores: FloatArray, drawn: Drawn, n_bins: int = N_BINS
) -> PairCalibration:
    """Return the calibration of the drawn pairs; equal scores count half."""
    margins = scores[drawn.winner] - scores[drawn.loser]
    won = np.where(margins == 0, 0.5, margins > 0)
    probability = subject.ranker.preference_proba(np.abs(margins))
    return _binned(won, probability, drawn.weight, n_bins, drawn.is_sample)


def calibration_of(
    outcomes: ArrayLike, probabilities: ArrayLike, n_bins: int = N_BINS
) -> PairCalibration:
    """Return the calibration of probabilities that the first row of each pair is preferred.

    Parameters
    ----------
    outcomes : array-like of shape (n_pairs,)
        1 if the first row is preferred, 0 if the second is, 0.5 for a tie.
    probabilities : array-like of shape (n_pairs,)
        From 0 to 1.
    n_bins : int
        The number of bins of equal width from 0.5 to 1.

    Returns
    -------
    PairCalibration

    Raises
    ------
    PairrankError
        If a number is out of range, or there are not as many outcomes as probabilities.
    """
    validation.check_number(n_bins, "n_bins", integer=True)
    predicted = validation.check_numbers(probabilities, "probabilities")
    observed = validation.check_numbers(outcomes, "outcomes", predicted.size)
    for name, values in (("probabilities", predicted), ("outcomes", observed)):
        if not values.size or values.min() < 0 or values.max() > 1:
            raise PairrankError(f"{name} must hold numbers from 0 to 1, at least one")
    turned = predicted < 0.5
    observed = np.where(turned, 1 - observed, np.where(predicted == 0.5, 0.5, observed))
    predicted = np.where(turned, 1 - predicted, predicted)
    return _binned(observed, predicted, np.ones(predicted.size), int(n_bins), is_sample=False)


def _binned(
    won: FloatArray, probability: FloatArray, weight: FloatArray, n_bins: int, is_sample: bool
) -> PairCalibration:
    edges = np.linspace(0.5, 1.0, n_bins + 1)
    at = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, n_bins - 1)
    weights = np.bincount(at, weight, n_bins)
    filled = weights > 0
    predicted, observed = (
        np.bincount(at, weight * each, n_bins)[filled] / weights[filled]
        for each in (probability, won)
    )
    n_pairs = np.bincount(at, minlength=n_bins)[filled]
    return PairCalibration(edges, predicted, observed, n_pairs, is_sample)
