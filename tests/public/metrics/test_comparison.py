"""Several metrics in a table, and two models compared by randomisation and bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairrank import Pairs, metrics
from pairrank.exceptions import NoPairsWarning, PairrankError

NAMES = ["ndcg@3", "map", "auc", "rbp:persistence=0.5", "pairwise_accuracy", "msd"]


def made(n_queries, seed=0, size=6):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), size)
    y = rng.integers(0, 3, qid.size)
    y[::size], y[1::size] = 0, 2
    return y, y + rng.normal(size=qid.size), y + 3 * rng.normal(size=qid.size), qid


def test_a_table_has_each_metric_of_its_name():
    y, s, _, qid = made(8)
    weight = 1.0 + qid % 3
    found = metrics.evaluate(y, s, NAMES, qid=qid, sample_weight=weight)
    given_rows = {"qid": qid, "sample_weight": weight}
    assert found == {
        "ndcg@3": metrics.ndcg_score(y, s, k=3, **given_rows),
        "map": metrics.mean_average_precision(y, s, **given_rows),
        "auc": metrics.auc_score(y, s, **given_rows),
        "rbp:persistence=0.5": metrics.rank_biased_precision(y, s, persistence=0.5, **given_rows),
        "pairwise_accuracy": metrics.pairwise_accuracy(y, s, **given_rows),
        "msd": metrics.msd(y, s, **given_rows),
    }
    assert list(found) == NAMES
    assert metrics.evaluate(y, s, "map", qid=qid) == metrics.evaluate(y, s, ["map"], qid=qid)


def test_the_columns_of_queries_are_the_metrics_own_values():
    y, s, _, qid = made(5)
    qid = np.array(["e", "d", "c", "b", "a"])[qid]
    y[qid == "d"] = 0
    found = metrics.evaluate(y, s, NAMES, qid=qid, per_query=True)
    assert list(found) == ["qid", *NAMES]
    assert found["qid"].tolist() == ["e", "d", "c", "b", "a"]
    for name in NAMES:
        own = {q: metrics.evaluate(y[qid == q], s[qid == q], name)[name] for q in "ecba"}
        assert found[name][[0, 2, 3, 4]] == pytest.approx(list(own.values()), rel=1e-12)
    assert math.isnan(found["auc"][1])
    assert found["map"][1] == 0.0


def test_rows_without_queries_are_one_query_of_no_name():
    found = metrics.evaluate([1, 0], [2.0, 1.0], "map", per_query=True)
    assert found["qid"].tolist() == [None]
    assert found["map"].tolist() == [1.0]


def test_queries_without_weight_have_no_value():
    y, s, _, qid = made(3)
    found = metrics.evaluate(y, s, "map", qid=qid, sample_weight=(qid != 1) * 1.0, per_query=True)
    assert np.isnan(found["map"]).tolist() == [False, True, False]


def test_comparisons_have_metrics_of_pairs():
    pairs, scores = Pairs([0, 1], [1, 2]), [3.0, 2.0, 5.0]
    found = metrics.evaluate(pairs, scores, ["pairwise_accuracy", "log_loss"])
    assert found["pairwise_accuracy"] == 0.5


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        ([], "at least one"),
        (["mapp"], "did you mean map"),
        (3, "metrics must be a name or several"),
    ],
)
def test_no_metric_and_unknown_ones_are_refused(names, complaint):
    with pytest.raises(PairrankError, match=complaint):
        metrics.evaluate([0, 1], [0.0, 1.0], names)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"n_resamples": 0}, "n_resamples must be greater than 0"),
        ({"confidence_level": 1.0}, "confidence_level must be less than 1"),
        ({"random_state": -1}, "random_state must be at least 0"),
        ({"name": "nosuch"}, "there is no metric 'nosuch'"),
        ({"qid": None}, "the queries that count for both models are 1: a comparison needs"),
        ({"other": [1.0]}, "y_true has 12 entries but there are 1 scores"),
    ],
)
def test_comparisons_that_make_no_sense_are_refused(options, complaint):
    y, s, t, qid = made(2)
    given_rows = {"scores": s, "other": t, "name": "map", "qid": qid, **options}
    if options.get("other"):
        given_rows["qid"] = None
    with pytest.raises(PairrankError, match=complaint):
        metrics.compare_scores(y, **given_rows)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinite_values_are_refused():
    y, qid = [0, 1, 0, 1], [1, 1, 2, 2]
    with pytest.raises(PairrankError, match="infinite"):
        metrics.compare_scores(y, [0, 1e200, 0, 1], [0, 1, 0, 1], "msd", qid=qid)


def test_queries_that_never_count_are_refused():
    with pytest.raises(PairrankError, match="both models are 0"):
        metrics.compare_scores([1, 1, 0, 0], [1, 2, 1, 2], [2, 1, 2, 1], "auc", qid=[1, 1, 2, 2])
    with pytest.warns(NoPairsWarning):
        assert math.isnan(metrics.evaluate([1, 1], [1, 2], "auc")["auc"])
