"""Digests of blocks: the sums by their definition, and what changes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank.blocks.checking import digest_of
from pairrank.compiled.checksums import LANES, fletcher


def by_definition(words):
    """Return the sums of each lane, and of its running sums, in whole numbers without limit."""
    sums = np.zeros((2, LANES), dtype=np.uint64)
    for lane in range(LANES):
        own = [int(word) for word in words[lane::LANES]]
        sums[0, lane] = sum(own) % 2**64
        sums[1, lane] = sum(sum(own[: k + 1]) for k in range(len(own))) % 2**64
    return sums


@given(st.integers(0, 5 * LANES), st.integers(0, 2**32))
def test_fletcher_is_its_definition(n_words, seed):
    words = np.random.default_rng(seed).integers(0, 2**64, n_words, dtype=np.uint64)
    assert np.array_equal(fletcher(words), by_definition(words))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(st.integers(1, 40), st.integers(1, 7), st.data())
def test_a_changed_value_changes_the_digest(dtype, n_rows, n_features, data):
    X = np.arange(n_rows * n_features, dtype=dtype).reshape(n_rows, n_features)
    row, column = data.draw(st.integers(0, n_rows - 1)), data.draw(st.integers(0, n_features - 1))
    other = X.copy()
    other[row, column] = np.nextafter(other[row, column], dtype(np.inf))
    assert digest_of(X) == digest_of(X.copy()) != digest_of(other)


@pytest.mark.parametrize("n_features", [1, 20, LANES])
def test_an_exchange_of_rows_changes_the_digest(n_features):
    X = np.random.default_rng(0).normal(size=(300, n_features))
    order = np.arange(300)
    order[[7, 200]] = 200, 7
    assert digest_of(X) != digest_of(X[order])


def test_digests_of_rows_that_are_not_aligned_or_contiguous_are_the_same():
    X = np.random.default_rng(0).normal(size=(301, 3)).astype(np.float32)
    one_later = np.concatenate((X[:1], X)).reshape(-1)[3:].reshape(X.shape)
    wider = np.concatenate((X, X), axis=1)[:, :3]
    assert digest_of(X) == digest_of(one_later) == digest_of(wider)


def test_shape_and_format_change_the_digest():
    X = np.eye(6)
    assert len({digest_of(X), digest_of(X.reshape(4, 9)), digest_of(sparse.csr_array(X))}) == 3
