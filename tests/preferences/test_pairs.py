"""Pairs: comparisons as a target that cross-validation can split."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import Pairs
from pairrank.preferences import draw_sample

pytestmark = pytest.mark.numeric


@pytest.fixture
def pairs():
    return Pairs([2, 0, 3, 4], [0, 1, 1, 2], weight=[1, 2, 3, 4], magnitude=[1, 0, 1, 1])


def test_a_sample_of_comparisons_weighs_as_much_as_all():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 5000, (2, 20_000))
    pairs = Pairs(i[i != j], j[i != j], rng.random((i != j).sum()), n_rows=5000)
    rows, sample = draw_sample(pairs.bound(5000, reduction="rows"), 300, rng)
    assert sample.n_pairs == 300
    assert sample.n_rows == rows.size
    assert {tuple(pair) for pair in rows[np.column_stack((sample.i, sample.j))]} <= set(
        zip(pairs.i, pairs.j, strict=True)
    )
    assert sample.total_weight == pytest.approx(5000)
