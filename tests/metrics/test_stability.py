"""The stability bound: its formula, its limits, and rows drawn many times that it holds for."""

from __future__ import annotations

import numpy as np
import pytest

import pairrank
from pairrank import stability_bound

pytestmark = pytest.mark.numeric


def test_the_bound_falls_with_the_rows_and_tells_where_it_is_vacuous():
    many, few = (stability_bound(0.1, 1.0, 1.0, m, 1) for m in (10**6, 10))
    assert not many.is_vacuous
    assert few.is_vacuous
    growth = (
        stability_bound(0.1, 1.0, 1.0, 10**6).excess / stability_bound(0.1, 1.0, 1.0, 10**8).excess
    )
    assert growth == pytest.approx(10, rel=0.01)
    assert stability_bound(0.0, 1.0, 1.0, 100).beta == 0.0
    assert stability_bound(1.0, 1.0, 1e200, 100).excess == np.inf
    assert pairrank.metrics.stability_bound is stability_bound
