"""Exports: the check of the order against its definition, and the arithmetic of engines."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from export_readers import READERS, UNITS, linear_model, rounding_bound
from pairrank import RankRLS, RankSVM
from pairrank.datasets import make_queries
from pairrank.export import export
from pairrank.export.exporting import check_order
from pairrank.export.formats import DOUBLE, FORMATS, MIXED, SINGLE

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
    X = rng.normal(size=(500, 7)) * 10.0 ** rng.integers(-6, 7, (500, 7))
    X[rng.random(X.shape) < 0.3] = 0
    weights, offset = rng.normal(size=7), 0.3
    computed = arithmetic.scores(X, weights, offset)
    for row in (0, 1, 499):
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


DATA = make_queries(8, 25, 6, random_state=0)
X, HELD = DATA.X[:100] * [1, 10, 0.1, 1, 3, 1] + [0, 5, -1, 2, 0, 7], DATA.X[100:] * 1.5 + 1
Y, QID = DATA.y[:100], DATA.qid[:100]
MODELS = {
    "RankSVM": RankSVM(),
    "scaled twice": make_pipeline(MinMaxScaler((-1, 3)), StandardScaler(), RankRLS()),
}


def test_every_format_has_a_reader():
    assert FORMATS.keys() == READERS.keys() == UNITS.keys()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("format", [name for name in FORMATS if name != "onnx"])
def test_the_check_computes_what_a_reader_computes(name, format):
    given = {"qid": QID} if name == "RankSVM" else {}
    fitted, file = MODELS[name].fit(X, Y, **given), io.BytesIO()
    export(fitted, file, format)
    found = READERS[format](file.getvalue(), [f"f{number}" for number in range(1, 7)], HELD)
    linear = linear_model(fitted)
    computed = FORMATS[format].arithmetic.scores(HELD, linear.weights, linear.offset)
    exact = format in ("elasticsearch", "opensearch", "solr", "ranklib")
    bound = 0 if exact else rounding_bound(format, linear.weights, HELD)
    np.testing.assert_allclose(found, computed, rtol=0, atol=bound)
