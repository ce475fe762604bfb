"""Clicks: weights, estimates without bias, and learning from position-biased clicks."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from pairrank import click_weights
from pairrank.clicks import ips_score
from pairrank.exceptions import NoPairsWarning, PairrankError

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "position_biased_clicks.py"
EPS = np.finfo(np.float64).eps
GAINS = {
    "dcg": lambda rank: 1.0 / np.log2(1.0 + rank),
    "reciprocal_rank": lambda rank: 1.0 / rank,
    "recall": lambda rank: 1.0,
    "rank": lambda rank: float(rank),
}


def mean_gain(scores, row, gain, k):
    """Return a row's gain averaged over the orders of tied rows, by listing its ranks."""
    above = sum(score > scores[row] for score in scores)
    ranks = above + 1 + np.arange(sum(score == scores[row] for score in scores))
    return np.mean([GAINS[gain](rank) if k is None or rank <= k else 0.0 for rank in ranks])


def definition(clicks, propensity, scores, qid, gain, k, self_normalized):
    total = weight = 0.0
    for query in set(qid):
        rows = [row for row in range(len(qid)) if qid[row] == query]
        own = [scores[row] for row in rows]
        for place, row in enumerate(rows):
            if clicks[row]:
                total += mean_gain(own, place, gain, k) / propensity[row]
                weight += 1.0 / propensity[row]
    return total / (weight if self_normalized else len(set(qid)))


@pytest.mark.parametrize("self_normalized", [True, False])
@pytest.mark.parametrize(
    ("gain", "k"),
    [("dcg", None), ("reciprocal_rank", None), ("rank", None), ("recall", 3), ("dcg", 2)],
)
def test_an_estimate_equals_its_definition(gain, k, self_normalized):
    rng = np.random.default_rng(0)
    clicks, propensity = rng.random(40) < 0.4, rng.uniform(0.1, 1.0, 40)
    scores, qid = rng.integers(0, 4, 40), rng.integers(0, 6, 40)
    found = ips_score(
        clicks, propensity, scores, qid=qid, gain=gain, k=k, self_normalized=self_normalized
    )
    wanted = definition(clicks, propensity, scores, qid, gain, k, self_normalized)
    # Sums of at most 40 terms of one sign each; a gain is a difference of sums of at most 40 ranks,
    # at most 40 * 40 times as large as the gain.
    assert found == pytest.approx(wanted, rel=40 * 40 * 40 * EPS, abs=0)


def test_weights_are_inverse_propensities_of_clicked_rows():
    found = click_weights([1, 0, 1], [0.5, 0.01, 0.02], clip=0.1)
    assert found["y"].tolist() == [1, 0, 1]
    assert found["winner_weight"].tolist() == [2, 0, 10]
    assert found["loser_weight"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 3], [1, 1], [0, 1]), {}, "clicks must hold True or False, or 1 or 0 .got 3 in row 1"),
        (([0, 1], [1, 0], [0, 1]), {}, "propensity is 0 in row 1: it must be greater than 0"),
        (([0, 1], [1, 2], [0, 1]), {}, "propensity is 2 in row 1"),
        (([0], [1], [0, 1]), {}, "clicks has 1 entries for 2 rows"),
        (([0, 1], [1], [0, 1]), {}, "propensity has 1 entries for 2 rows"),
        (([0, 1], [1, 1], [0, 1]), {"clip": 2.0}, "clip must be at most 1"),
        (([0, 1], [1, 1], [0, 1]), {"clip": 0.0}, "clip must be greater than 0"),
        (([0, 1], [1, 1], [0, 1]), {"gain": "recall"}, "k is needed"),
        (([0, 1], [1, 1], [0, 1]), {"gain": "rank", "k": 3}, "k is needed"),
        (([0, 1], [1, 1], [0, 1]), {"gain": "best"}, "gain must be one of"),
    ],
)
def test_wrong_clicks_are_refused(arguments, options, message):
    with pytest.raises(PairrankError, match=message):
        ips_score(*arguments, **options)


def test_no_click_gives_nan_and_a_warning():
    with pytest.warns(NoPairsWarning, match="no row is clicked"):
        assert np.isnan(ips_score([0, 0], [1.0, 1.0], [1.0, 2.0]))
    assert ips_score([0, 0], [1.0, 1.0], [1.0, 2.0], self_normalized=False) == 0.0


def test_weights_recover_the_order_that_unweighted_clicks_do_not():
    example = runpy.run_path(str(EXAMPLE))
    models = example["fits"](example["simulate"](1500, 10, seed=0)).values()
    weighted, plain = (model.coef_[0] for model in models)
    assert weighted < 0 < plain, "the first feature makes a row less relevant"
    test = example["simulate"](500, 10, seed=1)
    weighted, plain = (example["judge"](model, test) for model in models)
    assert weighted[0] > 0.95 > 0.8 > plain[0]
    assert weighted[1] > plain[1]
    assert weighted[2] < plain[2], "without propensities the clicks prefer the order shown"
