"""Item means as the baseline of every user's ranker, and recommenders that are saved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from pairrank import RankNCG, RankRLS, RankSVM
from pairrank.datasets import make_ratings
from pairrank.recommend import PROTOCOLS, RatingsTable, evaluate_users, fit_users, recommend
from pairrank.recommend.item_means import ItemMeans

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
