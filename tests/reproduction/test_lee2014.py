"""Lee & Lin's experiments: generated shapes, metrics, partial pairs, curves, claims."""

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor

from pairrank import RankSVM
from reproduction.papers.lee2014 import STUDY, curves, models, problems, sparse, times_as_long
from reproduction.study import NotRun
from reproduction_cells import done


@pytest.mark.parametrize("name", ["MQ2007", "YAHOO set 2"])
def test_generated_queries_have_the_papers_shape(name):
    shape, found = problems.PAPER[name], problems.describe(name=name, part=0.02)
    queries = round(0.02 * shape.queries)
    assert found["queries"] == queries
    assert found["features"] == shape.features
    assert found["levels"] == shape.levels
    per_query = shape.rows / shape.queries
    assert abs(found["rows"] / queries - per_query) < 5 * (per_query / queries) ** 0.5


def test_generated_lists_have_every_place_once_per_query():
    train = problems.problem("MQ2008-list", 0.004).train
    for query in np.unique(train.qid):
        places = np.sort(train.y[train.qid == query])
        np.testing.assert_array_equal(places, np.arange(1.0, places.size + 1.0))


def test_generated_features_are_scaled_to_the_unit_interval():
    parts = problems.problem("MQ2007", 0.02)
    X = np.concatenate([part.X for part in parts])
    np.testing.assert_allclose(X.min(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(X.max(axis=0), 1.0, atol=1e-15)


def test_parts_of_a_problem_share_no_query():
    train, valid, test = problems.problem("MQ2007", 0.02)
    queries = [set(part.qid.tolist()) for part in (train, valid, test)]
    assert not queries[0] & queries[1]
    assert not queries[0] & queries[2]
    assert not queries[1] & queries[2]


@pytest.mark.parametrize("name", problems.SPARSE)
def test_sparse_labels_tie_as_often_as_the_papers(name):
    of = problems.SPARSE[name].of
    shape, part = problems.PAPER[of], 0.1
    found = problems.describe(name=of, part=part)
    # Some of the other levels may share a quantile among so few rows.
    assert found["pairs"] / found["rows"] ** 2 == pytest.approx(
        shape.pairs / shape.rows**2, rel=0.1
    )


def test_ndcg_is_left_out_of_lists():
    rows = problems.Rows(None, np.array([1.0, 2.0]), np.array([0, 0]))
    scores = np.array([0.0, 1.0])
    assert set(problems.quality("MQ2008-list", rows, scores)) == {"accuracy"}
    assert problems.quality("MQ2008", rows, scores) == {"accuracy": 1.0, "ndcg": 1.0}
    assert problems.quality("MQ2008", rows, np.zeros(2))["accuracy"] == 0.0


def test_adjacent_pairs_are_those_of_the_chain():
    train = problems.problem("MQ2008-list", 0.004).train
    pairs = sparse.adjacent_pairs(train)
    np.testing.assert_array_equal(train.y[pairs.i], train.y[pairs.j] + 1.0)
    np.testing.assert_array_equal(train.qid[pairs.i], train.qid[pairs.j])
    listed = RankSVM(1e-3, reduction="sum", tol=1e-8).fit(train.X, pairs)
    chain = RankSVM(1e-3, reduction="sum", tol=1e-8, graph="chain")
    chain.fit(train.X, train.y, qid=train.qid)
    assert chain.n_pairs_ == listed.n_pairs_
    np.testing.assert_allclose(listed.coef_, chain.coef_, atol=1e-6 * np.abs(chain.coef_).max())


def test_a_search_takes_the_best_c_of_the_validation_rows():
    powers = (-12, -2)
    found = models.search(name="MQ2007", part=0.02, model=models.L2, powers=powers)
    rows = problems.problem("MQ2007", 0.02)
    valid = []
    for power in powers:
        ranker = RankSVM(2.0**power, reduction="sum")
        ranker.fit(rows.train.X, rows.train.y, qid=rows.train.qid)
        scores = ranker.predict(rows.valid.X)
        valid.append(problems.quality("MQ2007", rows.valid, scores)["accuracy"])
    assert found["log2 C by accuracy"] == powers[int(np.argmax(valid))]


def test_all_sums_and_solvers_end_at_the_same_metrics():
    ends = [
        curves.descend(name="MQ2007", part=0.02, log2_C=-5.0, settings=settings)["final"]
        for settings in (*curves.SUMS.values(), curves.SOLVERS[curves.OURS])
    ]
    assert max(ends) - min(ends) <= 2e-3


def test_curves_descend_to_the_optimum():
    found = curves.descend(
        name="MQ2007", part=0.02, log2_C=-5.0, settings=curves.SOLVERS[curves.TREE]
    )
    assert found["distance"][0] > found["distance"][-1]
    assert found["distance"][-1] <= 1e-6
    assert list(found["seconds"]) == sorted(found["seconds"])
    assert found["near"] in found["seconds"] or found["near"] <= found["seconds"][-1]


@pytest.mark.parametrize("n_steps", [1, 2, 7, 500])
def test_shown_steps_hold_the_first_and_the_last(n_steps):
    shown = curves._spread_out(n_steps)
    assert shown[0] == 0
    assert shown[-1] == n_steps - 1
    assert shown == sorted(set(shown))
    assert len(shown) <= curves.MOST_POINTS + 1


def test_a_descent_that_stays_far_counts_as_infinitely_slow():
    row = "MQ2008"
    near = {
        ("fig5", row, curves.TREE): {"near": 1.0},
        ("fig5", row, curves.BUNDLE): {"near": None},
    }
    found = times_as_long(done(STUDY, near), ["fig5"], curves.BUNDLE, curves.TREE)
    assert found == {"MQ2008 (Figure 5)": np.inf}
    with pytest.raises(NotRun):
        times_as_long(done(STUDY, near), ["fig5"], curves.COUNTING, curves.TREE)


def test_counting_is_slow_only_if_it_is_with_many_levels():
    few, many = "MQ2008", "MQ2008-list shape, 1/20"
    near = {
        ("fig4", few, curves.SELECTION): {"near": 1.0},
        ("fig4", few, curves.DIRECT): {"near": 1.1},
        ("fig4", many, curves.SELECTION): {"near": 1.0},
        ("fig4", many, curves.DIRECT): {"near": 9.0},
    }
    check = STUDY.claims[0].check
    assert check(done(STUDY, near)).holds
    near["fig4", many, curves.DIRECT] = {"near": 1.5}
    assert not check(done(STUDY, near)).holds


def test_figures_say_if_their_c_is_not_that_of_table_3():
    check = next(claim.check for claim in STUDY.claims if "Table 3" in claim.text)
    value = "log2 C by accuracy"
    best = curves.BEST_LOG2_C["MQ2008"][0]
    good = {("3", "MQ2008", models.L2): {value: best}}
    assert check(done(STUDY, good)).holds
    other = {("3", "MQ2008", models.L2): {value: best + 1}}
    assert not check(done(STUDY, other)).holds


def test_weights_of_0_have_the_least_absolute_deviations_on_mq2008(data_home, monkeypatch):
    """Why L1-loss SVR depends on the order of the rows, see Table 5-seeds."""
    monkeypatch.setenv("PAIRRANK_DATA", str(data_home))
    train = problems.problem("MQ2008").train
    assert (train.y == 0.0).mean() > 0.8
    least = QuantileRegressor(alpha=0.0, fit_intercept=False).fit(train.X, train.y)
    assert np.abs(least.coef_).max() < 1e-6
