"""The command line: every command, its files, its JSON and its exit codes."""

from __future__ import annotations

import numpy as np
import pytest

from cli_rows import N_FEATURES, make_rows
from cli_runs import invoke, record_of, run
from pairrank import load_model, metrics
from pairrank.io import read_rows, write_rows


def test_a_model_predicts_in_row_order_and_is_judged_by_the_usual_metrics(folder, tmp_path):
    run("predict", folder / "model", folder / "test.txt", "-o", tmp_path / "scores")
    rows = read_rows(folder / "test.txt")
    scores = load_model(folder / "model").predict(rows.X)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "scores"), scores)
    record = record_of("evaluate", folder / "model", folder / "test.txt")
    judged = {"qid": rows.qid}
    assert record == {
        "pairwise_accuracy": metrics.pairwise_accuracy(rows.y, scores, **judged),
        "mean_ndcg": metrics.mean_ndcg(rows.y, scores, **judged),
        "ndcg@10": metrics.ndcg_score(rows.y, scores, k=10, **judged),
        "kendall_tau": metrics.kendall_tau(rows.y, scores, **judged),
        "n_pairs": ((rows.qid[:, None] == rows.qid) & (rows.y[:, None] > rows.y)).sum(),
    }
    assert record["pairwise_accuracy"] > 0.85


def test_train_reports_progress_on_stderr_and_a_summary_on_stdout(folder, tmp_path):
    result = run("train", folder / "train.txt", "-o", tmp_path / "m")
    for shown, words in ((result.stderr, "objective gradient"), (result.stdout, "n_pairs RankSVM")):
        assert all(word in shown for word in words.split())
    quiet = run("train", folder / "train.txt", "-o", tmp_path / "m", "--quiet")
    assert quiet.stdout == quiet.stderr == ""


def test_evaluate_leaves_ndcg_out_where_labels_are_negative(folder, tmp_path):
    rows = make_rows(2)
    write_rows(tmp_path / "signs.txt", rows._replace(y=np.where(rows.y > 1, 1.0, -1.0)))
    record = record_of("evaluate", folder / "model", tmp_path / "signs.txt")
    assert set(record) == {"pairwise_accuracy", "kendall_tau", "n_pairs"}
    assert record["pairwise_accuracy"] > 0.8


def test_a_model_without_names_takes_columns_by_place(folder):
    columns = ["--label", "label", "--qid", "qid"]
    by_place = run("predict", folder / "model", folder / "test.csv", *columns).stdout
    assert by_place == run("predict", folder / "model", folder / "test.txt").stdout
    columns = ["--drop", "label", "--drop", "qid"]
    assert run("predict", folder / "model", folder / "test.csv", *columns).stdout == by_place


def test_dashes_are_standard_input_and_output(folder, tmp_path):
    text, data = ((folder / name).read_bytes() for name in ("train.txt", "test.txt"))
    (tmp_path / "m").write_bytes(run("train", "-", "-o", "-", "-q", stdin=text).stdout_bytes)
    piped = run("predict", tmp_path / "m", "-", stdin=data).stdout
    assert piped == run("predict", folder / "model", folder / "test.txt").stdout


def test_info_describes_a_model_and_rows(folder):
    model = record_of("info", folder / "model")
    assert model["model"] == "RankSVM"
    rows = record_of("info", folder / "train.txt")
    assert (rows["rows"], rows["features"], rows["queries"]) == (60, N_FEATURES, 6)
    assert rows["levels"] == 3
    X = read_rows(folder / "train.txt").X
    assert rows["share of non-zeros"] == pytest.approx(np.count_nonzero(X) / X.size)
    assert "60" in run("info", folder / "train.txt").stdout
    assert "RankSVM" in run("info", folder / "model").stdout


def test_convert_goes_there_and_back(folder, tmp_path):
    columns = ["--qid", "qid"]
    run("convert", folder / "train.txt", tmp_path / "a.csv")
    run("convert", tmp_path / "a.csv", tmp_path / "b.parquet", *columns)
    run("convert", tmp_path / "b.parquet", tmp_path / "c.txt", *columns)
    first, last = read_rows(folder / "train.txt"), read_rows(tmp_path / "c.txt")
    np.testing.assert_array_equal(np.asarray(first.X), np.asarray(last.X))
    np.testing.assert_array_equal(first.y, last.y)
    np.testing.assert_array_equal(first.qid, last.qid)
    piped = run("convert", "-", "-", "--to", "csv", stdin=(folder / "train.txt").read_bytes())
    (tmp_path / "d.csv").write_bytes(piped.stdout_bytes)
    np.testing.assert_array_equal(read_rows(tmp_path / "d.csv", qid="qid").X, np.asarray(first.X))


def test_the_demo_shows_pairwise_beside_pointwise_models():
    record = record_of("demo", "--rows", 2000)
    assert list(record) == ["Ridge", "RankSVM", "LogisticRegression", "RankNCG"]
    accuracy = {name: each["accuracy"] for name, each in record.items()}
    assert accuracy["Ridge"] < 0.55
    assert accuracy["RankSVM"] > 0.8
    assert abs(accuracy["RankNCG"] - accuracy["LogisticRegression"]) < 0.02
    assert record["RankNCG"]["learns from"] == "1,000,000 pairs"
    assert "1,000,000 pairs" in run("demo", "--rows", 2000).stdout


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
