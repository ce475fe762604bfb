"""Made data: bins, the statistics that are promised, and the same rows for the same seed."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from reproduction.data import made
from reproduction.data.made import discretize

MAKERS = {
    "randnet": lambda seed: made.make_randnet(60, random_state=seed),
    "randpoly": lambda seed: made.make_randpoly(60, random_state=seed),
    "utility": lambda seed: made.make_utility(60, 8, random_state=seed),
    "sparse": lambda seed: made.make_utility(60, 80, nnz_per_row=4, random_state=seed),
    "documents": lambda seed: made.make_documents(30, 400, random_state=seed),
    "parses": lambda seed: made.make_parses(3, 400, random_state=seed),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_seed_fixes_the_rows(name):
    one, same, other = (MAKERS[name](seed) for seed in (0, 0, 1))
    assert np.array_equal(one.y, same.y)
    assert (one.X != same.X).sum() == 0
    assert not np.array_equal(one.utility[:50], other.utility[:50])


def test_equal_counts_never_split_ties():
    y = np.random.default_rng(0).integers(0, 30, 1000) / 7
    labels = discretize(y, 5)
    for value in np.unique(y):
        assert len(set(labels[y == value].tolist())) == 1
    assert (np.diff(labels[np.argsort(y, kind="stable")]) >= 0).all()
    assert np.abs(np.bincount(labels, minlength=5) - 200).max() <= 40
    assert np.bincount(discretize(np.sqrt(np.arange(1000.0)), 8)).tolist() == [125] * 8


def test_equal_widths_close_bins_on_the_right():
    assert discretize([0.0, 1.0, 1.1, 2.0, 4.0], 4, by="width").tolist() == [0, 0, 1, 1, 3]
    assert discretize([2.0, 2.0], 3, by="width").tolist() == [0, 0]


@pytest.mark.parametrize("make", [made.make_randnet, made.make_randpoly])
def test_burges_functions_have_fifty_attributes_and_six_bins(make):
    data = make(random_state=3)
    assert data.X.shape == (1000, 50)
    assert np.abs(data.X).max() <= 1
    assert sorted(set(data.y.tolist())) == [0, 1, 2, 3, 4, 5]
    assert spearmanr(data.y, data.utility).statistic > 0.9


def test_sparse_rows_are_of_length_one_with_as_many_entries():
    data = made.make_utility(500, 97, nnz_per_row=10, n_levels=2, random_state=0)
    assert np.diff(data.X.indptr).tolist() == [10] * 500
    assert np.allclose(data.X.multiply(data.X).sum(axis=1), 1)
    assert np.bincount(data.y.astype(int)).tolist() == [250, 250]


def test_documents_have_the_statistics_that_are_promised(monkeypatch):
    monkeypatch.setattr(made, "_BLOCK_ROWS", 1500)
    data = made.make_documents(4000, random_state=0)
    assert data.X.nnz / np.prod(data.X.shape) == pytest.approx(0.0016, rel=0.05)
    assert data.y.mean() == pytest.approx(0.47, abs=0.03)
    assert (data.y != data.utility).mean() == pytest.approx(0.015, abs=0.006)
    assert np.allclose(data.X.multiply(data.X).sum(axis=1), 1.0)


def test_parses_are_queries_of_real_utilities():
    data = made.make_parses(60, random_state=0)
    assert data.X.nnz / np.prod(data.X.shape) == pytest.approx(0.0027, rel=0.05)
    sizes = np.bincount(data.qid)
    assert sizes.size == 60
    assert sizes.min() >= 2
    assert np.abs(np.bincount(data.qid, data.utility)).max() < 1e-9
    assert (data.y - data.utility).std() == pytest.approx(0.5, rel=0.1)


def test_ratings_are_five_stars_by_users_of_four_items_or_more():
    user, item, rating = made.make_ratings(60, 80, density=0.2, random_state=0)
    assert np.unique(rating).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert np.bincount(user, minlength=60).min() >= 4
    assert np.unique(user * 80 + item).size == user.size
