"""Checksums of numbers, about as fast as memory is read."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled

STRIP = 1024
"""So many words are summed before their sum is mixed into the checksum."""
KEYS = np.random.PCG64(15).random_raw(STRIP).astype(np.uint32)
"""A random number for each word of a strip."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@compiled
def checksum(words):
    """Return a checksum of 32-bit words, uint64, the same on every processor; O(words).

    A strip is cut in halves, and the sum over i of (a_i + key_i) (b_i + key_i') is taken modulo
    2^64, its first factors modulo 2^32. Other words give another sum with probability 1 - 2^-32
    over the keys (Black, Halevi, Krawczyk, Krovetz & Rogaway 1999, NH). Each sum is mixed into the
    checksum by steps that can be undone, so that a strip whose sum differs is never lost.
    """
    found = np.uint64(len(words))
    for start in range(0, len(words), STRIP):
        strip = words[start : start + STRIP]
        half = len(strip) // 2
        left, right = strip[:half], strip[half : 2 * half]
        first, second = KEYS[:half], KEYS[STRIP - half :]
        total = np.uint64(0)
        for i in range(half):
            a, b = np.uint32(left[i] + first[i]), np.uint32(right[i] + second[i])
            total += np.uint64(a) * np.uint64(b)
        if len(strip) > 2 * half:
            total += np.uint64(strip[2 * half]) * _ODD
        found = (found ^ total) * _ODD
        found ^= found >> _HALF
    return found
