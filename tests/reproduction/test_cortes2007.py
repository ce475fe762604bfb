"""Cortes' experiment: held-out reviewers, draws, choice of parameters."""

import numpy as np
import pytest

from pairrank.recommend import PROTOCOLS, evaluate_users
from reproduction.papers import cortes2007
from reproduction.papers.cortes2007 import judging


def table():
    return judging.ratings_of(judging.GENERATED)


def test_users_left_out_have_no_rating():
    whole = table()
    rest = judging.without(whole, np.array([0, 5]))
    gone = whole.user_ids[[0, 5]]
    assert not np.isin(gone, rest.user_ids).any()
    assert rest.n_ratings == whole.n_ratings - whole.counts[[0, 5]].sum()
    kept = np.setdiff1d(whole.user_ids, gone)
    np.testing.assert_array_equal(rest.user_ids, kept)


def test_a_draw_has_two_ratings_to_learn_from():
    protocol = PROTOCOLS["leave-one-out"]
    problems = judging.drawn(
        judging.replace(protocol, min_user_ratings=5, min_item_ratings=3), table(), 0
    )
    for task in problems.tasks:
        assert np.ptp(problems.table.ratings_of(task.user)[task.train]) > 0.0


def test_parameters_have_the_least_cost_on_the_held_out_reviewers():
    protocol = judging.replace(PROTOCOLS["leave-one-out"], min_user_ratings=5, min_item_ratings=3)
    left = table().restricted(min_user_ratings=5, min_item_ratings=3)
    held = judging.replace(protocol, users=left.user_ids[:8].tolist())
    estimator, chosen = judging.tuned(judging.RIDGE, held, table(), 59)
    variance = float(table().rating.var())
    grid = judging.methods(59 * variance, variance**0.5)[judging.RIDGE].grid["alpha"]
    problems = judging.drawn(held, table(), 2)
    costs = [
        evaluate_users(problems, estimator.__class__(alpha=alpha), n_jobs=1).mean("msd")
        for alpha in grid
    ]
    assert estimator.alpha == grid[int(np.argmin(costs))]
    assert chosen == f"alpha {estimator.alpha:.3g}"


@pytest.mark.parametrize("method", [judging.SV, judging.BOOST, judging.KERNEL_RIDGE])
def test_a_method_of_the_papers_is_judged_after_its_choice(method):
    found = judging.judge(dataset=judging.GENERATED, method=method, **cortes2007.SMALL)
    assert len(found["msd"]) == cortes2007.SMALL["n_repeats"]
    assert 0.0 <= found["misranking"][0] <= 1.0
    assert found["chosen"]


def test_the_same_seed_gives_the_same_figures():
    config = {"dataset": judging.GENERATED, "method": judging.RIDGE, **cortes2007.SMALL}
    assert judging.judge(**config) == judging.judge(**config)


def test_one_score_for_all_orders_no_pair():
    config = {"dataset": judging.GENERATED, "method": judging.CONSTANT, **cortes2007.SMALL}
    assert judging.judge(**config)["misranking"] == [1.0]


def test_books_have_a_value_per_reviewer():
    rule = {"min_user_ratings": 5, "min_item_ratings": 3}
    found = judging.books(dataset=judging.GENERATED, method=judging.CONSTANT, rule=rule)
    n_users = table().restricted(**rule).n_users
    assert len(found["msd"]) <= n_users - n_users // 4
    assert min(found["msd"]) >= 0.0
