"""Many users in one call: shared kernels, processes, interrupts, evaluation, recommendations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from pairrank import RankRLS, RankSVM
from pairrank.exceptions import NoPairsError, NoPairsWarning, PairrankError
from pairrank.recommend import PROTOCOLS, evaluate_users, fit_users, recommend
from user_problems import KERNELS, PROBLEMS, RATINGS, Impatient, one_by_one, with_a_dull_user

pytestmark = pytest.mark.numeric


def leave_one_out(min_user_ratings, min_item_ratings, **changes):
    limits = {"min_user_ratings": min_user_ratings, "min_item_ratings": min_item_ratings}
    return replace(PROTOCOLS["leave-one-out"], **limits, **changes)


OTHERS = leave_one_out(8, 4).draw(RATINGS, random_state=0)
DRAWN = leave_one_out(8, 4, impute="gaussian-item").draw(RATINGS, random_state=1)


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "by user"])
@pytest.mark.parametrize(
    "problems", [PROBLEMS, OTHERS, DRAWN], ids=["others refer", "all refer", "gaps by item"]
)
@pytest.mark.parametrize("ranker", KERNELS.values(), ids=KERNELS.keys())
def test_shared_kernel_values_are_those_of_each_users_rows(ranker, problems, shared, monkeypatch):
    """Rows that are equal are ties; scikit-learn scores them by BLAS, which may part them."""
    from pairrank.recommend import sharing

    monkeypatch.setattr(sharing, "_MOST_ITEMS", 10**6 if shared else 0)
    evaluation = evaluate_users(problems, ranker)
    wanted = one_by_one(problems, ranker)
    for name in ("msd",) if isinstance(ranker, KernelRidge) else wanted:
        np.testing.assert_allclose(evaluation.metrics[name], wanted[name], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("most", [10**6, 0], ids=["shared", "by user"])
def test_an_offset_of_all_ratings_does_not_change_rbf_scores(most, monkeypatch):
    monkeypatch.setattr("pairrank.recommend.sharing._MOST_ITEMS", most)
    user, item, rating = RATINGS
    ratings = [(user, item, rating + offset) for offset in (0.0, 1e9)]
    here, there = (
        evaluate_users(leave_one_out(8, 4).draw(each, 0), KERNELS["RankRLS rbf"])
        for each in ratings
    )
    np.testing.assert_allclose(there.metrics["msd"], here.metrics["msd"], rtol=1e-6)


def test_products_are_shared_only_if_that_is_less_work():
    from pairrank.recommend.sharing import SharedFeatures

    ranker = KERNELS["RankRLS rbf"]
    assert SharedFeatures(PROBLEMS.references, ranker, 10**6).products is not None
    assert SharedFeatures(PROBLEMS.references, ranker, 100).products is None
    assert SharedFeatures(PROBLEMS.references, RankRLS(), 10**6).products is None
    sampled = RankRLS(kernel="rbf", kernel_features="nystroem", n_components=5)
    assert SharedFeatures(PROBLEMS.references, sampled, 10**6).kernel is None


@pytest.mark.filterwarnings("ignore::pairrank.exceptions.NoPairsWarning")
def test_the_number_of_processes_changes_nothing():
    problems = leave_one_out(4, 1).draw(RATINGS, random_state=0)
    ranker = KERNELS["RankRLS rbf"]
    alone, together = (evaluate_users(problems, ranker, n_jobs=jobs) for jobs in (1, 2))
    assert alone.users.tolist() == together.users.tolist()
    for name, values in alone.metrics.items():
        np.testing.assert_allclose(together.metrics[name], values, rtol=1e-10, atol=1e-12)
    assert alone.n_skipped == together.n_skipped
    items = [recommend(RATINGS, n_references=15, n_jobs=jobs) for jobs in (1, 2)]
    np.testing.assert_array_equal(items[0].item, items[1].item)
    np.testing.assert_array_equal(items[0].user, items[1].user)


@pytest.mark.parametrize("heeded", [True, False])
def test_control_c_keeps_the_users_that_are_done(heeded, monkeypatch):
    monkeypatch.setattr("pairrank.recommend._pool._LARGEST_CHUNK", 1)
    Impatient.fits = 0
    evaluation = evaluate_users(PROBLEMS, Impatient(heeded=heeded))
    assert evaluation.interrupted
    assert evaluation.users.size == 3
    Impatient.fits = 0
    found = recommend(RATINGS, ranker=Impatient(heeded=heeded), n_references=15, min_support=1)
    assert found.interrupted
    assert found.n_users == 3
    Impatient.fits = 0
    fitted = fit_users(RATINGS, ranker=Impatient(heeded=heeded), n_references=15)
    assert fitted.interrupted
    assert len(fitted) == 3


@pytest.mark.parametrize("users", [None, [0, 99]], ids=["everyone", "named"])
@pytest.mark.parametrize("ranker", [RankSVM(0.1), RankRLS(10.0)], ids=["svm", "rls"])
def test_a_user_whose_training_ratings_are_equal_is_skipped_with_a_warning(ranker, users):
    problems = leave_one_out(8, 1, users=users).draw(with_a_dull_user(), random_state=0)
    assert 99 in [problem.user for problem in problems]
    with pytest.warns(NoPairsWarning, match=f"^1 of {len(problems)} users are skipped"):
        judged = evaluate_users(problems, ranker)
    assert 99 not in judged.users
    assert judged.n_skipped == problems.n_skipped + 1
    assert judged.users.size == len(problems) - 1


def test_a_user_without_preferences_is_refused_by_name():
    ratings = with_a_dull_user()
    alone = leave_one_out(8, 1, users=[99]).draw(ratings, random_state=0)
    with pytest.raises(PairrankError, match="no user has a preference"):
        evaluate_users(alone, RankSVM(0.1))
    for call in (recommend, fit_users):
        with pytest.raises(NoPairsError, match=r"user 99: .*no preference"):
            call(ratings, [99], ranker=RankSVM(0.1), n_references=15, baseline=None)
