"""Predictions, scores and searches on blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import PredefinedSplit

from block_sources import cut, rows_of
from pairrank import (
    RankBoost,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    RowBlocks,
)
from pairrank.exceptions import PairrankError
from pairrank.metrics import mean_ndcg, pairwise_accuracy

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


SEARCHES = {
    "RankSVMCV": (RankSVMCV([1e-4, 1e-2, 1.0], tol=1e-6), RankSVM(tol=1e-8), "C"),
    "hinge": (RankSVMCV([1e-4, 1e-2, 1.0], loss="hinge"), RankSVM(loss="hinge", tol=1e-5), "C"),
    "RankNCGCV": (RankNCGCV([1e-2, 1.0, 1e3], tol=1e-6), RankNCG(tol=1e-8), "alpha"),
    "RankRLSCV": (RankRLSCV([1e-2, 1.0, 1e3]), RankRLS(tol=1e-10), "alpha"),
}


def rows_of(seed, n_rows=500):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 8)) * [1, 1, 1, 1, 1, 1, 1, 5] + 3.0
    y = np.round(X[:, 0] + 2.0 * rng.normal(size=n_rows))
    return X, y, np.sort(rng.integers(0, 12, n_rows))


def blocks_of(X, y, qid, size=90):
    def blocks():
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            yield X[part], y[part], qid[part]

    return RowBlocks(blocks)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("standardized", [False, True], ids=["raw", "standardised"])
def test_each_value_is_fitted_and_judged_by_the_validation_blocks(kind, standardized):
    search, ranker, strength = SEARCHES[kind]
    X, y, qid = rows_of(1)
    held = rows_of(2)
    blocks = blocks_of(X, y, qid)
    fitted_X = X
    if standardized:
        blocks = blocks.standardized()
        fitted_X = (X - X.mean(axis=0)) / X.std(axis=0)
    search.fit(blocks, X_val=blocks_of(*held))
    values = getattr(search, f"{strength}s_")
    coefs = [
        ranker.set_params(**{strength: value}).fit(fitted_X, y, qid=qid).coef_ for value in values
    ]
    if standardized:
        coefs = [coef / X.std(axis=0) for coef in coefs]
    wanted = [pairwise_accuracy(held[1], held[0] @ coef, qid=held[2]) for coef in coefs]
    # A pair that a rounding of the weights turns is one of some hundred pairs of a query.
    np.testing.assert_allclose(search.validation_scores_[0], wanted, atol=2e-3)
    highest = np.flatnonzero(search.validation_scores_[0] == search.best_score_)
    best = highest[0] if strength == "C" else highest[-1]  # of equals the strongest
    assert getattr(search, f"{strength}_") == values[best]
    tol = 1e-2 if kind == "hinge" else 1e-4
    np.testing.assert_allclose(search.coef_, coefs[best], atol=tol * np.abs(coefs[best]).max())
    assert search.best_estimator_.get_params()[strength] == values[best]
    np.testing.assert_array_equal(search.predict(held[0]), search.best_estimator_.predict(held[0]))


def test_a_saved_search_predicts_as_before(tmp_path):
    from pairrank import load_model

    X, y, qid = rows_of(5)
    search = RankSVMCV([0.1, 1.0]).fit(blocks_of(X, y, qid), X_val=blocks_of(X, y, qid))
    search.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))


def test_validation_blocks_are_asked_for():
    X, y, qid = rows_of(6)
    with pytest.raises(PairrankError, match="pass them as X_val"):
        RankSVMCV().fit(blocks_of(X, y, qid))
    with pytest.raises(PairrankError, match="leave cv=None"):
        RankSVMCV(cv=3).fit(blocks_of(X, y, qid), X_val=blocks_of(X, y, qid))
    with pytest.raises(PairrankError, match="PredefinedSplit"):
        RankSVMCV().fit(X, y, qid=qid, X_val=blocks_of(X, y, qid))
    split = PredefinedSplit(np.where(qid < 6, 0, -1))
    RankSVMCV([1.0], cv=split).fit(X, y, qid=qid)
