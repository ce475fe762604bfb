"""discretize: bins of equal count and of equal width."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import datasets
from pairrank.datasets import discretize
from pairrank.exceptions import PairrankError


def test_equal_counts_never_split_ties():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 30, 1000) / 7
    labels = discretize(y, 5)
    assert labels.dtype == np.int64
    for value in np.unique(y):
        assert len(set(labels[y == value].tolist())) == 1
    order = np.argsort(y, kind="stable")
    assert (np.diff(labels[order]) >= 0).all()
    assert np.abs(np.bincount(labels, minlength=5) - 200).max() <= 40
    assert np.bincount(discretize(rng.random(1000), 8)).tolist() == [125] * 8


def test_equal_widths_close_bins_on_the_right():
    assert discretize([0.0, 1.0, 1.1, 2.0, 4.0], 4, by="width").tolist() == [0, 0, 1, 1, 3]
    assert discretize([2.0, 2.0], 3, by="width").tolist() == [0, 0]
    huge = [-1e308, -0.6e308, 0.1e308, 1e308, 0.6e308]
    assert discretize(huge, 4, by="width").tolist() == [0, 0, 2, 3, 3]


@pytest.mark.parametrize(
    ("y", "n_bins", "by", "message"),
    [
        ([], 2, "count", "shape"),
        ([[1.0]], 2, "count", "shape"),
        ([1.0, np.nan], 2, "count", r"y\[1\] is nan"),
        ([1.0], 1, "count", "n_bins must be at least 2"),
        ([1.0], 2, "size", "'count' or 'width'"),
    ],
)
def test_targets_that_cannot_be_cut_are_refused(y, n_bins, by, message):
    with pytest.raises(PairrankError, match=message):
        discretize(y, n_bins, by=by)


def test_the_face_names_what_it_offers():
    for name in ("discretize", "make_queries", "make_ratings", "make_utility"):
        assert callable(getattr(datasets, name))
