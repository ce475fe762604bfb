"""Finished cells are found again, nothing is mixed, and interrupts and limits lose nothing."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
from joblib.externals.loky.process_executor import _ExecutorManagerThread
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import Ridge

from comparison_models import CALLS, Column, Counting, Ends, Slow, Stopped, Unpicklable
from pairrank import compare
from pairrank.comparison import KNOWN, store
from pairrank.comparison.models import Known
from pairrank.datasets import make_queries
from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


@pytest.fixture(scope="module")
def data():
    return make_queries(9, 12, 4, random_state=0)


def run(data, models, **more):
    given = {"X": data.X, "y": data.y, "qid": data.qid, "cv": 3, "inner_cv": 0}
    return compare(models=models, **{**given, "metrics": "ndcg@5", "n_resamples": 99, **more})


def same(first, second):
    for table in ("scores", "queries", "summary", "differences"):
        one, other = getattr(first, table), getattr(second, table)
        assert list(one) == list(other)
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_finished_cells_are_not_fitted_again(data, tmp_path):
    models = {"mine": Counting("mine"), "ridge": "ridge"}
    first = run(data, models, cells=tmp_path / "new" / "cells", inner_cv=2)
    assert CALLS == ["mine"] * 3
    again = run(data, models, cells=tmp_path / "new" / "cells", inner_cv=2)
    assert CALLS == ["mine"] * 3
    same(first, again)
    assert len(list((tmp_path / "new" / "cells").glob("*.json"))) == 6


def test_models_and_folds_may_be_added(data, tmp_path):
    run(data, {"a": Counting("a")}, cells=tmp_path)
    run(data, {"b": Counting("b"), "a": Counting("a")}, cells=tmp_path)
    assert CALLS == ["a"] * 3 + ["b"] * 3
    run(data, {"a": Counting("a")}, cells=tmp_path, n_repeats=2)
    assert CALLS == ["a"] * 3 + ["b"] * 3 + ["a"] * 3


def changes(data):
    X, y = data.X.copy(), data.y.copy()
    X[0, 0] += 1e-9
    y[0] = 4 - y[0]
    return [
        {"X": X}, {"y": y}, {"qid": np.roll(data.qid, 1)}, {"cv": 2},
        {"metrics": "ndcg@6"}, {"metrics": ["ndcg@5", "map"]}, {"graph": "chain"},
        {"inner_cv": 2}, {"standardize": False}, {"random_state": 1},
        {"models": {"a": Counting("a", column=1)}},
    ]  # fmt: skip


@pytest.mark.parametrize("place", range(11))
def test_a_change_of_data_or_configuration_is_not_mixed(data, tmp_path, place):
    run(data, {"a": Counting("a")}, cells=tmp_path)
    changed = {"models": {"a": Counting("a")}, **changes(data)[place]}
    n_before = len(CALLS)
    run(data, cells=tmp_path, **changed)
    assert len(CALLS) - n_before == changed.get("cv", 3)


def test_what_does_not_change_cells_finds_them(data, tmp_path):
    run(data, {"a": Counting("a"), "b": Ridge()}, cells=tmp_path)
    run(data, {"a": Counting("a"), "b": Ridge()}, cells=tmp_path, baseline="b", n_resamples=9)
    assert CALLS == ["a"] * 3


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


def test_a_name_of_any_letters_is_a_file(data, tmp_path):
    run(data, {"../a b:c/ü": Counting("a")}, cells=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 3
    assert list(tmp_path.parent.glob("*.json")) == []


def test_values_that_do_not_count_survive(data, tmp_path):
    y = data.y.copy()
    y[data.qid == data.qid[0]] = 1.0
    first, again = (
        run(data, {"a": Column()}, y=y, cells=tmp_path, metrics="pairwise_accuracy")
        for _ in range(2)
    )
    assert np.isnan(first.queries["pairwise_accuracy"]).sum() == 1
    same(first, again)


def test_failed_cells_are_not_kept(data, tmp_path):
    run(data, {"a": Counting("a"), "b": Slow(seconds="x")}, cells=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 3


def test_a_damaged_cell_is_an_error(data, tmp_path):
    run(data, {"a": Column()}, cells=tmp_path)
    for text in ("{", "[]", '{"model": 1}'):
        for path in tmp_path.glob("*.json"):
            path.write_text(text)
        with pytest.raises(FileFormatError, match="not a finished cell"):
            run(data, {"a": Column()}, cells=tmp_path)


def test_a_cell_that_cannot_be_read_is_an_error(data, tmp_path):
    run(data, {"a": Column()}, cells=tmp_path)
    for path in tmp_path.glob("*.json"):
        path.unlink()
        path.mkdir()
    with pytest.raises(FileAccessError, match=r"cannot read .*; remove it"):
        run(data, {"a": Column()}, cells=tmp_path)


def test_a_cell_is_plain_json(data, tmp_path):
    run(data, {"ridge": "ridge"}, cells=tmp_path, inner_cv=2)
    record = json.loads(next(iter(tmp_path.glob("ridge-0-0-*.json"))).read_text())
    assert record["params"].keys() == {"alpha"}
    assert record["values"].keys() == {"ndcg@5"}
    assert len(record["queries"]) == 3


def test_a_folder_that_cannot_be_made_is_refused(data, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PairrankError, match="cannot make the folder"):
        run(data, {"a": Counting("a")}, cells=tmp_path / "file")
    assert CALLS == []


def test_a_model_that_cannot_be_pickled_is_refused_before_any_work(data, tmp_path):
    models = {"a": Counting("a"), "b": Counting("b", column=lambda: 0)}
    with pytest.raises(PairrankError, match="cannot be pickled"):
        run(data, models, cells=tmp_path)
    assert CALLS == []


def test_an_interrupt_keeps_what_is_finished(data):
    partial = run(data, {"fine": Ridge(), "mine": Counting("mine", interrupted_at=2)})
    assert partial.interrupted
    assert partial.summary["n_folds"].tolist() == [2, 1]
    assert partial.best_ == "fine"
    assert partial.differences["n_units"].tolist() == [3]  # the queries of the fold of both


def test_an_interrupted_comparison_goes_on(data, tmp_path):
    whole = run(data, {"fine": Ridge(), "mine": Counting("mine")})
    CALLS.clear()

    def interrupt(progress):
        if progress.n_done == 3 and progress.cell is not None:
            raise KeyboardInterrupt

    models = {"fine": Ridge(), "mine": Counting("mine")}
    partial = run(data, models, cells=tmp_path, callback=interrupt)
    assert partial.interrupted
    assert len(partial.scores["model"]) == 3
    CALLS.clear()
    rest = run(data, models, cells=tmp_path)
    assert CALLS == ["mine"] * 2
    assert not rest.interrupted
    np.testing.assert_array_equal(rest.scores["ndcg@5"], whole.scores["ndcg@5"])
    for name in ("difference", "p_value", "adjusted_p_value"):
        np.testing.assert_array_equal(rest.differences[name], whole.differences[name])


@pytest.mark.parametrize("model", [Counting("first", interrupted_at=1), Stopped()])
def test_an_interrupt_before_the_first_cell_is_raised(data, model):
    with pytest.raises(KeyboardInterrupt):
        run(data, {"first": model})


def test_a_model_is_stopped_after_its_time_and_the_others_go_on(data):
    models = {"slow": Slow(seconds=600.0), "ends": Ends(), "fine": Ridge()}
    result = run(data, models, time_limit=5.0, cv=2)
    assert result.summary["reason"].tolist() == [
        "it was stopped after 5 s", "its process ended: memory ran out, or a library crashed", "",
    ]  # fmt: skip
    here = run(data, {"fine": Ridge()}, cv=2)
    assert result.summary["ndcg@5"][2] == here.summary["ndcg@5"][0]


def test_a_new_version_of_a_nested_estimator_is_not_mixed(data, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "packages_distributions", lambda: {"comparison_models": ["own"]})
    for number in ("1.0", "2.0"):
        monkeypatch.setattr(store, "version", {"own": number}.get)
        run(data, {"a": TransformedTargetRegressor(Column())}, cells=tmp_path, cv=2)
    assert len(list(tmp_path.glob("*.json"))) == 4


def test_a_model_that_cannot_go_to_another_process_says_so(data):
    models = {"stays": Column(Unpicklable()), "fine": Ridge()}
    result = run(data, models, time_limit=1e10, cv=2)
    assert "cannot be pickled" in result.summary["reason"][0]
    assert result.summary["n_folds"].tolist() == [0, 2]


def test_work_that_is_not_yet_taken_can_be_stopped(data, monkeypatch):
    """The thread of the pool that hands work to the process is late, and must not fail."""
    failed, wait = [], _ExecutorManagerThread.wait_result_broken_or_wakeup

    def late(thread):
        found = wait(thread)
        time.sleep(0.1)
        return found

    monkeypatch.setattr(_ExecutorManagerThread, "wait_result_broken_or_wakeup", late)
    monkeypatch.setattr(threading, "excepthook", failed.append)
    result = run(data, {"slow": Slow(seconds=600.0)}, time_limit=1e-9, cv=2)
    assert result.summary["reason"].tolist() == ["it was stopped after 1e-09 s"]
    assert failed == []
