"""MAP, MRR, precision, recall, RBP, ERR and AUC against their definitions over every order."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from pairrank import metrics
from pairrank.exceptions import NoPairsWarning, PairrankError

pytestmark = pytest.mark.numeric

LISTED = [
    metrics.mean_average_precision,
    metrics.mean_reciprocal_rank,
    metrics.precision_at_k,
    metrics.recall_at_k,
    metrics.rank_biased_precision,
    metrics.expected_reciprocal_rank,
]


def slow_map(ranked, k):
    hits = [sum(ranked[:i]) / i for i in range(1, min(k, len(ranked)) + 1) if ranked[i - 1]]
    return sum(hits) / sum(ranked)


def slow_mrr(ranked, k):
    return next((1 / i for i, hit in enumerate(ranked[:k], 1) if hit), 0.0)


def slow_precision(ranked, k):
    return sum(ranked[:k]) / k


def slow_recall(ranked, k):
    return sum(ranked[:k]) / sum(ranked)


def slow_rbp(ranked, k, persistence=0.8):
    return sum((1 - persistence) * persistence**i for i, hit in enumerate(ranked[:k]) if hit)


def slow_err(chances, k):
    total, arrives = 0.0, 1.0
    for i, chance in enumerate(chances[:k], 1):
        total += arrives * chance / i
        arrives *= 1 - chance
    return total


SLOW = dict(
    zip(LISTED, [slow_map, slow_mrr, slow_precision, slow_recall, slow_rbp, slow_err], strict=True)
)


def slow_value(metric, y, s, k, relevant_from=None, max_label=None):
    """Return the mean of a query's value over every order that the scores allow; None if empty."""
    if metric is metrics.expected_reciprocal_rank:
        top = max(y) if max_label is None else max_label
        values = [(2.0**label - 1) / 2.0**top for label in y]
    else:
        values = [label > 0 if relevant_from is None else label >= relevant_from for label in y]
    if not any(values):
        return None
    orders = [
        order
        for order in itertools.permutations(range(len(y)))
        if all(np.diff(np.array(s)[list(order)]) <= 0)
    ]
    return np.mean([SLOW[metric]([values[row] for row in order], k) for order in orders])


LABELS = st.sampled_from([0, 0, 0.25, 1, 1.5, 2, 3])
LISTS = st.lists(st.tuples(LABELS, st.integers(0, 2)), min_size=1, max_size=6)


@pytest.mark.parametrize("metric", LISTED)
@given(rows=LISTS, k=st.integers(1, 7))
def test_the_value_is_the_mean_over_the_orders_of_tied_scores(metric, rows, k):
    y, s = [float(label) for label, _ in rows], [float(score) for _, score in rows]
    wanted = slow_value(metric, y, s, k)
    assert metric(y, s, k=k) == pytest.approx(0.0 if wanted is None else wanted, rel=1e-12)
    if metric not in (metrics.precision_at_k, metrics.recall_at_k):
        wanted = slow_value(metric, y, s, len(y))
        assert metric(y, s) == pytest.approx(0.0 if wanted is None else wanted, rel=1e-12)


@pytest.mark.parametrize("metric", LISTED[:5])
@given(rows=LISTS, k=st.integers(1, 4), start=st.sampled_from([-1, 0, 0.5, 2, 9]))
def test_rows_are_relevant_from_the_label_named(metric, rows, k, start):
    y, s = [label - 1.0 for label, _ in rows], [float(score) for _, score in rows]
    wanted = slow_value(metric, y, s, k, relevant_from=start)
    found = metric(y, s, k=k, relevant_from=start)
    assert found == pytest.approx(0.0 if wanted is None else wanted, rel=1e-12)


@given(rows=LISTS, above=st.sampled_from([0, 0.5, 1, 10]))
def test_err_takes_the_highest_label_of_the_scale(rows, above):
    y, s = [float(label) for label, _ in rows], [float(score) for _, score in rows]
    wanted = slow_value(metrics.expected_reciprocal_rank, y, s, 9, max_label=max(y) + above)
    found = metrics.expected_reciprocal_rank(y, s, max_label=max(y) + above)
    assert found == pytest.approx(0.0 if wanted is None else wanted, rel=1e-12)
    if max(y):
        with pytest.raises(PairrankError, match="max_label is 0"):
            metrics.expected_reciprocal_rank(y, s, max_label=0)


@pytest.mark.parametrize("cutoff", [5, 700, 100_000])
def test_many_tied_rows_are_exact(cutoff):
    n, first = 50_000, 3
    y, s = np.zeros(first + n), np.zeros(first + n)
    s[:first], y[-1] = 1.0, 1.0
    one = math.fsum(1 / (first + j) for j in range(1, min(n, cutoff - first) + 1)) / n
    assert metrics.mean_reciprocal_rank(y, s, k=cutoff) == pytest.approx(one, rel=1e-12)
    assert metrics.mean_average_precision(y, s, k=cutoff) == pytest.approx(one, rel=1e-12)
    err = metrics.expected_reciprocal_rank(y, s, k=cutoff)
    assert err == pytest.approx(one / 2, rel=1e-11)
    y[-2] = 1.0
    places = range(1, min(n - 1, cutoff - first) + 1)
    chances = [2 * (n - j) / n / (n - 1) for j in places]
    two = math.fsum(p / (first + j) for p, j in zip(chances, places, strict=True))
    assert metrics.mean_reciprocal_rank(y, s, k=cutoff) == pytest.approx(two, rel=1e-11)


def test_err_of_one_large_tie_is_that_of_its_parts_in_every_mixture():
    """A group of one label: passing j places has probability (1 - R)^j, whatever its size."""
    for n, label in ((10, 1.0), (3000, 1.0), (3000, 18.0), (3000, 20.0), (200, 0.001)):
        chance = (2.0**label - 1) / 2.0**20
        exact = math.fsum(chance * (1 - chance) ** (j - 1) / j for j in range(1, n + 1))
        found = metrics.expected_reciprocal_rank([label] * n, [0.0] * n, max_label=20)
        assert found == pytest.approx(exact, rel=1e-11)


def slow_stops(chances, n):
    """Return the mean over orders of R_j prod_{i < j} (1 - R_i) by j, from symmetric sums."""
    sums = np.zeros(n + 1)
    sums[0] = 1.0
    for chance in [*chances, *[0.0] * (n - len(chances))]:
        sums[1:] = sums[1:] + (1 - chance) * sums[:-1]
    passes = [sums[j] / math.comb(n, j) for j in range(n + 1)]
    return -np.diff(passes)


@given(labels=st.lists(st.integers(0, 4), min_size=1, max_size=40), k=st.integers(1, 41))
def test_err_of_tied_rows_is_that_of_symmetric_sums(labels, k):
    chances = [(2.0**label - 1) / 16 for label in labels if label]
    stops = slow_stops(chances, len(labels))[:k]
    wanted = sum(stop / j for j, stop in enumerate(stops, 1))
    found = metrics.expected_reciprocal_rank(labels, [1.0] * len(labels), k=k, max_label=4)
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("metric", LISTED)
def test_the_value_is_the_mean_over_queries(metric):
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(5), 5))
    y, s = rng.integers(0, 3, 25), rng.integers(0, 3, 25)
    y[qid == 2] = 0
    asked = {"max_label": 2} if metric is metrics.expected_reciprocal_rank else {}
    by_query = {q: slow_value(metric, y[qid == q], s[qid == q], 3, **asked) for q in range(5)}
    found = metric(y, s, k=3, qid=qid, per_query=True, **asked)
    assert found == pytest.approx({q: value or 0.0 for q, value in by_query.items()}, rel=1e-12)
    counted = {q: value for q, value in by_query.items() if value is not None}
    assert set(counted) == {0, 1, 3, 4}
    with pytest.warns(NoPairsWarning, match="no query has a relevant row"):
        assert math.isnan(metric(0 * y, s, k=3, empty="skip", **asked))
    skipped = metric(y, s, k=3, qid=qid, empty="skip", per_query=True, **asked)
    assert skipped == pytest.approx(counted, rel=1e-12)
    weight = 1.0 + qid
    total = sum((1 + q) * value for q, value in counted.items())
    found = metric(y, s, k=3, qid=qid, sample_weight=weight, **asked)
    assert found == pytest.approx(total / 15, rel=1e-12)
    found = metric(y, s, k=3, qid=qid, sample_weight=weight, empty="skip", **asked)
    assert found == pytest.approx(total / 12, rel=1e-12)
    with pytest.raises(PairrankError, match="one weight per query"):
        metric(y, s, k=3, qid=qid, sample_weight=rng.random(25))
    with pytest.raises(PairrankError, match="not pairs"):
        metric(y, s, k=3, qid=qid, winner_weight=weight)


@given(seed=st.integers(0, 999), n=st.integers(2, 200))
def test_untied_scores_give_scikit_learns_values(seed, n):
    rng = np.random.default_rng(seed)
    y, s, weight = rng.integers(0, 2, n), rng.permutation(n) / n, rng.random(n) + 0.1
    y[:2] = 0, 1
    found = metrics.mean_average_precision(y, s)
    assert found == pytest.approx(average_precision_score(y, s), rel=1e-12)
    assert metrics.auc_score(y, s) == pytest.approx(roc_auc_score(y, s), rel=1e-12)
    tied = rng.integers(0, 5, n)
    wanted = roc_auc_score(y, tied, sample_weight=weight)
    assert metrics.auc_score(y, tied, sample_weight=weight) == pytest.approx(wanted, rel=1e-12)


def test_auc_is_the_accuracy_of_two_levels_within_queries():
    rng = np.random.default_rng(1)
    y, s, qid = rng.integers(-1, 4, 60), rng.integers(0, 9, 60), rng.integers(0, 6, 60)
    winner, loser = rng.random(60), rng.random(60)
    for start, flags in ((None, y > 0), (2, y >= 2), (-1, y >= -1)):
        for roles in ({}, {"winner_weight": winner, "loser_weight": loser}):
            for average in ("pairs", "queries"):
                asked = dict(ties="error", average=average, qid=qid, **roles)
                if not flags.all():
                    wanted = metrics.pairwise_accuracy(flags, s, **asked)
                    assert metrics.auc_score(y, s, relevant_from=start, **asked) == wanted
    wanted = metrics.pairwise_accuracy(y > 0, s, qid=qid, per_query=True)
    assert metrics.auc_score(y, s, qid=qid, per_query=True) == wanted
    with pytest.warns(NoPairsWarning):
        assert math.isnan(metrics.auc_score(y, s, relevant_from=-1))


@pytest.mark.parametrize(
    ("metric", "options", "complaint"),
    [
        (metrics.rank_biased_precision, {"persistence": 1.0}, "persistence must be less than 1"),
        (metrics.rank_biased_precision, {"persistence": 0}, "persistence must be greater than 0"),
        (metrics.mean_average_precision, {"k": 0}, "k must be"),
        (metrics.recall_at_k, {"k": 2, "relevant_from": "a"}, "relevant_from must be a finite"),
        (metrics.mean_reciprocal_rank, {"empty": "drop"}, "empty must be"),
        (metrics.expected_reciprocal_rank, {"max_label": -1}, "max_label must be at least 0"),
        (metrics.auc_score, {"average": "edges"}, "average must be one of"),
        (metrics.auc_score, {"relevant_from": math.inf}, "relevant_from must be a finite"),
    ],
)
def test_options_out_of_range_are_refused(metric, options, complaint):
    with pytest.raises(PairrankError, match=complaint):
        metric([0, 1], [0.0, 1.0], **options)


def test_labels_need_no_sign_where_they_are_only_relevant_or_not():
    assert metrics.mean_average_precision([-1, 1, -1], [1, 2, 3]) == 0.5
    with pytest.raises(PairrankError, match=r"y_true is -1.0 in row 0: gains need"):
        metrics.expected_reciprocal_rank([-1, 1], [1, 2])


@pytest.mark.parametrize("metric", [*LISTED, metrics.auc_score])
def test_text_labels_are_refused(metric):
    asked = {"k": 1} if metric in LISTED else {}
    with pytest.raises(PairrankError, match="y_true holds text"):
        metric(["a", "b"], [0.0, 1.0], **asked)


def test_err_of_huge_labels_does_not_overflow():
    found = metrics.expected_reciprocal_rank([5000, 4999, 0], [1, 2, 3])
    assert found == pytest.approx(0.5 / 2 + 0.5 / 3, rel=1e-14)
    assert metrics.rank_biased_precision([0] * 5000 + [1], -np.arange(5001.0)) == 0.0
