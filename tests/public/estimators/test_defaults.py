"""What follows from the data: C and epsilon by default, numbers of rows, queries and ties."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from pairrank import ConvexHullRanker, MPRank, Pairs, RankNCG, RankRLS, RankSVM, SVRank, load_model
from pairrank.datasets import make_queries

MAGNITUDES = [MPRank(), MPRank(n=1), SVRank(), SVRank(n=2)]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X @ [2.0, -1.0, 0.5, 0.0] + rng.normal(size=120)
    return X, y, np.repeat(np.arange(5), [10, 20, 30, 30, 30])


def deviation(y, qid, weight):
    """The root of the mean square distance of labels from the mean of their query."""
    means = np.bincount(qid, weight * y) / np.bincount(qid, weight)
    return np.sqrt(np.average((y - means[qid]) ** 2, weights=weight))


@pytest.mark.parametrize("ranker", MAGNITUDES, ids=str)
def test_C_and_epsilon_are_shares_of_the_deviation_within_queries(rows, ranker):
    X, y, qid = rows
    weight = np.random.default_rng(1).integers(0, 3, 120).astype(float)
    y = y + 100 * qid
    fitted = clone(ranker).fit(X, y, qid=qid, sample_weight=weight)
    s = deviation(y, qid, weight)
    C = weight.sum() / 5 * s ** (2 - ranker.n) / 10
    assert pytest.approx(C, rel=1e-12) == fitted.C_
    given = clone(ranker).set_params(C=fitted.C_)
    if isinstance(ranker, SVRank):
        assert fitted.epsilon_ == pytest.approx(0.1 * s, rel=1e-12)
        given.set_params(epsilon=fitted.epsilon_)
    given.fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_array_equal(given.coef_, fitted.coef_)
    assert (ranker.C, ranker.get_params().get("epsilon")) == (None, None)


def distance_from_optimum(fitted):
    """A bound by the penalty |w|^2: f(w) - f* >= |w - w*|^2, |gradient| >= 2 |w - w*|."""
    if hasattr(fitted, "gap_"):
        return np.sqrt(fitted.gap_)
    return 0.5 * fitted.history_[-1].gradient_norm


@pytest.mark.parametrize("ranker", MAGNITUDES, ids=str)
@pytest.mark.parametrize("unit", [1e-6, 1e5, 1e120])
def test_scores_follow_the_unit_of_the_labels(rows, ranker, unit):
    X, y, qid = rows
    tight = clone(ranker).set_params(tol=1e-7)
    one, other = (clone(tight).fit(X, labels, qid=qid) for labels in (y, unit * y))
    allowed = distance_from_optimum(one) + distance_from_optimum(other) / unit
    assert np.linalg.norm(other.coef_ / unit - one.coef_) <= allowed + 1e-9


def test_squares_of_one_query_or_of_comparisons_are_rank_rls_with_alpha_5(rows):
    X, y, _ = rows
    np.testing.assert_allclose(MPRank().fit(X, y).coef_, RankRLS(5.0).fit(X, y).coef_, rtol=1e-6)
    votes = Pairs(np.arange(99), np.arange(1, 100), magnitude=y[:99] - y[1:100])
    one, other = (each.fit(X, votes) for each in (MPRank(tol=1e-9), RankRLS(5.0, tol=1e-9)))
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)


@pytest.mark.parametrize("ranker", MAGNITUDES, ids=str)
def test_comparisons_without_a_size_have_defaults_too(rows, ranker):
    X, *_ = rows
    fitted = clone(ranker).fit(X, Pairs(np.arange(99), np.arange(1, 100)))
    assert pytest.approx(2 * 99 * np.sqrt(0.5) ** (2 - ranker.n) / 10) == fitted.C_
    ties = Pairs(np.arange(99), np.arange(1, 100), magnitude=np.zeros(99))
    with pytest.warns(UserWarning, match="all zero"):
        assert np.isfinite(clone(ranker).fit(X, ties).C_)


@pytest.mark.parametrize("ranker", [*MAGNITUDES, ConvexHullRanker()], ids=str)
def test_a_model_file_keeps_what_was_derived(rows, ranker, tmp_path):
    X, y, _ = rows
    fitted = clone(ranker).fit(X, np.round(y))
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for name in ("C_", "epsilon_"):
        assert getattr(loaded, name, None) == getattr(fitted, name, None)
    if isinstance(fitted, MPRank | SVRank):
        assert loaded.stability_bound(X, y) == fitted.stability_bound(X, y)


DATA = make_queries(10, 12, 9, random_state=0)
ROWS = {"X": DATA.X, "y": DATA.y, "qid": DATA.qid}


def test_rows_of_weight_0_are_not_counted():
    weight = np.where(DATA.qid == DATA.qid[0], 0.0, 1.0)
    for ranker in (RankSVM(), RankRLS()):
        ranker.fit(**ROWS, sample_weight=weight)
        assert (ranker.n_rows_, ranker.n_queries_) == (108, 9)


def test_ties_of_comparisons_are_counted():
    pairs = Pairs([0, 1, 2], [1, 2, 3], magnitude=[1.0, 0.0, 0.0])
    for ranker in (RankSVM(), RankRLS()):
        ranker.fit(DATA.X[:4], pairs)
        assert (ranker.n_rows_, ranker.n_queries_, ranker.n_ties_) == (4, 1, 2)
    ranker.fit(**ROWS)
    assert not hasattr(ranker, "n_ties_")


def test_counts_are_those_of_the_definition_and_kept_in_model_files(tmp_path):
    ranker = RankNCG().fit(**ROWS)
    same = DATA.qid[:, None] == DATA.qid[None, :]
    ties = same & (DATA.y[:, None] == DATA.y[None, :])
    n_ties = (ties.sum() - len(DATA.y)) // 2
    assert ranker.n_pairs_ + ranker.n_ties_ == 10 * 12 * 11 // 2
    ranker.save(tmp_path / "model")
    for fitted in (ranker, load_model(tmp_path / "model")):
        assert (fitted.n_rows_, fitted.n_queries_, fitted.n_ties_) == (120, 10, n_ties)
