"""Displays of ratings: what is drawn is what BradleyTerry estimated."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import BradleyTerry, RankSVM, RatingsDisplay, WinMatrixDisplay
from pairrank.exceptions import PairrankError
from ratings_definition import arguments, make_votes

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


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
    assert display.figure_ is display.ax_.figure


def test_the_best_are_drawn_where_they_are_told(model):
    figure, ax = pyplot.subplots()
    display = RatingsDisplay.from_estimator(model, top=2, ax=ax, color="red")
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert len(display.items) == 2
    assert display.errorbar_[0].get_color() == "red"


def test_the_matrix_holds_probabilities_of_wins(model):
    display = WinMatrixDisplay.from_estimator(model)
    image = display.image_.get_array()
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(image[off], model.win_matrix()[off])
    assert len(display.text_) == 20
    i, j = display.text_[0].get_position()[::-1]
    assert display.text_[0].get_text() == f"{100 * image[int(i), int(j)]:.0f}"
    best = WinMatrixDisplay.from_estimator(model, top=3)
    np.testing.assert_array_equal(best.probabilities, model.win_matrix()[:3, :3])


def test_a_large_matrix_has_no_numbers():
    display = WinMatrixDisplay([f"${k}" for k in range(31)], np.full((31, 31), 0.5)).plot()
    assert display.text_ == []
    assert display.ax_.get_xticklabels()[0].get_text() == r"\$0"
    display.figure_.canvas.draw()


def test_what_cannot_be_drawn_is_said(model):
    without = BradleyTerry(covariance=None).fit(**arguments(make_votes(40)))
    with pytest.raises(PairrankError, match="set covariance and fit again"):
        RatingsDisplay.from_estimator(without)
    with pytest.raises(PairrankError, match="top must be greater than 0"):
        WinMatrixDisplay.from_estimator(model, top=0)
    with pytest.raises(PairrankError, match="has no ranking"):
        RatingsDisplay.from_estimator(RankSVM().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(PairrankError, match="got 1 items, 2 scores"):
        RatingsDisplay(["a"], [1.0, 2.0], [0.0], [1.0])
    with pytest.raises(PairrankError, match="for 1 items"):
        WinMatrixDisplay(["a"], np.ones((2, 2)))
