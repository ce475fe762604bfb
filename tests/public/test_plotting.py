"""Displays: what is drawn is what was measured, and matplotlib stays optional."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import (
    BradleyTerry,
    QueryMetricDisplay,
    RankNCG,
    RankSVM,
    RatingsDisplay,
    WeightsDisplay,
    metrics,
)
from pairrank.datasets import make_queries
from pairrank.exceptions import PairrankError
from ratings_definition import arguments, make_votes

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'pairrank\[plot\]'"):
        WeightsDisplay([0.5], ["a"]).plot()


DATA = make_queries(12, 15, 6, random_state=0)
ROWS = {"X": DATA.X, "y": DATA.y, "qid": DATA.qid}


@pytest.fixture(scope="module")
def ranker():
    return RankNCG(covariance="rows").fit(**ROWS)


def test_bars_are_the_largest_weights_with_their_intervals(ranker):
    display = WeightsDisplay.from_estimator(ranker, max_weights=4)
    order = np.argsort(-abs(ranker.coef_))[:4]
    assert [bar.get_width() for bar in display.bars_] == ranker.coef_[order].tolist()
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        f"f{at + 1}" for at in order
    ]
    (segments,) = (lines.get_segments() for lines in display.bars_.errorbar.lines[2])
    reach = 1.959963984540054 * ranker.standard_errors_[order]
    np.testing.assert_allclose([(s[1, 0] - s[0, 0]) / 2 for s in segments], reach, rtol=1e-12)
    without = WeightsDisplay.from_estimator(RankSVM().fit(**ROWS), color="red")
    assert without.bars_.errorbar is None
    assert without.ax_.get_xlabel() == "weight"


def test_displays_take_axes_and_columns_of_one_length(ranker):
    _, ax = pyplot.subplots()
    assert WeightsDisplay.from_estimator(ranker, ax=ax).ax_ is ax
    assert QueryMetricDisplay.from_estimator(ranker, **ROWS, ax=ax).ax_ is ax


def test_rankers_without_weights_are_refused():
    for fitted, match in (
        (RankSVM(kernel="rbf").fit(**ROWS), "not linear"),
        (make_pipeline(StandardScaler(), RankSVM()).fit(DATA.X, DATA.y), "last step"),
    ):
        with pytest.raises(PairrankError, match=match):
            WeightsDisplay.from_estimator(fitted)
    with pytest.raises(NotFittedError):
        WeightsDisplay.from_estimator(RankSVM())
    with pytest.raises(PairrankError, match="names has 1 entries for 2 rows"):
        WeightsDisplay([1.0, 2.0], ["a"])


def test_the_histogram_is_of_the_metric_by_query(ranker):
    display = QueryMetricDisplay.from_estimator(ranker, **ROWS, metric="ndcg@5", bins=7)
    scores = ranker.predict(DATA.X)
    each = metrics.ndcg_score(DATA.y, scores, qid=DATA.qid, k=5, per_query=True)
    np.testing.assert_array_equal(display.values, list(each.values()))
    heights = [bar.get_height() for bar in display.bars_]
    assert heights == np.histogram(list(each.values()), 7, (0, 1))[0].tolist()
    mean = display.ax_.get_legend().get_texts()[0].get_text()
    assert mean == f"mean {np.mean(list(each.values())):.3g}"


def test_queries_that_do_not_count_are_left_out():
    given = [1, 0, 1, 1], [2.0, 1.0, 1.0, 2.0]
    drawn = {"qid": [0, 0, 1, 1], "metric": "pairwise_accuracy"}
    assert QueryMetricDisplay.from_predictions(*given, **drawn).values.tolist() == [1.0]
    QueryMetricDisplay([5.0, np.nextafter(5.0, 6.0)], "msd").plot()  # numpy finds no 20 bins
    with pytest.raises(PairrankError, match="no query counts"):
        QueryMetricDisplay.from_predictions([1, 1, 1, 1], given[1], **drawn)
    with pytest.raises(PairrankError, match="there is no metric"):
        QueryMetricDisplay.from_predictions(*given, metric="foo")


@pytest.fixture(scope="module")
def model():
    return BradleyTerry(ties="davidson").fit(**arguments(make_votes(40)))


def test_scores_and_intervals_are_drawn_best_on_top(model):
    display = RatingsDisplay.from_estimator(model)
    points, _, (bars,) = display.errorbar_
    ranking = model.ranking_
    np.testing.assert_array_equal(points.get_xdata(), ranking["score"])
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.column_stack((ranking["low"], ranking["high"])))
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [str(item) for item in ranking["item"]]
    bottom, top = display.ax_.get_ylim()
    assert bottom > top
    best = RatingsDisplay.from_estimator(model, top=2, ax=display.ax_, color="red")
    assert best.ax_ is display.ax_
    assert best.figure_ is display.ax_.figure
    assert len(best.items) == 2
    assert best.errorbar_[0].get_color() == "red"


def test_what_cannot_be_drawn_is_said(model):
    without = BradleyTerry(covariance=None).fit(**arguments(make_votes(40)))
    with pytest.raises(PairrankError, match="set covariance and fit again"):
        RatingsDisplay.from_estimator(without)
    with pytest.raises(PairrankError, match="top must be greater than 0"):
        RatingsDisplay.from_estimator(model, top=0)
    with pytest.raises(PairrankError, match="has no ranking"):
        RatingsDisplay.from_estimator(RankSVM().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(PairrankError, match="scores has 2 entries for 1 rows"):
        RatingsDisplay(["a"], [1.0, 2.0], [0.0], [1.0])
