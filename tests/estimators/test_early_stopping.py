"""Every ranker that iterates stops early by any metric and keeps its best iterate."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import RankRLS
from pairrank.metrics._names import METRICS, metric_named


@pytest.fixture(scope="module")
def noisy():
    """Rows with so many features that the optimum overfits, and rows to validate on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 60)) * np.logspace(0, -1, 60)
    y = np.digitize(X[:, 0] - X[:, 1] + 1.5 * rng.normal(size=360), [-1.0, 0.5, 2.0]).astype(float)
    qid = np.repeat(np.arange(36), 10)
    train = {"X": X[:200], "y": y[:200], "qid": qid[:200]}
    return train, {"X_val": X[200:], "y_val": y[200:], "qid_val": qid[200:]}


@pytest.mark.parametrize(
    "name", [f"{name}@5" if each.needs_k else name for name, each in METRICS.items()]
)
def test_every_metric_judges(noisy, name):
    train, held = noisy
    fitted = RankRLS(validation_metric=name, solver="cg").fit(**train, **held)
    sign = 1.0 if metric_named(name).greater_is_better else -1.0
    assert np.isfinite(fitted.validation_scores_[1:]).all()
    assert sign * fitted.validation_scores_[-1] >= 0 or name == "kendall_tau"
