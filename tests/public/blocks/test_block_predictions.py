"""Predictions, scores and regularisation paths on blocks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from block_sources import blocks_of, cut, rows_of
from pairrank import RankBoost, RankNCG, RankRLS, RankSVM, RankSVMCV, RowBlocks, regularization_path
from pairrank.exceptions import PairrankError
from pairrank.metrics import pairwise_accuracy

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


def test_labels_given_twice_or_never_and_no_rows_are_refused():
    ranker = RankSVM().fit(X, Y)
    rows = cut(BORDERS, X, Y)
    with pytest.raises(PairrankError, match="y given twice"):
        ranker.score(rows, Y)
    with pytest.raises(PairrankError, match="qid given twice"):
        ranker.rank(rows, QID)
    with pytest.raises(PairrankError, match=r"y.* is None"):
        ranker.score(cut(BORDERS, X))
    with pytest.raises(PairrankError, match="no rows"):
        ranker.predict(cut([], X[:0]))


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


PATHS = {
    "RankSVM": (RankSVM(), 1e-8, "C", [1e-4, 1e-2, 1.0]),
    "hinge": (RankSVM(loss="hinge"), 1e-5, "C", [1e-4, 1e-2, 1.0]),
    "RankNCG": (RankNCG(), 1e-8, "alpha", [1e-2, 1.0, 1e3]),
    "RankRLS": (RankRLS(), 1e-10, "alpha", [1e-2, 1.0, 1e3]),
}


def noisy_rows(seed, n_rows=500):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 8)) * [1, 1, 1, 1, 1, 1, 1, 5] + 3.0
    y = np.round(X[:, 0] + 2.0 * rng.normal(size=n_rows))
    return X, y, np.sort(rng.integers(0, 12, n_rows))


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("standardized", [False, True], ids=["raw", "standardised"])
def test_a_path_fits_blocks_at_each_value_and_judges_it_by_others(kind, standardized):
    ranker, tol, strength, values = PATHS[kind]
    X, y, qid = rows = noisy_rows(1)
    X_val, y_val, qid_val = held_rows = noisy_rows(2)
    held, blocks, fitted_X, scale = blocks_of(held_rows, 90), blocks_of(rows, 90), X, 1.0
    if standardized:
        scale = X.std(axis=0)
        blocks, fitted_X = blocks.standardized(), (X - X.mean(axis=0)) / scale
    path = regularization_path(
        clone(ranker).set_params(tol=1e-6), blocks, None, param=strength, values=values,
        X_val=held, y_val=held.labels().y, qid_val=held.labels().qid, warm_start=True,
    )  # fmt: skip
    cold = [clone(ranker).set_params(**{strength: value, "tol": tol}) for value in values]
    coefs = np.array([each.fit(fitted_X, y, qid=qid).coef_ / scale for each in cold])
    wanted = [pairwise_accuracy(y_val, X_val @ coef, qid=qid_val) for coef in coefs]
    # A pair that a rounding of the weights turns is one of some hundred pairs of a query.
    np.testing.assert_allclose(path.scores, wanted, atol=2e-3)
    allowed = 1e-2 if kind == "hinge" else 1e-4
    best = path.best_index
    np.testing.assert_allclose(
        path.best_estimator.coef_, coefs[best], atol=allowed * np.abs(coefs[best]).max()
    )


def test_a_search_in_folds_names_the_path_for_blocks():
    with pytest.raises(PairrankError, match=r"RankSVMCV cannot learn from .*regularization_path"):
        RankSVMCV().fit(cut(BORDERS, X, Y, QID))
