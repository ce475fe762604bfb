"""Models that are known by name: what they are made of, their limits, what they refuse."""

from __future__ import annotations

import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid

from pairrank import OrderGraph
from pairrank.comparison import KNOWN
from pairrank.comparison.models import (
    DEFAULT,
    BoostedRanker,
    Known,
    by_query,
    candidates_of,
    tried_text,
)
from pairrank.datasets import make_queries
from pairrank.exceptions import MissingLibraryError, PairrankError


@pytest.fixture(scope="module")
def data():
    return make_queries(8, 15, 4, random_state=0)


@pytest.mark.parametrize("name", KNOWN)
def test_known_models_take_every_value_of_their_grid(name):
    (candidate,) = candidates_of(name, "full", 3)
    if candidate.reason:
        pytest.skip(candidate.reason)
    for params in ParameterGrid(dict(candidate.grid)):
        candidate.estimator.set_params(**params)
    assert candidate.estimator.get_params().get("random_state", 3) == 3


def test_names_are_separated_by_commas_or_listed():
    names = [each.name for each in candidates_of(" ridge, ranksvm", "full", 0)]
    assert names == ["ridge", "ranksvm"]
    assert [each.name for each in candidates_of(["ridge"], "full", 0)] == ["ridge"]
    assert [each.name for each in candidates_of(None, "full", 0)] == list(DEFAULT)


def test_a_mapping_names_estimators_and_known_models():
    mine = Ridge(alpha=3.0)
    first, second = candidates_of({"mine": mine, "theirs": "ridge"}, "full", 0)
    assert (first.name, first.estimator.alpha, dict(first.grid)) == ("mine", 3.0, {})
    assert first.estimator is not mine
    assert (second.name, second.grid) == ("theirs", KNOWN["ridge"].grid)


def test_the_graph_is_set_where_it_is_known():
    graph = OrderGraph([(0, 1)])
    svm, ridge = candidates_of("ranksvm,ridge", graph, 0)
    assert svm.estimator.graph is graph
    assert "graph" not in ridge.estimator.get_params()


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ("rigde", "did you mean ridge"),
        ("ridge,ridge", "named twice"),
        ("", "names none"),
        ([Ridge()], "not a name; give estimators as a mapping"),
        ({"mine": 3}, "must be an estimator or a name"),
        ({"mine": "nothing like it"}, "there is no model"),
        ({}, "names none"),
        ({1: "ridge", "1": "ridge"}, "two models have the name '1'"),
    ],
)
def test_what_is_no_model_is_refused(models, said):
    with pytest.raises(PairrankError, match=said):
        candidates_of(models, "full", 0)


@pytest.mark.parametrize("place", ["pairrank:NotThereYet", "no_such_library:Model"])
def test_a_name_that_is_not_there_becomes_a_reason(place, monkeypatch):
    monkeypatch.setitem(KNOWN, "new", Known(place))
    (candidate,) = candidates_of("new", "full", 0)
    assert candidate.estimator is None
    assert place.split(":")[place.startswith("pairrank")] in candidate.reason


def test_the_values_that_are_tried_can_be_read():
    assert tried_text({"C": (0.001, 10.0)}) == "C: 0.001, 10"
    assert tried_text({}) == ""


@pytest.mark.parametrize(
    ("labels", "said"),
    [([0.5, 1.0], "whole numbers"), ([-1.0, 1.0], "from 0 to 30"), (["a", "b"], "from 0 to 30")],
)
def test_boosted_rankers_refuse_labels_that_are_not_grades(labels, said):
    with pytest.raises(PairrankError, match=said):
        by_query(labels, None)


def test_a_boosted_ranker_without_its_library_says_what_to_install(data, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(MissingLibraryError, match=r"pairrank\[lightgbm\]"):
        BoostedRanker().fit(data.X, data.y, qid=data.qid)
