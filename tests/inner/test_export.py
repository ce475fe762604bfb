"""Exports: the check of the order against its definition, and the arithmetic of engines."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from export_readers import sum_of_products
from pairrank.export.exporting import check_order
from pairrank.export.formats import DOUBLE, MIXED, SINGLE

SCORES = st.integers(-3, 3).map(float)


def changed_pairs(expected, computed, qid):
    """Return each query with its changed pairs, and the largest difference of one, by pairs."""
    found = {}
    for query in dict.fromkeys(qid):
        rows = [row for row, each in enumerate(qid) if each == query]
        pairs = [
            pair
            for pair in itertools.permutations(rows, 2)
            if expected[pair[0]] < expected[pair[1]]
        ]
        lost = [(low, high) for low, high in pairs if not computed[low] < computed[high]]
        if lost:
            largest = max(expected[high] - expected[low] for low, high in lost)
            found[query] = (len(lost), largest)
    return found


@given(st.lists(st.tuples(SCORES, SCORES, st.sampled_from("abc")), min_size=1, max_size=25))
def test_changes_are_those_of_the_definition(rows):
    expected, computed, qid = map(list, zip(*rows, strict=True))
    check = check_order(np.array(expected), np.array(computed), np.array(qid))
    wanted = changed_pairs(expected, computed, qid)
    assert set(check.changed_queries) == set(wanted)
    assert check.n_changed == sum(n_lost for n_lost, _ in wanted.values())
    assert check.largest_difference == max((largest for _, largest in wanted.values()), default=0.0)
    assert (check.n_rows, check.n_queries) == (len(rows), len(set(qid)))


@pytest.mark.parametrize("arithmetic", [SINGLE, MIXED, DOUBLE])
def test_scores_are_rounded_at_every_step(arithmetic):
    """The first term is added to 0, and every operation has its own rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 7)) * 10.0 ** rng.integers(-6, 7, (500, 7))
    X[rng.random(X.shape) < 0.3] = 0
    weights, offset = rng.normal(size=7), 0.3
    wanted = sum_of_products(weights, X, arithmetic.features, arithmetic.sums)
    if arithmetic.adds_offset:
        wanted = wanted.astype(arithmetic.sums) + arithmetic.sums(offset)
    for form in (np.asarray, np.asfortranarray, sparse.csr_array):
        np.testing.assert_array_equal(arithmetic.scores(form(X), weights, offset), wanted)
