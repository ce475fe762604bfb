"""Metrics of pairs: weights by role, groups and the log-loss, against every pair."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from definitions import preferences_of
from loss_table import pairs_of, weights_of
from pairrank import OrderGraph, Pairs, metrics
from pairrank.exceptions import NoPairsWarning, PairrankError, PairrankWarning
from pairrank.metrics import pairwise_accuracy, pairwise_log_loss, wmw_score
from strategies import problems, problems_with_roles

pytestmark = pytest.mark.numeric


CREDIT = {"half": 0.5, "correct": 1.0, "error": 0.0}


def judged(metric, problem, scores, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        return metric(problem.y, scores, graph=problem.graph, **problem.aligned, **options)


def outcomes(problem, scores, ties):
    """Yield (i, j, weight, credit) of each preference."""
    winner, loser = weights_of(problem)
    for i, j in pairs_of(problem):
        credit = CREDIT[ties] if scores[i] == scores[j] else float(scores[i] > scores[j])
        yield i, j, winner[i] * loser[j], credit


def mean_of(cells, by):
    """Return the weighted mean credit of each cell that `by` puts a pair into."""
    right, total = {}, {}
    for i, j, weight, credit in cells:
        cell = by(i, j)
        right[cell] = right.get(cell, 0.0) + weight * credit
        total[cell] = total.get(cell, 0.0) + weight
    return {cell: right[cell] / total[cell] for cell in total}


@given(
    problem=st.one_of(problems(max_rows=25), problems_with_roles(max_rows=25)),
    ties=st.sampled_from(tuple(CREDIT)),
)
def test_accuracy_is_the_share_of_right_preferences(problem, ties):
    assume(problem.weight is None or problem.weight.any())
    scores = np.round(np.clip(problem.scores, -9, 9), 1)
    qid = np.zeros(problem.y.size, dtype=int) if problem.qid is None else problem.qid
    cells = list(outcomes(problem, scores, ties))
    means = {
        "pairs": mean_of(cells, lambda i, j: 0),
        "queries": mean_of(cells, lambda i, j: qid[i]),
        "edges": mean_of(cells, lambda i, j: (qid[i], problem.y[i], problem.y[j])),
    }
    for average, values in means.items():
        wanted = np.mean(list(values.values())) if values else np.nan
        for metric in (pairwise_accuracy, wmw_score):
            found = judged(metric, problem, scores, ties=ties, average=average)
            assert found == pytest.approx(wanted, rel=1e-9, nan_ok=True)
    each = judged(pairwise_accuracy, problem, scores, ties=ties, per_query=True)
    names = {None: means["pairs"].get(0)} if problem.qid is None else means["queries"]
    assert each == pytest.approx({q: v for q, v in names.items() if v is not None}, rel=1e-9)


@given(
    problem=problems_with_roles(max_rows=25),
    seed=st.integers(0, 2**32 - 1),
    roles=st.booleans(),
    compared=st.booleans(),
)
def test_groups_are_compared_pair_by_pair(problem, seed, roles, compared):
    assume(problem.weight is None or problem.weight.any())
    if not roles:
        problem = problem._replace(winner=None, loser=None)
    names = np.array(["b", "a", "d", "c"])[
        np.random.default_rng(seed).integers(0, 4, problem.y.size)
    ]
    scores = np.round(np.clip(problem.scores, -9, 9), 1)
    cells = list(outcomes(problem, scores, "half"))
    if compared:
        i, j = np.array([cell[:2] for cell in cells] or np.empty((0, 2), dtype=int)).T
        pairs = Pairs(i, j, n_rows=problem.y.size)
        found = pairwise_accuracy(pairs, scores, groups=names, **problem.aligned)
    else:
        found = judged(pairwise_accuracy, problem, scores, groups=names)
    assert found.groups.tolist() == sorted(set(names))
    wanted = mean_of(cells, lambda i, j: (names[i], names[j]))
    for a, winner in enumerate(found.groups):
        for b, loser in enumerate(found.groups):
            expected = wanted.get((winner, loser), np.nan)
            assert found.accuracy[a, b] == pytest.approx(expected, rel=1e-9, nan_ok=True)
            weight = sum(w for i, j, w, _ in cells if names[i] == winner and names[j] == loser)
            assert found.pair_weight[a, b] == pytest.approx(weight, rel=1e-9)


def test_groups_are_any_hashable_values():
    table = pairwise_accuracy([0, 1, 2], [0.0, 1.0, 2.0], groups=[("x", 1), 7, ("x", 1)])
    assert table.groups.tolist() == [("x", 1), 7]
    np.testing.assert_array_equal(table.accuracy, [[1.0, 1.0], [1.0, np.nan]])
    np.testing.assert_array_equal(table.pair_weight, [[1.0, 1.0], [1.0, 0.0]])
    graph = OrderGraph([("low", "high")])
    table = wmw_score(["low", "high"], [1.0, 0.0], graph=graph, groups=[2, 1])
    np.testing.assert_array_equal(table.groups, [1, 2])
    np.testing.assert_array_equal(table.pair_weight, [[0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [0, 1], "average": "queries"}, 'leave average="pairs"'),
        ({"groups": [0, 1], "per_query": True}, "per_query=False"),
        ({"groups": [0, 1, 2]}, "groups has 3 entries"),
        ({"groups": [[0], [1]]}, "groups"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused(options, message):
    with pytest.raises(PairrankError, match=message):
        pairwise_accuracy([0, 1], [0.0, 1.0], **options)
    rows = np.arange(1001)
    with pytest.raises(PairrankError, match="1001 groups"):
        pairwise_accuracy(rows, rows * 1.0, groups=rows)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("kendall_tau", "pairs of equal labels"),
        ("ndcg_score", "sum over positions"),
        ("mean_ndcg", "sum over positions"),
        *((name, "in both directions") for name in ("msd", "m1d", "tube_cost")),
        *((name, "in both directions") for name in ("hinge_rank_cost", "hinge_magnitude_cost")),
    ],
)
@pytest.mark.parametrize("role", ["winner_weight", "loser_weight"])
def test_metrics_without_winners_refuse_them(name, reason, role):
    metric = getattr(metrics, name)
    with pytest.raises(PairrankError, match=f"{role} is not supported here: .*{reason}.*wmw_score"):
        metric([0, 1], [0.0, 1.0], **{role: [1.0, 1.0]})
    assert metric([0, 1], [0.0, 1.0], **{role: None}) == metric([0, 1], [0.0, 1.0])


GRAPHS = ["full", "chain", OrderGraph([(0.0, 1.0), (0.0, 3.0)])]


def drawn(seed, n_rows=30):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_rows).astype(float)
    return y, 3.0 * rng.normal(size=n_rows), rng.integers(0, 3, n_rows), rng.integers(0, 3, n_rows)


def by_definition(found, scores, weight):
    """Return the sum of w log(1 + exp(-d)) and of w over (i, j, share), by a loop."""
    total = count = 0.0
    for i, j, share in found:
        w = share * weight[i] * weight[j]
        total += w * np.log1p(np.exp(scores[j] - scores[i]))
        count += w
    return total, count


@pytest.mark.parametrize("graph", GRAPHS, ids=["full", "chain", "edges"])
@pytest.mark.filterwarnings("ignore:the order graph names labels that are absent")
@example(seed=45, weighted=True, with_queries=False)  # no label of the edges has a weight
@given(seed=st.integers(0, 50), weighted=st.booleans(), with_queries=st.booleans())
def test_it_is_the_mean_over_all_preferences(graph, seed, weighted, with_queries):
    y, scores, qid, weight = drawn(seed)
    weight = weight if weighted else np.ones(y.size, dtype=int)
    kept = weight > 0
    queries = qid if with_queries else None
    ends = np.flatnonzero(kept)
    pairs = preferences_of(y[kept], None if queries is None else qid[kept], graph)
    pairs = [(ends[i], ends[j], 1.0) for i, j, *_ in pairs]
    total, count = by_definition(pairs, scores, weight)
    options = {"graph": graph, "qid": queries, "sample_weight": weight}
    if not count:
        with pytest.warns(NoPairsWarning):
            assert np.isnan(pairwise_log_loss(y, scores, **options))
        return
    assert pairwise_log_loss(y, scores, **options) == pytest.approx(total / count, rel=1e-9)
    explicit = Pairs(*np.transpose([pair[:2] for pair in pairs]), n_rows=y.size)
    del options["graph"]
    assert pairwise_log_loss(explicit, scores, **options) == pytest.approx(total / count, rel=1e-12)


def test_queries_are_told_apart():
    y, scores, qid, weight = drawn(0, 60)
    weight[qid == 1] = 0
    wanted = {
        query: pairwise_log_loss(*(part[qid == query] for part in (y, scores)),
                                 sample_weight=weight[qid == query])
        for query in (0, 2)
    }  # fmt: skip
    i, j = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    for labels in (y, Pairs(i, j, n_rows=60)):
        options = {"qid": qid, "sample_weight": weight}
        found = pairwise_log_loss(labels, scores, per_query=True, **options)
        assert found == pytest.approx(wanted, rel=1e-9)
        mean = pairwise_log_loss(labels, scores, average="queries", **options)
        assert mean == pytest.approx(np.mean(list(wanted.values())), rel=1e-9)


def test_a_tie_counts_as_one_comparison_and_a_negative_magnitude_turns_it():
    scores = np.array([2.0, 0.5, -1.0])
    pairs = Pairs([0, 1, 2], [1, 2, 0], weight=[1, 2, 3], magnitude=[0, 5.0, -0.5])
    tie = 0.5 * (np.log1p(np.exp(-1.5)) + np.log1p(np.exp(1.5)))
    wanted = (tie + 2 * np.log1p(np.exp(-1.5)) + 3 * np.log1p(np.exp(-3.0))) / 6
    assert pairwise_log_loss(pairs, scores) == pytest.approx(wanted, rel=1e-14)


def test_scores_of_any_size_are_finite_or_refused():
    pairs = Pairs([0, 1], [1, 0])
    assert pairwise_log_loss(pairs, [1e300, -1e300]) == pytest.approx(1e300)
    assert pairwise_log_loss([0, 1], [0.0, 1e6]) == pytest.approx(0.0, abs=1e-10)
    with pytest.raises(PairrankError, match="average must be one of"):
        pairwise_log_loss(pairs, [0.0, 1.0], average="rows")
