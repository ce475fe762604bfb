"""The files of a comparison: a valid page that loads nothing, Markdown, JSON, tables."""

from __future__ import annotations

import csv
import importlib.util
import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from comparison_models import Broken, Column, Huge, Warns
from html_pages import Page, loaded_from_elsewhere
from pairrank import compare
from pairrank.exceptions import PairrankError

EVIL = "<i>&|_$%#\\{x}"


def run(data, models, **more):
    given = {"y": data.y, "qid": data.qid, "cv": 3, "inner_cv": 0, "metrics": ["ndcg@5", "msd"]}
    return compare(data.X, models=models, **{**given, **more})


@pytest.fixture(scope="module")
def results(data):
    models = {EVIL: Ridge(), "broken": Broken(), "warns": Warns(), "ranksvm": "ranksvm"}
    return run(data, models, inner_cv=2)


def every(data, results):
    """Return results of every kind."""
    yield results
    yield run(data, {"alone": Ridge()})
    yield run(data, {"a": Broken(), "b": Broken()})
    yield run(data, {"a": Ridge(), "same": Ridge(), "b": Column()}, baseline="b")
    yield run(data, {"a": Ridge(), "b": Column()}, qid=None, metrics="kendall_tau", n_repeats=2)


def test_pages_are_valid_accessible_and_load_nothing(data, results, tmp_path):
    pytest.importorskip("jinja2", reason="pages need jinja2")
    for found in every(data, results):
        found.save(tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        page = Page(text)
        assert page.faults == []
        assert loaded_from_elsewhere(text) == []
        assert "http" not in text.replace("http-equiv", "")
        assert "default-src 'none'" in text
        assert len(page.named("h1")) == 1
        assert not {"nan", "None", "inf"} & set(page.shown.split())


def test_a_page_shows_the_numbers_of_the_tables(results, tmp_path):
    pytest.importorskip("jinja2", reason="pages need jinja2")
    results.save(tmp_path / "page.html")
    shown = Page((tmp_path / "page.html").read_text(encoding="utf-8")).shown
    for at, name in enumerate(results.models):
        if name != "broken":
            mean, sd = results.summary["ndcg@5"][at], results.summary["ndcg@5_sd"][at]
            assert f"{mean:.4g} ± {sd:.2g}" in shown
    assert EVIL in shown
    assert "broken: RuntimeError: no such luck" in shown
    assert "warns: warnings in 3 folds, the first: it did not converge" in shown
    found = results.between("msd", results.reference, "warns")
    assert f"{found.difference:.4g}" in shown
    assert "C: 0.0001, 0.001" in shown


def test_json_holds_all_tables(results, tmp_path):
    results.save(tmp_path / "all.json")
    record = json.loads((tmp_path / "all.json").read_text())
    assert record["best"] == results.best_
    assert record["settings"]["n_queries"] == 12
    for name in ("scores", "queries", "summary", "differences"):
        for column, values in getattr(results, name).items():
            expected = [None if each != each else each for each in values.tolist()]
            assert record[name][column] == expected


def test_a_table_is_written_as_csv(results, tmp_path):
    for name, table in (("scores.csv", "scores"), ("tests.csv", "differences")):
        results.save(tmp_path / name, table)
        with open(tmp_path / name, newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        columns = getattr(results, table)
        assert head == list(columns)
        assert [row[0] for row in rows] == columns[head[0]].tolist()
        at = head.index("ndcg@5") if "ndcg@5" in head else head.index("difference")
        read = [float(row[at]) if row[at] else np.nan for row in rows]
        np.testing.assert_array_equal(read, columns[head[at]])


def test_another_kind_of_file_is_refused(results, tmp_path):
    with pytest.raises(PairrankError, match=r"a file that ends in \.html, "):
        results.save(tmp_path / "results.xlsx")
    with pytest.raises(PairrankError, match="there is no table"):
        results.save(tmp_path / "results.csv", "cells")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("by_query", [True, False])
def test_infinite_values_are_written_and_not_tested(data, tmp_path, by_query):
    models = {"huge": Huge(), "other": Huge(1), "ridge": Ridge()}
    more = {} if by_query else {"qid": None}
    found = run(data, models, metrics=["msd", "map"], **more)
    assert np.isinf(found.scores["msd"][found.scores["model"] == "huge"]).all()
    assert found.best_ == "ridge"
    tested = found.differences["metric"] == "map"
    assert np.isnan(found.differences["p_value"]).tolist() == (~tested).tolist()
    found.save(tmp_path / "all.json")
    record = json.loads((tmp_path / "all.json").read_text(), parse_constant=pytest.fail)
    assert record["summary"]["msd"][0] is None
    if importlib.util.find_spec("jinja2"):
        found.save(tmp_path / "page.html")
