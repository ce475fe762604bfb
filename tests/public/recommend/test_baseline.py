"""Item means as the baseline of every user's ranker, and recommenders that are saved."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from pairrank import RankNCG, RankRLS, RankSVM
from pairrank.datasets import make_ratings
from pairrank.exceptions import FileFormatError, NoPairsError, PairrankError
from pairrank.recommend import (
    Protocol,
    RatingsTable,
    UserRankers,
    evaluate_users,
    fit_users,
    recommend,
)
from reproduction.data import load_ratings

pytestmark = pytest.mark.numeric

RATINGS = make_ratings(60, 80, random_state=0)


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
    from model_records import read_model, write_model
    from pairrank import load_model

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
