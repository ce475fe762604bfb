"""fast_erfc_sum: every method against the sum pair by pair, its guarantee, its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from pairrank import fast_erfc_sum
from pairrank.exceptions import PairrankError

pytestmark = pytest.mark.numeric


def test_normal_distribution_functions_add_up_as_the_docstring_says():
    generator = np.random.default_rng(6)
    m, t, q, s = generator.normal(size=60), generator.normal(size=40), generator.random(60), 0.3
    wanted = (q * ndtr((t[:, np.newaxis] - m) / s)).sum(axis=1)
    found = fast_erfc_sum(-m / (s * 2**0.5), -t / (s * 2**0.5), q, eps=1e-10) / 2
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * q.sum())


def test_few_pairs_are_summed_directly_unless_asked_otherwise():
    generator = np.random.default_rng(5)
    sources, targets = generator.normal(size=30), generator.normal(size=50)
    chosen, pairs = (fast_erfc_sum(sources, targets, method=m) for m in ("auto", "direct"))
    assert chosen.tolist() == pairs.tolist()
    sources = np.append(sources, 0.5)
    chosen, boxes = (fast_erfc_sum(sources, targets, method=m) for m in ("auto", "boxes"))
    assert chosen.tolist() == boxes.tolist()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: fast_erfc_sum([0.0, np.nan], [0.0]), "sources contains NaN in row 1"),
        (lambda: fast_erfc_sum([0.0], [1.0, -np.inf]), "targets contains infinity .* row 1"),
        (lambda: fast_erfc_sum([0.0], [0.0], [np.inf]), "weights contains infinity .* row 0"),
        (lambda: fast_erfc_sum([0.0], [0.0], [1.0, 2.0]), "weights has 2 entries for 1 rows"),
        (lambda: fast_erfc_sum([[0.0, 1.0]], [0.0]), r"sources must have one dimension.*\(1, 2\)"),
        (lambda: fast_erfc_sum([0.0], 0.0), r"targets must have one dimension"),
        (lambda: fast_erfc_sum([1j], [0.0]), "sources holds complex numbers"),
        (lambda: fast_erfc_sum(["a"], [0.0]), "sources must hold numbers, got text"),
        (
            lambda: fast_erfc_sum([None], [0.0]),
            "sources must hold numbers, got a missing value in row 0",
        ),
        (lambda: fast_erfc_sum([0.0, 1.0], [0.0], [1e308, 1e308]), "scale them down"),
        (lambda: fast_erfc_sum([0.0], [0.0], eps=0.0), "eps must be greater than 0 .got 0.0"),
        (lambda: fast_erfc_sum([0.0], [0.0], eps=1), "eps must be below 1, got 1"),
        (lambda: fast_erfc_sum([0.0], [0.0], eps=np.nan), "got nan"),
        (lambda: fast_erfc_sum([0.0], [0.0], eps="tiny"), "got 'tiny'"),
        (lambda: fast_erfc_sum([0.0], [0.0], method="exact"), "no method 'exact'.*'direct'"),
        (lambda: fast_erfc_sum([0.0], [0.0], method=None), "no method None"),
    ],
)
def test_bad_input_is_refused(call, says):
    with pytest.raises(PairrankError, match=says):
        call()
