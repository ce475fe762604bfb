"""pairrank compare: tables, files, and what is refused."""

from __future__ import annotations

import csv
import json
import math
import sys

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from html_pages import Page, loaded_from_elsewhere
from pairrank import compare
from pairrank.io import write_rows, write_svmlight

MODELS = ["--models", "ranksvm,ridge,logistic_regression", "--folds", 3, "--inner-folds", 0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("compare")
    rows = make_rows(0, n_rows=120, n_queries=12)
    write_svmlight(home / "rows.txt", rows)
    for name in ("rows.csv", "rows.parquet"):
        write_rows(home / name, rows)
    write_svmlight(home / "one.txt", rows._replace(y=rows.X[:, 0] + rows.X[:, 1], qid=None))
    return home


def test_the_json_is_that_of_python(folder):
    rows = make_rows(0, n_rows=120, n_queries=12)
    asked = [
        "--metric",
        "ndcg@5",
        "--metric",
        "map",
        "--seed",
        3,
        "--resamples",
        199,
        "--repeats",
        2,
    ]
    record = json.loads(run("compare", folder / "rows.txt", *MODELS, *asked, "--json").stdout)
    found = compare(
        rows.X, rows.y, qid=rows.qid, models=MODELS[1], metrics=["ndcg@5", "map"], cv=3,
        n_repeats=2, inner_cv=0, random_state=3, n_resamples=199,
    )  # fmt: skip
    assert record["best"] == found.best_
    for name in ("ndcg@5", "map"):
        values = [math.nan if value is None else value for value in record["scores"][name]]
        np.testing.assert_array_equal(values, found.scores[name])
    p_values = record["differences"]["adjusted_p_value"]
    assert p_values == found.differences["adjusted_p_value"].tolist()


def test_the_table_shows_means_and_reasons(folder):
    done = run("compare", folder / "rows.txt", *MODELS, "-q")
    assert done.stdout == done.stderr == ""
    done = run("compare", folder / "rows.txt", *MODELS, "--metric", "ndcg@5")
    assert "3 models on" in done.stdout
    record = json.loads(
        run("compare", folder / "rows.txt", *MODELS, "--metric", "ndcg@5", "--json").stdout
    )
    assert f"{record['summary']['ndcg@5'][0]:.4g} ±" in done.stdout
    said = " ".join(done.stdout.split())
    assert "logistic_regression: a classifier orders two levels, and there are 3" in said


def test_files_of_every_kind_are_written(folder, tmp_path):
    pytest.importorskip("jinja2", reason="pages need jinja2")
    names = ["page.html", "table.md", "all.json", "scores.csv", "scores.parquet"]
    outputs = [word for name in names for word in ("-o", tmp_path / name)]
    run("compare", folder / "rows.txt", *MODELS, "-q", *outputs, "--per-query", tmp_path / "q.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "q.csv"])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert Page(text).faults == []
    assert loaded_from_elsewhere(text) == []
    assert (tmp_path / "table.md").read_text(encoding="utf-8").startswith("| model |")
    with open(tmp_path / "q.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head[:4] == ["model", "repeat", "fold", "qid"]
    assert len(rows) == 2 * 12


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_tables_are_read_with_the_columns_of_train(folder, name):
    asked = [*MODELS, "--metric", "ndcg@5", "--json"]
    text = json.loads(run("compare", folder / "rows.txt", *asked).stdout)
    columns = ["--label", "label", "--qid", "qid"]
    table = json.loads(run("compare", folder / name, *columns, *asked).stdout)
    assert table["scores"]["ndcg@5"] == text["scores"]["ndcg@5"]
    fewer = json.loads(run("compare", folder / name, *columns, "--drop", "f0", *asked).stdout)
    assert fewer["settings"]["n_features"] == 3


def test_rows_of_one_query_are_tested_over_folds(folder):
    done = run("compare", folder / "one.txt", "--models", "ranksvm,ridge", "--inner-folds", 0)
    assert "over 5 folds" in " ".join(done.stdout.split())


def test_weights_and_graphs_reach_the_models(folder, tmp_path):
    rows = make_rows(0, n_rows=120, n_queries=12)
    weight = np.linspace(0.5, 2.0, 120)
    write_rows(tmp_path / "w.csv", rows._replace(weight=weight))
    record = json.loads(
        run(
            "compare", tmp_path / "w.csv", "--qid", "qid", "--weight", "weight", "--graph", "chain",
            *MODELS, "--metric", "pairwise_accuracy", "--json",
        ).stdout
    )  # fmt: skip
    found = compare(
        rows.X, rows.y, qid=rows.qid, sample_weight=weight, graph="chain", models=MODELS[1], cv=3,
        inner_cv=0, metrics="pairwise_accuracy",
    )  # fmt: skip
    values = [math.nan if v is None else v for v in record["scores"]["pairwise_accuracy"]]
    np.testing.assert_array_equal(values, found.scores["pairwise_accuracy"])


def test_wrong_usage_is_refused(folder):
    rows = folder / "rows.txt"
    assert "did you mean ridge" in misused("compare", rows, "--models", "rigde")
    assert "named twice" in misused("compare", rows, "--models", "ridge,ridge")
    assert "--models names none" in misused("compare", rows, "--models", ",")
    assert "--baseline 'hull' is not one" in misused("compare", rows, "--baseline", "hull")
    assert "--inner-folds must be 0, or at least 2" in misused("compare", rows, "--inner-folds", 1)
    assert "--seed" in misused("compare", rows, "--seed", 2**32)
    twice = ["-o", folder / "twice.csv", "--per-query", folder / "." / "twice.csv"]
    assert "would be written twice" in misused("compare", rows, *twice)
    assert "there is no metric" in misused("compare", rows, "--metric", "foo")
    assert "--folds" in misused("compare", rows, "--folds", 1)


def test_bad_input_is_refused_before_any_work(folder, tmp_path):
    rows = folder / "rows.txt"
    assert "no such file" in refused("compare", tmp_path / "none.txt")
    assert "ends in .html" in refused("compare", rows, "-o", tmp_path / "x.xlsx")
    assert "its folder does not exist" in refused("compare", rows, "-o", tmp_path / "no" / "x.md")
    write_rows(tmp_path / "rows.csv", make_rows(0))
    assert "is an input too" in refused(
        "compare", tmp_path / "rows.csv", "-o", tmp_path / "rows.csv"
    )
    (tmp_path / "same.txt").write_text("1 qid:1 1:1\n1 qid:1 1:2\n1 qid:2 1:1\n1 qid:2 1:0\n")
    assert "same.txt: " in refused("compare", tmp_path / "same.txt")
    assert "6 queries cannot make 9 folds: take fewer folds" in refused(
        "compare", tmp_path / "rows.csv", "--qid", "qid", "--folds", 9
    )
    (tmp_path / "low.txt").write_text("-1 qid:1 1:1\n1 qid:1 1:2\n-1 qid:2 1:1\n1 qid:2 1:0\n")
    assert "needs labels of 0 and more" in refused(
        "compare", tmp_path / "low.txt", "--metric", "ndcg@5"
    )


def test_without_jinja2_a_page_is_refused_before_any_work(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = refused("compare", folder / "rows.txt", "-o", tmp_path / "page.html")
    assert "pip install 'pairrank[report]'" in said
    assert list(tmp_path.iterdir()) == []
