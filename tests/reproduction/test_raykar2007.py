"""Raykar 2007: the pieces of the experiments agree with their definitions."""

import numpy as np
import pytest
from scipy.special import erfc

from pairrank.metrics import wmw_score
from reproduction.papers.raykar2007 import erfc as sums
from reproduction.papers.raykar2007 import movies, printed, sets
from reproduction.papers.raykar2007.methods import METHODS
from reproduction.protocols import ExplicitPairs, count_preferences, folds_of, with_ties
from reproduction.study import STAR


def test_the_series_errs_less_than_its_bound_until_rounding():
    for terms in (1, 3, 6, 12):
        found = sums.series_errors(terms=terms, n_points=501)
        assert found["error"] <= found["bound"] + 1e-15
    assert found["error"] < 1e-6


def test_the_series_is_the_papers():
    terms, points = 5, np.linspace(-4.0, 4.0, 41)
    h = sums.series_errors(terms=terms, n_points=41)["h"]
    slow = np.ones(points.size)
    for n in range(1, 2 * terms, 2):
        slow -= 4 / np.pi * np.exp(-(n**2) * h**2) / n * np.sin(2 * n * h * points)
    error = sums.series_errors(terms=terms, n_points=41)["error"]
    assert error == pytest.approx(np.abs(erfc(points) - slow).max(), rel=1e-6)


def test_a_direct_sum_beyond_the_largest_is_extrapolated(monkeypatch):
    monkeypatch.setattr(sums, "LARGEST_DIRECT", 150)
    asked = []

    def spy(sources, targets, **options):
        asked.append(targets.size)
        return np.array([erfc(target - sources).sum() for target in targets])

    monkeypatch.setattr(sums, "fast_erfc_sum", spy)
    sums.sum_of_erfc(n_points=120, eps=1e-6, method="direct", n_repeats=1)
    sums.sum_of_erfc(n_points=300, eps=1e-6, method="direct", n_repeats=1)
    sums.sum_of_erfc(n_points=300, eps=1e-6, method="boxes", n_repeats=1)
    assert asked[1::2] == [120, sums.FEW_TARGETS, 300]


def test_quadratic_features_have_the_inner_products_of_the_kernel():
    X = np.random.default_rng(0).normal(size=(6, 4))
    features = ExplicitPairs(degree=2)._features(X)
    assert np.allclose(features @ features.T, (X @ X.T + 1.0) ** 2 - 1.0)


def test_pairs_are_counted():
    y = np.array([0, 2, 1, 2, 0])
    assert count_preferences(y) == np.count_nonzero(np.subtract.outer(y, y) > 0)


def test_folds_part_the_rows_and_are_scaled_on_the_training_rows():
    X = np.random.default_rng(1).normal(3.0, 2.0, (23, 2))
    y = np.arange(23.0)
    folds = list(folds_of(X, y, 5, seed=3))
    assert sorted(np.concatenate([fold.y_test for fold in folds])) == y.tolist()
    for fold in folds:
        assert np.allclose(fold.X.mean(axis=0), 0.0)
        assert np.allclose(fold.X.std(axis=0), 1.0)
        assert not set(fold.y) & set(fold.y_test)


def test_rounded_scores_tie_where_additions_differ_in_order():
    assert len(set(with_ties([0.1 + 0.2, 0.3, 1.0]))) == 2
    assert with_ties([0.0, 0.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["RankNCG direct", "RankNCG fast", "RankNCG boxes (ours)"])
def test_the_sums_of_rankncg_rank_alike(name):
    X, y = sets.rows_of("randnet", 3, "count", 90)
    scores = {
        each: METHODS[each].make(1.0).fit(X, y).predict(X) for each in (name, "RankNCG direct")
    }
    judged = [wmw_score(y, each) for each in scores.values()]
    assert judged[0] == pytest.approx(judged[-1], abs=0.01)


def test_classes_of_equal_count_have_the_most_pairs():
    """The reason why the numbers of pairs differ from the paper's Table 1."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, k = rng.integers(20, 200), int(rng.integers(2, 6))
        even = count_preferences(np.arange(n) * k // n)
        assert count_preferences(rng.integers(0, k, n)) <= even


def test_the_printed_tables_are_whole():
    assert len(printed.SECONDS) == len(printed.WMW) == 14 * 7
    assert printed.WMW["7 Boston Housing", "RankNCG fast"] == (1.0, 0.0)
    assert printed.SECONDS["14 California Housing", "RankNCG fast"] == (46.86, 1.06)
    assert printed.SECONDS["14 California Housing", "RankBoost"] == STAR
    stars = {place for place, number in printed.SECONDS.items() if number == STAR}
    assert stars == {place for place, number in printed.WMW.items() if number == STAR}


def test_each_user_is_judged_once():
    found = movies.rank_films(data="generated", n_references=10, method="RankBoost", n_users=5)
    assert 1 <= len(found["wmw"]) == len(found["seconds"]) <= 5
