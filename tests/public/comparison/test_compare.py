"""compare: cells equal their definition, choices are nested, and what fails has its reason."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from comparison_models import Broken, Column, Nothing, Stopped, Warns
from pairrank import OrderGraph, Pairs, QueryKFold, RankSVM, RankSVMCV, compare
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.metrics import ndcg_score


def run(data, models, **more):
    given = {"X": data.X, "y": data.y, "qid": data.qid, "cv": 3, "inner_cv": 0}
    return compare(models=models, **{**given, "metrics": "ndcg@5", **more})


def test_the_choice_never_sees_the_test_rows(data):
    """Other labels in the test rows change values, but neither strengths nor training."""
    test = next(iter(QueryKFold(3, shuffle=True, random_state=0).split(data.X, qid=data.qid)))[1]
    y = data.y.copy()
    y[test] = y[test][::-1]
    first, other = (run(data, "ridge", inner_cv=2, y=labels) for labels in (data.y, y))
    assert first.scores["params"][0] == other.scores["params"][0]
    assert first.scores["ndcg@5"][0] != other.scores["ndcg@5"][0]


@pytest.mark.parametrize(("metric", "sign"), [("ndcg@5", 1), ("msd", -1)])
def test_models_see_the_same_folds_and_the_best_comes_first(data, metric, sign):
    result = run(data, {"bad": Column(3), "good": Ridge()}, metrics=metric)
    bad, good = (
        result.scores["n_test"][result.scores["model"] == name] for name in ("bad", "good")
    )
    np.testing.assert_array_equal(bad, good)
    assert result.best_ == result.reference == "good"
    assert result.order() == [1, 0]
    assert sign * result.summary[metric][1] > sign * result.summary[metric][0]


def test_queries_are_the_units_of_tests(data):
    result = run(data, {"a": Ridge(), "b": Column(1)}, n_repeats=2)
    table, units = result.queries, result.units["ndcg@5"]
    assert result.settings["units"] == "queries"
    for name in ("a", "b"):
        own = table["model"] == name
        means = [
            table["ndcg@5"][own & (table["qid"] == query)].mean()
            for query in dict.fromkeys(data.qid.tolist())
        ]
        np.testing.assert_allclose(units[name], means, rtol=1e-15)
    found, turned = (result.between("ndcg@5", *both) for both in ("ab", "ba"))
    assert found.difference == pytest.approx((units["a"] - units["b"]).mean(), rel=1e-14)
    ends = turned.difference, turned.low, turned.high
    assert ends == (-found.difference, -found.high, -found.low)


def test_repeats_draw_other_folds_and_a_seed_the_same(data):
    first, again = (run(data, "ridge", n_repeats=2, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.scores["ndcg@5"], again.scores["ndcg@5"])
    assert first.scores["repeat"].tolist() == [0, 0, 0, 1, 1, 1]
    assert first.scores["ndcg@5"][:3].tolist() != first.scores["ndcg@5"][3:].tolist()


def test_what_fails_has_its_reason_and_the_others_go_on(data):
    models = {
        "broken": Broken(), "nothing": Nothing(), "classes": LogisticRegression(), "fine": Ridge(),
    }  # fmt: skip
    result = run(data, models)
    reasons = dict(zip(result.models, result.summary["reason"].tolist(), strict=True))
    assert reasons == {
        "broken": "RuntimeError: no such luck",
        "nothing": "its predictions are not one finite number per row",
        "classes": "a classifier orders two levels, and there are 5",
        "fine": "",
    }
    assert np.isnan(result.summary["ndcg@5"][:3]).all()
    assert result.summary["n_folds"].tolist() == [0, 0, 0, 3]
    assert result.best_ == "fine"
    assert result.differences["p_value"].size == 0
    none = run(data, {"a": Broken(), "b": Nothing()})
    assert none.best_ is none.reference is None


def test_warnings_are_kept(data):
    result = run(data, {"warns": Warns(), "fine": Column()})
    assert result.scores["warnings"].tolist() == ["it did not converge", ""] * 3


def test_a_fold_without_a_pair_has_no_value_but_a_warning(data):
    first = data.qid == data.qid[0]
    y = np.where(first, 1.0, data.y)
    splits = [(np.flatnonzero(~first), np.flatnonzero(first)), (np.arange(90), np.arange(90, 180))]
    result = run(data, {"fine": Ridge()}, y=y, cv=splits, metrics="pairwise_accuracy")
    values = result.scores["pairwise_accuracy"]
    assert np.isnan(values).tolist() == [True, False]
    assert "NaN" in result.scores["warnings"][0]
    assert result.summary["pairwise_accuracy"][0] == values[1]


def test_a_model_that_takes_no_weights_says_so(data):
    weight = np.linspace(0.5, 2.0, data.y.size)
    models = {"plain": Column(), "weighted": Ridge(), "ranker": RankSVM()}
    result = run(data, models, sample_weight=weight)
    assert result.summary["reason"].tolist() == ["it takes no sample_weight", "", ""]
    result = run(data, models, winner_weight=weight, metrics="pairwise_accuracy")
    assert result.summary["reason"].tolist() == ["it takes no winner_weight"] * 2 + [""]


def test_queries_and_weights_reach_rankers(data):
    """A ranker with queries differs from one without; weights of 0 leave rows out."""
    X, y, qid = data.X, data.y, data.qid
    (train, test), *_ = QueryKFold(3, shuffle=True, random_state=0).split(X, qid=qid)
    weight = (np.arange(y.size) % 3 > 0).astype(float)
    result = run(data, {"svm": RankSVM()}, sample_weight=weight, standardize=False)
    exact = clone(RankSVM()).fit(X[train], y[train], qid=qid[train], sample_weight=weight[train])
    expected = ndcg_score(y[test], exact.predict(X[test]), k=5, qid=qid[test])
    assert result.scores["ndcg@5"][0] == expected


def test_pipelines_and_searches_get_queries(data):
    grid = {"C": [0.01, 1.0]}
    models = {
        "pipeline": make_pipeline(StandardScaler(), RankSVM()),
        "plain": RankSVM(),
        "pointwise": make_pipeline(StandardScaler(), Ridge()),
        "search": GridSearchCV(RankSVM(), grid, cv=QueryKFold(2)),
        "cv": RankSVMCV([0.01, 1.0], cv=2),
    }
    result = run(data, models)
    assert result.summary["reason"].tolist() == [""] * 5
    values = result.scores["ndcg@5"].reshape(3, 5)
    np.testing.assert_array_equal(values[:, 0], values[:, 1])


def test_missing_features_are_passed_on(data):
    X = data.X.copy()
    X[::7, 1] = np.nan
    models = {"trees": HistGradientBoostingRegressor(max_iter=5), "svm": RankSVM()}
    trees, svm = run(data, models, X=X, cv=2).summary["reason"]
    assert trees == ""
    assert "X contains NaN" in svm


def test_sparse_rows_are_compared(data):
    assert run(data, "ranksvm", X=sparse.csr_array(data.X)).summary["reason"].tolist() == [""]


def test_text_labels_have_an_order_graph(data):
    names = np.array(["bad", "fair", "good", "great", "best"])[data.y.astype(int)]
    graph = OrderGraph([("bad", "fair"), ("fair", "good"), ("good", "great"), ("great", "best")])
    given = {"y": names, "graph": graph, "metrics": None, "inner_cv": 2}
    result = run(data, "ranksvm,ridge", **given)
    assert result.metrics == ["pairwise_accuracy"]
    assert result.summary["reason"][0] == ""
    assert result.summary["reason"][1].startswith("ValueError: ")
    assert result.summary["pairwise_accuracy"][0] > 0.6


def test_given_splits_are_used(data):
    folds = list(GroupKFold(3).split(data.X, groups=data.qid))
    splits, splitter = run(data, "ridge", cv=folds), run(data, "ridge", cv=GroupKFold(3))
    np.testing.assert_array_equal(splits.scores["ndcg@5"], splitter.scores["ndcg@5"])
    with pytest.raises(PairrankError, match="n_repeats draws folds anew"):
        run(data, "ridge", cv=folds, n_repeats=2)


def test_metrics_follow_from_the_labels(data):
    graded = compare(data.X, data.y, qid=data.qid, models="ridge", cv=2, inner_cv=0)
    assert graded.metrics == ["ndcg@10", "pairwise_accuracy", "map", "kendall_tau"]
    real = compare(data.X, data.X[:, 0], models="ridge", cv=2, inner_cv=0)
    assert real.metrics == ["pairwise_accuracy", "kendall_tau"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"metrics": "foo"}, "there is no metric"),
        ({"inner_cv": 1}, "inner_cv must be 0, or at least 2"),
        ({"inner_cv": -1}, "inner_cv must be at least 0"),
        ({"n_repeats": 0}, "n_repeats must be at least 1"),
        ({"cv": 100}, "cannot make 100 folds"),
        ({"baseline": "rankncg"}, "baseline 'rankncg' is not one of the models"),
        ({"n_resamples": 0}, "n_resamples must be greater than 0"),
        ({"random_state": "x"}, "random_state must be a whole number"),
        ({"random_state": 2**32, "qid": None}, "random_state is not a seed"),
        ({"random_state": 2**32}, "random_state is not a seed"),
        ({"random_state": 2**32 - 1, "n_repeats": 2}, "random_state is not a seed"),
        ({"qid": [1]}, "qid has 1 entries"),
        ({"graph": "ful"}, "graph"),
    ],
)
def test_wrong_arguments_are_refused_before_any_fit(data, more, said):
    models = {"models": {"ridge": Stopped()}, **more}
    with pytest.raises(PairrankError, match=said):
        run(data, **models)


def test_rows_that_cannot_be_compared_are_refused(data):
    with pytest.raises(NoPairsError):
        compare(data.X, np.ones(data.y.size), models="ridge")
    with pytest.raises(PairrankError, match="explicit comparisons"):
        compare(data.X, Pairs([0], [1]), models="ridge")
    with pytest.raises(PairrankError, match="infinity"):
        compare(np.full((4, 1), np.inf), [0, 1, 0, 1], models="ridge")
    with pytest.raises(TypeError, match="no argument 'weight'"):
        compare(data.X, data.y, models="ridge", weight=data.y)


def test_a_notebook_and_a_print_show_the_table(data):
    found = run(data, {"<b>": Ridge(), "b": Column()})
    shown = found._repr_markdown_()
    assert "\\<b\\>" in shown
    assert "folds of queries" in shown
    lines = str(found).splitlines()[:4]
    assert [line.split()[1] for line in lines] == ["model", "---", "\\<b\\>", "b"]
    assert [name.strip() for name in lines[0].split("|")][-4:] == ["p", "fit s", "strength", ""]


@pytest.mark.parametrize("graph", [OrderGraph([("worse", "better")]), [("worse", "better")], None])
def test_classifiers_of_two_levels_are_scored_by_the_higher_one(data, graph):
    """ "better" comes before "worse" in the alphabet, and ranks above it."""
    y = (data.y > 2).astype(float) if graph is None else np.where(data.y > 2, "better", "worse")
    models = {"decision": LogisticRegression(), "probability": GaussianNB()}
    more = {} if graph is None else {"graph": graph}
    result = run(data, models, y=y, metrics="pairwise_accuracy", **more)
    assert (result.summary["pairwise_accuracy"] > 0.6).all()


def test_a_metric_named_twice_counts_once(data):
    result = run(data, {"a": Ridge(), "b": Column()}, metrics=["map", "map"])
    assert result.metrics == result.differences["metric"].tolist() == ["map"]


@pytest.mark.filterwarnings("error")
def test_warnings_of_scaling_are_kept_and_not_raised(data):
    X = data.X.copy()
    X[:, 0] = np.nan
    result = run(data, {"column": Column(1)}, X=X)
    assert result.summary["reason"].tolist() == [""]
    assert "invalid value" in result.scores["warnings"][0]


@pytest.mark.extras
def test_rankers_of_lightgbm_and_xgboost_are_compared(data):
    pytest.importorskip("lightgbm", reason="needs lightgbm: make test-extras")
    pytest.importorskip("xgboost", reason="needs xgboost: make test-extras")
    found = run(data, "lambdarank,rank:ndcg,rank:pairwise", cv=2)
    assert found.summary["reason"].tolist() == [""] * 3
    assert (found.summary["ndcg@5"] > 0.5).all()
    weight = np.linspace(1, 2, data.y.size)  # XGBoost has weights of queries only
    found = run(data, "lambdarank,rank:ndcg", sample_weight=weight, cv=2)
    assert found.summary["reason"].tolist() == ["", "it takes no sample_weight"]
