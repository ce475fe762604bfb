"""Made data: bins, the statistics that are promised, and the same rows for the same seed."""

import numpy as np
import pytest

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


def test_documents_have_the_statistics_that_are_promised(monkeypatch):
    monkeypatch.setattr(made, "_BLOCK_ROWS", 1500)
    data = made.make_documents(4000, random_state=0)
    assert data.X.nnz / np.prod(data.X.shape) == pytest.approx(0.0016, rel=0.05)
    assert data.y.mean() == pytest.approx(0.47, abs=0.03)
    assert (data.y != data.utility).mean() == pytest.approx(0.015, abs=0.006)
    assert np.allclose(data.X.multiply(data.X).sum(axis=1), 1.0)
