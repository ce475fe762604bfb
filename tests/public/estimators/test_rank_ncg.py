"""RankNCG as its users meet it: optimum, probabilities, routes, kernels, inputs, model files."""

from __future__ import annotations

import contextlib
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse, special
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import pairrank
from pairrank import Kernel, OrderGraph, Pairs, QueryKFold, RankNCG
from pairrank.exceptions import FileFormatError, NoPairsError, PairrankError, PairrankWarning
from pairrank.losses import Logistic, Probit

pytestmark = pytest.mark.numeric

LOSSES = ["logistic", "probit", "raykar"]
SOLVERS = ["auto", "ncg", "tron"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.digitize(X @ [2, -1, 0.5, 0, 0] + rng.normal(size=300), [-1, 0.5, 2]).astype(float)
    return X, y, rng.integers(0, 12, 300)


def comparisons(y, qid=None):
    """Return every preference of the full graph as two index arrays."""
    above = y[:, None] > y[None, :]
    return np.nonzero(above if qid is None else above & (qid[:, None] == qid[None, :]))


@parametrize_with_checks(
    [
        RankNCG(covariance="rows", solver="tron"),
        RankNCG(loss="probit", solver="ncg", graph="chain", reduction="query"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_optimum_equals_logistic_regression_on_explicit_differences(rows, solver):
    X, y, qid = (part[:120] for part in rows)
    i, j = comparisons(y, qid)
    sign = np.where(np.arange(i.size) % 2, 1.0, -1.0)
    # LogisticRegression's objective is |w|^2/2 + C sum log(1 + exp(-y w'x)).
    pointwise = LogisticRegression(C=1 / 0.3, fit_intercept=False, tol=1e-12, solver="newton-cg")
    pointwise.fit(sign[:, None] * (X[i] - X[j]), sign)
    options = {"alpha": 0.3, "reduction": "sum", "tol": 1e-10, "solver": solver}
    ours = RankNCG(**options).fit(X, y, qid=qid)
    np.testing.assert_allclose(ours.coef_, pointwise.coef_[0], rtol=1e-6)
    from_pairs = RankNCG(**options).fit(X, Pairs(i, j, n_rows=120))
    np.testing.assert_allclose(from_pairs.coef_, pointwise.coef_[0], rtol=1e-6)
    assert ours.n_pairs_ == from_pairs.n_pairs_ == i.size


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_optimum_of_probit_has_the_papers_gradient(rows, solver):
    X, y, qid = (part[:120] for part in rows)
    i, j = comparisons(y, qid)
    differences = X[i] - X[j]

    def gradient(w):  # Eq. 3, turned round: we minimise
        z = np.sqrt(3) * (differences @ w) / (np.sqrt(2) * np.pi)
        return 0.3 * w - differences.T @ (0.5 * special.erfc(z))

    found = optimize.root(gradient, np.zeros(5), tol=1e-12)
    assert found.success
    ours = RankNCG(0.3, loss="probit", reduction="sum", tol=1e-10, solver=solver).fit(X, y, qid=qid)
    np.testing.assert_allclose(ours.coef_, found.x, rtol=1e-6)


def test_the_papers_own_mixture_reports_one_value_and_ends_at_probits_optimum(rows):
    X, y, qid = rows
    mixture = RankNCG(0.3, loss="raykar", reduction="sum", tol=1e-9).fit(X, y, qid=qid)
    probit = RankNCG(0.3, loss="probit", reduction="sum", tol=1e-9).fit(X, y, qid=qid)
    np.testing.assert_allclose(mixture.coef_, probit.coef_, rtol=1e-6)
    i, j = comparisons(y, qid)
    d = (X[i] - X[j]) @ mixture.coef_
    value = 0.15 * mixture.coef_ @ mixture.coef_ - special.log_expit(d).sum()
    assert mixture.objective_ == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("graph", ["full", "chain", OrderGraph([(0.0, 2.0), (1.0, 3.0)])])
def test_every_solver_has_the_same_answer(rows, loss, graph):
    X, y, qid = rows
    options = {"alpha": 0.1, "loss": loss, "graph": graph, "tol": 1e-9}
    solvers = ["auto", "ncg"] if loss == "raykar" else SOLVERS
    fitted = [RankNCG(solver=solver, **options).fit(X, y, qid=qid) for solver in solvers]
    for ranker in fitted:
        assert ranker.status_ == "converged"
        np.testing.assert_allclose(ranker.coef_, fitted[0].coef_, rtol=1e-6)
        assert ranker.objective_ == pytest.approx(fitted[0].objective_, rel=1e-12)


@pytest.mark.parametrize("pair_sum", ["boxes", "direct", "beaulieu"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("graph", ["full", "chain"])
def test_every_pair_sum_has_the_same_answer(rows, loss, pair_sum, graph):
    if (loss, pair_sum) == ("logistic", "beaulieu"):
        pytest.skip("Beaulieu's series adds up erfc")
    X, y, qid = rows
    options = {"alpha": 0.1, "loss": loss, "graph": graph, "tol": 1e-8}
    exact = RankNCG(pair_sum="auto", **options).fit(X, y, qid=qid)
    for solver in ("auto", "ncg"):
        summed = RankNCG(pair_sum=pair_sum, solver=solver, **options).fit(X, y, qid=qid)
        assert summed.status_ == "converged"
        np.testing.assert_allclose(summed.coef_, exact.coef_, rtol=1e-6)


@pytest.mark.parametrize("eps", [1e-1, 1e-4])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loose_eps_ends_at_the_optimum_of_a_tight_one(rows, eps, loss, solver):
    if (loss, solver) == ("raykar", "tron"):
        pytest.skip("TRON takes no mixture")
    X, y, qid = rows
    options = {"loss": loss, "solver": solver, "pair_sum": "boxes", "tol": 1e-6}
    tight = RankNCG(eps=1e-10, **options).fit(X, y, qid=qid)
    loose = RankNCG(eps=eps, **options).fit(X, y, qid=qid)
    assert loose.status_ == "converged"
    np.testing.assert_allclose(loose.coef_, tight.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("labels", ["few", "real"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loose_eps_costs_few_evaluations_more(labels, solver):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=5000)
    y = np.digitize(y, [-1, 0, 1]).astype(float) if labels == "few" else y
    options = {"alpha": 0.1, "loss": "probit", "solver": solver, "tol": 1e-9, "pair_sum": "boxes"}
    tight, loose = (RankNCG(eps=eps, **options).fit(X, y) for eps in (1e-12, 1e-1))
    assert loose.status_ == tight.status_ == "converged"
    np.testing.assert_allclose(loose.coef_, tight.coef_, rtol=1e-6)
    few = tight.history_[-1].n_evaluations + 10
    assert loose.history_[-1].n_evaluations <= few


@pytest.mark.parametrize("loss", ["logistic", "probit"])
def test_probabilities_are_calibrated_on_data_drawn_from_the_model(loss):
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(4000, 3)), np.array([1.5, -1.0, 0.5])
    sigmoid = (
        special.expit if loss == "logistic" else lambda d: special.ndtr(np.sqrt(3) / np.pi * d)
    )
    i, j = rng.permutation(4000)[None].repeat(10, 0).ravel(), rng.integers(0, 4000, 40_000)
    i, j = i[i != j], j[i != j]
    won = rng.random(i.size) < sigmoid((X[i] - X[j]) @ w)
    winner, loser = np.where(won, i, j), np.where(won, j, i)
    ranker = RankNCG(1e-3, loss=loss, reduction="sum", tol=1e-6)
    ranker.fit(X, Pairs(winner, loser, n_rows=4000))
    np.testing.assert_allclose(ranker.coef_, w, rtol=0.06)
    new = rng.normal(size=(2, 60_000, 3))
    happened = rng.random(60_000) < sigmoid((new[0] - new[1]) @ w)
    said = ranker.predict_pair_proba(*new)
    bins = np.digitize(said, np.linspace(0, 1, 11)[1:-1])
    counts = np.bincount(bins)
    reliability = np.bincount(bins, happened) / counts - np.bincount(bins, said) / counts
    assert counts.size == 10
    assert np.abs(reliability).max() < 0.02


@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_of_a_pair_and_its_reverse_add_up_to_one(rows, loss):
    X, y, qid = rows
    ranker = RankNCG(loss=loss).fit(X, y, qid=qid)
    there, back = ranker.predict_pair_proba(X, X[::-1]), ranker.predict_pair_proba(X[::-1], X)
    np.testing.assert_allclose(there + back, 1.0, rtol=1e-14)
    margins = ranker.predict(X) - ranker.predict(X[::-1])
    slope = (Probit() if loss == "probit" else Logistic()).phi(-margins, order=1)
    np.testing.assert_allclose(there, -slope, rtol=1e-14)
    far = 1e4 * np.sign(ranker.coef_)[None]
    np.testing.assert_array_equal(ranker.predict_pair_proba(far, -far), [1.0])
    np.testing.assert_array_equal(ranker.predict_pair_proba(-far, far), [0.0])
    with pytest.raises(PairrankError, match="Xi has 300 rows and Xj 3"):
        ranker.predict_pair_proba(X, X[:3])
    with pytest.raises(ValueError, match="features"):
        ranker.predict_pair_proba(X[:, :2], X[:, :2])


def test_every_kind_of_input_gives_the_same_weights(rows):
    X, y, qid = rows
    reference = RankNCG(tol=1e-8).fit(X, y, qid=qid)
    kinds = {
        "csr": sparse.csr_matrix(X),
        "fortran": np.asfortranarray(X),
        "pandas": pd.DataFrame(X, columns=list("abcde")),
        "list": X.tolist(),
    }
    for kind, table in kinds.items():
        for solver in ("auto", "ncg"):
            fitted = RankNCG(tol=1e-8, solver=solver).fit(table, pd.Series(y), qid=qid)
            np.testing.assert_allclose(fitted.coef_, reference.coef_, rtol=1e-6, err_msg=kind)


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_stays_float32_and_comes_close(rows, solver):
    X, y, qid = rows
    single = RankNCG(solver=solver).fit(X.astype(np.float32), y, qid=qid)
    double = RankNCG(solver=solver).fit(X, y, qid=qid)
    assert single.coef_.dtype == np.float64
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-2, atol=1e-3)
    precise = RankNCG(tol=1e-8, solver=solver)
    single = clone(precise).fit(X.astype(np.float32), y, qid=qid)
    double = clone(precise).fit(X.astype(np.float32).astype(np.float64), y, qid=qid)
    assert single.status_ == double.status_ == "converged"
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-6)


@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
@pytest.mark.parametrize("loss", ["logistic", "probit"])
def test_weights_are_repetitions_and_zero_is_absence(rows, reduction, loss):
    X, y, qid = rows
    weight = np.random.default_rng(2).integers(0, 4, y.size)
    repeated = np.repeat(np.arange(y.size), weight)
    ranker = RankNCG(loss=loss, reduction=reduction, tol=1e-9)
    weighted = clone(ranker).fit(X, y, qid=qid, sample_weight=weight)
    several = clone(ranker).fit(X[repeated], y[repeated], qid=qid[repeated])
    np.testing.assert_allclose(weighted.coef_, several.coef_, rtol=1e-6)


def test_alpha_means_the_same_for_few_rows_and_many(rows):
    X, y, qid = rows
    twice = np.vstack((X, X)), np.append(y, y), np.append(qid, qid + 100)
    doubled = RankNCG(2.0, tol=1e-9).fit(twice[0], twice[1], qid=twice[2])
    once = RankNCG(1.0, tol=1e-9).fit(X, y, qid=qid)
    np.testing.assert_allclose(doubled.coef_, once.coef_, rtol=1e-6)


def test_warm_starts_validation_rows_callbacks_and_interrupts(rows, capsys):
    X, y, qid = rows
    ranker = RankNCG(solver="ncg", tol=1e-6, warm_start=True, verbose=1)
    ranker.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    assert ranker.validation_scores_.size == ranker.n_iter_ + 1
    assert ranker.validation_scores_[-1] == pytest.approx(ranker.score(X, y, qid=qid))
    assert "objective" in capsys.readouterr().err
    assert ranker.fit(X, y, qid=qid).n_iter_ == 0
    assert not hasattr(ranker, "validation_scores_")
    stopped = RankNCG(solver="ncg").fit(X, y, qid=qid, callback=lambda step: step.n_iter == 1)
    assert (stopped.status_, stopped.n_iter_) == ("stopped", 1)

    def interrupt(step):
        if step.n_iter == 2:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        broken = RankNCG(solver="ncg", tol=1e-9).fit(X, y, qid=qid, callback=interrupt)
    assert broken.history_[-1].value < broken.history_[0].value
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        RankNCG(max_iter=1, tol=1e-12, solver="ncg").fit(X, y, qid=qid)


def test_a_search_a_pipeline_and_a_pickle(rows):
    X, y, qid = rows
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(RankNCG(), {"alpha": [0.1, 10.0]}, cv=QueryKFold(3))
        search.fit(X, y, qid=qid)
        ranker = RankNCG().set_fit_request(X_val=True, y_val=True, qid_val=True)
        model = Pipeline([("scale", StandardScaler()), ("rank", ranker)], transform_input=["X_val"])
        model.fit(X, y, qid=qid, X_val=X, y_val=y, qid_val=qid)
    assert search.best_score_ > 0.8
    assert model["rank"].validation_scores_[-1] > 0.8
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(search.best_estimator_)).predict(X), search.predict(X)
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"graph": OrderGraph([(0.0, 1.0), (1.0, 3.0)]), "loss": "probit"},
        {"covariance": "queries"},
        {"kernel": Kernel("rbf", gamma=0.2)},
        {"kernel": Kernel("poly", degree=2, method="nystroem", n_components=30)},
    ],
)
def test_a_model_file_predicts_as_the_model_did(rows, tmp_path, parameters):
    X, y, qid = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    ranker = RankNCG(0.5, **parameters).fit(frame, y, qid=qid)
    ranker.save(tmp_path / "model")
    loaded = pairrank.load_model(tmp_path / "model")
    assert loaded.get_params() == ranker.get_params()
    assert loaded.status_ == ranker.status_
    np.testing.assert_array_equal(loaded.predict(frame), ranker.predict(frame))
    proba = ranker.predict_pair_proba(frame[:9], frame[9:18])
    np.testing.assert_array_equal(loaded.predict_pair_proba(frame[:9], frame[9:18]), proba)
    if "covariance" in parameters:
        np.testing.assert_array_equal(loaded.standard_errors_, ranker.standard_errors_)
        np.testing.assert_array_equal(loaded.coef_cov_, ranker.coef_cov_)


def test_a_model_file_holds_no_kernel_that_is_code_nor_a_damaged_one(rows, tmp_path):
    X, y, qid = rows
    ranker = RankNCG(kernel=lambda A, B: A @ B.T).fit(X, y, qid=qid)
    with pytest.raises(PairrankError, match="no code"):
        ranker.save(tmp_path / "model")
    ranker = RankNCG(kernel="rbf").fit(X, y, qid=qid)
    ranker.coef_ = ranker.coef_[:-1]
    ranker.save(tmp_path / "model")
    with pytest.raises(FileFormatError, match="does not fit"):
        pairrank.load_model(tmp_path / "model")
    ranker.kernel_.projection_ = ranker.kernel_.projection_[:-1]
    ranker.save(tmp_path / "model")
    with pytest.raises(FileFormatError, match="landmarks is"):
        pairrank.load_model(tmp_path / "model")


@pytest.mark.parametrize("loss", ["logistic", "probit"])
def test_a_kernel_ranker_minimises_over_the_kernels_functions(rows, loss):
    X, y, qid = (part[:90] for part in rows)
    K = polynomial_kernel(X, degree=2, gamma=1.0, coef0=1.0)
    i, j = comparisons(y, qid)
    phi = (Probit() if loss == "probit" else Logistic()).phi

    def objective(alpha):
        s = K @ alpha
        return 0.5 * alpha @ s + phi(s[i] - s[j]).sum()

    kernel = {"kernel": Kernel("poly", degree=2, gamma=1.0)}
    ranker = RankNCG(loss=loss, reduction="sum", tol=1e-9, **kernel).fit(X, y, qid=qid)
    scores = ranker.predict(X)
    dual = np.linalg.lstsq(K, scores, rcond=1e-12)[0]
    assert objective(dual) == pytest.approx(ranker.objective_, rel=1e-6)
    # The representer theorem's condition: dual weights are minus the slopes, row by row.
    slopes = phi(scores[i] - scores[j], order=1)
    gradient = np.bincount(i, slopes, 90) - np.bincount(j, slopes, 90)
    np.testing.assert_allclose(K @ -gradient, scores, rtol=1e-5, atol=1e-5 * abs(scores).max())


def test_kernels_learn_what_no_line_can_and_come_in_every_form():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.digitize((X**2).sum(axis=1), [1.5, 3, 5])
    fresh = rng.normal(size=(200, 3))
    wanted = np.digitize((fresh**2).sum(axis=1), [1.5, 3, 5])
    assert RankNCG().fit(X, y).score(fresh, wanted) < 0.6
    exact = RankNCG(0.1, kernel=Kernel("rbf", gamma=0.3), tol=1e-8).fit(X, y)
    assert exact.score(fresh, wanted) > 0.95
    assert exact.n_features_in_ == 3
    given = RankNCG(0.1, kernel="precomputed", tol=1e-8).fit(rbf_kernel(X, gamma=0.3), y)
    called = RankNCG(0.1, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3), tol=1e-8).fit(X, y)
    scores = exact.predict(fresh)
    np.testing.assert_allclose(called.predict(fresh), scores, rtol=1e-4, atol=1e-5)
    crossed = rbf_kernel(fresh, X, gamma=0.3)
    np.testing.assert_allclose(given.predict(crossed), scores, rtol=1e-4, atol=1e-5)
    few = RankNCG(0.1, kernel=Kernel("rbf", gamma=0.3, method="nystroem", n_components=60))
    assert few.fit(X, y, X_val=fresh, y_val=wanted).score(fresh, wanted) > 0.95
    assert few.validation_scores_[-1] == pytest.approx(few.score(fresh, wanted))
    assert few.coef_.size <= 60
    linear = few.set_params(kernel=None).fit(X, y)
    assert linear.coef_.shape == (3,)
    assert not hasattr(linear, "kernel_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "alpha must be greater than 0"),
        ({"alpha": np.nan}, "alpha must be"),
        ({"eps": 0}, "eps must be"),
        ({"eps": 1.0}, "eps must be below 1"),
        ({"eps": "tiny"}, "eps must be"),
        ({"tol": 0}, "tol must be"),
        ({"max_iter": -1}, "max_iter must be"),
        ({"loss": "hinge"}, "loss must be one of 'logistic', 'probit', 'raykar'"),
        ({"reduction": "pairs"}, "reduction must be one of"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"loss": "raykar", "solver": "tron"}, 'use solver="ncg"'),
        ({"pair_sum": "tree"}, "beaulieu"),
        ({"pair_sum": "beaulieu"}, "probit"),
        ({"graph": "ring"}, "graph must be"),
        ({"covariance": "pairs"}, "covariance must be one of"),
        ({"covariance": "rows", "kernel": "rbf"}, "leave covariance=None"),
        ({"kernel": "cosine"}, "kernel"),
        ({"kernel": Kernel("rbf", gamma=-1.0)}, "gamma"),
    ],
)
def test_a_wrong_parameter_is_named(rows, parameters, message):
    X, y, qid = rows
    ranker = RankNCG(**parameters)
    with pytest.raises(PairrankError, match=message):
        ranker.fit(X, y, qid=qid)
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, q: (np.where(X[7, 2] == X, np.nan, X), y, q, None), "NaN in row 7"),
        (lambda X, y, q: (X, y[:-1], q, None), "y has 299 entries for 300 rows"),
        (lambda X, y, q: (X, y, [None, *q[1:]], None), "qid is missing in row 0"),
        (lambda X, y, q: (X, y, q, -np.ones(300)), r"sample_weight\[0\] = -1.0 is negative"),
        (lambda X, y, q: (X, Pairs([0], [1], n_rows=400), q, None), "count 400 rows"),
        (lambda X, y, q: (X, np.ones(300), q, None), "one class only"),
        (lambda X, y, q: (X, y, np.arange(300), None), "no preference"),
    ],
)
def test_bad_rows_are_refused_before_any_work(rows, change, message):
    X, y, qid, weight = change(*rows)
    with pytest.raises(ValueError, match=message):
        RankNCG().fit(X, y, qid=qid, sample_weight=weight)


def test_a_graph_over_absent_classes_warns_while_pairs_remain(rows):
    X, y, qid = rows
    some = OrderGraph([(0.0, 1.0), (1.0, 9.0)])
    with pytest.warns(PairrankWarning, match=r"absent from y: 9\.0"):
        fitted = RankNCG(graph=some).fit(X, y, qid=qid)
    alone = RankNCG(graph=OrderGraph([(0.0, 1.0)])).fit(X, y, qid=qid)
    np.testing.assert_allclose(fitted.coef_, alone.coef_)
    with pytest.warns(PairrankWarning, match="absent"), pytest.raises(NoPairsError):
        RankNCG(graph=OrderGraph([(8.0, 9.0)])).fit(X, y, qid=qid)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e-150, 1e60, 1e160, 1e200])
def test_features_of_any_size_end_the_fit_one_way_or_the_other(rows, solver, scale):
    X, y, qid = rows
    with contextlib.suppress(PairrankError), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = RankNCG(solver=solver).fit(X * scale, y, qid=qid)
        assert np.isfinite(fitted.coef_).all()


@pytest.mark.parametrize("pair_sum", ["auto", "boxes"])
@pytest.mark.parametrize("eps", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("least", [-5e-324, -1.5e-323])
def test_scores_that_underflow_stay_within_the_boxes(pair_sum, eps, least):
    X = np.zeros((400, 1))
    X[0], X[1] = least, 1.0
    options = {"tol": 1e-8, "alpha": 1.0}
    model = RankNCG(pair_sum=pair_sum, eps=eps, **options).fit(X, np.arange(400) % 2)
    exact = RankNCG(pair_sum="direct", **options).fit(X, np.arange(400) % 2)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=0, atol=1e-6)


def test_many_rows_lengthen_their_steps_by_a_sample():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30_000, 8))
    y = (X @ rng.normal(size=8) + 2 * rng.normal(size=30_000) > 0).astype(float)
    qid = np.arange(30_000) // 20
    fitted = [RankNCG(solver=solver, tol=1e-6).fit(X, y, qid=qid) for solver in SOLVERS]
    for ranker in fitted:
        assert ranker.status_ == "converged"
        np.testing.assert_allclose(ranker.coef_, fitted[0].coef_, rtol=1e-4)
    ncg = fitted[SOLVERS.index("ncg")]
    assert ncg.history_[-1].n_evaluations <= 2 * ncg.n_iter_ + 3


def test_pairs_are_counted_once_whatever_their_form(rows):
    X, y, qid = rows
    i, j = comparisons(y, qid)
    labels = RankNCG(tol=1e-8).fit(X, y, qid=qid)
    pairs = RankNCG(tol=1e-8, reduction="rows").fit(X, Pairs(i, j, n_rows=300))
    np.testing.assert_allclose(labels.coef_, pairs.coef_, rtol=1e-6)
    assert labels.score(X, y, qid=qid) == pytest.approx(pairs.score(X, Pairs(i, j, n_rows=300)))
    with pytest.raises(PairrankError, match="leave graph"):
        RankNCG(graph="chain").fit(X, Pairs(i, j, n_rows=300))
    np.testing.assert_array_equal(labels.rank(X, qid=qid), pairs.rank(X, qid=qid))


@pytest.mark.parametrize("n_votes", [1000, 100_000])
def test_more_comparisons_outweigh_the_penalty(n_votes):
    wins = round(0.974 * n_votes)
    counts = np.array([wins, n_votes - wins], dtype=np.float64)
    ranker = RankNCG(tol=1e-8).fit(np.eye(2), Pairs([0, 1], [1, 0], weight=counts))
    plain = RankNCG(tol=1e-8, reduction="sum").fit(np.eye(2), Pairs([0, 1], [1, 0], weight=counts))
    np.testing.assert_array_equal(ranker.coef_, plain.coef_)
    proba = ranker.predict_pair_proba(np.eye(2)[:1], np.eye(2)[1:])
    assert proba == pytest.approx(wins / n_votes, abs=0.07 if n_votes == 1000 else 1e-3)


def test_beaulieus_series_is_refused_for_a_loss_without_erfc(rows):
    X, y, qid = rows
    with pytest.raises(PairrankError, match=r"sums erfc functions only.*'probit' or 'raykar'"):
        RankNCG(pair_sum="beaulieu").fit(X, y, qid=qid)
