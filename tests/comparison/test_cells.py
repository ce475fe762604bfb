"""An interrupt keeps the finished cells, and cells may run in processes."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from comparison_models import CALLS, Counting, Stopped
from pairrank import compare
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


def test_an_interrupt_keeps_what_is_finished(data):
    partial = run(data, {"fine": Ridge(), "mine": Counting("mine", interrupted_at=2)})
    assert partial.interrupted
    assert partial.summary["n_folds"].tolist() == [2, 1]
    assert partial.best_ == "fine"
    assert partial.differences["n_units"].tolist() == [3]  # the queries of the fold of both


@pytest.mark.parametrize("model", [Counting("first", interrupted_at=1), Stopped()])
def test_an_interrupt_before_the_first_cell_is_raised(data, model):
    with pytest.raises(KeyboardInterrupt):
        run(data, {"first": model})


def test_processes_give_the_same_tables(data):
    here = run(data, "ridge,ranksvm", inner_cv=2)
    with joblib.parallel_config(n_jobs=2):
        there = run(data, "ridge,ranksvm", inner_cv=2)
    for table in ("queries", "differences"):
        for name, values in getattr(here, table).items():
            np.testing.assert_array_equal(values, getattr(there, table)[name])
