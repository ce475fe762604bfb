"""Preferences inside: layouts, orders, samples, bands and codes of labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import Pairs
from pairrank.preferences import Levels, draw_sample, merge_levels
from pairrank.preferences._codes import level_codes


def drawn_rows():
    row = st.tuples(
        st.sampled_from([0.0, 1.0, 2.0, 3.0]),
        st.sampled_from("abc"),
        st.sampled_from([0, 0.5, 1, 3]),
    )
    return st.lists(row, min_size=1, max_size=25)


@given(rows=drawn_rows(), n_bands=st.integers(1, 3))
def test_bands_merge_neighbouring_levels_and_weigh_as_much(rows, n_bands):
    y, qid, weight = (np.array(column) for column in zip(*rows, strict=True))
    levels = Levels.build(y, qid, sample_weight=weight.astype(float) + 1)
    banded = merge_levels(levels, n_bands)
    level_of_row = np.repeat(levels.group_level, np.diff(levels.group_start))
    band_of_row = np.repeat(banded.group_level, np.diff(banded.group_start))
    bands = {level: set(band_of_row[level_of_row == level]) for level in set(level_of_row)}
    assert all(len(found) == 1 for found in bands.values())
    ordered = [min(bands[level]) for level in sorted(bands)]
    assert ordered == sorted(ordered)
    assert max(ordered) < n_bands
    query = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_start))
    again = Levels.build(band_of_row, query, sample_weight=levels.weight)
    assert banded.n_pairs == again.n_pairs
    if banded.n_pairs:
        assert banded.pair_scale * banded.pair_weight == pytest.approx(levels.pair_weight)


@pytest.mark.parametrize(
    "y",
    [
        np.array([127, -128, 0, 127], np.int8),
        np.array([30_000, -30_000] * 40_000, np.int16),
        np.array([2, 255, 2], np.uint8),
        np.array([True, True]),
        np.array([True, False]),
        np.array([-3.0, 1e3, 0.0], np.float32),
        np.append(np.zeros(20_000), 0.5),
        np.append(np.zeros(20_000), 3.0),
        np.append(np.arange(20_000) % 2, 3).astype(np.int16),
    ],
    ids=lambda y: str(y.dtype) if y.any() != y.all() else f"{y.dtype}, all alike",
)
def test_labels_of_any_dtype_have_the_codes_of_their_order(y):
    """A label may occur in the last of many rows only, and may alone be no whole number."""
    labels, codes = level_codes(y)
    wanted, inverse = np.unique(y.astype(np.float64), return_inverse=True)
    np.testing.assert_array_equal(labels, wanted)
    np.testing.assert_array_equal(codes, inverse)


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
