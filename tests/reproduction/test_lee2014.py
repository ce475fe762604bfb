"""Lee & Lin's experiments: generated shapes, metrics, partial pairs, curves, claims."""

import numpy as np
import pytest

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
