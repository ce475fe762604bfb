"""pairrank evaluate: many metrics, one row per query, two models, files of scores."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as arrow_csv

from cli_rows import make_rows
from cli_runs import misused, refused, run
from pairrank import load_model, metrics
from pairrank.io import read_svmlight, write_rows, write_svmlight

NAMES = ["map", "ndcg@5", "mrr", "precision@3:relevant_from=2", "auc", "kendall_tau"]
ASKED = [part for name in NAMES for part in ("--metric", name)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with test rows, two models and the scores of the second."""
    home = tmp_path_factory.mktemp("evaluate")
    for seed, name in enumerate(["train", "test"]):
        rows = make_rows(seed, n_rows=300, n_queries=30)
        write_svmlight(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows)
    write_svmlight(home / "few.txt", make_rows(5, n_rows=8, n_queries=1))
    run("train", home / "train.txt", "-o", home / "good", "-q")
    run("train", home / "few.txt", "-o", home / "poor", "-q")
    run("predict", home / "poor", home / "test.txt", "-o", home / "poor.txt")
    run("train", home / "train.csv", "-o", home / "csv", "-q", "--qid", "qid", "--drop", "f0")
    return home


def rows_and_scores(folder):
    rows = read_svmlight(folder / "test.txt")
    return rows, *(load_model(folder / name).predict(rows.X) for name in ("good", "poor"))


def test_several_metrics_are_those_of_python(folder):
    rows, good, _ = rows_and_scores(folder)
    judged = ["evaluate", folder / "good", folder / "test.txt", "--json", *ASKED]
    record = json.loads(run(*judged).stdout)
    del record["n_pairs"]
    assert record == metrics.evaluate(rows.y, good, NAMES, qid=rows.qid)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_has_one_row_per_query(folder, tmp_path, kind):
    rows, good, _ = rows_and_scores(folder)
    rows = rows._replace(y=np.where(rows.qid == rows.qid[0], 0.0, rows.y))
    write_svmlight(tmp_path / "test.txt", rows)
    path = tmp_path / f"queries.{kind}"
    run("evaluate", folder / "good", tmp_path / "test.txt", "--per-query", path, *ASKED)
    wanted = metrics.evaluate(rows.y, good, NAMES, qid=rows.qid, per_query=True)
    assert math.isnan(wanted["auc"][0])
    if kind == "csv":
        with path.open(newline="") as file:
            header, *lines = csv.reader(file)
        columns = list(zip(*lines, strict=True))
        found = {
            name: [float(cell) if cell else None for cell in column]
            for name, column in zip(header, columns, strict=True)
        }
    else:
        found = pq.read_table(path).to_pydict()
    assert list(found) == ["qid", *NAMES]
    for name, values in wanted.items():
        assert found[name] == [None if value != value else value for value in values.tolist()]


def test_a_table_of_two_models_has_both(folder, tmp_path):
    rows, good, poor = rows_and_scores(folder)
    options = ["--against", folder / "poor", "--metric", "map"]
    options += ["--per-query", tmp_path / "q.parquet"]
    run("evaluate", folder / "good", folder / "test.txt", *options)
    found = pq.read_table(tmp_path / "q.parquet").to_pydict()
    assert list(found) == ["qid", "map", "map_against"]
    for name, scores in (("map", good), ("map_against", poor)):
        wanted = metrics.evaluate(rows.y, scores, "map", qid=rows.qid, per_query=True)["map"]
        assert found[name] == wanted.tolist()


@pytest.mark.parametrize("other", ["poor", "poor.txt"])
def test_two_models_are_compared_as_in_python(folder, other):
    rows, good, poor = rows_and_scores(folder)
    options = ["--against", folder / other, "--json", "--resamples", "500", "--seed", "3", *ASKED]
    record = json.loads(run("evaluate", folder / "good", folder / "test.txt", *options).stdout)
    assert list(record) == NAMES
    for name in NAMES:
        wanted = metrics.compare_scores(
            rows.y, good, poor, name, qid=rows.qid, n_resamples=500, random_state=3
        )
        assert record[name] == wanted._asdict()
    assert record["map"]["difference"] > 0


def test_the_comparison_is_a_table_of_the_usual_metrics(folder):
    models = ["evaluate", folder / "good", folder / "test.txt", "--against", folder / "poor"]
    shown = run(*models).stdout
    for word in ("against", "means over 30 queries", "pairwise_acc", "ndcg@10", "difference"):
        assert word in shown
    assert "msd" not in shown


def test_a_file_of_scores_is_judged_as_its_model_is(folder):
    asked = [folder / "test.txt", "--json", *ASKED]
    by_scores = json.loads(run("evaluate", folder / "poor.txt", *asked).stdout)
    assert by_scores == json.loads(run("evaluate", folder / "poor", *asked).stdout)
    usual = json.loads(run("evaluate", folder / "poor.txt", folder / "test.txt", "--json").stdout)
    assert "pairwise_accuracy" in usual


def test_models_of_different_features_are_compared(folder):
    options = ["--qid", "qid", "--json", "--metric", "map"]
    write_rows(folder / "named.csv", make_rows(1, n_rows=300, n_queries=30))
    run("train", folder / "train.csv", "-o", folder / "all", "-q", "--qid", "qid")
    record = json.loads(
        run(
            "evaluate", folder / "all", folder / "named.csv", "--against", folder / "csv", *options
        ).stdout
    )
    for name, key in (("all", "mean"), ("csv", "other_mean")):
        alone = json.loads(run("evaluate", folder / name, folder / "named.csv", *options).stdout)
        assert record["map"][key] == pytest.approx(alone["map"], rel=1e-14)
    said = misused("evaluate", folder / "all", "-", "--against", folder / "csv", *options)
    assert "DATA is read twice: name a file." in said


def test_faults_of_score_files_and_tables_are_named(folder, tmp_path):
    (tmp_path / "short.txt").write_text("1.5\n2.5\n")
    test = folder / "test.txt"
    assert "short.txt holds 2 scores for 300 rows" in refused(
        "evaluate", tmp_path / "short.txt", test
    )
    (tmp_path / "word.txt").write_text("1.5\nhigh\n")
    assert "word.txt, line 2: 'high' is not a finite number" in refused(
        "evaluate", tmp_path / "word.txt", test
    )
    (tmp_path / "nan.txt").write_text("1.5\n\n2.5\nnan\n")
    assert "nan.txt, line 2: '' is not" in refused("evaluate", tmp_path / "nan.txt", test)
    (tmp_path / "text.txt").write_text("score\n1.5\n")
    assert "text.txt" in refused("evaluate", tmp_path / "text.txt", test)
    lost = tmp_path / "no" / "q.csv"
    assert "folder does not exist" in refused(
        "evaluate", folder / "good", test, "--per-query", lost
    )
    plain = make_rows(1)._replace(qid=None)
    write_svmlight(tmp_path / "plain.txt", plain)
    judged = ["evaluate", folder / "good", tmp_path / "plain.txt"]
    table = tmp_path / "q.csv"
    assert "--per-query needs queries" in refused(*judged, "--per-query", table)
    assert "--against needs queries" in refused(*judged, "--against", folder / "poor")
    assert not table.exists()
    write_svmlight(tmp_path / "one.txt", plain._replace(qid=np.ones(60, dtype=int)))
    said = refused("evaluate", folder / "good", tmp_path / "one.txt", "--against", folder / "poor")
    assert "one.txt: the queries that count for both models are 1" in said


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_scores_are_judged_without_reading_features(tmp_path, name):
    table = pa.table(
        {"label": [2, 0, 1], "q": ["a", "a", "a"], "title": ["x", "y", "z"], "age": [1.5, None, 2]}
    )
    if name.endswith("csv"):
        arrow_csv.write_csv(table, tmp_path / name)
    else:
        pq.write_table(table, tmp_path / name)
    (tmp_path / "scores.txt").write_text("3\n1\n2\n")
    judged = ("evaluate", tmp_path / "scores.txt", tmp_path / name)
    asked = ("--qid", "q", "--metric", "ndcg@3", "--json")
    assert json.loads(run(*judged, *asked).stdout)["ndcg@3"] == 1.0
    run("convert", tmp_path / name, tmp_path / "q.qrels", "--qid", "q", "--docid", "title")
    assert (tmp_path / "q.qrels").read_text() == "a 0 x 2\na 0 y 0\na 0 z 1\n"


def test_scores_are_not_judged_over_queries_that_no_option_names(tmp_path):
    (tmp_path / "rows.csv").write_text("label,qid,a\n1,1,2\n0,1,1\n1,2,3\n")
    (tmp_path / "scores.txt").write_text("3\n1\n2\n")
    judged = ("evaluate", tmp_path / "scores.txt", tmp_path / "rows.csv")
    assert "pass --qid qid or --drop qid" in refused(*judged)
    assert json.loads(run(*judged, "--qid", "qid", "--json").stdout)["n_pairs"] == 1
    assert json.loads(run(*judged, "--drop", "qid", "--json").stdout)["n_pairs"] == 2


def test_metrics_of_queries_say_how_rows_get_queries(folder, tmp_path):
    (tmp_path / "rows.txt").write_text("1 1:2 4:1\n0 1:1\n")
    (tmp_path / "rows.csv").write_text("label,a\n1,2\n0,1\n")
    (tmp_path / "scores.txt").write_text("3\n1\n")
    for name, said in (("rows.txt", "write qid:NUMBER after"), ("rows.csv", "column with --qid")):
        judged = ("evaluate", tmp_path / "scores.txt", tmp_path / name)
        assert said in refused(*judged, "--per-query", tmp_path / "table.csv")
