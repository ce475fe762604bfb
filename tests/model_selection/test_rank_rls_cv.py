"""RankRLSCV: what is left out in closed form equals refits, for rows, comparisons and kernels."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from pairrank.model_selection import RankRLSCV
from pairrank.model_selection.rank_rls_cv import PAPER_ALPHAS

pytestmark = pytest.mark.numeric


def test_defaults_are_the_papers_grid():
    assert tuple(2.0**power for power in range(-10, 11)) == PAPER_ALPHAS
    assert repr(clone(RankRLSCV(cv=3))) == "RankRLSCV(cv=3)"
