"""Codes of values: the compiled loop against numpy, and bins against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank.compiled.weak_rankings import write_codes
from pairrank.rank_boost.binning import encode

pytestmark = pytest.mark.numeric


@given(
    cuts=st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True),
    values=st.lists(st.floats(allow_infinity=False)),
    dtype=st.sampled_from((np.float32, np.float64)),
)
def test_codes_count_the_thresholds_below_a_value(cuts, values, dtype):
    cuts = np.sort(np.array(cuts, dtype=np.float64))
    with np.errstate(over="ignore"):
        values = np.array([*values, *cuts, *np.nextafter(cuts, np.inf)]).astype(dtype)
    values = values[~np.isinf(values)]
    found = np.empty(values.size, dtype=np.uint32)
    write_codes(values, cuts, 999, found)
    wanted = np.searchsorted(cuts, values.astype(np.float64))
    np.testing.assert_array_equal(found, np.where(np.isnan(values), 999, wanted))


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 60),
    n_values=st.integers(1, 80),
    n_bins=st.integers(2, 12),
    gaps=st.booleans(),
)
def test_weights_and_sparse_rows_give_the_bins_of_repeated_rows(
    seed, n_rows, n_values, n_bins, gaps
):
    generator = np.random.default_rng(seed)
    X = generator.integers(-2, n_values, (n_rows, 2)).astype(np.float64)
    if gaps:
        X[generator.random(X.shape) < 0.3] = np.nan
    weight = generator.integers(0, 4, n_rows).astype(np.float64)
    repeated = X[np.repeat(np.arange(n_rows), weight.astype(int))]
    plain = encode(repeated, None, n_bins)
    for form in (np.asarray, sparse.csr_array):
        codes = encode(form(X), weight, n_bins)
        for feature in range(2):
            parts = (
                each.cuts[each.cut_start[feature] : each.cut_start[feature + 1]]
                for each in (codes, plain)
            )
            if np.isnan(X[:, feature]).any() == np.isnan(repeated[:, feature]).any():
                np.testing.assert_array_equal(*parts)
            counted, n = weight > 0, codes.n_values[feature]
            assert n <= n_bins
            of_rows = codes.of_feature(feature)[counted]
            np.testing.assert_array_equal(of_rows == n, np.isnan(X[counted, feature]))


def test_bins_are_quantiles():
    X = np.random.default_rng(0).permutation(1000.0 * np.arange(100) ** 2)[:, np.newaxis]
    codes = encode(X, None, 10)
    assert np.bincount(codes.of_feature(0)).tolist() == [10] * 10
    ordered = np.sort(X[:, 0])
    np.testing.assert_array_equal(codes.cuts, (ordered[9:99:10] + ordered[10:100:10]) / 2)
