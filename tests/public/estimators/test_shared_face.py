"""What estimators share: derived constructors, filled docstrings, one fit."""

from __future__ import annotations

import inspect
import pickle
from typing import get_type_hints

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc
from sklearn.base import clone

from pairrank import (
    ConvexHullRanker,
    Kernel,
    MPRank,
    PairwiseRanker,
    RankBoost,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    SVRank,
)

RANKERS = [ConvexHullRanker, MPRank, PairwiseRanker, RankNCG, RankRLS, RankSVM, SVRank]
SEARCHES = [(RankSVMCV, RankSVM, "C"), (RankNCGCV, RankNCG, "alpha"), (RankRLSCV, RankRLS, "alpha")]


@pytest.mark.parametrize("estimator", [*RANKERS, RankBoost, RankSVMCV, RankNCGCV, RankRLSCV])
def test_every_parameter_and_fitted_attribute_is_described(estimator):
    document = ClassDoc(estimator)
    assert all(entry.desc for entry in document["Parameters"])
    assert all(entry.type for entry in document["Attributes"])
    attributes = {name for entry in document["Attributes"] for name in entry.name.split(", ")}
    X, y = np.arange(24.0).reshape(12, 2) % 7, np.arange(12) % 3
    fitted = estimator().fit(X, y)
    public = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert public <= attributes


@pytest.mark.parametrize(("search", "ranker", "strength"), SEARCHES)
def test_a_search_has_the_parameters_of_its_ranker(search, ranker, strength):
    own, inner = (inspect.signature(each).parameters for each in (search, ranker))
    assert next(iter(own)) == f"{strength}s"
    assert strength not in own
    assert {"cv", "scoring", "kernel", "random_state"} <= set(own)
    for name in set(own) & set(inner):
        assert own[name].default == inner[name].default
    assert get_type_hints(search.__init__)["random_state"] == int | np.random.RandomState | None
    kernel = Kernel("poly", degree=2)
    changed = search([1.0], cv=3, kernel=kernel)
    assert changed.get_params(deep=False) == {
        **search().get_params(),
        f"{strength}s": [1.0],
        "cv": 3,
        "kernel": kernel,
    }
    assert clone(changed.set_params(kernel__gamma=0.5)).kernel.gamma == 0.5
    assert repr(pickle.loads(pickle.dumps(changed))) == repr(changed)
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        search(depth=3)
    with pytest.raises(TypeError, match="positional arguments"):
        search([1.0], 5)


def test_what_an_earlier_fit_left_is_removed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    ranker = RankNCG(covariance="rows", kernel=None).fit(X, y, X_val=X, y_val=y)
    before = set(vars(ranker))
    ranker.set_params(covariance=None).fit(X, y)
    removed = {"coef_cov_", "standard_errors_", "flat_directions_", "validation_scores_"}
    assert before - set(vars(ranker)) == removed
    hull = ConvexHullRanker(kernel="rbf").fit(X, y, qid=np.arange(60) % 3)
    before = set(vars(hull))
    hull.set_params(kernel=None).fit(X, y)
    assert before - set(vars(hull)) == {"limit_qid_", "kernel_"}
    search = RankNCGCV([1.0], cv=2, covariance="rows").fit(X, y)
    assert hasattr(search, "standard_errors_")
    assert not hasattr(search.set_params(covariance=None).fit(X, y), "standard_errors_")
