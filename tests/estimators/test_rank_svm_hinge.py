"""RankSVM with the hinge: the optimum of all pairs, the gap, and what else its users meet."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pairrank import RankSVM
from pairrank.objective import problem
from pairrank.pair_sums import bind

pytestmark = pytest.mark.numeric


def hinge(C=1.0, **options):
    return RankSVM(C, loss="hinge", **options)


@pytest.fixture(scope="module")
def many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 8))
    return X, np.digitize(X[:, 0] + rng.normal(size=30_000), [-1, 0.0, 1])


def test_an_interrupt_within_the_few_is_the_fit_s(many_rows, monkeypatch):
    X, y = many_rows
    calls = []

    def bind_interrupted(loss, preferences, **options):
        found = bind(loss, preferences, **options)
        if preferences.n_rows < 30_000:

            def interrupt(scores):
                calls.append(scores)
                raise KeyboardInterrupt

            found.at = interrupt
        return found

    monkeypatch.setattr(problem, "bind", bind_interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fitted = hinge().fit(X, y)
    assert len(calls) == 1
    assert fitted.status_ == "interrupted"
    assert fitted.objective_ == pytest.approx(30_000)
