"""pairrank compare: tables, files, and what is refused."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, record_of, refused, run
from html_pages import Page, loaded_from_elsewhere
from pairrank import compare
from pairrank.io import write_rows

MODELS = ["--models", "ranksvm,ridge,logistic_regression", "--folds", 3, "--inner-folds", 0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("compare")
    rows = make_rows(0, n_rows=120, n_queries=12)
    write_rows(home / "rows.txt", rows)
    write_rows(home / "one.txt", rows._replace(y=rows.X[:, 0] + rows.X[:, 1], qid=None))
    return home


def test_the_json_is_that_of_python(folder):
    rows = make_rows(0, n_rows=120, n_queries=12)
    asked = ["--metric", "ndcg@5", "--metric", "map", "--seed", 3, "--resamples", 199]
    record = record_of("compare", folder / "rows.txt", *asked, "--repeats", 2, *MODELS)
    found = compare(
        rows.X, rows.y, qid=rows.qid, models=MODELS[1], metrics=["ndcg@5", "map"], cv=3,
        n_repeats=2, inner_cv=0, random_state=3, n_resamples=199,
    )  # fmt: skip
    assert record["best"] == found.best_
    for name in ("ndcg@5", "map"):
        np.testing.assert_array_equal(
            np.array(record["scores"][name], dtype=float), found.scores[name]
        )
    p_values = record["differences"]["adjusted_p_value"]
    assert p_values == found.differences["adjusted_p_value"].tolist()


def test_the_table_shows_means_and_reasons(folder):
    asked = [folder / "rows.txt", "--metric", "ndcg@5"]
    done = run("compare", *asked, *MODELS, "-q")
    assert done.stdout == done.stderr == ""
    said = " ".join(run("compare", *asked, *MODELS).stdout.split())
    assert "3 models on" in said
    assert f"{record_of('compare', *asked, *MODELS)['summary']['ndcg@5'][0]:.4g} ±" in said
    assert "logistic_regression: a classifier orders two levels, and there are 3" in said
    one = run("compare", folder / "one.txt", "--models", "ranksvm,ridge", "--inner-folds", 0)
    assert "over 5 folds" in " ".join(one.stdout.split())


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


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_weights_and_graphs_reach_the_models(tmp_path, suffix):
    rows = make_rows(0, n_rows=120, n_queries=12)
    weight = np.linspace(0.5, 2.0, 120)
    write_rows(tmp_path / f"w.{suffix}", rows._replace(weight=weight))
    asked = ["--qid", "qid", "--weight", "weight", "--drop", "f0", "--graph", "chain", *MODELS]
    found = compare(
        rows.X[:, 1:], rows.y, qid=rows.qid, sample_weight=weight, graph="chain",
        models=MODELS[1], cv=3, inner_cv=0, metrics="pairwise_accuracy",
    )  # fmt: skip
    record = record_of(
        "compare", tmp_path / f"w.{suffix}", *asked, "--metric", "pairwise_accuracy", *MODELS
    )
    assert record["settings"]["n_features"] == 3
    assert record["summary"]["pairwise_accuracy"][0] == found.summary["pairwise_accuracy"][0]


MISUSES = {
    "--models rigde": "did you mean ridge",
    "--models ridge,ridge": "named twice",
    "--models ,": "--models names none",
    "--baseline hull": "--baseline 'hull' is not one of the models",
    "--inner-folds 1": "--inner-folds must be 0, or at least 2",
    "--seed 4294967296": "--seed",
    "-o twice.csv --per-query ./twice.csv": "would be written twice",
    "--metric foo": "there is no metric",
    "--folds 1": "--folds",
}


@pytest.mark.parametrize("asked", MISUSES)
def test_wrong_usage_is_refused(folder, asked):
    assert MISUSES[asked] in misused("compare", folder / "rows.txt", *asked.split())


def test_bad_input_is_refused_before_any_work(folder, tmp_path, monkeypatch):
    rows = folder / "rows.txt"
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = refused("compare", rows, "-o", tmp_path / "page.html")
    assert "pip install 'pairrank[report]'" in said
    assert list(tmp_path.iterdir()) == []
    assert "no such file" in refused("compare", tmp_path / "none.txt")
    assert "ends in .html" in refused("compare", rows, "-o", tmp_path / "x.xlsx")
    assert "its folder does not exist" in refused("compare", rows, "-o", tmp_path / "no" / "x.md")
    table = tmp_path / "rows.csv"
    write_rows(table, make_rows(0))
    assert "is an input too" in refused("compare", table, "-o", table)
    said = refused("compare", rows, "--folds", 13)
    assert "12 queries cannot make 13 folds: take fewer folds" in said
    (tmp_path / "same.txt").write_text("1 qid:1 1:1\n1 qid:1 1:2\n1 qid:2 1:1\n1 qid:2 1:0\n")
    assert "same.txt: " in refused("compare", tmp_path / "same.txt")
    (tmp_path / "low.txt").write_text("-1 qid:1 1:1\n1 qid:1 1:2\n-1 qid:2 1:1\n1 qid:2 1:0\n")
    said = refused("compare", tmp_path / "low.txt", "--metric", "ndcg@5")
    assert "needs labels of 0 and more" in said
