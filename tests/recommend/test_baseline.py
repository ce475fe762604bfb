"""Item means as the baseline of every user's ranker, and recommenders that are saved."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from pairrank import RankNCG, RankRLS, RankSVM
from pairrank.datasets import make_ratings
from pairrank.exceptions import FileFormatError, NoPairsError, PairrankError
from pairrank.recommend import (
    PROTOCOLS,
    Protocol,
    RatingsTable,
    UserRankers,
    evaluate_users,
    fit_users,
    recommend,
)
from pairrank.recommend.item_means import ItemMeans
from reproduction.data import load_ratings

pytestmark = pytest.mark.numeric

RATINGS = make_ratings(60, 80, random_state=0)
TABLE = RatingsTable.build(RATINGS)
EVERYONE = replace(PROTOCOLS["leave-one-out"], min_user_ratings=8, min_item_ratings=0)


@pytest.mark.parametrize("user", [0, 7, 59])
def test_item_means_are_those_of_the_other_users_ratings(user):
    sums, counts = np.zeros(TABLE.n_items), np.zeros(TABLE.n_items)
    for other in set(range(TABLE.n_users)) - {user}:
        items, ratings = TABLE.items_of(other), TABLE.ratings_of(other)
        sums[items] += ratings - ratings.mean()
        counts[items] += 1
    found = ItemMeans.build(TABLE).of(user, np.arange(TABLE.n_items))
    np.testing.assert_allclose(found, sums / (counts + 5.0), rtol=1e-12, atol=1e-14)


def test_a_users_own_ratings_do_not_change_their_item_means():
    start, end = TABLE.start[7:9]
    rating = TABLE.rating.copy()
    rating[start:end] *= -7.0
    spoilt = replace(TABLE, rating=rating)
    items = np.arange(TABLE.n_items)
    before, after = (ItemMeans.build(table).of(7, items) for table in (TABLE, spoilt))
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("ranker", [RankRLS(10.0), RankNCG(1.0), RankSVM(0.1), Ridge(10.0)])
def test_scores_are_item_means_and_a_line_of_the_rankers_scores(ranker):
    """The line is half as steep as the least squares line through the training ratings."""
    name = TABLE.user_ids[4].item()
    fitted = fit_users(RATINGS, [name], ranker=ranker, n_references=15)
    items, ratings = TABLE.items_of(4), TABLE.ratings_of(4)
    means = ItemMeans.build(TABLE).of(4, np.arange(TABLE.n_items))
    rows = fitted.setting.shared.references.rows(np.arange(TABLE.n_items), user=4)
    wanted = ratings - means[items]
    learned = wanted - wanted.mean() if isinstance(ranker, Ridge) else wanted
    scores = ranker.fit(rows[items], learned).predict(rows)
    slope = 0.5 * np.polyfit(scores[items], wanted, 1)[0]
    centre = wanted.mean() - slope * scores[items].mean()
    np.testing.assert_allclose(fitted.predict(name), means + centre + slope * scores, rtol=1e-7)


def test_scores_are_predicted_ratings():
    problems = Protocol((8, 60), 15, 10, (10, 70)).draw(RATINGS, random_state=0)
    tenfold = Protocol((8, 60), 15, 10, (10, 70)).draw((*RATINGS[:2], 10 * RATINGS[2]), 0)
    for each, size in ((problems, 1.0), (tenfold, 10.0)):
        fitted = fit_users(each.table, ranker=RankNCG(1.0 / size**2), n_references=15)
        errors = [
            np.abs(fitted.predict(name, each.table.item_ids[items]) - ratings).mean()
            for name, items, ratings in (
                (each.table.user_ids[u].item(), each.table.items_of(u), each.table.ratings_of(u))
                for u in range(5)
            )
        ]
        assert max(errors) < 1.5 * size


def test_an_evaluation_reports_the_item_means_beside_the_ranker():
    problems = EVERYONE.draw(RATINGS, random_state=0)
    alone = evaluate_users(problems, RankRLS(100.0))
    both = evaluate_users(problems, RankRLS(100.0), baseline="item-mean")
    assert alone.mean("accuracy", item_means=True) == both.mean("accuracy", item_means=True)
    assert alone.mean("accuracy", item_means=True) > 0.7
    assert both.mean("accuracy") > both.mean("accuracy", item_means=True)
    unlearnt = evaluate_users(problems, RankRLS(1e12), baseline="item-mean")
    assert unlearnt.users.size == len(problems)


def test_a_user_without_a_preference_gets_what_others_rate_best():
    user, item, rating = RATINGS
    new = (np.append(user, [99]), np.append(item, [3]), np.append(rating, [4.0]))
    found = recommend(new, [99], top=5, n_references=15, min_support=1)
    table = RatingsTable.build(new)
    index = int(table.find_users([99])[0])
    means = ItemMeans.build(table).of(index, np.arange(table.n_items))
    means[table.items_of(index)] = -np.inf
    assert found.skipped == []
    np.testing.assert_allclose(np.sort(found.score)[::-1], found.score)
    fitted = fit_users(new, [99], n_references=15)
    assert fitted.fits[99].ranker is None
    support = fitted.setting.shared.references.support >= 1
    best = np.argsort(-np.where(support, means, -np.inf), kind="stable")[:5]
    assert found.item.tolist() == table.item_ids[best].tolist()


@pytest.mark.parametrize(
    "ranker",
    [None, RankSVM(0.1), RankRLS(0.5, kernel="rbf", gamma=0.01), RankSVM(0.1, kernel="poly")],
    ids=["default", "svm", "rbf", "poly"],
)
@pytest.mark.parametrize("baseline", [None, "item-mean"])
def test_a_saved_recommender_predicts_and_recommends_as_before(ranker, baseline, tmp_path):
    options = {"ranker": ranker, "baseline": baseline, "n_references": 15}
    fitted = fit_users(RATINGS, [3, 7, 9], impute="gaussian-item", random_state=0, **options)
    fitted.save(tmp_path / "rankers")
    for again in (UserRankers.load(tmp_path / "rankers"), pickle.loads(pickle.dumps(fitted))):
        assert list(again) == [3, 7, 9]
        for name in again:
            np.testing.assert_allclose(again.predict(name), fitted.predict(name), rtol=1e-12)
        found, wanted = (each.recommend([7, 3], top=4) for each in (again, fitted))
        assert found.item.tolist() == wanted.item.tolist()
        assert found.user.tolist() == [7] * 4 + [3] * 4


def test_fitted_rankers_recommend_as_one_call_does():
    names = [3, 7, 9]
    fitted = fit_users(RATINGS, names, n_references=15)
    at_once = recommend(RATINGS, names, n_references=15, titles={0: "Ran"})
    later = fitted.recommend(titles={0: "Ran"})
    for name, values in at_once.to_dict().items():
        np.testing.assert_array_equal(values, later.to_dict()[name])
    titled = dict(zip(at_once.item.tolist(), at_once.title.tolist(), strict=True))
    assert titled == {item: "Ran" if item == 0 else str(item) for item in titled}


def test_odd_arguments_of_fitted_rankers():
    fitted = fit_users(RATINGS, [3], n_references=15)
    assert fitted.predict(3, []).shape == (0,)
    with pytest.raises(PairrankError, match=r"there is no ranker of user \[3\]"):
        fitted.predict([3])
    for call in (fitted.recommend, lambda **options: recommend(RATINGS, [3], **options)):
        with pytest.raises(PairrankError, match="titles must map names of items to titles"):
            call(titles=["Ran"])


FEW = (["ann", "bob", "bob", "cid"], ["x", "x", "y", "y"], [5.0, 1.0, 2.0, 2.0])


def test_items_with_too_few_ratings_are_given_as_the_reason():
    with pytest.raises(NoPairsError, match="no new item that 5 references rated: lower min_supp"):
        recommend(FEW, "ann")
    assert recommend(FEW, "ann", min_support=1).item.tolist() == ["y"]


def test_item_means_order_the_items_if_a_ranker_has_no_weights():
    fitted = fit_users((["ann", "ann", "bob", "cid"], ["x", "y", "x", "y"], [5.0, 1.0, 2.0, 2.0]))
    assert np.isfinite(fitted.predict("ann")).all()


def test_a_ranker_of_another_library_is_not_saved(tmp_path):
    fitted = fit_users(RATINGS, [3], ranker=Ridge(), n_references=15)
    with pytest.raises(PairrankError, match="cannot hold a Ridge"):
        fitted.save(tmp_path / "rankers")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_of_rankers_is_refused(tmp_path):
    from pairrank import load_model
    from pairrank.io import read_model, write_model

    path = tmp_path / "rankers"
    fit_users(RATINGS, [3], n_references=15).save(path)
    with pytest.raises(FileFormatError, match=r"use pairrank\.recommend\.UserRankers\.load"):
        load_model(path)
    record = read_model(path)
    for name in ("table_item", "references_users", "users", "model_sizes", "table_start"):
        broken = record.arrays | {name: record.arrays[name] + 1000}
        write_model(path, record._replace(arrays=broken))
        with pytest.raises(FileFormatError, match="rankers are damaged"):
            UserRankers.load(path)
        missing = {key: value for key, value in record.arrays.items() if key != name}
        write_model(path, record._replace(arrays=missing))
        with pytest.raises(FileFormatError, match="rankers are damaged"):
            UserRankers.load(path)


def test_the_baseline_beats_item_means_on_few_real_ratings(data_home):
    """Ten training ratings per user: the ranker alone does worse than item means there."""
    table = RatingsTable.build(load_ratings("ml-100k", data_home))
    protocol = Protocol((60, 10**6), 200, 150, (18, 26))
    problems = protocol.draw(table, random_state=0)
    alone = evaluate_users(problems, RankRLS(250.0))
    both = evaluate_users(problems, RankRLS(250.0), baseline="item-mean")
    assert alone.mean("accuracy") < both.mean("accuracy", item_means=True)
    assert both.mean("accuracy") > both.mean("accuracy", item_means=True)
