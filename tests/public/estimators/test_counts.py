"""The numbers of rows, queries and ties of a fit."""

from __future__ import annotations

import numpy as np

from pairrank import Pairs, RankNCG, RankRLS, RankSVM, load_model
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


def test_counts_are_those_of_the_definition_and_kept_in_model_files(tmp_path):
    ranker = RankNCG().fit(**ROWS)
    same = DATA.qid[:, None] == DATA.qid[None, :]
    ties = same & (DATA.y[:, None] == DATA.y[None, :])
    n_ties = (ties.sum() - len(DATA.y)) // 2
    assert ranker.n_pairs_ + ranker.n_ties_ == 10 * 12 * 11 // 2
    ranker.save(tmp_path / "model")
    for fitted in (ranker, load_model(tmp_path / "model")):
        assert (fitted.n_rows_, fitted.n_queries_, fitted.n_ties_) == (120, 10, n_ties)
