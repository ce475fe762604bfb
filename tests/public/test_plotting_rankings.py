"""Displays of weights, metrics by query and calibration: what is drawn is what is measured."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import (
    PairCalibrationDisplay,
    QueryMetricDisplay,
    RankNCG,
    RankRLS,
    RankSVM,
    WeightsDisplay,
    metrics,
)
from pairrank.datasets import make_queries
from pairrank.exceptions import PairrankError
from pairrank.report import pair_calibration

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")

DATA = make_queries(12, 15, 6, random_state=0)
ROWS = {"X": DATA.X, "y": DATA.y, "qid": DATA.qid}


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


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


def test_weights_without_errors_have_no_intervals():
    display = WeightsDisplay.from_estimator(RankSVM().fit(**ROWS), color="red")
    assert display.bars_.errorbar is None
    assert display.ax_.get_xlabel() == "weight"
    assert display.figure_ is display.ax_.figure


def test_weights_that_nothing_determines_have_no_interval():
    display = WeightsDisplay([2.0, 1.0], ["a", "b"], standard_errors=[0.5, np.inf]).plot()
    (segments,) = (lines.get_segments() for lines in display.bars_.errorbar.lines[2])
    assert [len(segment) for segment in segments] == [2, 0]


def test_rankers_without_weights_are_refused():
    for fitted, match in (
        (RankSVM(kernel="rbf").fit(**ROWS), "not linear"),
        (RankRLS().fit(DATA.X, np.column_stack([DATA.y, DATA.y])), "2 targets"),
        (make_pipeline(StandardScaler(), RankSVM()).fit(DATA.X, DATA.y), "last step"),
    ):
        with pytest.raises(PairrankError, match=match):
            WeightsDisplay.from_estimator(fitted)
    with pytest.raises(NotFittedError):
        WeightsDisplay.from_estimator(RankSVM())
    with pytest.raises(PairrankError, match="got 2 weights, 1 names"):
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
    with pytest.raises(PairrankError, match="no query counts"):
        QueryMetricDisplay.from_predictions([1, 1, 1, 1], given[1], **drawn)
    with pytest.raises(PairrankError, match="there is no metric"):
        QueryMetricDisplay.from_predictions(*given, metric="foo")


def test_the_calibration_drawn_is_the_one_measured(ranker):
    display = PairCalibrationDisplay.from_estimator(ranker, **ROWS, n_bins=5)
    found = pair_calibration(ranker, **ROWS, n_bins=5)
    np.testing.assert_array_equal(display.line_.get_xdata(), found.predicted)
    np.testing.assert_array_equal(display.line_.get_ydata(), found.observed)
    assert display.ax_.get_legend().get_texts()[1].get_text() == "RankNCG"


def test_a_display_needs_columns_of_one_length():
    with pytest.raises(PairrankError, match="got 2 predicted, 1 observed"):
        PairCalibrationDisplay([0.5, 0.6], [0.5])


def test_displays_take_axes(ranker):
    _, axes = pyplot.subplots(1, 3)
    made = [
        WeightsDisplay.from_estimator(ranker, ax=axes[0]),
        QueryMetricDisplay.from_estimator(ranker, **ROWS, ax=axes[1]),
        PairCalibrationDisplay.from_estimator(ranker, **ROWS, ax=axes[2]),
    ]
    assert [display.ax_ for display in made] == list(axes)
