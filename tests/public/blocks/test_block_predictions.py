"""predict, decision_function, rank and score of RowBlocks against arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from block_sources import cut, rows_of
from pairrank import RankBoost, RankNCG, RankRLS, RankSVM, RowBlocks
from pairrank.exceptions import PairrankError
from pairrank.metrics import mean_ndcg

X, Y, QID = rows_of(0, 200)
BORDERS = [20, 20, 33, 150]
RANKERS = {
    "ranksvm": RankSVM(),
    "kernel": RankNCG(kernel="rbf"),
    "rankboost": RankBoost(n_estimators=5),
}


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)
def test_scores_of_blocks_are_those_of_arrays(ranker):
    weight = np.arange(200.0)
    ranker.fit(X, Y, qid=QID)
    rows = cut(BORDERS, X, Y, QID, weight)
    assert np.array_equal(ranker.predict(rows), ranker.predict(X))
    assert np.array_equal(ranker.decision_function(rows), ranker.predict(X))
    assert np.array_equal(ranker.rank(rows), ranker.rank(X, QID))
    assert ranker.score(rows) == ranker.score(X, Y, qid=QID, sample_weight=weight)


def test_several_targets_are_scored_together():
    targets = np.column_stack([Y, -X[:, 0]])
    ranker = RankRLS().fit(X, targets)
    rows = cut(BORDERS, X)
    assert np.array_equal(ranker.predict(rows), ranker.predict(X))
    assert np.array_equal(ranker.rank(rows), ranker.rank(X))


def test_metrics_use_the_labels_of_blocks():
    ranker = RankSVM().fit(X, Y, qid=QID)
    rows = cut(BORDERS, X, Y, QID)
    labels = rows.labels()
    found = mean_ndcg(labels.y, ranker.predict(rows), qid=labels.qid)
    assert found == mean_ndcg(Y, ranker.predict(X), qid=QID)


def test_labels_given_twice_are_refused():
    ranker = RankSVM().fit(X, Y)
    rows = cut(BORDERS, X, Y)
    with pytest.raises(PairrankError, match="y given twice"):
        ranker.score(rows, Y)
    with pytest.raises(PairrankError, match="qid given twice"):
        ranker.rank(rows, QID)


def test_blocks_without_labels_have_no_accuracy():
    ranker = RankSVM().fit(X, Y)
    with pytest.raises(PairrankError, match=r"y.* is None"):
        ranker.score(cut(BORDERS, X))


def test_features_must_be_those_of_the_fit():
    ranker = RankSVM().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    frame = pd.DataFrame(X, columns=["a", "c", "b"])
    with pytest.raises(PairrankError, match="'c' stands where 'b' was"):
        ranker.predict(RowBlocks(lambda: iter([(frame,)])))
    with pytest.raises(PairrankError, match="X has 2 features, though 3 are expected"):
        ranker.predict(cut(BORDERS, X[:, :2]))
    narrow = sparse.csr_array(X[:, :2])
    wide = np.column_stack([X[:, :2], np.zeros(200)])
    found = ranker.predict(RowBlocks(lambda: iter([(narrow,)])))
    np.testing.assert_allclose(found, wide @ ranker.coef_, rtol=1e-12)


def test_no_row_is_an_error():
    ranker = RankSVM().fit(X, Y)
    with pytest.raises(PairrankError, match="no rows"):
        ranker.predict(cut([], X[:0]))
