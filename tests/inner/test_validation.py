"""Parameters and arrays at the door: what passes, and the sentence for what does not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from pairrank import Pairs, RankSVM, RankSVMCV, regularization_path
from pairrank._validation import (
    check_choice,
    check_features,
    check_labels,
    check_number,
    check_weights,
)
from pairrank.exceptions import PairrankError
from pairrank.metrics import pairwise_accuracy

HUGE = 10**400
"""A whole number beyond any float."""

X, Y = np.arange(6.0).reshape(3, 2), [0, 1, 2]


@pytest.mark.parametrize("value", ["rows", np.str_("rows")])
def test_a_choice_goes_by_equality(value):
    check_choice(value, "reduction", ("auto", "rows", "query", "sum"))


@pytest.mark.parametrize("value", ["row", 0, False, np.array(["rows", "query"]), ["rows"], HUGE])
def test_what_is_no_choice_is_named(value):
    with pytest.raises(PairrankError, match="reduction must be one of 'auto', 'rows'"):
        check_choice(value, "reduction", ("auto", "rows", "query", "sum"))


@pytest.mark.parametrize("value", [1, 0.5, np.float32(2), np.int64(3), Fraction(1, 3)])
def test_a_number_may_be_of_any_kind(value):
    check_number(value, "C")


@pytest.mark.parametrize(
    "value",
    [0, -1, True, "1", None, np.nan, np.inf, HUGE, -HUGE, 10**5000, Fraction(HUGE)],
    ids=type,
)
def test_a_parameter_that_is_no_finite_number_is_refused(value):
    with pytest.raises(PairrankError, match=r"C must be (a finite number|greater than 0) .got"):
        check_number(value, "C")


def test_a_number_beyond_every_float_is_refused_wherever_it_stands():
    with pytest.raises(PairrankError, match=r"C must be .* .got a number beyond the largest float"):
        RankSVM(C=HUGE).fit(X, Y)
    with pytest.raises(PairrankError, match="max_iter must be a whole number"):
        RankSVM(max_iter=HUGE).fit(X, Y)
    for call in (
        lambda: check_labels([0, HUGE]),
        lambda: check_weights([1, HUGE], 2),
        lambda: check_weights(HUGE, 2),
        lambda: Pairs([0], [1], weight=[HUGE]),
        lambda: pairwise_accuracy([0, 1], [0, HUGE]),
        lambda: regularization_path(RankSVM(), X, Y, values=[HUGE]),
        lambda: RankSVMCV(Cs=[1, HUGE]).fit(X, Y),
    ):
        with pytest.raises(PairrankError, match="holds a number beyond"):
            call()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_whole_numbers_become_the_same_floats(dtype):
    numbers = np.arange(100).astype(dtype)[::3]
    found = check_labels(numbers)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, numbers.astype(np.float64))


@pytest.mark.parametrize(
    ("part", "place", "value", "message"),
    [
        ("indices", 7, 4, "indices must be < 4"),
        ("indices", 0, -1, "indices must be >= 0"),
        ("indptr", 1, 9, "non-decreasing"),
    ],
)
def test_a_sparse_matrix_that_points_outside_is_refused(part, place, value, message):
    matrix = sparse.csr_array(np.ones((3, 4)))
    check_features(RankSVM(), matrix, reset=True)
    getattr(matrix, part)[place] = value
    with pytest.raises(PairrankError, match=f"X is a damaged sparse matrix: .*{message}"):
        check_features(RankSVM(), matrix, reset=True)


@pytest.mark.filterwarnings("ignore:ind.* array has non-integer dtype")
def test_a_sparse_matrix_with_unsigned_indices_that_points_outside_is_refused():
    matrix = sparse.csr_array(np.ones((3, 4)))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.uint8), matrix.indptr.astype(np.uint8)
    check_features(RankSVM(), matrix, reset=True)
    matrix.indptr[1] = 9
    with pytest.raises(PairrankError, match=r"damaged sparse matrix: .*non-decreasing"):
        check_features(RankSVM(), matrix, reset=True)


def test_a_sparse_matrix_in_another_byte_order_becomes_native():
    matrix = sparse.csr_array(np.ones((3, 4)))
    for name in ("indices", "indptr"):
        array = getattr(matrix, name)
        setattr(matrix, name, array.astype(array.dtype.newbyteorder("S")))
    found = check_features(RankSVM(), matrix, reset=True)
    assert all(array.dtype.isnative for array in (found.data, found.indices, found.indptr))
