"""Finished cells are found again, nothing is mixed, and interrupts and limits lose nothing."""

from __future__ import annotations

import pytest
from sklearn.compose import TransformedTargetRegressor

from comparison_models import CALLS, Column
from pairrank import compare
from pairrank.comparison import KNOWN, store
from pairrank.comparison.models import Known
from pairrank.datasets import make_queries


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


@pytest.fixture(scope="module")
def data():
    return make_queries(9, 12, 4, random_state=0)


def run(data, models, **more):
    given = {"X": data.X, "y": data.y, "qid": data.qid, "cv": 3, "inner_cv": 0}
    return compare(models=models, **{**given, "metrics": "ndcg@5", "n_resamples": 99, **more})


@pytest.mark.parametrize(
    ("library", "n_cells"), [("scikit-learn", 8), ("pairrank", 8), ("lightgbm", 6), ("other", 4)]
)
def test_another_version_of_a_library_is_not_mixed(data, tmp_path, monkeypatch, library, n_cells):
    """A new version of a library that only one model uses leaves the cells of the others."""

    def versions(name):
        return "0.1" if name == library else "1.0"

    monkeypatch.setattr(store, "packages_distributions", lambda: {"lightgbm": ["lightgbm"]})
    monkeypatch.setitem(KNOWN, "a", Known("comparison_models:Column", library="lightgbm"))
    for found in (lambda name: "1.0", versions):
        monkeypatch.setattr(store, "version", found)
        run(data, {"a": "a", "b": Column()}, cells=tmp_path, cv=2)
    assert len(list(tmp_path.glob("*.json"))) == n_cells


def test_a_new_version_of_a_nested_estimator_is_not_mixed(data, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "packages_distributions", lambda: {"comparison_models": ["own"]})
    for number in ("1.0", "2.0"):
        monkeypatch.setattr(store, "version", {"own": number}.get)
        run(data, {"a": TransformedTargetRegressor(Column())}, cells=tmp_path, cv=2)
    assert len(list(tmp_path.glob("*.json"))) == 4
