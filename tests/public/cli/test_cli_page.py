"""pairrank report: the page of a model, of two models, and what is refused."""

from __future__ import annotations

import sys

import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from html_pages import Page, loaded_from_elsewhere
from pairrank import load_model, metrics
from pairrank.io import read_rows, write_rows

pytest.importorskip("jinja2", reason="reports need jinja2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with rows, comparisons and models."""
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


def test_the_page_shows_the_metrics_of_the_model(folder, tmp_path):
    done = run("report", folder / "first", folder / "rows.txt", "-o", tmp_path / "page.html")
    assert done.stdout == ""
    assert "page.html is written" in done.stderr
    rows = read_rows(folder / "rows.txt")
    scores = load_model(folder / "first").predict(rows.X)
    value = metrics.ndcg_score(rows.y, scores, k=10, qid=rows.qid)
    shown = page_at(tmp_path / "page.html").shown
    assert f"{value:.4g}" in shown
    assert "Report on first, rows of rows.txt" in shown
    done = run("report", folder / "first", folder / "rows.txt", "-o", "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stderr == ""


def test_metrics_title_and_comparisons_can_be_given(folder, tmp_path):
    out = tmp_path / "page.html"
    asked = ["--metric", "mrr", "--metric", "ndcg@5", "--title", "A <title>"]
    run("report", folder / "first", folder / "rows.txt", "-o", out, *asked)
    shown = page_at(out).shown
    assert "A <title>" in shown
    assert "Lowest mrr" in shown
    run("report", folder / "first", folder / "rows.txt", "-o", out, "--pairs", folder / "votes.csv")
    assert "Margins of comparisons" in page_at(out).shown


def test_two_models_stand_side_by_side_also_with_other_features(folder, tmp_path):
    out = tmp_path / "page.html"
    first, rows = folder / "first", folder / "rows.csv"
    run("report", first, folder / "rows.txt", "--against", folder / "kernel", "-o", out)
    assert "first against kernel" in page_at(out).shown
    run("report", folder / "csv", rows, "--qid", "qid", "-o", out, "--metric", "pairwise_accuracy")
    assert "f0" not in page_at(out).shown.split("Weights")[1].split()


def test_wrong_input_is_refused_before_any_work(folder, tmp_path, monkeypatch):
    report = ["report", folder / "first", folder / "rows.txt"]
    lost, comparisons = tmp_path / "none" / "page.html", ["--pairs", folder / "votes.csv"]
    assert "its folder does not exist" in refused(*report, "-o", lost)
    assert "is an input too" in refused(*report, "-o", folder / "rows.txt")
    assert "there is no metric" in misused(*report, "--metric", "foo")
    assert "names the same model" in misused(*report, "--against", folder / "first")
    assert "leave out --graph" in misused(*report, "--graph", "chain", *comparisons)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = refused(*report, "-o", tmp_path / "page.html")
    assert "pip install 'pairrank[report]'" in said
    assert list(tmp_path.iterdir()) == []
