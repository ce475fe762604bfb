"""GreedyRankRLS: the same choices and errors as refitting every candidate without every unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline

from pairrank import GreedyRankRLS, Pairs, QueryKFold, RankRLS, RankSVM, load_model
from pairrank.exceptions import NoPairsError, PairrankError
from rls_definitions import awkward_rows, refit

pytestmark = pytest.mark.numeric

ALPHA = 0.7


def left_out_error(X, y, qid, weight, units):
    """Return the sum over the units left out, query by query, of the loss of RankRLS on them."""
    error = 0.0
    for unit in units:
        rest = ~np.isin(np.arange(len(X)), unit)
        coef = refit(X[rest], y[rest], qid[rest], weight[rest], ALPHA)
        for query in np.unique(qid[unit]):
            rows = [row for row in unit if qid[row] == query and weight[row] > 0]
            residual = y[rows] - X[rows] @ coef
            for i in range(len(rows)):
                share = weight[rows[i]] * weight[rows] / (2 * weight[rows].sum())
                error += (share[:, None] * (residual[i] - residual) ** 2).sum()
    return error


def left_pair_error(X, y, weight):
    """Return the sum over rows i, j left out of v_i v_j (error of the difference)^2 / (2 n)."""
    error, rows = 0.0, np.flatnonzero(weight > 0)
    for i in rows:
        for j in rows[rows != i]:
            rest = ~np.isin(np.arange(len(X)), (i, j))
            coef = refit(X[rest], y[rest], np.zeros(rest.sum()), weight[rest], ALPHA)
            off = (y[i] - y[j]) - (X[i] - X[j]) @ coef
            error += weight[i] * weight[j] * (off**2).sum() / (2 * weight.sum())
    return error


def greedy(error_of, n_features, k):
    """Return the choices and the errors of the greedy search as it is defined."""
    chosen, errors = [], [error_of([])]
    for _ in range(k):
        tried = [np.inf if f in chosen else error_of([*chosen, f]) for f in range(n_features)]
        chosen.append(int(np.argmin(tried)))
        errors.append(min(tried))
    return chosen, errors


def made(n_rows, n_features, n_queries, *, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    y = X[:, :targets] + 0.5 * X[:, -targets:] + rng.normal(size=(n_rows, targets))
    qid = rng.integers(0, n_queries, n_rows)
    return X, y, qid, rng.integers(0, 3, n_rows) * 0.5


def squeezed(y):
    return y[:, 0] if y.shape[1] == 1 else y


def check(selector, chosen, errors, total):
    assert selector.selected_.tolist() == chosen
    np.testing.assert_allclose(selector.errors_, np.array(errors) / total, rtol=1e-9)
    assert np.flatnonzero(selector.support_).tolist() == sorted(chosen)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_queries", "targets"), [(24, 4, 4, 1), (12, 7, 4, 2), (16, 3, 10, 1)]
)
def test_leaving_queries_out_chooses_as_refits_do(n_rows, n_features, n_queries, targets, kind):
    X, y, qid, weight = made(n_rows, n_features, n_queries, targets=targets)
    if kind == "sparse":
        X[np.random.default_rng(1).random(X.shape) < 0.4] = 0.0
    units = [np.flatnonzero(qid == query) for query in np.unique(qid)]
    chosen, errors = greedy(
        lambda S: left_out_error(X[:, S], y, qid, weight, units), n_features, n_features
    )
    rows = sparse.csr_array(X) if kind == "sparse" else X
    selector = GreedyRankRLS(n_features, ALPHA)
    selector.fit(rows, squeezed(y), qid=qid, sample_weight=weight)
    assert selector.cv_ == "leave-query-out"
    check(selector, chosen, errors, weight.sum())


SHUFFLED = KFold(4, shuffle=True, random_state=0)


@pytest.mark.parametrize(("n_queries", "cv"), [(1, SHUFFLED), (3, SHUFFLED), (7, 3)])
def test_leaving_folds_out_chooses_as_refits_do(n_queries, cv):
    X, y, qid, weight = made(30, 5, n_queries)
    splits = list(QueryKFold(3).split(X, qid=qid) if cv == 3 else cv.split(X))
    units = [test for _, test in splits]
    chosen, errors = greedy(lambda S: left_out_error(X[:, S], y, qid, weight, units), 5, 4)
    for folds in (cv, splits) if n_queries != 3 else (splits,):
        selector = GreedyRankRLS(4, ALPHA, cv=folds).fit(X, y, qid=qid, sample_weight=weight)
        check(selector, chosen, errors, weight.sum())


@pytest.mark.parametrize(("n_rows", "targets"), [(10, 1), (7, 2), (3, 1), (2, 1)])
def test_leaving_pairs_of_rows_out_chooses_as_refits_do(n_rows, targets):
    X, y, _, weight = made(n_rows, 4, 1, targets=targets)
    weight += 0.25
    chosen, errors = greedy(lambda S: left_pair_error(X[:, S], y, weight), 4, 3)
    selector = GreedyRankRLS(3, ALPHA).fit(X, squeezed(y), sample_weight=weight)
    assert selector.cv_ == "leave-pair-out"
    np.testing.assert_allclose(selector.errors_, np.array(errors) / weight.sum(), rtol=1e-9)
    if n_rows > 3:
        assert selector.selected_.tolist() == chosen


@pytest.mark.parametrize("by_query", [False, True])
def test_leaving_comparisons_out_chooses_as_refits_do(by_query):
    rng = np.random.default_rng(4)
    X, qid = rng.normal(size=(15, 5)), np.arange(15) % 3
    i = rng.integers(0, 15, 30)
    j = (i + 3 * rng.integers(1, 5, 30)) % 15
    weight, magnitude = rng.exponential(size=30), rng.normal(size=30) + X[i, 2] - X[j, 2]
    units = [qid[i] == q for q in range(3)] if by_query else list(np.eye(30, dtype=bool))

    def error_of(chosen):
        x = (X[i] - X[j])[:, chosen]
        error = 0.0
        for unit in units:
            w = np.where(unit, 0.0, weight)
            coef = np.linalg.solve(
                (x.T * w) @ x + ALPHA * np.eye(x.shape[1]), x.T @ (w * magnitude)
            )
            error += weight[unit] @ (magnitude - x @ coef)[unit] ** 2
        return error

    chosen, errors = greedy(error_of, 5, 4)
    pairs = Pairs(i, j, weight, magnitude, n_rows=15)
    selector = GreedyRankRLS(4, ALPHA).fit(X, pairs, qid=qid if by_query else None)
    check(selector, chosen, errors, weight.sum())


@given(st.integers(0, 2**32 - 1), st.sampled_from(["ties", "offset", "constant", "float32"]))
def test_errors_are_those_of_refits_on_awkward_rows(seed, kind):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(3, 20))
    X = awkward_rows(kind, rng, n_rows, 4)
    y, qid = rng.integers(0, 3, (n_rows, 1)).astype(float), rng.integers(0, 5, n_rows)
    qid[:3], y[:3, 0] = (0, 1, 0), (0.0, 1.0, 2.0)  # two queries, and labels that differ in one
    units = [np.flatnonzero(qid == query) for query in np.unique(qid)]
    centred, ones = X.astype(np.float64) - X[0].astype(np.float64), np.ones(n_rows)
    selector = GreedyRankRLS(3, ALPHA).fit(X, y, qid=qid)
    for k in range(4):
        S = selector.selected_[:k]
        wanted = left_out_error(centred[:, S], y, qid, ones, units) / n_rows
        assert selector.errors_[k] == pytest.approx(wanted, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("cv", ["leave-query-out", 3])
def test_a_feature_of_one_query_alone_changes_nothing_there(cv):
    rng = np.random.default_rng(8)
    X, qid = rng.normal(size=(40, 3)), np.arange(40) % 4
    X[:, 2] = np.where(qid == 0, 1e7 * X[:, 2], 0.0)
    y, ones = rng.normal(size=(40, 1)), np.ones(40)
    splits = [test for _, test in QueryKFold(4 if cv != 3 else 3).split(X, qid=qid)]
    selector = GreedyRankRLS(3, ALPHA, cv=cv).fit(X, y, qid=qid)
    for k in range(4):
        wanted = left_out_error(X[:, selector.selected_[:k]], y, qid, ones, splits) / 40
        assert selector.errors_[k] == pytest.approx(wanted, rel=1e-6)


def test_without_a_number_it_stops_where_the_error_rises():
    rng = np.random.default_rng(5)
    X, qid = rng.normal(size=(300, 20)), np.repeat(np.arange(30), 10)
    y = X[:, 3] - 2 * X[:, 7] + 0.3 * rng.normal(size=300)
    selector = GreedyRankRLS(alpha=0.1).fit(X, y, qid=qid)
    assert selector.selected_[:2].tolist() == [7, 3]
    assert selector.n_features_to_select_ < 20
    assert (np.diff(selector.errors_) < 0).all()
    more = GreedyRankRLS(20, alpha=0.1).fit(X, y, qid=qid)
    assert more.errors_[selector.n_features_to_select_ + 1] >= selector.errors_[-1]
    assert GreedyRankRLS(0.25).fit(X, y, qid=qid).n_features_to_select_ == 5


def test_equal_features_are_chosen_from_the_lowest():
    X, y, qid, _ = made(40, 3, 5)
    doubled = np.column_stack((X[:, 2], X, X))
    selector = GreedyRankRLS(1).fit(doubled, y, qid=qid)
    same = [f for f in range(7) if (doubled[:, f] == doubled[:, selector.selected_[0]]).all()]
    assert selector.selected_[0] == same[0]


def test_queries_reach_it_in_a_pipeline_and_a_search():
    rng = np.random.default_rng(6)
    X, qid = rng.normal(size=(120, 6)), np.repeat(np.arange(12), 10)
    y = np.rint(X[:, 2] - X[:, 4] + 0.5 * rng.normal(size=120))
    with config_context(enable_metadata_routing=True):
        steps = Pipeline([("choose", GreedyRankRLS()), ("rank", RankSVM())])
        grid = {"choose__n_features_to_select": [1, 2, 6]}
        search = GridSearchCV(steps, grid, cv=QueryKFold(3)).fit(X, y, qid=qid)
    best = search.best_estimator_[0]
    assert best.cv_ == "leave-query-out"
    assert {2, 4} <= set(best.selected_.tolist())
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_a_single_long_query_is_left_out_in_folds():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1000, 5))
    y = X[:, 1] + 0.1 * rng.normal(size=1000)
    assert GreedyRankRLS(1).fit(X, y).cv_ == 10
    assert GreedyRankRLS(1).fit(X, y, qid=np.ones(1000)).selected_.tolist() == [1]


HALVES = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"n_features_to_select": 0}, "from 1 to the 4 features"),
        ({"n_features_to_select": 5}, "from 1 to the 4 features"),
        ({"n_features_to_select": 1.5}, "between 0 and 1"),
        ({"n_features_to_select": True}, "between 0 and 1"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"cv": "loo"}, "cv must be one of"),
        ({"cv": "leave-pair-out"}, "one query"),
        ({"cv": 50}, "take fewer folds"),
        ({"cv": HALVES[:1]}, "no test part"),
        ({"cv": [*HALVES, HALVES[0]]}, "left out once"),
        ({"cv": [(np.arange(10), np.arange(20, 40)), HALVES[1]]}, "a training row of all other"),
    ],
)
def test_bad_parameters_are_refused(parameters, complaint):
    X, y, qid, _ = made(40, 4, 5)
    with pytest.raises(PairrankError, match=complaint):
        GreedyRankRLS(**parameters).fit(X, y, qid=qid)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("kind", ["one label", "one label per query"])
def test_labels_without_a_difference_are_refused_as_by_rank_rls(kind, targets):
    X, y, qid, weight = made(40, 4, 5, targets=targets)
    equal = np.ones_like(y) if kind == "one label" else qid[:, None] + np.zeros_like(y)
    for estimator in (RankRLS(), GreedyRankRLS(2)):
        with pytest.raises(NoPairsError):
            estimator.fit(X, squeezed(equal), qid=qid, sample_weight=weight)
    if targets == 2:
        equal[:, 1] = y[:, 1]
        selector = GreedyRankRLS(2).fit(X, equal, qid=qid, sample_weight=weight)
        alone = GreedyRankRLS(2).fit(X, y[:, 1], qid=qid, sample_weight=weight)
        assert selector.selected_.tolist() == alone.selected_.tolist()


def test_too_few_units_to_leave_out_are_refused():
    X, y, *_ = made(40, 4, 5)
    with pytest.raises(PairrankError, match="two queries"):
        GreedyRankRLS(cv="leave-query-out").fit(X, y)
    with pytest.raises(PairrankError, match="not in folds"):
        GreedyRankRLS(cv=3).fit(X, Pairs([0, 1], [2, 3], n_rows=40))
    with pytest.raises(PairrankError, match="1 comparison"):
        GreedyRankRLS().fit(X, Pairs([0], [2], n_rows=40))
    with pytest.raises(PairrankError, match="1 sample"):
        GreedyRankRLS().fit(X[:1], y[:1])


@pytest.mark.parametrize("targets", [1, 2])
def test_it_predicts_ranks_and_saves_as_rank_rls_on_the_chosen_features(targets, tmp_path):
    X, y, qid, weight = made(60, 8, 6, targets=targets)
    selector = GreedyRankRLS(3, 2.0).fit(X, y, qid=qid, sample_weight=weight)
    few = selector.transform(X)
    ranker = RankRLS(2.0, solver="direct").fit(few, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(selector.coef_[..., selector.support_], ranker.coef_, rtol=1e-9)
    np.testing.assert_allclose(selector.predict(X), ranker.predict(few), rtol=1e-9)
    np.testing.assert_array_equal(selector.decision_function(X), selector.predict(X))
    np.testing.assert_array_equal(selector.rank(X, qid), ranker.rank(few, qid))
    assert selector.score(X, y, qid=qid) == pytest.approx(ranker.score(few, y, qid=qid))
    assert selector.n_pairs_ == ranker.n_pairs_
    selector.save(tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), selector.predict(X))
