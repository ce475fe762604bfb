"""Calibration of pair probabilities: what a ranker predicts against what is observed."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import RowArguments, metric
from pairrank.preferences import Levels, PairIndex, Pairs, Preferences, as_graph
from pairrank.report.subject import Subject, judged_rows, subject_of

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


@metric(roles=True)
def pair_calibration(
    model: Any,
    X: Any,
    y: ArrayLike | Pairs,
    *,
    n_bins: int = N_BINS,
    max_pairs: int = MOST_PAIRS,
    random_state: int = 0,
    **rows: Unpack[RowArguments],
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
    n_bins : int
        The number of bins of equal width from 0.5 to 1.
    max_pairs : int
        If there are more pairs than this, as many are drawn with replacement, in proportion to
        their weights.
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
    Costs a prediction and O(n_rows log n_rows + max_pairs). scikit-learn draws the result:
    ``CalibrationDisplay(found.observed, found.predicted, None).plot()``.

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
    judged, layout = judged_rows(y, n_rows, rows)
    preferences = preferences_of(judged, n_rows, layout, subject.ranker.graph)
    drawn = draw_pairs(preferences, int(max_pairs), np.random.default_rng(random_state))
    return calibrate(subject, subject.scores(), *drawn, int(n_bins))


def preferences_of(y: Any, n_rows: int, layout: dict[str, Any], graph: Any) -> Preferences:
    """Return the preferences of checked labels or comparisons; raise an error if there are none."""
    preferences: Preferences
    if isinstance(y, Pairs):
        preferences = y.signed().bound(n_rows, **layout)
    else:
        preferences = Levels.build(y, graph=as_graph(graph), **layout)
    preferences.require_pairs()
    return preferences


def draw_pairs(
    preferences: Preferences, most: int, generator: np.random.Generator
) -> tuple[Pairs, bool]:
    """Return all preferences if they are `most` or fewer, or else a sample; and whether it is one.

    `most` pairs are drawn with replacement, in proportion to their weights.
    """
    if preferences.n_pairs > most:
        winner, loser = PairIndex(preferences).draw(most, generator)
        return Pairs(winner, loser, n_rows=preferences.n_rows), True
    return preferences if isinstance(preferences, Pairs) else preferences.listed(), False


def calibrate(
    subject: Subject, scores: FloatArray, pairs: Pairs, is_sample: bool, n_bins: int = N_BINS
) -> PairCalibration:
    """Return the calibration of pairs by bins of equal width; equal scores count half."""
    margins = scores[pairs.i] - scores[pairs.j]
    won = np.where(margins == 0, 0.5, margins > 0)
    weight = np.ones(margins.size) if pairs.weight is None else pairs.weight
    probability = subject.ranker.preference_proba(np.abs(margins))
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
