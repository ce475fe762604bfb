"""A reservoir is a uniform sample of earlier rows, whose pairs count for all of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chisquare

from pairrank import OrderGraph, RankNCG, RankSVM
from pairrank.estimators._reservoir import Reservoir
from pairrank.estimators._rows import Rows
from pairrank.objective import PairSteps

LEAST_P = 1e-3
"""Seeds are fixed, so a test that passes once passes always."""


@pytest.fixture
def drawn(monkeypatch):
    """Collect, for each call of `PairSteps.take`, the first feature of both rows of each pair."""
    calls, own = [], PairSteps.take

    def take(self, X, pairs, n_steps, ratio, importance=1.0):
        dense = X.toarray() if sparse.issparse(X) else X
        winners, losers = pairs.draw(20_000, np.random.default_rng(0))
        calls.append((dense[winners, 0].astype(int), dense[losers, 0].astype(int), pairs))
        own(self, X, pairs, n_steps, ratio, importance)

    monkeypatch.setattr(PairSteps, "take", take)
    return calls


def numbered(start, stop):
    """Return rows whose first feature is their number, from 1."""
    return np.column_stack((np.arange(start, stop) + 1.0, np.ones(stop - start)))


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix], ids=["dense", "sparse"])
def test_every_pair_has_a_row_of_the_batch_and_counts_for_all_earlier_rows(drawn, form):
    y = np.tile([0.0, 1.0, 2.0], 20)
    ranker = RankSVM()
    for start in (0, 30):
        part = slice(start, start + 30)
        ranker.partial_fit(form(numbered(start, start + 30)), y[part], reservoir=6)
    winners, losers, pairs = drawn[1]
    assert (y[winners - 1] > y[losers - 1]).all()
    is_new = np.column_stack((winners, losers)) > 30
    assert is_new.any(axis=1).all()
    partners = np.unique(np.append(winners, losers)[np.append(winners, losers) <= 30])
    assert partners.size <= 6
    old = y[np.unique(np.append(partners, []).astype(int)) - 1]
    weights = {
        "both": 300.0,
        "won": 30 / 6 * sum(10.0 * (old < level).sum() for level in (1.0, 2.0)),
        "lost": 30 / 6 * sum(10.0 * (old > level).sum() for level in (0.0, 1.0)),
    }
    total = sum(index.total_weight for index in pairs.indexes)
    assert total == pytest.approx(sum(weights.values()), rel=1e-12)
    counts = [is_new.all(axis=1).sum(), (~is_new[:, 1]).sum(), (~is_new[:, 0]).sum()]
    expected = 20_000 * np.array(list(weights.values())) / total
    assert chisquare(counts, expected).pvalue > LEAST_P


def test_a_reservoir_that_holds_every_row_adds_the_pairs_of_one_fit(drawn):
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 90).astype(float), rng.integers(0, 4, 90)
    weight = rng.integers(0, 3, 90).astype(float)
    X = numbered(0, 90)
    given = {"sample_weight": weight, "winner_weight": weight[::-1], "loser_weight": weight}
    ranker = RankNCG()
    for start in range(0, 90, 15):
        part = slice(start, start + 15)
        aligned = {name: value[part] for name, value in given.items()}
        ranker.partial_fit(X[part], y[part], qid=qid[part], reservoir=90, **aligned)
    whole = RankNCG().fit(X, y, qid=qid, **given)
    assert ranker.n_pairs_ == whole.n_pairs_
    pairs = Counter()
    for winners, losers, _ in drawn:
        pairs.update(zip(winners.tolist(), losers.tolist(), strict=True))
    assert all(qid[i - 1] == qid[j - 1] and y[i - 1] > y[j - 1] for i, j in pairs)


def test_text_labels_have_partners(drawn):
    ranker = RankSVM(graph=OrderGraph([("low", "high")]))
    for start, label in ((0, "low"), (2, "high")):
        ranker.partial_fit(
            numbered(start, start + 2), [label] * 2, classes=["low", "high"], reservoir=2
        )
    ((winners, losers, _),) = drawn
    assert set(winners.tolist()) == {3, 4}
    assert set(losers.tolist()) == {1, 2}


@pytest.mark.parametrize("queries", [1, 3])
def test_every_earlier_row_is_kept_with_equal_probability(queries):
    n_rows, size = 24, 3
    counts, X = np.zeros(n_rows), numbered(0, n_rows)
    qid = np.arange(n_rows) % queries
    for seed in range(600):
        reservoir = Reservoir(size, np.random.default_rng(seed))
        for start in range(0, n_rows, 6):
            part = slice(start, start + 6)
            rows = Rows(X[part], np.zeros(6), qid[part] if queries > 1 else None)
            reservoir.keep(reservoir.join(rows))
        assert len(reservoir.kept) == queries
        for query, kept in reservoir.kept.items():
            numbers = kept.X[:, 0].astype(int) - 1
            assert numbers.size == size
            assert kept.seen == n_rows / queries
            assert queries == 1 or set(qid[numbers]) == {query}
            counts[numbers] += 1
    assert chisquare(counts).pvalue > LEAST_P


def test_rows_of_weight_0_are_ignored():
    reservoir = Reservoir(9, np.random.default_rng(0))
    rows = Rows(numbered(0, 4), np.zeros(4), sample_weight=np.array([1.0, 0.0, 2.0, 0.0]))
    joined = reservoir.join(rows)
    reservoir.keep(joined)
    assert sorted(reservoir.kept[None].X[:, 0]) == [1.0, 3.0]
    assert reservoir.kept[None].seen == 2
    again = reservoir.join(rows)
    assert again.n_new == 2
    assert sorted(again.weights[2:, 0]) == [1.0, 2.0]
    assert again.stands_for.tolist() == [1.0] * 4
