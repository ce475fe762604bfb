"""RankNCG as its users meet it: optimum, probabilities, routes, kernels, inputs, model files."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import pairrank
from pairrank import Kernel, OrderGraph, Pairs, RankNCG
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
def test_every_pair_sum_has_the_same_answer(rows, loss, pair_sum):
    if (loss, pair_sum) == ("logistic", "beaulieu"):
        pytest.skip("Beaulieu's series adds up erfc")
    X, y, qid = rows
    options = {"alpha": 0.1, "loss": loss, "graph": "chain", "tol": 1e-8}
    exact = RankNCG(pair_sum="auto", **options).fit(X, y, qid=qid)
    for solver in ("auto", "ncg"):
        summed = RankNCG(pair_sum=pair_sum, solver=solver, **options).fit(X, y, qid=qid)
        assert summed.status_ == "converged"
        np.testing.assert_allclose(summed.coef_, exact.coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loose_eps_ends_at_the_optimum_of_a_tight_one(rows, loss, solver):
    if (loss, solver) == ("raykar", "tron"):
        pytest.skip("TRON takes no mixture")
    X, y, qid = rows
    options = {"loss": loss, "solver": solver, "pair_sum": "boxes", "tol": 1e-6}
    tight = RankNCG(eps=1e-10, **options).fit(X, y, qid=qid)
    loose = RankNCG(eps=0.1, **options).fit(X, y, qid=qid)
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


def test_alpha_means_the_same_for_few_rows_and_many(rows):
    X, y, qid = rows
    twice = np.vstack((X, X)), np.append(y, y), np.append(qid, qid + 100)
    doubled = RankNCG(2.0, tol=1e-9).fit(twice[0], twice[1], qid=twice[2])
    once = RankNCG(1.0, tol=1e-9).fit(X, y, qid=qid)
    np.testing.assert_allclose(doubled.coef_, once.coef_, rtol=1e-6)


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
    assert repr(loaded) == repr(ranker)
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
