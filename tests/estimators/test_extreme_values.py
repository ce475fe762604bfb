"""Labels and features at the ends of float64, and singular systems: refused, or answered."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.solvers.direct import dual_inverse, primal_inverse

pytestmark = pytest.mark.numeric


def test_a_pivot_is_singular_by_its_size_and_not_by_its_sign():
    unit = np.finfo(np.float64).eps
    for pivot, is_solved in ((unit, False), (-unit, False), (0.0, False), (64 * unit, True)):
        matrix = np.array([[1.0, 1.0], [1.0, 1.0 + pivot]])
        assert (primal_inverse(matrix, 1e-300) is not None) == is_solved
    assert primal_inverse(np.array([[1.0, 1.0], [1.0, 1.0 + 64 * unit]]), 1e-300, 10_000) is None
    assert dual_inverse(np.eye(2), 0.5 * unit) is None
    assert dual_inverse(np.eye(2), 2 * unit) is not None
