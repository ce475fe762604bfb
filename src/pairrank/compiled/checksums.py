"""Checksums of numbers, about as fast as memory is read."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled

LANES = 64
"""The words that are summed side by side, so that additions do not wait for each other."""


@compiled
def fletcher(words):
    """Return sums of 64-bit words, and sums of their running sums, (2, LANES) uint64.

    Lane k has the words k, k + LANES, ... The second sums depend on the order of the words. Sums
    are modulo 2^64, so they are the same on every processor (Fletcher 1982). O(words)
    """
    sums = np.zeros((2, LANES), np.uint64)
    once, again = sums[0], sums[1]
    whole = len(words) // LANES * LANES
    for start in range(0, whole, LANES):
        here = words[start : start + LANES]
        for k in range(LANES):
            once[k] += here[k]
            again[k] += once[k]
    rest = words[whole:]
    for k in range(len(rest)):
        once[k] += rest[k]
        again[k] += once[k]
    return sums
