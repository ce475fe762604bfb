"""Digests of blocks: the sums by their definition, and what changes them."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank.blocks.checking import digest_of
from pairrank.compiled.checksums import KEYS, STRIP, checksum

ODD = 0x9E3779B97F4A7C15
CRC_OF_KEYS = 2465551521


def by_definition(words):
    """Return the checksum by whole numbers without limit."""
    found = len(words)
    for start in range(0, len(words), STRIP):
        strip = [int(word) for word in words[start : start + STRIP]]
        half = len(strip) // 2
        total = 0 if len(strip) == 2 * half else strip[-1] * ODD
        for i in range(half):
            a = (strip[i] + int(KEYS[i])) % 2**32
            b = (strip[half + i] + int(KEYS[STRIP - half + i])) % 2**32
            total += a * b
        found = (found ^ total % 2**64) * ODD % 2**64
        found ^= found >> 32
    return found


@given(st.integers(0, 3 * STRIP), st.integers(0, 2**32))
def test_the_checksum_is_its_definition(n_words, seed):
    generator = np.random.default_rng(seed)
    words = generator.integers(0, 2**32, n_words, dtype=np.uint32)
    assert int(checksum(words)) == by_definition(words)


def test_the_keys_are_the_same_everywhere():
    """Processes with other versions of numpy compare digests."""
    assert zlib.crc32(KEYS.astype("<u4").tobytes()) == CRC_OF_KEYS


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(st.integers(1, 40), st.integers(1, 7), st.data())
def test_a_changed_value_changes_the_digest(dtype, n_rows, n_features, data):
    X = np.arange(n_rows * n_features, dtype=dtype).reshape(n_rows, n_features)
    row, column = data.draw(st.integers(0, n_rows - 1)), data.draw(st.integers(0, n_features - 1))
    other = X.copy()
    other[row, column] = np.nextafter(other[row, column], dtype(np.inf))
    assert digest_of(X) == digest_of(X.copy()) != digest_of(other)


@pytest.mark.parametrize("n_features", [1, 20, 64])
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_other_signs_change_the_digest(dtype, order):
    """Sums of words alone miss them: two words whose top bits change have the same sum."""
    X = np.random.default_rng(0).normal(size=(1 << 16, 8)).astype(dtype, order=order)
    digests = {digest_of(X), digest_of(-X)}
    for columns in (slice(0, 1), slice(0, 2), slice(1, None, 2)):
        other = X.copy(order)
        other[:, columns] *= -1
        digests.add(digest_of(other))
    assert len(digests) == 5


@given(st.integers(2, 400), st.integers(1, 4), st.data())
def test_two_changed_bits_change_the_digest(n_rows, n_features, data):
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    bits = data.draw(st.lists(st.integers(0, 64 * X.size - 1), min_size=2, max_size=2, unique=True))
    other = X.copy()
    for bit in bits:
        other.reshape(-1).view(np.uint64)[bit // 64] ^= np.uint64(1) << np.uint64(bit % 64)
    assert digest_of(X) != digest_of(other)
