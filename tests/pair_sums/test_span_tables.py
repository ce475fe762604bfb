"""The double series of sigmoidal functions over one interval are within the error asked for."""

import numpy as np
import pytest

from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.compiled.spans import PIECE, STEP, VECTOR
from pairrank.pair_sums.plan import divide_queries
from pairrank.pair_sums.profiles import COST, CURVATURE, SIGMOID
from pairrank.pair_sums.span_tables import LEAST, MOST_TERMS, span_tables
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric

PROFILES = {kind: (SIGMOID[kind], COST[kind], CURVATURE[kind]) for kind in (LOGISTIC, PROBIT)}


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("eps", [1e-2, 1e-5, 1e-9, 1e-13])
def test_a_series_over_one_interval_is_within_eps(kind, eps):
    """At every radius that has a table, for the sigmoid, the cost and its curvature."""
    known = span_tables(PROFILES[kind], eps)
    u = np.cos(np.linspace(0.0, np.pi, 41))
    for t, degree in enumerate(known.degrees):
        radius = 2.0 ** (0.5 * (LEAST + t))
        terms = np.polynomial.chebyshev.chebvander(u, degree - 1)
        d = radius * np.subtract.outer(u, u)
        for profile, table in zip(PROFILES[kind], known.tables, strict=True):
            found = terms @ table[t, :degree, :degree].T @ terms.T
            assert np.abs(found - profile.function(d)).max() <= eps + 1e-14 * (1 + radius)
    assert radius >= 2.8


def test_wider_intervals_and_smaller_errors_take_more_terms():
    loose, tight = (span_tables(PROFILES[LOGISTIC], eps).degrees for eps in (1e-3, 1e-10))
    assert (np.diff(tight) >= 0).all()
    assert (tight > loose[: tight.size]).all()
    assert tight.size < loose.size
    assert tight.max() <= MOST_TERMS


def test_degrees_fill_whole_steps_of_the_compiled_series():
    degrees = span_tables(PROFILES[PROBIT], 1e-6).degrees
    assert (degrees % STEP == 0).all()
    assert PIECE % VECTOR == MOST_TERMS % STEP == 0


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
def test_queries_of_a_hundred_rows_are_summed_in_one_interval(kind):
    generator = np.random.default_rng(0)
    levels = Levels.build(generator.integers(0, 5, 2000), np.arange(2000) // 100)
    assert divide_queries(levels, kind, "auto")["spans"].size == 20
