"""--stream: train, evaluate and predict on rows that are read block by block."""

from __future__ import annotations

import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli_rows import make_rows
from cli_runs import misused, record_of, refused, run
from pairrank import RankSVM, load_model
from pairrank.io import write_rows

NAMES = ("--label", "grade", "--qid", "query", "--docid", "doc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("streaming")
    rows = make_rows(0, 600)._replace(docid=np.array([f"d{row}" for row in range(600)]))
    write_rows(home / "all.parquet", rows, label="grade", qid="query", docid="doc")
    (home / "parts").mkdir()
    table = pq.read_table(home / "all.parquet")
    for number, start in enumerate((0, 250, 260)):
        stop = (250, 260, 600)[number]
        pq.write_table(table.slice(start, stop - start), home / "parts" / f"{number}.parquet")
    run("train", home / "all.parquet", *NAMES, "-o", home / "model", "-q", "--tol", "1e-8")
    return home


@pytest.mark.parametrize("data", ["parts/*.parquet", "parts", "all.parquet"])
def test_a_streamed_model_is_that_of_the_rows_in_memory(folder, tmp_path, data):
    arguments = ("--stream", *NAMES, "-o", tmp_path / "model", "--tol", "1e-8")
    found = record_of("train", folder / data, *arguments)
    wanted, streamed = load_model(folder / "model"), load_model(tmp_path / "model")
    assert np.abs(streamed.coef_ - wanted.coef_).max() <= 1e-6 * np.abs(wanted.coef_).max()
    assert list(streamed.feature_names_in_) == list(wanted.feature_names_in_)
    assert (found["rows"], found["queries"]) == (600, 6)
    assert found["n_pairs"] == wanted.n_pairs_
    remembered = record_of("evaluate", tmp_path / "model", folder / "all.parquet")
    assert remembered["n_pairs"] == wanted.n_pairs_


def test_evaluate_measures_what_it_measures_in_memory(folder, tmp_path):
    run("train", folder / "all.parquet", *NAMES, "-o", tmp_path / "m", "-q", "-C", "1e-6")
    for asked in (
        ("--metric", "pairwise_accuracy", "--metric", "ndcg@10"),
        ("--against", tmp_path / "m", "--resamples", "99"),
    ):
        evaluate = ("evaluate", folder / "model", *asked)
        wanted = record_of(*evaluate, folder / "all.parquet")
        assert record_of(*evaluate, folder / "parts", "--stream") == wanted


def scores_of(*arguments):
    return np.array(run(*arguments).stdout.split(), dtype=np.float64)


def test_predict_writes_the_scores_that_it_writes_in_memory(folder, tmp_path):
    predict = ("predict", folder / "model", "--label", "grade")
    wanted = scores_of(*predict, folder / "all.parquet")
    odd = shutil.copy(folder / "all.parquet", tmp_path / "rows[1].parquet")
    for data in (folder / "parts/*.parquet", odd):  # one sum per row, in two orders of additions
        found = scores_of(*predict, data, "--stream")
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-14)
    assert wanted.size == 600


@pytest.mark.parametrize("name", ["rows.txt", "rows.csv", "rows.csv.gz"])
def test_text_is_converted_by_the_command_that_the_error_names(folder, tmp_path, monkeypatch, name):
    is_text = name.endswith("txt")
    names = () if is_text else NAMES[:4]
    given = {} if is_text else {"label": "grade", "qid": "query"}
    write_rows(tmp_path / name, make_rows(0, 600), **given)
    monkeypatch.chdir(tmp_path)
    told = misused("train", name, "--stream", *names, "-o", "m")
    same = " with the same options of columns" * (not is_text)
    assert f"convert text first{same}, pairrank convert {name} rows.parquet." in told
    run("convert", name, "rows.parquet", *names)
    columns = ("--label", "label", "--qid", "qid") if is_text else NAMES[:4]
    run("train", "rows.parquet", "--stream", *columns, "-o", "m", "-q", "--tol", "1e-8")
    wanted = load_model(folder / "model").coef_
    assert np.abs(load_model("m").coef_ - wanted).max() <= 1e-6 * np.abs(wanted).max()
    streamed = record_of("evaluate", "m", "rows.parquet", "--stream")
    assert streamed == record_of("evaluate", "m", name)


def test_validation_rows_are_streamed_too(folder, tmp_path):
    held = (folder / "parts/2.parquet", "--metric", "ndcg@10")
    train = ("train", folder / "parts", "--stream", *NAMES, "-o", tmp_path / "m")
    found = record_of(*train, "--valid", *held)["valid ndcg@10"]
    told = record_of("evaluate", tmp_path / "m", *held)["ndcg@10"]
    assert found == pytest.approx(told, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda labels: labels - 9.0, "valid.parquet: ndcg@10 needs labels of 0 and more"),
        (lambda labels: 0.0 * labels, "valid.parquet: y holds one class only"),
    ],
)
def test_validation_labels_are_refused_before_the_fit(
    folder, tmp_path, monkeypatch, change, complaint
):
    rows = make_rows(0, 60)
    rows = rows._replace(y=change(rows.y))
    write_rows(tmp_path / "valid.parquet", rows, label="grade", qid="query")
    monkeypatch.setattr(RankSVM, "fit", lambda *_, **__: pytest.fail("the fit has begun"))
    valid = ("--valid", tmp_path / "valid.parquet", "--metric", "ndcg@10")
    stream = ("--stream", *NAMES, "-o", tmp_path / "m")
    assert complaint in refused("train", folder / "parts", *stream, *valid)


@pytest.mark.parametrize("data", ["parts", "parts/*.parquet"])
def test_an_input_of_a_pattern_or_folder_is_never_the_output(folder, tmp_path, data):
    parts = shutil.copytree(folder / "parts", tmp_path / "parts")
    before = (parts / "0.parquet").read_bytes()
    options = ("--stream", "-o", parts / "0.parquet")
    assert "is an input too" in refused("train", tmp_path / data, *NAMES, *options)
    assert "is an input too" in refused("predict", folder / "model", tmp_path / data, *options)
    assert (parts / "0.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--model", "rankboost"], "use ranksvm, rankncg"),
        (["--search", "--valid", "parts/0.parquet"], "leave out --search or --stream"),
        (["--time", "grade"], "--time needs all rows in memory: leave out --time or --stream"),
        (["--kernel", "rbf"], "--kernel rbf needs all rows in memory"),
        (["--model", "rankncg", "--solver", "sgd"], "use --solver auto"),
        (["--memory-limit", "much"], "not a number of bytes, such as 2GB"),
        (["--memory-limit", "0"], "not a number of bytes, such as 2GB"),
    ],
)
def test_what_cannot_be_streamed_is_refused(folder, tmp_path, options, complaint, monkeypatch):
    monkeypatch.chdir(folder)
    arguments = ("parts", "--stream", *NAMES, "-o", tmp_path / "m", *options)
    assert complaint in misused("train", *arguments)
    assert not (tmp_path / "m").exists()


def test_errors_name_file_and_remedy(folder, tmp_path):
    stream = ("--stream", "-o", tmp_path / "m")
    assert "there is no such file" in refused("train", folder / "x*.parquet", *stream)
    assert "--label" in refused("train", folder / "parts", *stream)
    told = refused("train", folder / "parts", *stream, *NAMES, "--memory-limit", "100MB")
    assert "--memory-limit 1e+08 bytes is too small" in told
    for data in ("parts", "parts/*.parquet"):
        told = misused("train", folder / data, *NAMES, "-o", tmp_path / "m")
        assert "read them with --stream" in told
    told = misused("train", folder / "all.parquet", "--memory-limit", "2GB", "-o", tmp_path / "m")
    assert "--memory-limit needs --stream" in told
    assert "not standard input" in misused("train", "-", *stream)
