"""partial_fit learns from batches what fit learns from all rows at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from pairrank import RankNCG, RankSVM, load_model
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.losses import as_loss
from pairrank.objective import PairObjective, PairSteps, Problem
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric

RANKERS = [RankSVM(), RankSVM(loss="hinge"), RankNCG(), RankNCG(loss="probit")]
WITHIN = 0.01
"""What the issue of these batches asks: the distance from the batch objective."""


def make_rows(n_rows=20_000, n_queries=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 10))
    y = np.digitize(X @ np.linspace(2, 0, 10) + 3 * rng.normal(size=n_rows), [-3, 0, 2, 4])
    return X, y.astype(float), np.sort(rng.integers(0, n_queries, n_rows))


@pytest.fixture(scope="module")
def rows():
    return make_rows()


@pytest.fixture
def taken(monkeypatch):
    """Collect the arguments of every call of `PairSteps.take`, and the pairs that it draws."""
    calls, own = [], PairSteps.take

    def take(self, X, pairs, n_steps, ratio, importance=1.0):
        calls.append((X, pairs, n_steps, ratio, importance))
        own(self, X, pairs, n_steps, ratio, importance)

    monkeypatch.setattr(PairSteps, "take", take)
    return calls


def objective_of(ranker, X, y, qid=None):
    """Return the objective of a fit on all rows at a ranker's weights."""
    levels = Levels.build(y, qid, graph=ranker.graph).reduced(
        "rows" if ranker.reduction == "auto" else ranker.reduction
    )
    alpha, C = getattr(ranker, "alpha", 1.0), getattr(ranker, "C", 1.0)
    loss = PairObjective(Problem(X, levels, as_loss(ranker.loss), factor=C, eps=1e-9))
    return loss.at(ranker.coef_).value + alpha / 2 * ranker.coef_ @ ranker.coef_


def learn_in_chunks(ranker, parts, **options):
    ranker = clone(ranker)
    for part in parts:
        ranker.partial_fit(*part[:2], qid=part[2] if len(part) > 2 else None, **options)
    return ranker


@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_100_chunks_of_rows_come_within_1_percent_of_the_batch_objective(rows, ranker, form):
    X, y, _ = rows
    X = form(X)
    chunks = np.array_split(np.arange(y.size), 100)
    ranker = learn_in_chunks(ranker, [(X[chunk], y[chunk]) for chunk in chunks])
    best = clone(ranker).fit(X, y)
    assert best.objective_ <= objective_of(ranker, X, y) <= best.objective_ * (1 + WITHIN)
    assert ranker.n_iter_ == 100
    assert ranker.n_rows_ == y.size
    assert ranker.n_steps_ == 10 * y.size


@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
@pytest.mark.parametrize("ranker", [RankSVM(), RankNCG(graph="chain")], ids=str)
def test_whole_queries_in_uneven_chunks_come_within_1_percent(rows, ranker, reduction):
    X, y, qid = rows
    ranker = clone(ranker).set_params(reduction=reduction)
    ends = np.searchsorted(qid, np.sort(np.random.default_rng(1).choice(500, 99, replace=False)))
    parts = zip(*(np.split(part, ends) for part in rows), strict=True)
    ranker = learn_in_chunks(ranker, parts, classes=np.unique(y))
    best = clone(ranker).fit(X, y, qid=qid)
    found = objective_of(ranker, X, y, qid)
    assert best.objective_ * (1 - 1e-6) <= found <= best.objective_ * (1 + WITHIN)
    assert ranker.n_pairs_ == best.n_pairs_


@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
def test_the_penalty_weighs_what_it_weighs_in_the_batch_objective(taken, reduction):
    X, y, qid = make_rows(600, 12)
    weight = np.random.default_rng(3).exponential(size=600)
    ranker = RankSVM(0.3, reduction=reduction)
    ends = [0, 150, 180, 600]
    for start, stop in pairwise(ends):
        part = slice(start, stop)
        ranker.partial_fit(X[part], y[part], qid=qid[part], sample_weight=weight[part])
        pairs = sum(
            weight[i] * weight[j]
            for low, high in pairwise(ends)
            if high <= stop
            for i in range(low, high)
            for j in range(low, high)
            if y[i] > y[j] and qid[i] == qid[j]
        )
        total = pairs if reduction == "sum" else weight[:stop].sum()
        assert taken[-1][3] == pytest.approx(1 / (0.3 * total), rel=1e-12)
    if reduction != "query":
        last = pairs - sum(call[1].indexes[0].total_weight for call in taken[:-1])
        mean = pairs / ranker.n_steps_
        assert taken[-1][4] == pytest.approx(last / taken[-1][2] / mean, rel=1e-12)


def test_a_chain_joins_neighbouring_classes_where_a_query_goes_on(taken):
    X, y = np.eye(4), np.array([0.0, 2.0, 0.0, 1.0])
    with pytest.warns(NoPairsWarning):
        RankSVM(graph="chain").partial_fit(X[:2], y[:2], classes=[0, 1, 2])
    RankSVM(graph="chain").partial_fit(X[:2], y[:2], qid=[0, 0], classes=[0, 1, 2])
    assert [call[1].indexes[0].n_pairs for call in taken] == [1]


def test_fit_is_continued_with_its_rows_counted(rows, taken, tmp_path):
    X, y, _ = rows
    fitted = RankNCG().fit(X[:10_000], y[:10_000])
    fitted.save(tmp_path / "model.pairrank")
    for ranker in (fitted, load_model(tmp_path / "model.pairrank")):
        start = ranker.coef_.copy()
        ranker.partial_fit(X[10_000:10_200], y[10_000:10_200])
        assert taken[-1][3] == pytest.approx(1 / 10_200, rel=1e-12)
        assert ranker.n_rows_ == 10_200
        assert 0 < np.abs(ranker.coef_ - start).max() < 0.1 * np.abs(start).max()
        for name in ("history_", "status_", "objective_", "n_queries_", "n_ties_"):
            assert not hasattr(ranker, name)
    np.testing.assert_array_equal(fitted.coef_, ranker.coef_)


@pytest.mark.parametrize("reservoir", [None, 4])
def test_weights_that_overflow_are_an_error_and_change_nothing(reservoir):
    X, y = np.eye(3), [0.0, 1.0, 2.0]
    ranker = RankSVM().fit(X, y)
    ranker.coef_ = np.array([1e250, 0.0, -1e250])
    for _ in range(2):
        with pytest.raises(PairrankError, match="overflowed"):
            ranker.partial_fit(1e150 * X, y, reservoir=reservoir)
        assert np.isfinite(ranker.coef_).all()
    ranker = RankSVM().partial_fit(X, y, reservoir=reservoir)
    before, kept = ranker.coef_, dict(ranker._stream.reservoir.kept) if reservoir else None
    ranker._stream.steps.last[:] = [1e250, 0.0, -1e250]
    with pytest.raises(PairrankError, match="overflowed"):
        ranker.partial_fit(1e150 * X, y)
    assert (ranker.coef_ is before, ranker.n_iter_, ranker._stream.n_rows) == (True, 1, 3)
    assert not reservoir or ranker._stream.reservoir.kept == kept


def test_an_interrupted_batch_changes_nothing(monkeypatch):
    X, y = np.eye(4), [0.0, 1.0, 2.0, 0.0]

    def interrupt(*_):
        raise KeyboardInterrupt

    def interrupted(ranker, X):
        with monkeypatch.context() as patch:
            patch.setattr(PairSteps, "_take_block", interrupt)
            with pytest.raises(KeyboardInterrupt):
                ranker.partial_fit(X, y)
        return ranker

    # The first batch that is learnt says how many features there are.
    ranker = interrupted(RankSVM(), X)
    ranker.partial_fit(X[:, :1], y)
    assert ranker.coef_.shape == (1,)
    interrupted(ranker, X[:, :1])
    assert (ranker.n_rows_, ranker._stream.n_rows, ranker._stream.n_batches) == (4, 4, 1)
    assert interrupted(RankSVM().fit(X, y), X).status_ == "converged"
