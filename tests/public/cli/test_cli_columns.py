"""Columns at the command line: what a model file remembers, what is left out, what is warned of."""

from __future__ import annotations

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import record_of, refused, run
from pairrank import OrderGraph, load_model
from pairrank.io import write_rows

NAMED = {"label": "grade", "qid": "query", "weight": "views", "docid": "doc"}
OPTIONS = [word for role, column in NAMED.items() for word in (f"--{role}", column)]


def rows_of(seed):
    rows = make_rows(seed)
    ids = np.array([f"d{seed}-{row}" for row in range(len(rows.y))])
    return rows._replace(weight=np.linspace(1, 3, len(rows.y)), docid=ids)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with rows in three formats, and models trained on tables and on svmlight text."""
    home = tmp_path_factory.mktemp("columns")
    for seed, name in enumerate(["train", "test"]):
        for suffix in ("csv", "parquet"):
            write_rows(home / f"{name}.{suffix}", rows_of(seed), **NAMED)
        write_rows(home / f"{name}.txt", rows_of(seed)._replace(weight=None))
    run("train", home / "train.csv", "-o", home / "named", "-q", *OPTIONS)
    run("train", home / "train.txt", "-o", home / "plain", "-q")
    return home


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_evaluate_needs_no_column_again(folder, suffix):
    evaluate = ["evaluate", folder / "named", folder / f"test.{suffix}"]
    assert record_of(*evaluate) == record_of(*evaluate, *OPTIONS)
    unweighted = record_of(*evaluate, "--weight", "")
    assert unweighted != record_of(*evaluate)
    assert unweighted == record_of("evaluate", folder / "named", folder / "test.txt")


def test_predict_reads_only_what_it_needs(folder, tmp_path):
    write_rows(tmp_path / "x.csv", make_rows(1)._replace(y=None, qid=None))
    scores = run("predict", folder / "named", tmp_path / "x.csv").stdout
    assert scores == run("predict", folder / "named", folder / "test.parquet").stdout
    assert scores.count("\n") == 60
    assert run("predict", folder / "plain", tmp_path / "x.csv").stdout.count("\n") == 60


def test_options_win_over_what_is_remembered(folder, tmp_path):
    rows = rows_of(1)
    other = rows._replace(y=rows.y[::-1].copy(), qid=rows.qid[::-1].copy())
    write_rows(tmp_path / "other.csv", other, **{**NAMED, "label": "l", "qid": "q"})
    evaluate = ["evaluate", folder / "named", tmp_path / "other.csv"]
    said = refused(*evaluate)
    assert "no column 'grade', 'query'; the columns are" in said
    assert said.endswith("the model file remembers --label grade: name another column with --label")
    found = record_of(*evaluate, "--label", "l", "--qid", "q")
    write_rows(tmp_path / "same.csv", other, **NAMED)
    assert found == record_of("evaluate", folder / "named", tmp_path / "same.csv")


def test_a_remembered_column_is_needed_where_it_is_used(folder, tmp_path):
    write_rows(tmp_path / "x.csv", rows_of(1)._replace(weight=None, docid=None), **NAMED)
    said = refused("evaluate", folder / "named", tmp_path / "x.csv")
    assert "no column 'views'; the columns are" in said
    assert "the model file remembers --weight views: name another column with --weight, or" in said
    found = record_of("evaluate", folder / "named", tmp_path / "x.csv", "--weight", "")
    assert found == record_of("evaluate", folder / "named", folder / "test.csv", "--weight", "")
    said = refused("predict", folder / "named", tmp_path / "x.csv", "--run", "me")
    assert "no column 'doc'; the columns are" in said
    assert "the model file remembers --docid doc" in said


def test_rows_without_labels_cannot_be_judged(folder, tmp_path):
    for command in (
        ["evaluate", folder / "named", folder / "test.csv"],
        ["info", folder / "test.csv", *OPTIONS],
        ["train", folder / "train.csv", "-o", tmp_path / "m", *OPTIONS, "--drop", "grade"],
    ):
        said = refused(*command, "--label", "")
        assert "the rows have no labels: name their column with --label" in said


def test_info_shows_the_columns(folder):
    info = record_of("info", folder / "named")
    assert {role: info[f"column of {role}"] for role in NAMED} == NAMED
    assert not any(name.startswith("column of") for name in record_of("info", folder / "plain"))


def test_the_graph_and_the_reduction_are_remembered(folder, tmp_path):
    graph = ["--graph", "0<1,0<2", "--reduction", "query"]
    run("train", folder / "train.csv", "-o", tmp_path / "m", "-q", *OPTIONS, *graph)
    model = load_model(tmp_path / "m")
    assert model.graph == OrderGraph([(0.0, 1.0), (0.0, 2.0)])
    assert model.reduction == "query"
    evaluate = ["evaluate", tmp_path / "m", folder / "test.csv"]
    y, qid = rows_of(1).y, rows_of(1).qid
    preferred = (y[:, None] == 0) & (y > 0) & (qid[:, None] == qid)
    assert record_of(*evaluate)["n_pairs"] == preferred.sum()
    assert record_of(*evaluate, "--graph", "full")["n_pairs"] > preferred.sum()


@pytest.mark.parametrize(("command", "model"), [("predict", "named"), ("evaluate", "plain")])
def test_svmlight_rows_of_fewer_features_are_refused(folder, tmp_path, command, model):
    narrow = make_rows(1)
    narrow = narrow._replace(X=narrow.X[:, :3].copy(), feature_names=None)
    write_rows(tmp_path / "narrow.txt", narrow)
    said = refused(command, folder / model, tmp_path / "narrow.txt")
    assert "every row states 3 features" in said
    assert "4 are expected" in said
    valid = ["--valid", tmp_path / "narrow.txt"]
    assert "4 are expected" in refused("train", folder / "train.txt", "-o", tmp_path / "m", *valid)


@pytest.mark.parametrize("model", ["named", "plain"])
def test_sparse_rows_may_leave_out_the_last_features(folder, tmp_path, model):
    (tmp_path / "sparse.txt").write_text("1 qid:1 2:1\n0 qid:1 1:1\n")
    (tmp_path / "whole.txt").write_text("1 qid:1 1:0 2:1 3:0 4:0\n0 qid:1 1:1 2:0 3:0 4:0\n")
    scores = run("predict", folder / model, tmp_path / "sparse.txt").stdout
    assert scores == run("predict", folder / model, tmp_path / "whole.txt").stdout


def test_tables_with_other_features_are_refused(folder, tmp_path):
    renamed = rows_of(1)._replace(feature_names=["f0", "f1", "F2", "f3"])
    write_rows(tmp_path / "renamed.csv", renamed, **NAMED)
    said = refused("predict", folder / "named", tmp_path / "renamed.csv")
    assert "no column 'f2' (did you mean 'F2'?)" in said
    dropped = ["--drop", "grade,query,views,doc,f0"]
    said = refused("predict", folder / "plain", folder / "test.csv", *dropped)
    assert "3 feature columns, but 4 are expected" in said


def test_columns_are_dropped_by_lists_and_by_repetition(tmp_path):
    (tmp_path / "r.csv").write_text('label,a,b,"c,1",d\n1,2,3,4,5\n0,3,4,5,6\n')
    train = ["train", tmp_path / "r.csv", "-o", tmp_path / "m", "-q"]
    for drop in (["--drop", 'a, b,"c,1"'], ["--drop", "a,b", "--drop", '"c,1"']):
        run(*train, *drop)
        assert load_model(tmp_path / "m").feature_names_in_.tolist() == ["d"]
    assert "no column 'e'; the columns are" in refused(*train, "--drop", "a,e")


def test_columns_of_text_are_left_out_by_one_option(tmp_path):
    (tmp_path / "r.csv").write_text("label,a,kind\n1,2,film\n0,3,show\n")
    train = ["train", tmp_path / "r.csv", "-o", tmp_path / "m"]
    said = refused(*train)
    assert "these columns hold text or dates: 'kind'" in said
    assert "--drop-text" in said
    run(*train, "-q", "--drop-text")
    assert load_model(tmp_path / "m").feature_names_in_.tolist() == ["a"]
    assert run("predict", tmp_path / "m", tmp_path / "r.csv").stdout.count("\n") == 2


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("query_id", "--qid query_id or --drop query_id"),
        ("queryId", "--qid queryId or --drop queryId"),
        ("docno", "--docid docno or --drop docno"),
        ("doc-id", "--docid doc-id or --drop doc-id"),
        ("id", "pass --drop id"),
        *((name, "") for name in ("paid", "idf", "did_click")),
    ],
)
def test_a_feature_that_looks_like_an_identifier_is_a_warning(tmp_path, name, option):
    (tmp_path / "r.csv").write_text(f"label,{name},a\n1,2,3\n0,3,4\n")
    train = ["train", tmp_path / "r.csv", "-o", tmp_path / "m", "-q"]
    said = run(*train).stderr
    assert len(said.splitlines()) == (1 if option else 0)
    if option:
        assert said.startswith(f"pairrank: warning: {name!r}: a feature now")
        assert option in said
    assert run("predict", tmp_path / "m", tmp_path / "r.csv").stderr == ""
    assert run(*train, "--drop", name).stderr == ""


def test_a_file_without_a_column_of_labels_is_told_how_to_name_it(folder, tmp_path):
    (tmp_path / "rows.csv").write_text("score,a\n1,2\n0,1\n")
    said = refused("train", tmp_path / "rows.csv", "-o", tmp_path / "m")
    assert said.rstrip().endswith("; name the column of labels with --label")
    said = refused("train", tmp_path / "rows.csv", "-o", tmp_path / "m", "--label", "scores")
    assert "did you mean 'score'" in said
    assert "--label" not in said


def test_info_shows_the_largest_weights_with_their_errors(folder, tmp_path):
    rows = ["train", folder / "train.csv", "-o", tmp_path / "m", *OPTIONS, "--model", "rankncg"]
    run(*rows, "--covariance", "queries")
    model = load_model(tmp_path / "m")
    found = record_of("info", tmp_path / "m")["weights"]
    largest = np.argsort(-np.abs(model.coef_))
    assert [each["feature"] for each in found] == model.feature_names_in_[largest].tolist()
    np.testing.assert_array_equal([each["weight"] for each in found], model.coef_[largest])
    errors = [each["standard error"] for each in found]
    np.testing.assert_array_equal(errors, model.standard_errors_[largest])
    assert f"{errors[0]:.6g}" in run("info", tmp_path / "m").stdout
    run(*rows, "--kernel", "rbf")
    assert record_of("info", tmp_path / "m")["weights"] == []
    assert "Weight" not in run("info", tmp_path / "m").stdout
