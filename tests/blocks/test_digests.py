"""Digests of blocks: the sums by their definition, and what changes them."""

from __future__ import annotations

import zlib

import numpy as np
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


def test_shape_and_format_change_the_digest():
    X = np.eye(6)
    assert len({digest_of(X), digest_of(X.reshape(4, 9)), digest_of(sparse.csr_array(X))}) == 3
