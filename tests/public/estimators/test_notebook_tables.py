"""What notebooks show of rankers: a table of the fit above scikit-learn's diagram."""

from __future__ import annotations

import numpy as np
import sklearn

from pairrank import Pairs, RankRLS, RankSVM
from pairrank.datasets import make_queries

DATA = make_queries(10, 12, 9, random_state=0)
ROWS = {"X": DATA.X, "y": DATA.y, "qid": DATA.qid}


def test_rows_of_weight_0_are_not_counted():
    weight = np.where(DATA.qid == DATA.qid[0], 0.0, 1.0)
    for ranker in (RankSVM(), RankRLS()):
        ranker.fit(**ROWS, sample_weight=weight)
        assert (ranker.n_rows_, ranker.n_queries_) == (108, 9)


def test_ties_of_comparisons_are_counted():
    pairs = Pairs([0, 1, 2], [1, 2, 3], magnitude=[1.0, 0.0, 0.0])
    for ranker in (RankSVM(), RankRLS()):
        ranker.fit(DATA.X[:4], pairs)
        assert (ranker.n_rows_, ranker.n_queries_, ranker.n_ties_) == (4, 1, 2)
    ranker.fit(**ROWS)
    assert not hasattr(ranker, "n_ties_")


def test_the_eight_largest_weights_are_shown():
    ranker = RankSVM().fit(**ROWS)
    sizes = np.abs(ranker.coef_)
    page = ranker._repr_html_()
    assert sizes.size == 9
    shown = [f"f{at + 1}" for at in np.argsort(-sizes) if f">f{at + 1}<" in page]
    assert shown == [f"f{at + 1}" for at in np.argsort(-sizes)[:8]]


def test_scikit_learns_display_option_is_followed():
    ranker = RankSVM().fit(**ROWS)
    with sklearn.config_context(display="text"):
        assert not hasattr(ranker, "_repr_html_")
        assert "text/html" not in ranker._repr_mimebundle_()
