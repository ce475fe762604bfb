"""QueryKFold: whole queries in each fold, and qid carried through scikit-learn's searches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import QueryKFold, RankSVM
from pairrank.exceptions import PairrankError
from pairrank.metrics import pairwise_accuracy

IDENTIFIERS = st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=60)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def judged():
    """Rows of twelve queries whose labels say nothing across queries: offsets swamp them."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(12), 15))
    X = rng.normal(size=(qid.size, 3))
    y = np.rint(2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=qid.size)) + 100.0 * (qid % 3)
    return X, y, qid


@given(qid=IDENTIFIERS, n_splits=st.integers(2, 4), shuffle=st.booleans())
def test_every_query_is_tested_once_and_never_split(qid, n_splits, shuffle):
    cv = QueryKFold(n_splits, shuffle=shuffle, random_state=0)
    if len(set(qid)) < n_splits:
        with pytest.raises(PairrankError, match="take fewer folds"):
            cv.split(qid, qid=qid)
        return
    tested = []
    for train, test in cv.split(np.zeros((len(qid), 1)), qid=qid):
        assert not {qid[row] for row in train} & {qid[row] for row in test}
        assert sorted([*train, *test]) == list(range(len(qid)))
        assert test.size
        tested.extend(test)
    assert sorted(tested) == list(range(len(qid)))


def test_queries_stay_in_their_order_unless_shuffled():
    qid = ["z", "z", "a", "m", "m", "b"]
    tests = [test.tolist() for _, test in QueryKFold(2).split(qid, qid=qid)]
    assert tests == [[0, 1, 2], [3, 4, 5]]
    shuffled = QueryKFold(4, shuffle=True, random_state=3)
    first, second = ([test.tolist() for _, test in shuffled.split(qid, qid=qid)] for _ in "12")
    assert first == second
    assert first != [test.tolist() for _, test in QueryKFold(4).split(qid, qid=qid)]


def test_a_split_without_qid_names_the_remedy():
    X = np.zeros((6, 1))
    for groups in (None, [1, 1, 2, 2, 3, 3]):
        with pytest.raises(PairrankError, match="enable_metadata_routing=True"):
            QueryKFold(2).split(X, None, groups)
    with pytest.raises(PairrankError, match="5 entries for 6 rows"):
        QueryKFold(2).split(X, qid=[1, 1, 2, 2, 3])
    with pytest.raises(PairrankError, match="n_splits must be"):
        QueryKFold(1).split(X, qid=[1, 1, 2, 2, 3, 3])


def test_a_search_without_routing_gets_that_error(judged):
    X, y, _ = judged
    with pytest.raises(PairrankError, match="enable_metadata_routing=True"):
        GridSearchCV(RankSVM(), {"C": [1.0]}, cv=QueryKFold(3)).fit(X, y)


def by_hand(model, X, y, qid, sample_weight=None, n_splits=3):
    scores = []
    for train, test in QueryKFold(n_splits).split(X, qid=qid):
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        fitted = clone(model).fit(X[train], y[train], qid=qid[train], **weights)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight[test]}
        scores.append(pairwise_accuracy(y[test], fitted.predict(X[test]), qid=qid[test], **weights))
    return scores


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scaler_takes_weights", [False, True])
def test_a_pipeline_carries_queries_and_weights(judged, scaler_takes_weights):
    X, y, qid = judged
    weight = np.random.default_rng(1).integers(1, 4, y.size)
    scaler = StandardScaler().set_fit_request(sample_weight=scaler_takes_weights)
    model = make_pipeline(scaler, RankSVM())
    search = GridSearchCV(model, {"ranksvm__C": [1e-3, 1.0]}, cv=QueryKFold(3))
    search.fit(X, y, qid=qid, sample_weight=weight)
    wanted = np.mean(by_hand(search.best_estimator_, X, y, qid, weight))
    assert search.best_score_ == pytest.approx(wanted, rel=1e-12)
    Xs = scaler.fit_transform(X, sample_weight=weight if scaler_takes_weights else None)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        make_pipeline(StandardScaler(), RankSVM()).fit(X, y, qid=qid, sample_weight=weight)
    alone = RankSVM(search.best_params_["ranksvm__C"]).fit(Xs, y, qid=qid, sample_weight=weight)
    assert search.best_estimator_[-1].coef_ == pytest.approx(alone.coef_)
