"""The command line: every command, its files, its JSON and its exit codes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from cli_rows import N_FEATURES, make_rows
from cli_runs import invoke, run
from pairrank.io import read_rows, read_svmlight, write_svmlight

METRICS = {"pairwise_accuracy", "mean_ndcg", "ndcg@10", "kendall_tau", "n_pairs"}


def scores_of(text: str) -> np.ndarray:
    return np.array([float(line) for line in text.splitlines()])


def test_training_writes_a_model_that_predicts_in_row_order(folder, tmp_path):
    run("predict", folder / "model", folder / "test.txt", "-o", tmp_path / "scores")
    scores = scores_of((tmp_path / "scores").read_text())
    rows = read_svmlight(folder / "test.txt")
    from pairrank import load_model

    np.testing.assert_array_equal(scores, load_model(folder / "model").predict(rows.X))
    assert len(scores) == 60


def test_evaluate_prints_the_metrics_by_name(folder):
    record = json.loads(run("evaluate", folder / "model", folder / "test.txt", "--json").stdout)
    assert set(record) == METRICS
    assert record["pairwise_accuracy"] > 0.85
    from pairrank import load_model, metrics

    rows = read_svmlight(folder / "test.txt")
    scores = load_model(folder / "model").predict(rows.X)
    expected = metrics.pairwise_accuracy(rows.y, scores, qid=rows.qid)
    assert record["pairwise_accuracy"] == expected
    assert record["ndcg@10"] == metrics.ndcg_score(rows.y, scores, qid=rows.qid, k=10)
    joined = rows.qid[:, None] == rows.qid[None, :]
    assert record["n_pairs"] == np.sum(joined & (rows.y[:, None] > rows.y[None, :]))


def test_train_reports_progress_on_stderr_and_a_summary_on_stdout(folder, tmp_path):
    result = run("train", folder / "train.txt", "-o", tmp_path / "m")
    assert "objective" in result.stderr
    assert "gradient" in result.stderr
    assert "n_pairs" in result.stdout
    assert "RankSVM" in result.stdout
    quiet = run("train", folder / "train.txt", "-o", tmp_path / "m", "--quiet")
    assert quiet.stdout == ""
    assert quiet.stderr == ""


def test_train_json_is_one_object(folder, tmp_path):
    valid = ["--valid", folder / "valid.txt", "--metric", "mean_ndcg"]
    result = run("train", folder / "train.txt", "-o", tmp_path / "m", "--json", *valid)
    record = json.loads(result.stdout)
    assert record["rows"] == 60
    assert record["features"] == N_FEATURES
    assert record["queries"] == 6
    assert 0.5 < record["valid mean_ndcg"] <= 1
    assert math.isfinite(record["objective"])


def test_evaluate_leaves_ndcg_out_where_labels_are_negative(folder, tmp_path):
    rows = make_rows(2)
    write_svmlight(tmp_path / "signs.txt", rows._replace(y=np.where(rows.y > 1, 1.0, -1.0)))
    result = run("evaluate", folder / "model", tmp_path / "signs.txt", "--json")
    record = json.loads(result.stdout)
    assert record["mean_ndcg"] is None
    assert record["ndcg@10"] is None
    assert record["pairwise_accuracy"] > 0.8
    assert "mean_ndcg and ndcg@10" in result.stderr


def test_a_model_without_names_takes_columns_by_place(folder):
    columns = ["--label", "label", "--qid", "qid"]
    by_place = run("predict", folder / "model", folder / "test.csv", *columns).stdout
    assert by_place == run("predict", folder / "model", folder / "test.txt").stdout
    columns = ["--drop", "label", "--drop", "qid"]
    assert run("predict", folder / "model", folder / "test.csv", *columns).stdout == by_place


def test_dashes_are_standard_input_and_output(folder, tmp_path):
    text = (folder / "train.txt").read_bytes()
    model = run("train", "-", "-o", "-", "-q", stdin=text).stdout_bytes
    (tmp_path / "m").write_bytes(model)
    data = (folder / "test.txt").read_bytes()
    piped = run("predict", tmp_path / "m", "-", stdin=data).stdout
    assert piped == run("predict", folder / "model", folder / "test.txt").stdout


def test_info_describes_a_model_and_rows(folder):
    model = json.loads(run("info", folder / "model", "--json").stdout)
    assert model["model"] == "RankSVM"
    rows = json.loads(run("info", folder / "train.txt", "--json").stdout)
    assert (rows["rows"], rows["features"], rows["queries"]) == (60, N_FEATURES, 6)
    assert rows["levels"] == 3
    X = read_svmlight(folder / "train.txt").X
    assert rows["share of non-zeros"] == pytest.approx(np.count_nonzero(X) / X.size)
    assert "60" in run("info", folder / "train.txt").stdout
    assert "RankSVM" in run("info", folder / "model").stdout


def test_convert_goes_there_and_back(folder, tmp_path):
    pytest.importorskip("pyarrow")
    columns = ["--qid", "qid"]
    run("convert", folder / "train.txt", tmp_path / "a.csv")
    run("convert", tmp_path / "a.csv", tmp_path / "b.parquet", *columns)
    run("convert", tmp_path / "b.parquet", tmp_path / "c.txt", *columns)
    first, last = read_svmlight(folder / "train.txt"), read_svmlight(tmp_path / "c.txt")
    np.testing.assert_array_equal(np.asarray(first.X), np.asarray(last.X))
    np.testing.assert_array_equal(first.y, last.y)
    np.testing.assert_array_equal(first.qid, last.qid)
    piped = run("convert", "-", "-", "--to", "csv", stdin=(folder / "train.txt").read_bytes())
    (tmp_path / "d.csv").write_bytes(piped.stdout_bytes)
    np.testing.assert_array_equal(read_rows(tmp_path / "d.csv", qid="qid").X, np.asarray(first.X))


def test_the_demo_shows_pairwise_beside_pointwise_models():
    record = json.loads(run("demo", "--rows", 2000, "--json").stdout)
    assert list(record) == ["Ridge", "RankSVM", "LogisticRegression", "RankNCG"]
    accuracy = {name: each["accuracy"] for name, each in record.items()}
    assert accuracy["Ridge"] < 0.55
    assert accuracy["RankSVM"] > 0.8
    assert abs(accuracy["RankNCG"] - accuracy["LogisticRegression"]) < 0.02
    assert record["RankNCG"]["learns from"] == "1,000,000 pairs"
    shown = run("demo", "--rows", 2000).stdout
    assert "1,000,000 pairs" in shown
    lines = [line for line in shown.splitlines() if line.startswith("│")][:14]
    assert set("".join(lines)) == set("│ abcde")


def test_version_and_help():
    assert run("--version").stdout.startswith("pairrank ")
    for command in ("train", "predict", "evaluate", "info", "convert", "demo"):
        assert command in run("--help").stdout
        assert "Usage" in run(command, "--help").stdout


def test_shells_complete_commands_options_and_choices(monkeypatch):
    for line, wanted in (
        ("pairrank train --mod", ["--model"]),
        ("pairrank train --model rankn", ["rankncg", "ranknet"]),
    ):
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
        monkeypatch.setenv("_PAIRRANK_COMPLETE", "complete_bash")
        assert invoke([]).stdout.split() == wanted


def read_terminal(descriptor: int) -> bytes:
    """Return what a terminal shows until nobody writes to it any more."""
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal with an error, others with nothing
        while part := os.read(descriptor, 1 << 16):
            shown += part
    os.close(descriptor)
    return shown


@pytest.mark.skipif(os.name == "nt", reason="needs a Unix terminal")
def test_progress_on_a_terminal_is_one_line_that_goes_away(folder, tmp_path):
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pairrank", "train", folder / "train.txt", "-o", tmp_path / "m"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = read_terminal(ours)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"objective" in shown
    assert shown.endswith(b"\x1b[2K"), "the line is wiped at the end"
    assert b"\x1b" not in printed
