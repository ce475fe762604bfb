"""Displays: what is drawn is what was measured, and matplotlib stays optional."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import (
    ConvexHullRanker,
    IterationCurveDisplay,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    RegularizationPathDisplay,
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


def test_a_fitted_ranker_shows_its_own_curve(rows):
    train, held = rows
    ranker = RankRLS(solver="cg").fit(**train, **held)
    display = IterationCurveDisplay.from_estimator(ranker)
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_ydata(), 1 - ranker.validation_scores_)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(ranker.n_iter_ + 1))
    best = display.ax_.lines[1]
    assert best.get_xdata()[0] == np.argmax(ranker.validation_scores_)
    assert display.ax_.get_xlabel() == "iteration"
    assert display.ax_.get_legend() is None
    assert display.figure_ is display.ax_.figure


def test_curves_of_several_rankers_share_axes_and_a_legend(rows):
    train, held = rows
    alphas = [2.0**-10, 2.0, 2.0**10]
    _, ax = pyplot.subplots()
    early = RankRLS(regularization="iteration").fit(**train, **held)
    IterationCurveDisplay.from_estimator(early, ax=ax)
    for alpha in alphas:
        IterationCurveDisplay.from_estimator(
            RankRLS(alpha, solver="cg").fit(**train, **held), ax=ax
        )
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["no penalty", "alpha = $2^{-10}$", "alpha = 2", "alpha = $2^{10}$"]


def test_it_draws_where_and_how_it_is_told(rows):
    train, held = rows
    ranker = RankRLS(regularization="iteration").fit(**train, **held)
    figure, ax = pyplot.subplots()
    display = IterationCurveDisplay.from_estimator(
        ranker, ax=ax, mark_best=False, linestyle="--", label="mine"
    )
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.labels == ["no penalty"]
    assert len(ax.lines) == 1
    assert ax.lines[0].get_linestyle() == "--"
    assert ax.lines[0].get_label() == "mine"
    assert display.plot() is display
    assert display.ax_ is not ax


def test_a_pipeline_shows_the_curve_of_its_ranker():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    model = make_pipeline(StandardScaler(), RankRLS(regularization="hybrid")).fit(X, y)
    display = IterationCurveDisplay.from_estimator(model)
    assert display.curves[0].size == model[-1].n_iter_ + 1


def test_what_cannot_be_drawn_is_said(rows):
    train, _ = rows
    with pytest.raises(NotFittedError):
        IterationCurveDisplay.from_estimator(RankRLS())
    with pytest.raises(PairrankError, match="no validation scores"):
        IterationCurveDisplay.from_estimator(RankRLS().fit(**train))
    with pytest.raises(PairrankError, match="got 1 curves, 2 labels"):
        IterationCurveDisplay([[0.5]], ["a", "b"])


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'pairrank\[plot\]'"):
        IterationCurveDisplay([[0.5, 0.4]], ["a"]).plot()


def thirds(y):
    """Labels 0 to 2 by the order within each query of ten rows."""
    return y.reshape(-1, 10).argsort(axis=1).argsort(axis=1).ravel() // 4


@pytest.mark.parametrize(
    ("ranker", "name"),
    [
        (RankSVM(), "C"),
        (RankNCG(), "alpha"),
        (ConvexHullRanker(), "nu"),
    ],
    ids=str,
)
def test_every_ranker_shows_its_strength(rows, ranker, name):
    train, held = rows
    train, held = {**train, "y": thirds(train["y"])}, {**held, "y_val": thirds(held["y_val"])}
    fitted = ranker.set_params(**{name: 0.25}).fit(**train, **held)
    display = IterationCurveDisplay.from_estimator(fitted, draw=False)
    assert display.labels == [f"{name} = $2^{{-2}}$"]
    np.testing.assert_array_equal(display.curves[0], 1 - fitted.validation_scores_)


def test_another_metric_is_drawn_as_it_is_and_its_best_is_the_highest(rows):
    train, held = rows
    ranker = RankSVM(validation_metric="kendall_tau").fit(**train, **held)
    display = IterationCurveDisplay.from_estimator(ranker)
    np.testing.assert_array_equal(display.curves[0], ranker.validation_scores_)
    assert display.ax_.get_ylabel() == "kendall_tau on the validation rows"
    best = display.ax_.lines[1]
    assert best.get_xdata()[0] == np.nanargmax(ranker.validation_scores_)


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
    assert RegularizationPathDisplay.from_path(bare, weights=True, draw=False).best is None
    with pytest.raises(PairrankError, match=r"no validation scores.*weights=True"):
        RegularizationPathDisplay.from_path(bare)
    with pytest.raises(PairrankError, match="a RankSVM tries no values"):
        RegularizationPathDisplay.from_estimator(RankSVM().fit(**train))
    with pytest.raises(NotFittedError):
        RegularizationPathDisplay.from_estimator(RankSVMCV())
