"""RankNet: its objective, its gradient, its optimum, and what scikit-learn asks of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")

import joblib  # noqa: E402
import torch  # noqa: E402
from numpydoc.docscrape import ClassDoc  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from definitions import preferences_of  # noqa: E402
from loss_table import NAMED  # noqa: E402
from pairrank import OrderGraph, Pairs, PairwiseRanker, RankNet, load_model  # noqa: E402
from pairrank.exceptions import NoPairsError, PairrankError  # noqa: E402

SMOOTH = sorted(name for name in NAMED if NAMED[name]().smooth and name != "raykar")
KINKED = sorted(name for name in NAMED if not NAMED[name]().smooth)


@pytest.fixture(scope="module")
def rows():
    """Rows whose order is not linear in the features, in queries of several sizes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5)) * [1.0, 3.0, 0.2, 1.0, 10.0] + [0.0, 5.0, 0.0, -1.0, 2.0]
    steep = X[:, 0] + np.abs(X[:, 1] - 5.0) + 0.3 * rng.normal(size=240)
    return X, np.digitize(steep, [0.5, 2.0, 4.0]).astype(float), rng.integers(0, 12, 240)


@parametrize_with_checks([RankNet()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)


@pytest.mark.parametrize("graph", ["full", "chain"])
@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
@pytest.mark.parametrize("loss", [*SMOOTH, *KINKED])
def test_the_objective_is_the_sum_over_explicit_pairs(rows, loss, reduction, graph):
    X, y, qid = (part[:80] for part in rows)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    options = {"loss": loss, "graph": graph, "alpha": 0.7, "max_iter": 3, "solver": "adam"}
    net = RankNet((4,), reduction=reduction, **options).fit(X, y, qid=qid, sample_weight=weight)
    i, j = np.transpose(preferences_of(y, qid, graph))
    pair_weight = weight[i] * weight[j]
    of_queries = np.bincount(qid[i], pair_weight, minlength=12)
    scale = {
        "rows": weight.sum() / pair_weight.sum(),
        "query": weight.sum() / np.unique(qid).size / of_queries[qid[i]],
        "sum": 1.0,
    }[reduction]
    scores = net.predict(X)
    costs = (scale * pair_weight) @ NAMED[loss]().phi(scores[i] - scores[j])
    squares = sum(
        float((part.detach() ** 2).sum()) for part in net.network_.parameters() if part.ndim > 1
    )
    assert net.objective_ == pytest.approx(0.35 * squares + costs, rel=1e-9)
    assert net.history_[-1].value == net.objective_
    assert net.n_pairs_ == i.size


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("graph", ["full", "chain", OrderGraph([(0, 2), (1, 3), (2, 3)])])
def test_a_linear_network_reaches_the_optimum_of_the_convex_rankers(rows, loss, graph):
    X, y, qid = rows
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    roles = {
        "winner_weight": np.random.default_rng(1).uniform(0.5, 2.0, y.size),
        "loser_weight": np.random.default_rng(2).integers(0, 3, y.size).astype(float),
    }
    net = RankNet((), loss=loss, alpha=0.5, graph=graph, tol=1e-7)
    net.fit(X, y, qid=qid, **roles)
    other = PairwiseRanker(loss, C=2.0, graph=graph, tol=1e-7).fit(scaled, y, qid=qid, **roles)
    # A strongly convex objective's minimum is within |gradient|/alpha; the other's alpha is 1.
    bound = net.history_[-1].gradient_norm / 0.5 + other.history_[-1].gradient_norm
    coef = net.coef_ * X.std(axis=0)
    assert np.linalg.norm(coef - other.coef_) <= bound + 1e-9 * np.linalg.norm(coef)
    np.testing.assert_array_equal(net.linear_coef(), net.coef_)
    assert 0.5 * net.objective_ / 0.25 == pytest.approx(other.objective_, rel=1e-6)


def test_ties_among_pairs_have_the_target_one_half(rows):
    X, y, _ = rows
    i, j = np.arange(0, 100, 2), np.arange(1, 101, 2)
    magnitude = (y[i] != y[j]).astype(float)
    first = np.where(y[i] >= y[j], i, j)
    pairs = Pairs(first, i + j - first, magnitude=magnitude, n_rows=240)
    net = RankNet((3,), alpha=0.0, max_iter=5, solver="adam").fit(X, pairs)
    d = net.predict(X)[pairs.i] - net.predict(X)[pairs.j]
    target = np.where(magnitude == 0, 0.5, 1.0)
    entropy = np.logaddexp(0.0, d) - target * d
    assert net.objective_ == pytest.approx(entropy.sum(), rel=1e-9)
    assert net.n_ties_ == np.count_nonzero(magnitude == 0) > 0


def test_differences_of_scores_are_probabilities(rows):
    X, y, qid = rows
    net = RankNet(alpha=0.1).fit(X, y, qid=qid)
    d = net.predict(X[:100]) - net.predict(X[100:200])
    np.testing.assert_allclose(net.predict_pair_proba(X[:100], X[100:200]), 1 / (1 + np.exp(-d)))
    with pytest.raises(PairrankError, match="row k of each makes pair k"):
        net.predict_pair_proba(X[:3], X[:2])
    assert not hasattr(RankNet(loss="squared_hinge"), "predict_pair_proba")


def test_hidden_units_rank_what_no_linear_network_can(rows):
    X, y, qid = rows
    linear, layered = (RankNet(size, alpha=0.1).fit(X, y, qid=qid) for size in ((), (10,)))
    assert linear.score(X, y, qid=qid) < 0.8 < 0.95 < layered.score(X, y, qid=qid)
    assert not hasattr(layered, "coef_")
    with pytest.raises(PairrankError, match="not linear in the features"):
        layered.linear_coef()
    ranks = layered.rank(X, qid)
    best = [layered.predict(X)[qid == q].argmax() for q in range(12)]
    assert [int(ranks[qid == q].argmin()) for q in range(12)] == best


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "adam"},
        {"solver": "sgd", "learning_rate": 0.5},
        {"batch_size": 3},
        {"loss": "hinge"},
        {"activation": "relu", "batch_size": 4},
    ],
    ids=str,
)
def test_every_way_of_training_lowers_the_objective(rows, options):
    X, y, qid = rows
    net = RankNet(max_iter=30, **options).fit(X, y, qid=qid)
    values = [step.value for step in net.history_]
    assert net.status_ == "finished"
    assert net.n_iter_ == 30 == len(values) - 1
    assert values[-1] < 0.8 * values[0]
    assert net.objective_ == values[-1]


@pytest.mark.parametrize("options", [{}, {"batch_size": 2}], ids=str)
def test_a_seed_gives_one_answer_and_leaves_the_random_numbers_of_torch(rows, options):
    X, y, qid = rows
    before = torch.get_rng_state()
    net = RankNet(max_iter=4, solver="adam", random_state=3, **options)
    first = net.fit(X, y, qid=qid).predict(X)
    np.testing.assert_array_equal(clone(net).fit(X, y, qid=qid).predict(X), first)
    other = clone(net).set_params(random_state=4).fit(X, y, qid=qid).predict(X)
    assert np.abs(other - first).max() > 1e-6
    assert torch.equal(torch.get_rng_state(), before)


def test_float32_stays_float32_and_predicts_float64(rows):
    X, y, qid = rows
    single = RankNet(max_iter=20, solver="adam").fit(X.astype(np.float32), y, qid=qid)
    double = RankNet(max_iter=20, solver="adam").fit(X, y, qid=qid)
    assert {part.dtype for part in single.network_.parameters()} == {torch.float32}
    assert {part.dtype for part in double.network_.parameters()} == {torch.float64}
    assert single.predict(X).dtype == np.float64
    np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-2)


@pytest.mark.parametrize("hidden", [(), (4,)])
def test_sparse_rows_are_learnt_as_they_are(rows, hidden):
    X, y, qid = rows
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    csr = sparse.csr_array(X)
    net = RankNet(hidden, max_iter=10, solver="adam", batch_size=3).fit(csr, y, qid=qid)
    assert not net.feature_mean_.any()
    deviation = X.std(axis=0)
    np.testing.assert_allclose(net.feature_scale_, np.where(deviation > 0, deviation, 1.0))
    np.testing.assert_allclose(net.predict(X), net.predict(csr), rtol=1e-12, atol=1e-12)
    dense = RankNet(hidden, max_iter=10, solver="adam").fit(X, y, qid=qid)
    np.testing.assert_allclose(dense.predict(csr), dense.predict(X), rtol=1e-12, atol=1e-12)


def test_rows_of_weight_zero_change_nothing(rows):
    X, y, qid = rows
    kept = np.arange(240) % 3 > 0
    far = np.where(kept[:, None], X, 1e6)
    options = {"solver": "adam", "max_iter": 10}
    with_zeros = RankNet(**options).fit(far, y, qid=qid, sample_weight=kept.astype(float))
    without = RankNet(**options).fit(X[kept], y[kept], qid=qid[kept])
    np.testing.assert_allclose(with_zeros.predict(X), without.predict(X), rtol=1e-8, atol=1e-8)
    assert with_zeros.n_rows_ == kept.sum()


def test_a_constant_feature_and_one_far_from_zero_do_no_harm(rows):
    X, y, qid = rows
    moved = np.column_stack([X[:, 0] + 1e6, X[:, 1:], np.full(240, 7.0)])
    net, plain = RankNet(alpha=0.1).fit(moved, y, qid=qid), RankNet(alpha=0.1).fit(X, y, qid=qid)
    assert net.score(moved, y, qid=qid) == pytest.approx(plain.score(X, y, qid=qid), abs=0.05)


@pytest.mark.parametrize("hidden", [(), 6, (5, 3)])
def test_copies_and_files_predict_the_same(rows, tmp_path, hidden):
    X, y, qid = rows
    net = RankNet(hidden, solver="adam", max_iter=5, loss="probit").fit(X, y, qid=qid)
    scores = net.predict(X)
    joblib.dump(net, tmp_path / "joblib")
    for copied in (pickle.loads(pickle.dumps(net)), joblib.load(tmp_path / "joblib")):
        np.testing.assert_array_equal(copied.predict(X), scores)
    net.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), scores)
    assert loaded.objective_ == net.objective_
    assert hasattr(loaded, "coef_") == (hidden == ())
    assert loaded.fit(X, y, qid=qid).predict(X) == pytest.approx(scores)
    assert "Parameters" in net._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_layer_sizes": (0,)}, "hidden_layer_sizes must be greater than 0"),
        ({"hidden_layer_sizes": 2.5}, "hidden_layer_sizes must be a whole number"),
        ({"alpha": -1.0}, "alpha must be at least 0"),
        ({"learning_rate": 0.0}, "learning_rate must be greater than 0"),
        ({"batch_size": 0}, "batch_size must be greater than 0"),
        ({"validation_fraction": 1.0}, "validation_fraction must be less than 1"),
        ({"activation": "sine"}, "activation must be one of"),
        ({"loss": "raykar"}, "values of one loss and gradients of another"),
        ({"loss": "hinge", "solver": "lbfgs"}, "and a smooth loss"),
        ({"batch_size": 2, "solver": "lbfgs"}, "needs every pair in each step"),
        ({"patience": 0}, "patience must be at least 1"),
    ],
)
def test_parameters_out_of_range_are_refused(rows, options, message):
    X, y, qid = rows
    with pytest.raises(PairrankError, match=message):
        RankNet(**options).fit(X, y, qid=qid)


def test_rows_that_cannot_be_learnt_from_are_refused(rows):
    X, y, qid = rows
    with pytest.raises(NoPairsError):
        RankNet().fit(X, np.zeros(240), qid=qid)
    with pytest.raises(PairrankError, match="too large to be standardized"):
        RankNet().fit(np.where(X.max() == X, 1e300, X), y, qid=qid)
    huge = np.where(X.max() == X, 1e30, X).astype(np.float32)
    net = RankNet(solver="adam", max_iter=1).fit(X.astype(np.float32), y, qid=qid)
    assert np.isfinite(net.predict(huge)).all()
    with pytest.raises(PairrankError, match="lower learning_rate"):
        RankNet((), solver="sgd", learning_rate=1e300, loss="squared_hinge").fit(X, y, qid=qid)


def test_every_fitted_attribute_is_described(rows):
    X, y, _ = rows
    document = ClassDoc(RankNet)["Attributes"]
    attributes = {name for entry in document for name in entry.name.split(", ")}
    for hidden in ((), (3,)):
        net = RankNet(hidden, solver="adam", max_iter=1).fit(X, y, X_val=X, y_val=y)
        assert {name for name in vars(net) if name.endswith("_")} <= attributes
