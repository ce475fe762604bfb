"""`fit` on RowBlocks: arguments, attributes, callbacks, validation, interrupts and errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from block_sources import blocks_of, offset_rows
from pairrank import (
    ConvexHullRanker,
    GreedyRankRLS,
    PairwiseClassifier,
    RankBoost,
    RankNCG,
    RankSVM,
    RowBlocks,
)
from pairrank.exceptions import NoPairsError, PairrankError


@pytest.fixture(scope="module")
def rows():
    return offset_rows()


def test_fitted_attributes_are_those_of_a_fit_in_memory(rows):
    X, y, qid = rows
    found, wanted = RankNCG().fit(blocks_of(rows)), RankNCG().fit(X, y, qid=qid)
    assert_allclose(found.coef_, wanted.coef_, rtol=0.01, atol=1e-3)
    assert sorted(vars(found)) == sorted(vars(wanted))
    for name in ("n_features_in_", "n_pairs_", "n_rows_", "n_queries_", "n_ties_", "status_"):
        assert getattr(found, name) == getattr(wanted, name)
    assert [step.n_iter for step in found.history_] == list(range(found.n_iter_ + 1))
    assert found.history_[-1].value == found.objective_


def test_standardised_features_are_folded_into_the_weights(rows):
    X, y, qid = rows
    steps = []
    ranker = RankSVM(tol=1e-8).fit(blocks_of(rows).standardized(), callback=steps.append)
    wanted = RankSVM(tol=1e-8).fit(X / X.std(axis=0), y, qid=qid).coef_ / X.std(axis=0)
    assert_allclose(ranker.coef_, wanted, rtol=1e-6)
    assert_array_equal(steps[-1].coef, ranker.coef_)
    for blocks in (blocks_of(rows), blocks_of(rows).standardized()):
        assert_array_equal(ranker.predict(blocks), ranker.predict(X))
    # At first, sums over queries that cross blocks are too rough for a tolerance of 1e-8.
    again = ranker.set_params(warm_start=True, tol=1e-4).fit(blocks_of(rows).standardized())
    assert again.n_iter_ == 0
    assert_allclose(again.coef_, wanted, rtol=1e-6)


@pytest.mark.parametrize("given", ["y", "qid", "sample_weight", "winner_weight", "loser_weight"])
def test_what_blocks_hold_is_not_given_twice(rows, given):
    with pytest.raises(PairrankError, match=f"{given} given twice"):
        RankSVM().fit(blocks_of(rows), **{given: np.ones(900)})
    with pytest.raises(PairrankError, match=f"{given}_val given twice"):
        RankSVM().fit(blocks_of(rows), X_val=blocks_of(rows), **{f"{given}_val": np.ones(900)})


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (RankSVM(kernel="rbf"), "leave kernel=None"),
        (RankSVM(kernel="precomputed"), "leave kernel=None"),
        (RankNCG(solver="sgd"), 'use solver="auto"'),
        (RankNCG(covariance="rows"), "leave covariance=None"),
        (RankSVM(patience=3), "pass X_val"),
        (RankBoost(), "take RankSVM"),
        (ConvexHullRanker(), "cannot learn from RowBlocks"),
        (GreedyRankRLS(2), "take RankSVM"),
        (PairwiseClassifier(RankSVM()), "on a sample"),
    ],
)
def test_what_blocks_cannot_do_names_an_alternative(rows, ranker, message):
    def read():
        raise AssertionError("a block was read")
        yield

    with pytest.raises(PairrankError, match=message):
        ranker.fit(RowBlocks(read))


def test_blocks_without_a_preference_are_an_error(rows):
    X, _, qid = rows
    with pytest.raises(NoPairsError, match="one class"):
        RankSVM().fit(RowBlocks.from_arrays(X, np.ones(900), qid=qid, batch_rows=250))


@pytest.mark.parametrize("kind", ["arrays", "blocks"])
def test_validation_rows_watch_each_iteration(rows, kind):
    X, y, qid = rows
    held = {"X_val": X[600:], "y_val": y[600:], "qid_val": qid[600:]}
    if kind == "blocks":
        held = {"X_val": RowBlocks.from_arrays(X[600:], y[600:], qid=qid[600:], batch_rows=77)}
    ranker = RankSVM(tol=1e-6).fit(blocks_of(rows), **held)
    assert ranker.validation_scores_.size == ranker.n_iter_ + 1
    accuracy = ranker.score(X[600:], y[600:], qid=qid[600:])
    assert ranker.validation_scores_[-1] == pytest.approx(accuracy, abs=1e-12)
    early = RankSVM(patience=1, tol=1e-8).fit(blocks_of(rows), **held)
    assert early.best_iteration_ == np.argmax(early.validation_scores_)


def test_wrong_validation_rows_are_an_error(rows):
    X, y, _ = rows
    narrow = {"X_val": X[:, :3], "y_val": y}
    for held in (narrow, {"X_val": RowBlocks.from_arrays(X[:, :3], y)}):
        with pytest.raises(PairrankError, match="X_val has 3 features"):
            RankSVM().fit(blocks_of(rows), **held)
    with pytest.raises(PairrankError, match="both X_val and y_val"):
        RankSVM().fit(blocks_of(rows), X_val=X)
    with pytest.raises(PairrankError, match="X_val is RowBlocks, but X is not"):
        RankSVM().fit(X, y, X_val=blocks_of(rows))
    bare = RowBlocks.from_arrays(X, batch_rows=250)
    with pytest.raises(PairrankError, match="X_val has no labels"):
        RankSVM().fit(blocks_of(rows), X_val=bare)
    with pytest.raises(PairrankError, match="the blocks have no labels"):
        RankSVM().fit(bare)


def test_validation_rows_with_other_names_are_an_error(rows):
    X, y, _ = rows
    frame = pd.DataFrame(X).rename(columns="x{}".format)
    other = frame.rename(columns={"x1": "z"})
    blocks = RowBlocks.from_arrays(frame, y, batch_rows=250)
    for held in ({"X_val": other, "y_val": y}, {"X_val": RowBlocks.from_arrays(other, y)}):
        with pytest.raises(PairrankError, match="'z' stands where 'x1' was"):
            RankSVM().fit(blocks, **held)
    assert RankSVM().fit(blocks, X_val=frame, y_val=y).validation_scores_.size


def test_standardised_validation_rows_are_scored_as_raw_rows(rows):
    X, y, qid = rows
    scales = np.logspace(-2, 2, X.shape[1])
    held = RowBlocks.from_arrays(X[600:] * scales, y[600:], qid=qid[600:], batch_rows=77)
    blocks = RowBlocks.from_arrays(X * scales, y, qid=qid, batch_rows=250).standardized()
    ranker = RankSVM().fit(blocks, X_val=held.standardized())
    assert ranker.validation_scores_[-1] == pytest.approx(ranker.score(held), abs=1e-12)
