"""Reasons of Cortes' differences: what the searches try, and what they call nearest."""

import numpy as np
import pytest

from pairrank import MPRank, RankBoost
from reproduction.agreement import allowed
from reproduction.papers.cortes2007 import boosting, judging, printed, searching, tested
from reproduction.study import Printed, Quantity, at_place
from reproduction.users import METRICS, UserProblem, evaluate_users

PAPER = {"msd": (2.0, 0.5), "misranking": (0.4, 0.02)}


def draw_of_the_tests():
    """Return the draw that searches on generated ratings take, and their configuration."""
    protocol = judging.replace(judging.PROTOCOLS["cortes"], **judging.TINY)
    return protocol.draw(judging.ratings_of(judging.GENERATED), 100)


def distance(evaluation):
    """Return the largest distance from the paper's figures, in its standard deviations."""
    return max(abs(evaluation[metric] - mean) / sd for metric, (mean, sd) in PAPER.items())


def test_the_nearest_parameters_have_the_least_of_the_largest_distance():
    asked = {"widths": (0.3, 1.0), "strengths": (1.0, 10.0, 100.0)}
    found = searching.nearest(
        dataset=judging.GENERATED, method=judging.MP, paper=PAPER, **asked, **judging.TINY
    )
    variance = float(judging.ratings_of(judging.GENERATED).rating.var())
    size = judging.TINY["n_references"] * variance
    problems = draw_of_the_tests()
    distances = {
        f"gamma {width / size:.3g}, C {C:.3g}": distance(
            evaluate_users(problems, MPRank(kernel="rbf", gamma=width / size, C=C))
        )
        for width in asked["widths"]
        for C in asked["strengths"]
    }
    assert found["tried"] == len(distances) == 6
    assert found["chosen"] == min(distances, key=distances.__getitem__)
    assert found["distance"] == min(distances.values())


@pytest.mark.parametrize("method", [judging.MP, judging.SV])
def test_searched_parameters_regularise_less_than_those_that_are_chosen(method):
    chosen = judging.methods(300.0, 2.0)[method].grid["C"]
    assert min(point["C"] for point in searching.points(method, 300.0, 2.0)) > max(chosen)


def test_the_nearest_figures_are_within_what_the_paper_prints_of_a_row():
    assert printed.figures_of("MovieLens 20-40", judging.SV) == {
        "msd": [2.43, 0.13],
        "m1d": [1.17, 0.03],
    }
    assert set(printed.figures_of("Jester 20-40", judging.MP)) == {"msd", "m1d", "misranking"}


def test_rounds_of_one_fit_are_judged_as_fits_of_so_many_rounds():
    problems = draw_of_the_tests()
    by_round = dict(boosting.by_round(problems, 40))
    assert list(by_round) == [20, 30, 40]
    for n_rounds, found in by_round.items():
        evaluation = evaluate_users(problems, RankBoost(n_rounds))
        for metric in METRICS:
            assert found[metric] == pytest.approx(evaluation[metric], rel=1e-12)


def test_the_nearest_variant_is_no_farther_than_the_medians():
    found = boosting.nearest_boost(
        dataset=judging.GENERATED, paper=PAPER, levels=(2,), most_rounds=30, **judging.TINY
    )
    problems = draw_of_the_tests()
    filled = [distance(evaluate_users(problems, RankBoost(n))) for n in (20, 30)]
    assert found["filled"] == pytest.approx(min(filled), rel=1e-12)
    assert found["distance"] <= found["filled"]
    assert found["tried"] == 2 * len(boosting.variants((2,)))
    reached = max(abs(found[metric] - mean) / sd for metric, (mean, sd) in PAPER.items())
    assert found["distance"] == reached


def test_either_gaps_or_thresholds_are_changed():
    assert boosting.variants((5, 2)) == [
        ("median", boosting.EVERY),
        ("default", boosting.EVERY),
        ("lowest", boosting.EVERY),
        ("highest", boosting.EVERY),
        ("median", 5),
        ("median", 2),
    ]


def problem_with_gaps():
    X = np.array([[1.0, np.nan], [5.0, 3.2]])
    y = np.array([1.0, 2.0])
    return UserProblem(X, y, X[::-1], y)


@pytest.mark.parametrize(("gaps", "value"), [("lowest", 0.0), ("highest", 6.0)])
def test_gaps_get_a_rating_beyond_all_others(gaps, value):
    found = boosting.changed(problem_with_gaps(), gaps, boosting.EVERY, (1.0, 5.0))
    np.testing.assert_array_equal(found.X_train, [[1.0, value], [5.0, 3.2]])
    np.testing.assert_array_equal(found.X_test, [[5.0, 3.2], [1.0, value]])


def test_gaps_stay_missing_for_the_default_of_weak_rankings():
    found = boosting.changed(problem_with_gaps(), "default", boosting.EVERY, (1.0, 5.0))
    np.testing.assert_array_equal(found.X_train, [[1.0, np.nan], [5.0, 3.2]])


def test_levels_have_equal_width():
    problem = problem_with_gaps()._replace(X_train=np.array([[-10.0, -3.4, -3.3, 3.3, 3.4, 10.0]]))
    found = boosting.changed(problem, "median", 3, (-10.0, 10.0))
    np.testing.assert_array_equal(found.X_train, [[0, 0, 1, 1, 2, 2]])


def test_searches_ask_for_the_figures_of_a_row_together_as_agreement_does():
    """Agreement asks for two of the paper's standard deviations, the searches' unit."""
    assert allowed(Quantity("msd", ""), Printed(21.35, 2.71)) == tested.AGREEING * 2.71
    row = next(each for each in tested.REACH.cells if each.column == judging.BOOST)
    assert row.row == "MovieLens 60-80"
    assert row.digest in {each.digest for each in tested.BOOSTED.cells}
    assert set(row.config["paper"]) == set(METRICS)
    assert at_place(tested.REASONS, row.row, judging.BOOST) is tested.NO_VARIANT
    wide = tested.REACH.cells[0].config
    for name, values in tested.NEAR_INTERPOLATION.items():
        assert set(values) < set(wide[name])
    tried = len(boosting.variants(())) * sum(n <= 150 for n in boosting.ROUNDS)
    assert tried == 56


def test_a_thinned_group_keeps_its_gauge_jokes_and_few_others():
    table = judging.ratings_of(judging.GENERATED)
    group, counts = (20, 40), (12, 15)
    found = boosting.thin(table, group, counts, 0)
    in_group = (table.counts >= group[0]) & (table.counts < group[1])
    assert in_group.any()
    assert not in_group.all()
    np.testing.assert_array_equal(found.user_ids, table.user_ids)
    assert set(found.counts[in_group].tolist()) <= {12, 13, 14}
    np.testing.assert_array_equal(found.counts[~in_group], table.counts[~in_group])
    for user in np.flatnonzero(in_group):
        before = table.item_ids[table.item[table.of(user)]]
        after = found.item_ids[found.item[found.of(user)]]
        assert set(after) <= set(before)
        assert set(np.intersect1d(before, boosting.GAUGE)) <= set(after)
