"""The check of the order: equal to its definition by pairs, and in the arithmetic of engines."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank import RankRLS, RankSVM
from pairrank.exceptions import OrderChangeWarning, PairrankError
from pairrank.export import export
from pairrank.export.arithmetic import DOUBLE, MIXED, SINGLE
from pairrank.export.order_check import check_order

SCORES = st.integers(-3, 3).map(float)


def changed_pairs(expected, computed, qid):
    """Return each query with its changed pairs, ordered pairs and largest difference, by pairs."""
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
            found[query] = (len(lost), len(pairs), largest)
    return found


@given(st.lists(st.tuples(SCORES, SCORES, st.sampled_from("abc")), min_size=1, max_size=25))
def test_changes_are_those_of_the_definition(rows):
    expected, computed, qid = map(list, zip(*rows, strict=True))
    check = check_order(np.array(expected), np.array(computed), np.array(qid))
    wanted = changed_pairs(expected, computed, qid)
    assert {each.qid: tuple(each[1:]) for each in check.changes} == wanted
    assert check.n_changed == sum(n_lost for n_lost, _, _ in wanted.values())
    assert (check.n_rows, check.n_queries) == (len(rows), len(set(qid)))
    differences = [each.largest_difference for each in check.changes]
    assert differences == sorted(differences, reverse=True)


def test_equal_scores_may_come_apart_but_not_the_reverse():
    low, high = np.array([1.0, 1.0]), np.array([1.0, 2.0])
    assert check_order(low, high, None).changes == ()
    assert check_order(high, low, None).changes == ((None, 1, 1, 1.0),)


def test_a_check_says_what_it_found():
    rows = np.arange(14.0)
    qid = np.repeat(np.arange(7), 2)
    assert str(check_order(rows, rows, qid)) == (
        "the order of all 7 pairs is kept (14 rows, 7 queries)"
    )
    text = str(check_order(rows, -rows, qid))
    assert text.startswith(
        "the order of 7 of 7 pairs changes, in 7 of 7 queries: query 0 (1 of 1 pairs, score "
        "difference up to 1), query 1 "
    )
    assert text.endswith("and 2 more")
    text = str(check_order(rows[:2], -rows[:2], None))
    assert text == "the order of 1 of 1 pairs changes (score difference up to 1)"
    text = str(check_order(rows[:2], rows[:2], None))
    assert text == "the order of all 1 pairs is kept (2 rows, 1 query)"


@pytest.mark.parametrize("arithmetic", [SINGLE, MIXED, DOUBLE])
def test_scores_are_rounded_at_every_step(arithmetic):
    """By scalars: the first term is added to 0, and every operation has its own rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 7)) * 10.0 ** rng.integers(-6, 7, (5000, 7))
    X[rng.random(X.shape) < 0.3] = 0
    weights, offset = rng.normal(size=7), 0.3
    computed = arithmetic.scores(X, weights, offset)
    for row in (0, 1, 4095, 4096, 4999):
        total = arithmetic.sums(0)
        for value, weight in zip(X[row], weights, strict=True):
            total = total + arithmetic.sums(weight) * arithmetic.sums(arithmetic.features(value))
        if arithmetic.adds_offset:
            total = total + arithmetic.sums(offset)
        assert computed[row] == float(total)
    thin = sparse.csr_array(X)
    np.testing.assert_array_equal(arithmetic.scores(thin, weights, offset), computed)
    np.testing.assert_array_equal(
        arithmetic.scores(np.asfortranarray(X), weights, offset), computed
    )


def test_rows_that_float32_cannot_tell_apart_are_named():
    X = 1e8 + np.array([[0.0], [1.0], [2.0], [0.0], [64.0]])
    qid = ["a", "a", "a", "b", "b"]
    ranker = RankRLS().fit(X, [0, 1, 2, 0, 1], qid=qid)
    with pytest.warns(OrderChangeWarning, match="'solr' is computed in float32: .* query a "):
        check = ranker.export(io.BytesIO(), "solr", check=(X, qid))
    (change,) = check.changes
    assert (change.qid, change.n_changed, change.n_pairs) == ("a", 3, 3)
    assert ranker.export(io.BytesIO(), "json", check=(X, qid)).changes == ()


def test_a_file_is_written_although_the_order_changes(tmp_path):
    X = 1e8 + np.array([[0.0], [1.0], [2.0]])
    ranker = RankRLS().fit(X, [0, 1, 2])
    with pytest.warns(OrderChangeWarning, match="3 of 3 pairs changes"):
        ranker.export(tmp_path / "m", "elasticsearch", check=(X, None))
    assert (tmp_path / "m").read_text().startswith("{")


@pytest.mark.parametrize("sparsely", [False, True])
def test_rows_beyond_float32_are_refused(sparsely, tmp_path):
    X = np.array([[0.0], [1.0], [2.0]])
    ranker, far = RankSVM().fit(X, [0, 1, 2]), np.array([[1.0], [1e300]])
    far = sparse.csr_array(far) if sparsely else far
    with pytest.raises(PairrankError, match="the score of row 1 overflows float32"):
        ranker.export(tmp_path / "m", "ranklib", check=(far, None))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("check", "complaint"),
    [
        (np.ones((2, 2)), "a tuple of two"),
        (([[1.0], [2.0]],), "a tuple of two"),
        (([[1.0, 2.0]], None), "X has 2 features, but the model 1"),
        (([[np.nan]], None), "NaN in row 0"),
        (([[1.0], [2.0]], [1]), "1 entries for 2 rows"),
    ],
)
def test_a_check_that_cannot_be_made_is_refused(check, complaint, tmp_path):
    ranker = RankSVM().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(PairrankError, match=complaint):
        export(ranker, tmp_path / "m", "csv", check=check)
    assert list(tmp_path.iterdir()) == []
