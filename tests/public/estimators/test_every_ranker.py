"""What every ranker does alike: inputs, weights, targets, stops, files, scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairrank import (
    ConvexHullRanker,
    MPRank,
    OrderGraph,
    PairwiseRanker,
    RankBoost,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
    load_model,
)
from pairrank.exceptions import FileFormatError, NoPairsError, PairrankError, PairrankWarning
from pairrank.metrics import pairwise_accuracy

pytestmark = pytest.mark.numeric

OF_PREFERENCES = [
    RankSVM(solver="tron", tol=1e-9),
    RankSVM(loss="hinge", tol=1e-7),
    RankNCG(tol=1e-9),
    RankNCG(loss="probit", solver="ncg", tol=1e-9),
    PairwiseRanker("modified_huber", solver="tron", tol=1e-9),
]
OF_DIFFERENCES = [
    RankRLS(solver="direct"),
    RankRLS(solver="cg", tol=1e-10),
    MPRank(tol=1e-10),
    MPRank(n=1, tol=1e-8, max_iter=5000),
    SVRank(tol=1e-8, max_iter=5000),
    SVRank(n=2, tol=1e-9),
]
RANKERS = [*OF_PREFERENCES, *OF_DIFFERENCES, ConvexHullRanker(tol=1e-10)]
ITERATIVE = [each for each in RANKERS if each.get_params().get("solver") != "direct"]
ITERATIVE = [each for each in ITERATIVE if str(each) != str(MPRank(tol=1e-10))]

every = pytest.mark.parametrize("ranker", RANKERS, ids=str)
iterative = pytest.mark.parametrize("ranker", ITERATIVE, ids=str)


def assert_same(found, wanted, share=1e-3):
    """Check that two rankers have the same weights, to a share of the largest one."""
    allowed = share * np.abs(wanted.coef_).max()
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=0, atol=allowed)


@parametrize_with_checks(
    [
        RankSVM(),
        RankSVM(loss="hinge", kernel="rbf"),
        RankNCG(covariance="rows"),
        RankRLS(),
        MPRank(),
        SVRank(),
        ConvexHullRanker(),
        PairwiseRanker(),
        RankBoost(20),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::pairrank.exceptions.ZeroWeightsWarning")
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)


@every
def test_every_kind_of_input_gives_the_same_weights(rows, ranker):
    X, y, qid = rows
    names = list("abcde")
    kinds = {
        "csr": sparse.csr_matrix(X),
        "csr array": sparse.csr_array(X),
        "fortran": np.asfortranarray(X),
        "pandas": pd.DataFrame(X, columns=names),
        "polars": pl.DataFrame(X, schema=names),
        "list": X.tolist(),
    }
    reference = clone(ranker).fit(X, y, qid=qid)
    for kind, table in kinds.items():
        fitted = clone(ranker).fit(table, pd.Series(y), qid=pl.Series(qid))
        assert_same(fitted, reference)
        np.testing.assert_allclose(fitted.predict(table), X @ fitted.coef_, atol=1e-12)
        if kind in ("pandas", "polars"):
            assert list(fitted.feature_names_in_) == names
    for form in (np.asarray, sparse.csr_array):
        single = clone(ranker).fit(form(X.astype(np.float32)), y, qid=qid)
        double = clone(ranker).fit(X.astype(np.float32).astype(float), y, qid=qid)
        assert single.coef_.dtype == np.float64
        assert_same(single, double)


@every
@pytest.mark.parametrize("reduction", ["rows", "query", "sum", None])
def test_weights_are_repetitions_and_zero_is_absence(rows, ranker, reduction):
    X, y, qid = rows
    if ("reduction" in ranker.get_params()) != (reduction is not None):
        return
    ranker = clone(ranker).set_params(**({"reduction": reduction} if reduction else {}))
    weight = np.random.default_rng(2).integers(0, 4, y.size)
    repeated = np.random.default_rng(3).permutation(np.repeat(np.arange(y.size), weight))
    weighted = clone(ranker).fit(X, y, qid=qid, sample_weight=weight)
    several = clone(ranker).fit(X[repeated], y[repeated], qid=qid[repeated])
    assert_same(weighted, several)
    assert weighted.objective_ == pytest.approx(several.objective_, rel=1e-6)
    absent = clone(ranker).fit(X, np.where(weight, y, y[0]), qid=qid, sample_weight=weight)
    assert_same(absent, weighted, 1e-6)


@every
def test_neither_the_order_of_rows_nor_an_offset_of_a_query_matters(rows, ranker):
    X, y, qid = rows
    order = np.random.default_rng(1).permutation(y.size)
    straight = clone(ranker).fit(X, y, qid=qid)
    shuffled = clone(ranker).fit(X[order], y[order], qid=qid[order])
    assert_same(shuffled, straight)
    moved = clone(ranker).fit(X + 100.0 * (1 + qid[:, None]), y, qid=qid)
    assert_same(moved, straight, 1e-2)
    if str(ranker) in map(str, OF_DIFFERENCES):
        assert_same(clone(ranker).fit(X, y + 1e7 * (1 + qid), qid=qid), straight)


@pytest.mark.parametrize("ranker", OF_DIFFERENCES, ids=str)
def test_several_targets_are_each_as_if_alone(rows, ranker):
    X, y, qid = rows
    Y = np.column_stack((y, np.sin(y), -X[:, 2]))
    # By default, these follow from the labels of all targets together.
    own = {name: 0.5 for name in ("C", "epsilon") if hasattr(ranker, name)}
    ranker = clone(ranker).set_params(**own)
    together = clone(ranker).fit(X, Y, qid=qid, X_val=X, y_val=Y, qid_val=qid)
    alone = [clone(ranker).fit(X, column, qid=qid) for column in Y.T]
    assert together.validation_scores_.shape == (3, together.n_iter_ + 1)
    np.testing.assert_allclose(together.coef_, [one.coef_ for one in alone], atol=1e-12)
    assert together.objective_ == pytest.approx(sum(one.objective_ for one in alone))
    predicted = np.column_stack([one.predict(X) for one in alone])
    np.testing.assert_allclose(together.predict(X), predicted)
    np.testing.assert_array_equal(together.rank(X, qid)[:, 1], alone[1].rank(X, qid))
    accuracies = [one.score(X, column, qid=qid) for one, column in zip(alone, Y.T, strict=True)]
    assert together.score(X, Y, qid=qid) == pytest.approx(np.mean(accuracies))
    with pytest.raises(PairrankError, match="y has 2 targets, the ranker 3"):
        together.score(X, Y[:, :2], qid=qid)


@pytest.mark.parametrize(
    ("ranker", "smooth"),
    [
        (RankSVM(loss="hinge"), {"loss": "squared_hinge"}),
        (MPRank(n=1), {"n": 2}),
        (SVRank(), {"n": 2}),
    ],
    ids=str,
)
def test_the_gap_is_true_shown_saved_and_forgotten_by_refits(
    rows, ranker, smooth, tmp_path, capsys
):
    X, y, qid = rows
    best = clone(ranker).set_params(tol=1e-9).fit(X, y, qid=qid).objective_
    ranker = clone(ranker).set_params(verbose=1).fit(X, y, qid=qid)
    assert "gap" in capsys.readouterr().err
    assert ranker.gap_ == ranker.history_[-1].gap
    assert 0 < ranker.objective_ - best <= ranker.gap_ <= ranker.tol * ranker.objective_
    ranker.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert (loaded.gap_, loaded.status_) == (ranker.gap_, "gap_closed")
    if smooth == {"n": 2}:
        ranker.fit(X, np.column_stack((y, X[:, 3])), qid=qid)
        assert ranker.gap_ == sum(history[-1].gap for history in ranker.history_)
    assert not hasattr(ranker.set_params(**smooth).fit(X, y, qid=qid), "gap_")


@pytest.mark.parametrize("ranker", [RankNCG(), ConvexHullRanker()], ids=str)
def test_an_absent_class_is_a_warning_while_pairs_remain(rows, ranker):
    X, y, qid = rows
    fitted, alone, none = (
        clone(ranker).set_params(graph=OrderGraph(edges))
        for edges in ([(0.0, 1.0), (1.0, 9.0)], [(0.0, 1.0)], [(8.0, 9.0)])
    )
    with pytest.warns(PairrankWarning, match=r"absent from y: 9\.0; .* leave them out"):
        fitted.fit(X, y, qid=qid)
    np.testing.assert_array_equal(fitted.coef_, alone.fit(X, y, qid=qid).coef_)
    with pytest.warns(PairrankWarning, match="absent"), pytest.raises(NoPairsError):
        none.fit(X, y, qid=qid)


@every
def test_validation_scores_follow_the_iterations(rows, ranker):
    X, y, qid = rows
    held = {"X_val": X[120:], "y_val": y[120:], "qid_val": qid[120:]}
    train = {"X": X[:120], "y": y[:120], "qid": qid[:120]}
    fitted = clone(ranker).fit(**train, **held)
    plain = clone(ranker).fit(**train)
    np.testing.assert_array_equal(fitted.coef_, plain.coef_)
    assert fitted.validation_scores_.shape == (fitted.n_iter_ + 1,)
    average = "pairs" if str(ranker) not in map(str, OF_DIFFERENCES) else "queries"
    graph = getattr(ranker, "graph", "full")
    accuracy = pairwise_accuracy(
        y[120:], fitted.predict(X[120:]), qid=qid[120:], average=average, graph=graph
    )
    assert fitted.validation_scores_[-1] == pytest.approx(accuracy)
    assert not hasattr(fitted.fit(**train), "validation_scores_")
    for given in ("X_val", "y_val"):
        with pytest.raises(PairrankError, match=f"{given} is given without"):
            clone(ranker).fit(**train, **{given: held[given]})


@iterative
def test_a_callback_sees_every_iterate_and_may_stop_the_fit(rows, ranker, capsys, interrupt_at):
    X, y, qid = rows
    seen = []
    whole = clone(ranker).set_params(verbose=1)
    whole.fit(X, y, qid=qid, callback=lambda step: seen.append(step.coef) is not None)
    assert len(seen) == whole.n_iter_ + 1
    np.testing.assert_allclose(seen[-1], whole.coef_)
    assert capsys.readouterr().err.count("iteration") == len(seen)
    stopped = clone(ranker).fit(X, y, qid=qid, callback=lambda step: np.bool_(step.n_iter == 1))
    assert (stopped.status_, stopped.n_iter_) == ("stopped", 1)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        left = clone(ranker).fit(X, y, qid=qid, callback=interrupt_at(2))
    assert left.status_ == "interrupted"
    assert np.isfinite(left.predict(X)).all()
    assert left.history_[-1].value <= left.history_[0].value
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short = clone(ranker).set_params(max_iter=1).fit(X, y, qid=qid)
    assert (short.status_, short.n_iter_) == ("max_iter", 1)


@iterative
def test_a_warm_start_goes_on_from_the_weights(rows, ranker):
    X, y, qid = rows
    if "warm_start" not in ranker.get_params():
        return
    ranker = clone(ranker).set_params(warm_start=True)
    first = ranker.fit(X, y, qid=qid).n_iter_
    assert first > 1
    again = ranker.fit(X, y, qid=qid).n_iter_
    assert again < first or again <= 1
    with pytest.raises(PairrankError, match="warm_start"):
        ranker.fit(X[:, :2], y, qid=qid)


@every
def test_clones_pickles_and_model_files_predict_as_the_model_did(rows, tmp_path, ranker):
    X, y, qid = rows
    if "graph" in ranker.get_params():
        ranker = clone(ranker).set_params(graph=OrderGraph([(0.0, 1.0), (1.0, 3.0)]))
    frame = pd.DataFrame(X, columns=list("abcde"))
    with pytest.raises(NotFittedError):
        clone(ranker).save(tmp_path / "model")
    ranker = clone(ranker).fit(frame, y, qid=qid)
    assert not hasattr(clone(ranker), "coef_")
    ranker.save(tmp_path / "model")
    for again in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(ranker))):
        assert again.get_params() == ranker.get_params()
        np.testing.assert_array_equal(again.predict(frame), ranker.predict(frame))
        assert (again.status_, again.n_pairs_) == (ranker.status_, ranker.n_pairs_)
        assert again.score(frame, y, qid=qid) == ranker.score(frame, y, qid=qid)
    with pytest.raises(ValueError, match="feature names"):
        load_model(tmp_path / "model").predict(frame[list("badce")])
    (tmp_path / "model").write_bytes((tmp_path / "model").read_bytes()[:-3])
    with pytest.raises(FileFormatError):
        load_model(tmp_path / "model")


@every
def test_an_overflow_is_an_error_that_says_what_to_do(rows, ranker):
    X, y, qid = rows
    for form in (np.asarray, sparse.csr_array):
        fresh = clone(ranker)
        with pytest.raises(PairrankError, match="scale the"):
            fresh.fit(form(X * 1e200), y, qid=qid)
        assert not hasattr(fresh, "coef_")
