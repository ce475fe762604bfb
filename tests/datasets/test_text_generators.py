"""Generators of texts: statistics, determinism, errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pairrank import datasets
from pairrank.datasets import make_documents, make_parses
from pairrank.exceptions import PairrankError


def test_documents_have_the_statistics_that_are_promised():
    data = make_documents(4000, random_state=0)
    assert data.X.nnz / np.prod(data.X.shape) == pytest.approx(0.0016, rel=0.05)
    assert data.y.mean() == pytest.approx(0.47, abs=0.03)
    assert (data.y != data.utility).mean() == pytest.approx(0.015, abs=0.006)
    assert np.allclose(data.X.multiply(data.X).sum(axis=1), 1.0)
    frequency = np.sort(np.bincount(data.X.indices))[::-1]
    assert frequency[0] > 50 * frequency[1000] > 0


def test_documents_can_be_told_apart_by_their_words():
    data = make_documents(3000, 5000, random_state=1)
    centre = data.X[:2000].T @ (data.utility[:2000] - data.utility[:2000].mean())
    scores = data.X[2000:] @ centre
    upper, lower = (scores[data.utility[2000:] == one] for one in (1.0, 0.0))
    assert (upper[:, None] > lower).mean() > 0.95


@pytest.mark.parametrize("make", [make_documents, make_parses])
def test_text_is_a_function_of_its_seed(make):
    first, second = (make(30, 400, random_state=7) for _ in range(2))
    other = make(30, 400, random_state=8)
    assert (first.X != second.X).nnz == 0
    assert (first.y == second.y).all()
    assert first.X.shape != other.X.shape or (first.X != other.X).nnz
    assert sparse.issparse(first.X)
    assert first.X.has_sorted_indices


def test_blocks_of_documents_are_one_matrix(monkeypatch):
    monkeypatch.setattr(datasets.text_generators, "_BLOCK_WORDS", 500)
    data = make_documents(40, 300, dtype=np.float32, random_state=0)
    assert data.X.shape == (40, 300)
    assert data.X.dtype == np.float32
    assert np.allclose(data.X.multiply(data.X).sum(axis=1), 1.0, atol=1e-5)


def test_parses_are_queries_of_real_utilities():
    data = make_parses(300, random_state=0)
    assert data.X.nnz / np.prod(data.X.shape) == pytest.approx(0.0027, rel=0.05)
    sizes = np.bincount(data.qid)
    assert sizes.size == 300
    assert sizes.min() >= 2
    assert np.abs(np.bincount(data.qid, data.utility)).max() < 1e-9
    assert (data.y - data.utility).std() == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_documents, {"noise": 2.0}, "noise must be from 0 to 1"),
        (make_documents, {"words_per_row": 0.5}, "words_per_row must be at least 1"),
        (make_documents, {"n_rows": 0}, "n_rows"),
        (make_parses, {"features_per_row": 0}, "features_per_row"),
    ],
)
def test_wrong_sizes_are_refused(make, options, message):
    with pytest.raises(PairrankError, match=message):
        make(**options)
