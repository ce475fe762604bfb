"""The log-loss of pairs against its definition, over labels, comparisons and probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from definitions import preferences_of
from pairrank import OrderGraph, Pairs
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.metrics import pairwise_log_loss

pytestmark = pytest.mark.numeric

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
