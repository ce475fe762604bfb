"""Cortes' experiment: held-out reviewers, draws, choice of parameters."""

import numpy as np
import pytest

from reproduction.papers.cortes2007 import judging
from reproduction.users import PROTOCOLS, evaluate_users
from reproduction_cells import SMALL


def table():
    return judging.ratings_of(judging.GENERATED)


def test_parameters_have_the_least_cost_on_the_held_out_reviewers():
    protocol = judging.replace(PROTOCOLS["leave-one-out"], min_user_ratings=5, min_item_ratings=3)
    left = table().restricted(min_user_ratings=5, min_item_ratings=3)
    held = judging.replace(protocol, users=left.user_ids[:8].tolist())
    estimator, chosen = judging.tuned(judging.RIDGE, held, table(), 59)
    variance = float(table().rating.var())
    grid = judging.methods(59 * variance, variance**0.5)[judging.RIDGE].grid["alpha"]
    problems = held.draw(table(), 2)
    costs = [evaluate_users(problems, estimator.__class__(alpha=alpha))["msd"] for alpha in grid]
    assert estimator.alpha == grid[int(np.argmin(costs))]
    assert chosen == f"alpha {estimator.alpha:.3g}"


@pytest.mark.parametrize("method", [judging.SV, judging.BOOST, judging.KERNEL_RIDGE])
def test_a_method_of_the_papers_is_judged_after_its_choice(method):
    found = judging.judge(method=method, **SMALL)
    assert len(found["msd"]) == SMALL["n_repeats"]
    assert 0.0 <= found["misranking"][0] <= 1.0
    assert found["chosen"]


def test_books_have_a_value_per_reviewer():
    rule = {"min_user_ratings": 5, "min_item_ratings": 3}
    found = judging.books(dataset=judging.GENERATED, method=judging.CONSTANT, rule=rule)
    n_users = table().restricted(**rule).user_ids.size
    assert len(found["msd"]) <= n_users - n_users // 4
    assert min(found["msd"]) >= 0.0
