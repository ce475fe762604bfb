"""Digests of blocks: what changes them, and what does not."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pairrank.blocks.checking import digest_of


def test_any_value_the_shape_and_the_format_change_the_digest():
    X = np.eye(6)
    found = [digest_of(X), digest_of(X.reshape(4, 9)), digest_of(sparse.csr_array(X))]
    for place in np.ndindex(X.shape):
        changed = X.copy()
        changed[place] += 1e-9
        found.append(digest_of(changed))
    assert len(set(found)) == len(found)


def test_the_same_rows_have_the_same_digest():
    X = np.arange(12.0).reshape(3, 4)
    assert digest_of(X) == digest_of(X.copy()) == digest_of(np.repeat(X, 2, axis=0)[::2])
