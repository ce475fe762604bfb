"""Calibration: drawn pairs are preferences, all of them or uniform; bins hold what they should."""

from __future__ import annotations

import numpy as np

from pairrank import Pairs, RankNCG
from pairrank.report import pair_calibration


def test_true_probabilities_are_calibrated():
    generator = np.random.default_rng(2)
    X = generator.normal(size=(200, 2))
    i, j = generator.integers(0, 200, (2, 40_000))
    i, j = i[i != j], j[i != j]
    wins = generator.random(i.size) < 1 / (1 + np.exp((X[j] - X[i]) @ [1.0, 2.0]))
    pairs = Pairs(np.where(wins, i, j), np.where(wins, j, i))
    found = pair_calibration(RankNCG(alpha=1e-6).fit(X, pairs), X, pairs)
    # A share of n pairs is off by 1/(2 sqrt(n)) at most, in standard deviations.
    assert (abs(found.predicted - found.observed) < 5 * 0.5 / np.sqrt(found.n_pairs)).all()


def test_ties_of_comparisons_count_half():
    X = np.array([[0.0], [1.0], [2.0]])
    ranker = RankNCG().fit(X, [0, 1, 2])
    tied = pair_calibration(ranker, X, Pairs([0], [1], magnitude=[0.0]))
    assert tied.observed.tolist() == [0.5]
