"""pairrank compare and pairrank report: tables, pages, files, and what is refused."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, record_of, refused, run
from html_pages import Page, loaded_from_elsewhere
from pairrank import compare, load_model, metrics
from pairrank.io import read_rows, write_rows

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


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder with rows, comparisons and models."""
    pytest.importorskip("jinja2", reason="reports need jinja2")
    home = tmp_path_factory.mktemp("page")
    rows = make_rows(0, n_rows=200, n_queries=20)
    write_rows(home / "rows.txt", rows)
    write_rows(home / "rows.csv", rows)
    (home / "votes.csv").write_text("i,j\n0,1\n1,2\n3,1\n")
    run("train", home / "rows.txt", "-o", home / "first", "-q", "--model", "rankncg")
    run("train", home / "rows.txt", "-o", home / "kernel", "-q", "--kernel", "rbf")
    run("train", home / "rows.csv", "-o", home / "csv", "-q", "--qid", "qid", "--drop", "f0")
    return home


def page_at(path):
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.faults == []
    assert loaded_from_elsewhere(text) == []
    return page


def test_the_page_shows_the_metrics_of_the_model(pages, tmp_path):
    done = run("report", pages / "first", pages / "rows.txt", "-o", tmp_path / "page.html")
    assert done.stdout == ""
    assert "page.html is written" in done.stderr
    rows = read_rows(pages / "rows.txt")
    scores = load_model(pages / "first").predict(rows.X)
    value = metrics.ndcg_score(rows.y, scores, k=10, qid=rows.qid)
    shown = page_at(tmp_path / "page.html").shown
    assert f"{value:.4g}" in shown
    assert "Report on first, rows of rows.txt" in shown
    done = run("report", pages / "first", pages / "rows.txt", "-o", "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stderr == ""


def test_metrics_title_and_comparisons_can_be_given(pages, tmp_path):
    out = tmp_path / "page.html"
    asked = ["--metric", "mrr", "--metric", "ndcg@5", "--title", "A <title>"]
    run("report", pages / "first", pages / "rows.txt", "-o", out, *asked)
    shown = page_at(out).shown
    assert "A <title>" in shown
    assert "Lowest mrr" in shown
    run("report", pages / "first", pages / "rows.txt", "-o", out, "--pairs", pages / "votes.csv")
    assert "Margins of comparisons" in page_at(out).shown


def test_two_models_stand_side_by_side_also_with_other_features(pages, tmp_path):
    out = tmp_path / "page.html"
    first, rows = pages / "first", pages / "rows.csv"
    run("report", first, pages / "rows.txt", "--against", pages / "kernel", "-o", out)
    assert "first against kernel" in page_at(out).shown
    run("report", pages / "csv", rows, "--qid", "qid", "-o", out, "--metric", "pairwise_accuracy")
    assert "f0" not in page_at(out).shown.split("Weights")[1].split()


def test_wrong_input_is_refused_before_any_work(pages, tmp_path, monkeypatch):
    report = ["report", pages / "first", pages / "rows.txt"]
    lost, comparisons = tmp_path / "none" / "page.html", ["--pairs", pages / "votes.csv"]
    assert "its folder does not exist" in refused(*report, "-o", lost)
    assert "is an input too" in refused(*report, "-o", pages / "rows.txt")
    assert "there is no metric" in misused(*report, "--metric", "foo")
    assert "names the same model" in misused(*report, "--against", pages / "first")
    assert "leave out --graph" in misused(*report, "--graph", "chain", *comparisons)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = refused(*report, "-o", tmp_path / "page.html")
    assert "pip install 'pairrank[report]'" in said
    assert list(tmp_path.iterdir()) == []
