"""Every metric against its definition as a double loop."""

from __future__ import annotations

import inspect
import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import OrderGraph, Pairs
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.metrics import (
    kendall_tau,
    m1d,
    mean_ndcg,
    msd,
    ndcg_score,
    pairwise_accuracy,
    wmw_score,
)

pytestmark = pytest.mark.numeric

SHARE = {"half": 0.5, "correct": 1.0, "error": 0.0}
ALL = [pairwise_accuracy, wmw_score, kendall_tau, ndcg_score, mean_ndcg, msd, m1d]


FEW_LABELS = st.integers(0, 4)


@st.composite
def judged_rows(draw, labels=FEW_LABELS):
    n_rows = draw(st.integers(1, 40))

    def column(values):
        return np.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)))

    y = column(labels).astype(float)
    scores = column(st.integers(-3, 3) | st.floats(-5, 5)).astype(float)
    qid = column(st.sampled_from(["a", "b", "c"])) if draw(st.booleans()) else None
    weight = column(st.sampled_from([0.0, 0.5, 1.0, 2.0])) if draw(st.booleans()) else None
    if weight is not None:
        weight[0] = 1.0
    return y, scores, qid, weight


def rows_by_query(y, qid, weight):
    qid = [None] * len(y) if qid is None else list(qid)
    weight = [1.0] * len(y) if weight is None else list(weight)
    groups = {}
    for row, query in enumerate(qid):
        if weight[row] > 0:
            groups.setdefault(query, []).append(row)
    return groups, weight


@pytest.mark.filterwarnings("ignore::pairrank.exceptions.PairrankWarning")
@pytest.mark.parametrize("average", ["pairs", "queries"])
@given(rows=judged_rows(), ties=st.sampled_from(sorted(SHARE)))
def test_pairs_count_as_the_labels_that_they_come_from(average, rows, ties):
    y, s, qid, weight = rows
    i, j = np.nonzero(y[:, None] > y[None, :])
    if qid is not None:
        i, j = i[qid[i] == qid[j]], j[qid[i] == qid[j]]
    asked = dict(qid=qid, sample_weight=weight, ties=ties, average=average)
    pairs = Pairs(i, j, n_rows=len(y))
    wanted = pairwise_accuracy(y, s, **asked)
    assert pairwise_accuracy(pairs, s, **asked) == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    by_query = pairwise_accuracy(y, s, per_query=True, **asked)
    assert pairwise_accuracy(pairs, s, per_query=True, **asked) == pytest.approx(by_query)


def test_pairs_of_any_magnitude_prefer_by_its_sign():
    pairs = Pairs([0, 1, 2], [1, 2, 0], weight=[1, 4, 3], magnitude=[2.5, 0, -1])
    assert pairwise_accuracy(pairs, [3.0, 2.0, 5.0]) == 1 / 4
    with pytest.raises(PairrankError, match="no levels"):
        pairwise_accuracy(pairs, [3.0, 2.0, 5.0], average="edges")


def slow_tau(y, s, qid, weight):
    groups, weight = rows_by_query(y, qid, weight)
    taus = []
    for rows in groups.values():
        excess = by_label = by_score = 0.0
        for i, j in itertools.combinations(rows, 2):
            own, dy, ds = weight[i] * weight[j], np.sign(y[i] - y[j]), np.sign(s[i] - s[j])
            excess += own * dy * ds
            by_label, by_score = by_label + own * abs(dy), by_score + own * abs(ds)
        below = math.sqrt(by_label * by_score)
        if below:
            taus.append(excess / below)
    return sum(taus) / len(taus) if taus else math.nan


@pytest.mark.filterwarnings("ignore::pairrank.exceptions.NoPairsWarning")
@given(rows=judged_rows(labels=st.integers(0, 4) | st.floats(-3, 3)))
def test_tau_is_the_excess_of_concordant_pairs(rows):
    y, s, qid, weight = rows
    tau = kendall_tau(y, s, qid=qid, sample_weight=weight)
    wanted = slow_tau(y, s, qid, weight)
    assert tau == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("heavy", range(6))
@pytest.mark.parametrize("size", [1e14, 1e17, 1e60, 1e99])
def test_a_heavy_row_costs_the_others_no_digits(heavy, size):
    y, s = [3.0, 1.0, 2.0, 3.0, 0.0, 1.5], [1.0, 3.0, 2.5, 1.0, 0.5, 2.0]
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    weight[heavy] = size
    exact = [Fraction(w) for w in weight]
    by_label = by_score = excess = first = second = total = Fraction(0)
    for i, j in itertools.product(range(6), repeat=2):
        own = exact[i] * exact[j]
        missed = abs((Fraction(s[i]) - Fraction(s[j])) - (Fraction(y[i]) - Fraction(y[j])))
        total, first, second = total + own, first + own * missed, second + own * missed**2
        by_label, by_score = by_label + own * (y[i] != y[j]), by_score + own * (s[i] != s[j])
        excess += own * int(np.sign(y[i] - y[j]) * np.sign(s[i] - s[j]))
    tau = kendall_tau(y, s, sample_weight=weight)
    wanted = float(excess / by_label) / math.sqrt(by_score / by_label)
    assert tau == pytest.approx(wanted, abs=1e-15)
    assert m1d(y, s, sample_weight=weight) == pytest.approx(float(first / total), rel=1e-14)
    assert msd(y, s, sample_weight=weight) == pytest.approx(float(second / total), rel=1e-14)


def slow_dcg(gains, discount, k):
    d = [1 / math.log2(max(2, i) if discount == "letor" else i + 1) for i in range(1, k + 1)]
    return sum(g * w for g, w in zip(gains, d, strict=False))


def expected_dcg(y, s, discount, k):
    """Return DCG@k averaged over every order that the scores allow."""
    rows = range(len(y))
    orders = [o for o in itertools.permutations(rows) if all(np.diff(np.array(s)[list(o)]) <= 0)]
    return np.mean([slow_dcg([2 ** y[row] - 1 for row in o], discount, k) for o in orders])


def slow_ndcg(y, s, discount, k):
    ideal = slow_dcg(sorted((2**label - 1 for label in y), reverse=True), discount, k)
    return expected_dcg(y, s, discount, k) / ideal if ideal else None


@pytest.mark.parametrize("discount", ["standard", "letor"])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0, 0.25, 1, 1.5, 2, 3]), st.integers(0, 2)),
        min_size=1,
        max_size=5,
    ),
    k=st.integers(1, 6),
)
def test_ndcg_is_the_mean_over_the_orders_of_tied_scores(discount, rows, k):
    y, s = [float(label) for label, _ in rows], [float(score) for _, score in rows]
    wanted = slow_ndcg(y, s, discount, min(k, len(y)))
    found = ndcg_score(y, s, k=k, discount=discount)
    assert found == pytest.approx(0.0 if wanted is None else wanted, rel=1e-12)
    every = [slow_ndcg(y, s, discount, cut) for cut in range(1, len(y) + 1)]
    wanted = 0.0 if wanted is None else np.mean(every)
    assert mean_ndcg(y, s, discount=discount) == pytest.approx(wanted, rel=1e-12)


def test_ndcg_of_labels_in_the_thousands_does_not_overflow():
    y = [5000, 4999, 3000, 1.0, 0.0]
    assert ndcg_score(y, [5, 4, 3, 2, 1]) == 1.0
    swapped = (0.5 + 1.0 / math.log2(3)) / (1.0 + 0.5 / math.log2(3))
    assert ndcg_score(y, [4, 5, 3, 2, 1]) == pytest.approx(swapped, rel=1e-14)
    assert mean_ndcg([1e300, 0.0], [1.0, 2.0]) == pytest.approx(0.5)


def test_queries_without_a_relevant_row_count_as_asked():
    y, s, qid = [0, 0, 1, 0], [1, 2, 2, 1], ["x", "x", "y", "y"]
    for metric in (ndcg_score, mean_ndcg):
        assert metric(y, s, qid=qid) == 0.5
        assert metric(y, s, qid=qid, empty="skip") == 1.0
        assert metric(y, s, qid=qid, empty=1.0) == 1.0
        assert metric(y, s, qid=qid, per_query=True) == {"x": 0.0, "y": 1.0}
        assert metric(y, s, qid=qid, empty="skip", per_query=True) == {"y": 1.0}
        assert metric(y, s, qid=qid, sample_weight=[3, 3, 1, 1]) == 0.25
        assert metric(y, s, qid=qid, sample_weight=[0, 0, 2, 2]) == 1.0
        with pytest.raises(PairrankError, match="one weight per query"):
            metric(y, s, qid=qid, sample_weight=[1, 2, 1, 1])
    with pytest.warns(NoPairsWarning, match="relevant row"):
        assert math.isnan(ndcg_score([0, 0], [1, 2], empty="skip"))


@pytest.mark.parametrize("metric", ALL)
@given(rows=judged_rows())
@pytest.mark.filterwarnings("ignore::pairrank.exceptions.NoPairsWarning")
def test_the_order_of_rows_and_the_kind_of_qid_do_not_matter(metric, rows):
    y, s, qid, _ = rows
    qid = np.repeat("a", y.size) if qid is None else qid
    shuffled = np.random.default_rng(y.size).permutation(y.size)
    wanted = metric(y, s, qid=qid)
    tuples = [("query", name) for name in qid[shuffled]]
    found = metric(y[shuffled].tolist(), s[shuffled].tolist(), qid=tuples)
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("metric", [pairwise_accuracy, wmw_score, kendall_tau])
def test_nothing_to_compare_is_nan_and_a_warning(metric):
    for y, qid in (([1, 1, 1], None), ([1, 2, 3], [1, 2, 3]), ([2], None)):
        with pytest.warns(NoPairsWarning, match="NaN"):
            assert math.isnan(metric(y, [0.5] * len(y), qid=qid))
        assert metric(y, [0.5] * len(y), qid=qid, per_query=True) == {}


def test_text_labels_need_an_order_graph():
    y, s = ["low", "high", "low"], [0.0, 1.0, 2.0]
    assert pairwise_accuracy(y, s, graph=OrderGraph([("low", "high")])) == 0.5
    for metric in ALL:
        with pytest.raises(PairrankError, match="OrderGraph"):
            metric(y, s)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"scores": [1.0, math.nan, 2.0]}, "scores .* row 1"),
        ({"scores": [[1.0, 2.0, 3.0]]}, "one dimension"),
        ({"scores": ["a", "b", "c"]}, "must hold numbers"),
        ({"scores": [1.0, 2.0]}, "y_true has 3 .* 2 scores"),
        ({"y_true": [1.0, 2.0, math.nan]}, "y_true .* row 2"),
        ({"qid": [1, 1]}, "qid has 2"),
        ({"qid": [1.0, math.nan, 1.0]}, "missing in row 1"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, "negative"),
        ({"sample_weight": [1.0, 1.0]}, "sample_weight has 2"),
    ],
)
def test_bad_input_is_named(metric, changed, complaint):
    given_rows = {"y_true": [0.0, 1.0, 2.0], "scores": [1.0, 2.0, 3.0], **changed}
    with pytest.raises(PairrankError, match=complaint):
        metric(given_rows.pop("y_true"), given_rows.pop("scores"), **given_rows)


@pytest.mark.parametrize(
    ("metric", "options", "complaint"),
    [
        (pairwise_accuracy, {"ties": "maybe"}, "ties must be one of"),
        (pairwise_accuracy, {"average": "rows"}, "average must be one of"),
        (pairwise_accuracy, {"graph": "loop"}, "graph must be"),
        (ndcg_score, {"k": 0}, "k must be"),
        (ndcg_score, {"discount": "none"}, "discount must be one of"),
        (mean_ndcg, {"empty": "drop"}, "empty must be"),
        (msd, {"average": "edges"}, "average must be one of"),
    ],
)
def test_unknown_options_are_refused(metric, options, complaint):
    with pytest.raises(PairrankError, match=complaint):
        metric([0, 1], [0.0, 1.0], **options)


def test_the_signature_names_the_arguments_by_row():
    for metric in ALL:
        assert {"qid", "sample_weight"} < set(inspect.signature(metric).parameters)
        with pytest.raises(TypeError, match="no argument"):
            metric([0, 1], [0.0, 1.0], sample_wieght=[1.0, 1.0])


def test_many_rows_count_exactly_and_need_little_memory():
    n_rows = 200_000
    rng = np.random.default_rng(2)
    y = rng.integers(0, 5, n_rows)
    scores = y + rng.normal(size=n_rows)
    pairwise_accuracy(y[:10], scores[:10])
    tracemalloc.start()
    fast = pairwise_accuracy(y, scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120 * n_rows
    weighted = pairwise_accuracy(y, scores, sample_weight=np.ones(n_rows))
    assert weighted == pytest.approx(fast, rel=1e-12)
    edges = OrderGraph(list(itertools.combinations(range(5), 2)))
    assert pairwise_accuracy(y, scores, graph=edges) == fast
    assert pairwise_accuracy(y, -scores) == pytest.approx(1.0 - fast, rel=1e-12)
    assert kendall_tau(scores, scores) == 1.0
    assert ndcg_score(scores - scores.min(), scores) == pytest.approx(1.0)
    assert m1d(y, scores) == pytest.approx(2.0 / math.sqrt(math.pi), rel=2e-2)
