"""pairrank evaluate: many metrics, one row per query, two models, files of scores."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as arrow_csv

from cli_rows import make_rows
from cli_runs import misused, record_of, refused, run
from pairrank import load_model, metrics
from pairrank.io import read_rows, write_rows

NAMES = ["map", "ndcg@5", "mrr", "precision@3:relevant_from=2", "auc", "kendall_tau"]
ASKED = [part for name in NAMES for part in ("--metric", name)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with test rows, two models and the scores of the second."""
    home = tmp_path_factory.mktemp("evaluate")
    for seed, name in enumerate(["train", "test"]):
        rows = make_rows(seed, n_rows=300, n_queries=30)
        write_rows(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows)
    write_rows(home / "few.txt", make_rows(5, n_rows=8, n_queries=1))
    run("train", home / "train.txt", "-o", home / "good", "-q")
    run("train", home / "few.txt", "-o", home / "poor", "-q")
    run("predict", home / "poor", home / "test.txt", "-o", home / "poor.txt")
    run("train", home / "train.csv", "-o", home / "csv", "-q", "--qid", "qid", "--drop", "f0")
    return home


def rows_and_scores(folder):
    rows = read_rows(folder / "test.txt")
    return rows, *(load_model(folder / name).predict(rows.X) for name in ("good", "poor"))


def test_several_metrics_are_those_of_python(folder):
    rows, good, _ = rows_and_scores(folder)
    record = record_of("evaluate", folder / "good", folder / "test.txt", *ASKED)
    del record["n_pairs"]
    assert record == metrics.evaluate(rows.y, good, NAMES, qid=rows.qid)


def test_what_cannot_be_judged_is_null_in_json(folder, tmp_path):
    rows, *_ = rows_and_scores(folder)
    write_rows(tmp_path / "low.txt", rows._replace(y=rows.y - rows.y.max()))
    record = record_of("evaluate", folder / "good", tmp_path / "low.txt", "--metric", "auc")
    assert record["auc"] is None


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_has_one_row_per_query_and_both_models(folder, tmp_path, kind):
    rows, *scores = rows_and_scores(folder)
    rows = rows._replace(y=np.where(rows.qid == rows.qid[0], 0.0, rows.y))
    write_rows(tmp_path / "test.txt", rows)
    path = tmp_path / f"queries.{kind}"
    models = ["evaluate", folder / "good", tmp_path / "test.txt", "--against", folder / "poor"]
    run(*models, "--per-query", path, *ASKED)
    found = pl.read_csv(path) if kind == "csv" else pl.read_parquet(path)
    assert set(found.columns) == {"qid", *NAMES, *(f"{name}_against" for name in NAMES)}
    for suffix, each in zip(("", "_against"), scores, strict=True):
        wanted = metrics.evaluate(rows.y, each, NAMES, qid=rows.qid, per_query=True)
        assert math.isnan(wanted["auc"][0])
        assert found["qid"].to_list() == wanted.pop("qid").tolist()
        for name, values in wanted.items():
            np.testing.assert_array_equal(found[name + suffix].to_numpy(), values)


@pytest.mark.parametrize("other", ["poor", "poor.txt", "csv"])
def test_two_models_are_compared_as_in_python(folder, other):
    rows, good, poor = rows_and_scores(folder)
    options = ["--against", folder / other, "--resamples", "500", "--seed", "3", *ASKED]
    data = [folder / "test.txt"]
    if other == "csv":
        data = [folder / "test.csv", "--qid", "qid"]
        poor = rows.X[:, 1:] @ load_model(folder / "csv").coef_
        said = misused("evaluate", folder / "good", "-", *options)
        assert "DATA is read twice: name a file." in said
    record = record_of("evaluate", folder / "good", *data, *options)
    assert list(record) == NAMES
    for name in NAMES:
        wanted = metrics.compare_scores(
            rows.y, good, poor, name, qid=rows.qid, n_resamples=500, random_state=3
        )
        assert record[name] == wanted._asdict()


def test_the_comparison_is_a_table_of_the_usual_metrics(folder):
    models = ["evaluate", folder / "good", folder / "test.txt", "--against", folder / "poor"]
    shown = run(*models).stdout
    for word in ("against", "means over 30 queries", "pairwise_acc", "ndcg@10", "difference"):
        assert word in shown
    assert "msd" not in shown


def test_a_file_of_scores_is_judged_as_its_model_is(folder):
    for asked in (ASKED, []):
        asked = [folder / "test.txt", "--json", *asked]
        by_scores = run("evaluate", folder / "poor.txt", *asked).stdout
        assert by_scores == run("evaluate", folder / "poor", *asked).stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1.5\n2.5\n", "scores.txt holds 2 scores for 300 rows"),
        ("1.5\n\n2.5\nnan\n", "scores.txt, line 2: '' is not"),
    ],
)
def test_faults_of_score_files_are_named(folder, tmp_path, text, said):
    (tmp_path / "scores.txt").write_text(text)
    assert said in refused("evaluate", tmp_path / "scores.txt", folder / "test.txt")


def test_tables_and_comparisons_need_a_folder_and_queries(folder, tmp_path):
    table = tmp_path / "no" / "q.csv"
    judged = ["evaluate", folder / "good", folder / "test.txt", "--per-query", table]
    assert "folder does not exist" in refused(*judged)
    plain = make_rows(1)._replace(qid=None)
    write_rows(tmp_path / "plain.txt", plain)
    judged = ["evaluate", folder / "good", tmp_path / "plain.txt"]
    assert "--per-query needs queries" in refused(*judged, "--per-query", tmp_path / "q.csv")
    assert "--against needs queries" in refused(*judged, "--against", folder / "poor")
    assert [path.name for path in tmp_path.iterdir()] == ["plain.txt"]
    write_rows(tmp_path / "one.txt", plain._replace(qid=np.ones(60, dtype=int)))
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
    assert record_of(*judged, "--qid", "q", "--metric", "ndcg@3")["ndcg@3"] == 1.0
    run("convert", tmp_path / name, tmp_path / "q.qrels", "--qid", "q", "--docid", "title")
    assert (tmp_path / "q.qrels").read_text() == "a 0 x 2\na 0 y 0\na 0 z 1\n"


def test_scores_are_not_judged_over_queries_that_no_option_names(tmp_path):
    (tmp_path / "rows.csv").write_text("label,qid,a\n1,1,2\n0,1,1\n1,2,3\n")
    (tmp_path / "scores.txt").write_text("3\n1\n2\n")
    judged = ("evaluate", tmp_path / "scores.txt", tmp_path / "rows.csv")
    assert "pass --qid qid or --drop qid" in refused(*judged)
    assert record_of(*judged, "--qid", "qid")["n_pairs"] == 1
    assert record_of(*judged, "--drop", "qid")["n_pairs"] == 2


def test_metrics_of_queries_say_how_rows_get_queries(folder, tmp_path):
    (tmp_path / "rows.txt").write_text("1 1:2 4:1\n0 1:1\n")
    (tmp_path / "rows.csv").write_text("label,a\n1,2\n0,1\n")
    (tmp_path / "scores.txt").write_text("3\n1\n")
    for name, said in (("rows.txt", "write qid:NUMBER after"), ("rows.csv", "column with --qid")):
        judged = ("evaluate", tmp_path / "scores.txt", tmp_path / name)
        assert said in refused(*judged, "--per-query", tmp_path / "table.csv")
