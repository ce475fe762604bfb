"""RankSVM as its users meet it: optimum, inputs, weights, warnings, model files."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairrank
from model_records import read_model, write_model
from pairrank import OrderGraph, Pairs, RankSVM
from pairrank.exceptions import FileFormatError, NoPairsError, NoPairsWarning, PairrankError

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.digitize(X @ [2, -1, 0.5, 0, 0] + rng.normal(size=300), [-1, 0.5, 2]).astype(float)
    return X, y, rng.integers(0, 12, 300)


@parametrize_with_checks(
    [
        RankSVM(),
        RankSVM(reduction="query", pair_sum="selection_tree"),
        RankSVM(loss="hinge"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)


def test_the_optimum_equals_linear_svc_on_explicit_differences(rows):
    X, y, qid = rows
    better = [
        (i, j) for i, j in itertools.permutations(range(120), 2) if qid[i] == qid[j] and y[i] > y[j]
    ]
    i, j = np.array(better).T
    sign = np.where(np.arange(i.size) % 2, 1.0, -1.0)
    differences = sign[:, None] * (X[i] - X[j])
    # LinearSVC's objective is |w|^2/2 + C sum max(0, 1 - y w'x)^2 too.
    svc = LinearSVC(C=0.3, fit_intercept=False, tol=1e-10, max_iter=100_000, dual=False)
    svc.fit(differences, sign)
    ours = RankSVM(C=0.3, reduction="sum", tol=1e-10).fit(X[:120], y[:120], qid=qid[:120])
    np.testing.assert_allclose(ours.coef_, svc.coef_[0], rtol=1e-6)
    from_pairs = RankSVM(C=0.3, reduction="sum", tol=1e-10).fit(X[:120], Pairs(i, j, n_rows=120))
    np.testing.assert_allclose(from_pairs.coef_, svc.coef_[0], rtol=1e-6)
    assert ours.n_pairs_ == from_pairs.n_pairs_ == len(better)


def test_every_kind_of_input_gives_the_same_weights(rows):
    X, y, qid = rows
    names = list("abcde")
    reference = RankSVM(tol=1e-8).fit(X, y, qid=qid)
    kinds = {
        "csr": sparse.csr_matrix(X),
        "csr array": sparse.csr_array(X),
        "fortran": np.asfortranarray(X),
        "pandas": pd.DataFrame(X, columns=names),
        "polars": pl.DataFrame(X, schema=names),
        "list": X.tolist(),
    }
    for kind, table in kinds.items():
        fitted = RankSVM(tol=1e-8).fit(table, pd.Series(y), qid=pl.Series(qid))
        np.testing.assert_allclose(fitted.coef_, reference.coef_, rtol=1e-6, err_msg=kind)
        if kind in ("pandas", "polars"):
            assert list(fitted.feature_names_in_) == names


def test_float32_stays_float32_and_comes_close(rows):
    X, y, qid = rows
    single = RankSVM().fit(X.astype(np.float32), y, qid=qid)
    double = RankSVM().fit(X, y, qid=qid)
    assert single.coef_.dtype == np.float64
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-2)


def test_float32_rows_reach_the_tolerance_of_float64_rows(rows):
    X, y, qid = rows
    single = X.astype(np.float32)
    fitted = RankSVM(tol=1e-10).fit(single, y, qid=qid)
    assert fitted.status_ == "converged"
    double = RankSVM(tol=1e-10).fit(single.astype(np.float64), y, qid=qid)
    np.testing.assert_allclose(fitted.coef_, double.coef_, rtol=1e-8)


@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
def test_row_order_does_not_matter(rows, reduction):
    X, y, qid = rows
    order = np.random.default_rng(1).permutation(y.size)
    straight = RankSVM(reduction=reduction, tol=1e-9).fit(X, y, qid=qid)
    shuffled = RankSVM(reduction=reduction, tol=1e-9).fit(X[order], y[order], qid=qid[order])
    np.testing.assert_allclose(straight.coef_, shuffled.coef_, rtol=1e-6)


@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
def test_weights_are_repetitions_and_zero_is_absence(rows, reduction):
    X, y, qid = rows
    weight = np.random.default_rng(2).integers(0, 4, y.size)
    repeated = np.repeat(np.arange(y.size), weight)
    weighted = RankSVM(reduction=reduction, tol=1e-9).fit(X, y, qid=qid, sample_weight=weight)
    several = RankSVM(reduction=reduction, tol=1e-9).fit(
        X[repeated], y[repeated], qid=qid[repeated]
    )
    np.testing.assert_allclose(weighted.coef_, several.coef_, rtol=1e-6)


def test_c_means_the_same_for_few_rows_and_many(rows):
    X, y, qid = rows
    doubled = RankSVM(tol=1e-9).fit(
        np.vstack((X, X)), np.append(y, y), qid=np.append(qid, qid + 100)
    )
    once = RankSVM(C=2.0, tol=1e-9).fit(X, y, qid=qid)
    np.testing.assert_allclose(doubled.coef_, once.coef_, rtol=1e-6)


def test_an_order_graph_of_text_labels(rows):
    X, y, _ = rows
    names = np.array(["poor", "fair", "good", "best"])[y.astype(int)]
    edges = [("poor", "fair"), ("fair", "good"), ("good", "best")]
    by_name = RankSVM(graph=OrderGraph(edges), tol=1e-9).fit(X, names)
    chain = RankSVM(graph="chain", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(by_name.coef_, chain.coef_, rtol=1e-6)
    assert by_name.score(X, names) == pytest.approx(chain.score(X, y))


def test_positions_start_at_one_in_every_query(rows):
    X, y, qid = rows
    ranker = RankSVM().fit(X, y, qid=qid)
    positions, scores = ranker.rank(X, qid=qid), ranker.predict(X)
    for q in set(qid):
        inside = qid == q
        np.testing.assert_array_equal(np.sort(positions[inside]), np.arange(1, inside.sum() + 1))
        assert scores[inside][positions[inside] == 1] == scores[inside].max()
    ties = ranker.rank(np.zeros((3, 5)))
    np.testing.assert_array_equal(ties, [1, 2, 3])


def test_score_is_nan_with_a_warning_where_nothing_can_be_compared(rows):
    X, y, qid = rows
    ranker = RankSVM().fit(X, y, qid=qid)
    with pytest.warns(NoPairsWarning):
        assert np.isnan(ranker.score(X[:3], np.ones(3)))


def test_warm_start_begins_at_the_last_weights(rows):
    X, y, qid = rows
    ranker = RankSVM(solver="tron", tol=1e-6, warm_start=True).fit(X, y, qid=qid)
    assert ranker.n_iter_ > 0
    assert ranker.fit(X, y, qid=qid).n_iter_ == 0


def test_validation_scores_follow_the_iterations(rows):
    X, y, qid = rows
    ranker = RankSVM(solver="tron").fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    assert ranker.validation_scores_.size == ranker.n_iter_ + 1
    assert ranker.validation_scores_[-1] == pytest.approx(ranker.score(X, y, qid=qid))
    with pytest.raises(PairrankError, match="without X_val"):
        ranker.fit(X, y, qid=qid, y_val=y)


def test_too_few_iterations_warn_and_verbose_prints(rows, capsys):
    X, y, qid = rows
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        ranker = RankSVM(max_iter=1, tol=1e-12, solver="tron", verbose=1).fit(X, y, qid=qid)
    assert ranker.status_ == "max_iter"
    assert "objective" in capsys.readouterr().err


def test_an_interrupt_leaves_the_best_weights(rows):
    X, y, qid = rows

    def interrupt(step):
        if step.n_iter == 1:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker = RankSVM(solver="tron", tol=1e-9).fit(X, y, qid=qid, callback=interrupt)
    assert ranker.status_ == "interrupted"
    assert ranker.score(X, y, qid=qid) > 0.6


def test_clone_and_pickle_keep_what_they_should(rows):
    X, y, qid = rows
    ranker = RankSVM(C=0.5, graph=OrderGraph([(0.0, 1.0), (1.0, 3.0)])).fit(X, y, qid=qid)
    assert not hasattr(clone(ranker), "coef_")
    assert clone(ranker).graph == ranker.graph
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(X), ranker.predict(X))


def test_a_model_file_predicts_as_the_model_did(rows, tmp_path):
    X, y, qid = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    ranker = RankSVM(C=0.5, graph=OrderGraph([(0.0, 1.0), (1.0, 3.0)])).fit(frame, y, qid=qid)
    ranker.save(tmp_path / "model")
    loaded = pairrank.load_model(tmp_path / "model")
    assert loaded.get_params() == ranker.get_params()
    np.testing.assert_array_equal(loaded.predict(frame), ranker.predict(frame))
    assert (loaded.status_, loaded.n_pairs_) == (ranker.status_, ranker.n_pairs_)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("bacde")])
    (tmp_path / "model").write_bytes((tmp_path / "model").read_bytes()[:-3])
    with pytest.raises(FileFormatError):
        pairrank.load_model(tmp_path / "model")
    with pytest.raises(NotFittedError):
        RankSVM().save(tmp_path / "unfitted")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C must be greater than 0"),
        ({"C": np.inf}, "C must be"),
        ({"C": "1"}, "C must be"),
        ({"tol": -1}, "tol must be"),
        ({"max_iter": 1.5}, "max_iter must be a whole number"),
        ({"loss": "hinge", "solver": "tron"}, "needs a smooth loss"),
        ({"loss": "ridge"}, "loss must be one of"),
        ({"reduction": "pairs"}, "reduction must be one of"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"pair_sum": "fenwick"}, "selection_tree"),
        ({"graph": "ring"}, "graph must be"),
        ({"graph": [(0, 1), (1, 0)]}, "cycle"),
    ],
)
def test_a_wrong_parameter_is_named(rows, parameters, message):
    X, y, qid = rows
    with pytest.raises(PairrankError, match=message):
        RankSVM(**parameters).fit(X, y, qid=qid)


def with_entry(X, value):
    X = X.copy()
    X[7, 2] = value
    return X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, q: (with_entry(X, np.nan), y, q, None), "NaN in row 7, feature 2"),
        (lambda X, y, q: (with_entry(X, -np.inf), y, q, None), "inf.* in row 7, feature 2"),
        (
            lambda X, y, q: (sparse.csr_matrix(with_entry(X, np.nan)), y, q, None),
            "NaN in row 7, feature 2",
        ),
        (lambda X, y, q: (X, np.where(y == y[4], np.nan, y), q, None), "y contains NaN"),
        (lambda X, y, q: (X, y[:-1], q, None), "y has 299 entries for 300 rows"),
        (lambda X, y, q: (X, y, q[:-1], None), "qid has 299 entries"),
        (lambda X, y, q: (X, y, [None, *q[1:]], None), "qid is missing in row 0"),
        (lambda X, y, q: (X, y, np.where(q == q[0], np.nan, q), None), "qid is missing in row 0"),
        (lambda X, y, q: (X, y, q, -np.ones(300)), r"sample_weight\[0\] = -1.0 is negative"),
        (lambda X, y, q: (X, y, q, np.zeros(300)), "every sample_weight is zero"),
        (lambda X, y, q: (X, y, q, np.ones(4)), "sample_weight has 4 entries"),
        (lambda X, y, q: (X, y, q, np.full(300, 1e-200)), r"between 1e-100 and 1e\+100"),
        (lambda X, y, q: (X, y.astype("datetime64[D]"), q, None), "y holds dates"),
        (lambda X, y, q: (X, y, np.array(["NaT"] * 300, "datetime64[D]"), None), "row 0"),
        (lambda X, y, q: (X, None, q, None), "requires y"),
        (lambda X, y, q: (X, np.column_stack((y, y)), q, None), "one dimension"),
        (lambda X, y, q: (X, ["a", *y[1:]], q, None), "mixes text"),
        (lambda X, y, q: (X, Pairs([0], [1], n_rows=400), q, None), "count 400 rows"),
    ],
)
def test_bad_rows_are_refused_before_any_work(rows, change, message):
    X, y, qid, weight = change(*rows)
    with pytest.raises(ValueError, match=message):
        RankSVM().fit(X, y, qid=qid, sample_weight=weight)


def test_one_level_everywhere_and_wrong_features_are_refused(rows):
    X, y, qid = rows
    with pytest.raises(NoPairsError, match="one class only"):
        RankSVM().fit(X, np.ones(300), qid=qid)
    with pytest.raises(NoPairsError, match="no preference"):
        RankSVM().fit(X, y, qid=np.arange(300))
    with pytest.raises(ValueError, match="features"):
        RankSVM().fit(X, y, qid=qid).predict(X[:, :3])
    with pytest.raises(PairrankError, match="leave graph"):
        RankSVM(graph="chain").fit(X, Pairs([0], [1], n_rows=300))


@pytest.mark.parametrize(("scale", "C"), [(1e200, 1.0), (1.0, 1e300)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_an_overflow_is_an_error_that_says_what_to_do(rows, scale, C, form):
    X, y, qid = rows
    ranker = RankSVM(C=C, reduction="sum")
    with pytest.raises(PairrankError, match="scale the features down"):
        ranker.fit(form(X * scale), y, qid=qid)
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("solver", ["auto", "tron"])
def test_huge_features_end_the_fit_one_way_or_the_other(rows, form, solver):
    X, y, qid = rows
    with pytest.raises(PairrankError, match="scale the features down"):
        RankSVM(solver=solver).fit(form(X * 1e160), y, qid=qid)
    for scale in (1e60, 1e110):
        with contextlib.suppress(PairrankError), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = RankSVM(solver=solver).fit(form(X * scale), y, qid=qid)
            assert np.isfinite(fitted.coef_).all()


def test_double_precision_is_not_told_to_pass_float64(rows):
    X, y, qid = rows
    with pytest.warns(ConvergenceWarning, match="No step lowers"):
        fitted = RankSVM(C=1e6, reduction="sum", tol=1e-18, solver="tron").fit(X, y, qid=qid)
    assert fitted.status_ == "no_progress"


def test_a_refit_forgets_the_validation_rows_and_any_true_stops(rows):
    X, y, qid = rows
    ranker = RankSVM(solver="tron").fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    assert not hasattr(ranker.fit(X, y, qid=qid), "validation_scores_")
    assert ranker.fit(X, y, qid=qid, callback=lambda step: np.True_).status_ == "stopped"


def test_rows_that_no_sample_holds_do_not_spoil_the_fit():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30_000, 10)) < 1e-4, 1e6, rng.normal(size=(30_000, 10)))
    y = np.digitize(rng.normal(size=30_000) + np.sign(X[:, 0]), [0, 1])
    qid = rng.integers(0, 50, 30_000)
    sampled = RankSVM().fit(X, y, qid=qid)
    assert sampled.status_ == "converged"
    assert sampled.n_iter_ < 30
    assert sampled.objective_ <= 1.001 * RankSVM(solver="tron").fit(X, y, qid=qid).objective_


def test_weights_that_no_sample_holds_do_not_spoil_the_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 10))
    y = np.digitize(X[:, 0] + rng.normal(size=30_000), [0, 1])
    weight = np.where(rng.random(30_000) < 0.001, 1e3, 1e-3)
    qid = rng.integers(0, 50, 30_000)
    fitted = [
        RankSVM(solver=solver, tol=1e-8, max_iter=100).fit(X, y, qid=qid, sample_weight=weight)
        for solver in ("auto", "tron")
    ]
    assert fitted[0].objective_ == pytest.approx(fitted[1].objective_, rel=1e-8)


def test_large_rows_in_many_queries_reach_the_optimum_from_a_sample():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60_000, 12)) @ rng.normal(size=(12, 12))
    y = np.digitize(X[:, 0] + 3 * rng.normal(size=60_000), [-2, 3, 5]).astype(float)
    qid = rng.integers(0, 900, 60_000)
    sampled = RankSVM(tol=1e-7).fit(X, y, qid=qid)
    paper = RankSVM(tol=1e-7, solver="tron").fit(X, y, qid=qid)
    assert sampled.status_ == paper.status_ == "converged"
    assert sampled.objective_ == pytest.approx(paper.objective_, rel=1e-10)
    assert sampled.history_[-1].n_products < paper.history_[-1].n_products


def test_remembered_columns_of_a_wrong_type_are_damage(rows, tmp_path):
    RankSVM().fit(*rows[:2]).save(tmp_path / "model")
    record = read_model(tmp_path / "model")
    changed = record._replace(info={**record.info, "columns": {"qid": 3}})
    write_model(tmp_path / "model", changed)
    with pytest.raises(FileFormatError, match="damaged: its columns are of a wrong type"):
        pairrank.load_model(tmp_path / "model")
