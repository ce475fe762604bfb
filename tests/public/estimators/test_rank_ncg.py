"""RankNCG as its users meet it: optimum, probabilities, routes, kernels, inputs, model files."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from scipy import sparse, special
from sklearn.exceptions import ConvergenceWarning

import pairrank
from pairrank import Pairs, RankNCG, RankSVM
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.losses import Logistic, Probit

pytestmark = pytest.mark.numeric

LOSSES = ["logistic", "probit", "raykar"]
SOLVERS = ["auto", "ncg", "tron"]


def test_the_papers_own_mixture_reports_one_value_and_ends_at_probits_optimum(rows):
    X, y, qid = rows
    mixture = RankNCG(0.3, loss="raykar", reduction="sum", tol=1e-9).fit(X, y, qid=qid)
    probit = RankNCG(0.3, loss="probit", reduction="sum", tol=1e-9).fit(X, y, qid=qid)
    np.testing.assert_allclose(mixture.coef_, probit.coef_, rtol=1e-6)
    i, j = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    d = (X[i] - X[j]) @ mixture.coef_
    value = 0.15 * mixture.coef_ @ mixture.coef_ - special.log_expit(d).sum()
    assert mixture.objective_ == pytest.approx(value, rel=1e-9)


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


def test_a_model_file_with_a_damaged_kernel_is_refused(rows, tmp_path):
    X, y, qid = rows
    ranker = RankNCG(kernel="rbf").fit(X, y, qid=qid)
    ranker.coef_ = ranker.coef_[:-1]
    ranker.save(tmp_path / "model")
    with pytest.raises(FileFormatError, match="does not fit"):
        pairrank.load_model(tmp_path / "model")
    ranker.kernel_.projection_ = ranker.kernel_.projection_[:-1]
    ranker.save(tmp_path / "model")
    with pytest.raises(FileFormatError, match="landmarks is"):
        pairrank.load_model(tmp_path / "model")


@pytest.mark.parametrize(
    "ranker",
    [*(RankNCG(solver=solver) for solver in SOLVERS), RankSVM(), RankSVM(solver="tron")],
    ids=str,
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e-150, 1e60, 1e110, 1e160, 1e200])
def test_features_of_any_size_end_the_fit_one_way_or_the_other(rows, ranker, form, scale):
    X, y, qid = rows
    with contextlib.suppress(PairrankError), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = ranker.fit(form(X * scale), y, qid=qid)
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


def test_many_comparisons_outweigh_the_penalty():
    players = np.eye(2)
    votes = Pairs([0, 1], [1, 0], weight=[97_400.0, 2_600.0])
    ranker = RankNCG(tol=1e-8).fit(players, votes)
    as_sum = RankNCG(tol=1e-8, reduction="sum").fit(players, votes)
    np.testing.assert_array_equal(ranker.coef_, as_sum.coef_)
    proba = ranker.predict_pair_proba(players[:1], players[1:])
    assert proba == pytest.approx(0.974, abs=1e-3)
