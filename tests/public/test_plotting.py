"""Displays: what is drawn is what was measured, and matplotlib stays optional."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from pairrank import (
    RankNCGCV,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    RegularizationPathDisplay,
    WeightsDisplay,
    regularization_path,
)
from pairrank.exceptions import PairrankError

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 40)) * np.geomspace(1, 30, 40)
    y = X[:, :3].sum(axis=1) + 3 * rng.normal(size=120)
    qid = np.repeat(np.arange(12), 10)
    train = {"X": X[:80], "y": y[:80], "qid": qid[:80]}
    return train, {"X_val": X[80:], "y_val": y[80:], "qid_val": qid[80:]}


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'pairrank\[plot\]'"):
        WeightsDisplay([0.5], ["a"]).plot()


@pytest.mark.parametrize(
    ("search", "param"),
    [
        (RankSVMCV([0.1, 1.0, 10.0], cv=3), "C"),
        (RankNCGCV([0.1, 1.0, 10.0], cv=3), "alpha"),
        (RankRLSCV([0.1, 1.0, 10.0], cv=3), "alpha"),
    ],
    ids=str,
)
def test_a_search_shows_the_mean_of_its_folds_and_the_chosen_value(rows, search, param):
    train, _ = rows
    search.fit(**train)
    display = RegularizationPathDisplay.from_estimator(search, color="k")
    scores = search.validation_scores_
    np.testing.assert_allclose(display.lines_[0].get_ydata(), scores.mean(axis=0))
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), [0.1, 1.0, 10.0])
    np.testing.assert_allclose(display.spread[0], scores.std(axis=0))
    assert display.best == getattr(search, f"{param}_")
    assert (display.ax_.get_xlabel(), display.ax_.get_xscale()) == (param, "log")
    assert len(display.ax_.collections) == 1


def test_a_path_shows_scores_or_weights(rows):
    train, held = rows
    path = regularization_path(RankSVM(), **train, **held, values=[0.1, 1.0])
    scores = RegularizationPathDisplay.from_path(path)
    np.testing.assert_array_equal(scores.lines_[0].get_ydata(), path.scores)
    weights = RegularizationPathDisplay.from_path(path, weights=True)
    np.testing.assert_array_equal([each.get_ydata() for each in weights.lines_], path.coefs.T)
    bare = regularization_path(RankSVM(), **train, values=[0.1, 1.0])
    assert RegularizationPathDisplay.from_path(bare, weights=True).best is None
    with pytest.raises(PairrankError, match=r"no validation scores.*weights=True"):
        RegularizationPathDisplay.from_path(bare)
    with pytest.raises(PairrankError, match="a RankSVM tries no values"):
        RegularizationPathDisplay.from_estimator(RankSVM().fit(**train))
    with pytest.raises(NotFittedError):
        RegularizationPathDisplay.from_estimator(RankSVMCV())
