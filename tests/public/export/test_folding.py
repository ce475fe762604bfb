"""Scalers and selectors of a Pipeline become weights of raw features; all else is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from export_readers import linear_model
from pairrank import GreedyRankRLS, RankRLS, RankRLSCV, RankSVM, load_model
from pairrank.exceptions import PairrankError
from pairrank.export import export

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5)) * [1, 100, 0.01, 3, 1] + [0, 1000, 0, -7, 1]
Y = RNG.integers(0, 3, 60).astype(float)


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MinMaxScaler((-2, 5)),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False),
        RobustScaler(with_scaling=False),
        RobustScaler(quantile_range=(10, 90), unit_variance=True),
        make_pipeline(StandardScaler(), "passthrough", MinMaxScaler()),
        make_pipeline(VarianceThreshold(), SelectKBest(k=3), StandardScaler()),
        GreedyRankRLS(2),
        "passthrough",
    ],
    ids=repr,
)
def test_folded_weights_give_the_scores_of_the_pipeline(scaler):
    model = make_pipeline(scaler, RankRLS(alpha=0.1)).fit(X, Y)
    linear, expected = linear_model(model), model.predict(X)
    bound = 2.0**-53 * 30 * (np.abs(linear.weights) @ np.abs(X).max(axis=0) + abs(linear.offset))
    np.testing.assert_allclose(X @ linear.weights + linear.offset, expected, rtol=0, atol=bound)
    assert linear.ranker == "RankRLS"


def test_a_constant_feature_and_sparse_rows_are_folded():
    thin = np.where(np.abs(X) > 1, X, 0)
    thin[:, 2] = 0
    model = make_pipeline(MaxAbsScaler(), StandardScaler(with_mean=False), RankSVM())
    linear = linear_model(model.fit(sparse.csr_array(thin), Y))
    np.testing.assert_allclose(thin @ linear.weights, model.predict(sparse.csr_array(thin)))
    assert linear.offset == 0


def test_every_model_around_a_ranker_gives_its_weights(tmp_path):
    ranker = RankRLS(alpha=1.0).fit(X, Y)
    search = GridSearchCV(make_pipeline(StandardScaler(), RankRLS()), {"rankrls__alpha": [1.0]})
    scaled = linear_model(make_pipeline(StandardScaler(), RankRLS(alpha=1.0)).fit(X, Y))
    np.testing.assert_array_equal(linear_model(search.fit(X, Y)).weights, scaled.weights)
    chosen = RankRLSCV([1.0]).fit(X, Y)
    np.testing.assert_allclose(linear_model(chosen).weights, ranker.coef_)
    ranker.save(tmp_path / "model")
    loaded = linear_model(load_model(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.weights, ranker.coef_)


def test_features_that_were_not_chosen_weigh_nothing():
    chosen = GreedyRankRLS(2).fit(X, Y)
    weights = linear_model(chosen).weights
    np.testing.assert_array_equal(np.flatnonzero(weights), np.sort(chosen.selected_))
    np.testing.assert_array_equal(weights[weights != 0], chosen.coef_[chosen.coef_ != 0])
    file = io.BytesIO()
    assert chosen.export(file, "csv", check=(X, None)).n_changed == 0
    assert file.getvalue().count(b",0.0\n") == 3


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (RankSVM(kernel="rbf"), "not linear in the features: fit it with kernel=None"),
        (RankRLSCV(kernel="poly"), "not linear"),
        (make_pipeline(MinMaxScaler(clip=True), RankSVM()), "clip=True.*clip=False"),
        (make_pipeline(PCA(2), RankSVM()), "PCA cannot be folded into weights: use StandardScaler"),
        (Ridge(), "cannot export a Ridge"),
        (make_pipeline(StandardScaler(), Ridge()), "cannot export a Ridge"),
        (make_pipeline("passthrough"), "ends with one"),
        (make_pipeline(GreedyRankRLS(2), "passthrough"), "cannot export a passthrough"),
    ],
    ids=repr,
)
def test_a_model_that_is_not_linear_is_refused(model, complaint, tmp_path):
    with pytest.raises(PairrankError, match=complaint):
        export(model.fit(X, Y), tmp_path / "model", "csv")
    assert list(tmp_path.iterdir()) == []


def test_a_precomputed_kernel_and_several_targets_are_refused():
    with pytest.raises(PairrankError, match="not linear"):
        linear_model(RankRLS(kernel="precomputed").fit(X @ X.T / 1e6 + np.eye(60), Y))
    with pytest.raises(PairrankError, match="2 targets, but an export has one score"):
        linear_model(RankRLS().fit(X, np.column_stack([Y, -Y])))


@pytest.mark.parametrize("model", [RankSVM(), make_pipeline(StandardScaler(), RankSVM())])
def test_a_model_that_is_not_fitted_is_refused(model):
    with pytest.raises(NotFittedError):
        linear_model(model)


def test_weights_that_overflow_are_refused():
    model = make_pipeline(StandardScaler(), RankSVM()).fit(X, Y)
    model[0].scale_ = np.full(5, 1e-320)
    with pytest.raises(PairrankError, match="the weights overflow"):
        linear_model(model)
    ranker = RankSVM().fit(X, Y)
    ranker.coef_ = np.array([1.0, 2.0, 1e39, 0.0, 0.0])
    with pytest.raises(PairrankError, match=r"1e\+39 of feature 'f3' is too large for float32"):
        export(ranker, io.BytesIO(), "solr")
