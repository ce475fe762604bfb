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
from cli_runs import run
from pairrank.io import read_rows, read_svmlight, write_rows, write_svmlight

METRICS = {"pairwise_accuracy", "mean_ndcg", "ndcg@10", "kendall_tau", "n_pairs"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with training, validation and test rows and a trained model."""
    home = tmp_path_factory.mktemp("cli")
    for seed, name in enumerate(["train", "valid", "test"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows)
    run("train", home / "train.txt", "-o", home / "model", "--quiet")
    return home


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


def test_evaluate_prints_a_table_for_people(folder):
    shown = run("evaluate", folder / "model", folder / "test.txt").stdout
    assert all(name in shown for name in METRICS)


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


def test_train_options_reach_the_model(folder, tmp_path):
    from pairrank import load_model

    options = ["-C", "0.25", "--reduction", "sum", "--graph", "chain", "--tol", "1e-5"]
    more = ["--max-iter", "77", "--seed", "3", "--dtype", "float32", "--loss", "squared_hinge"]
    run("train", folder / "train.txt", "-o", tmp_path / "m", "-q", *options, *more)
    params = load_model(tmp_path / "m").get_params()
    wanted = {"C": 0.25, "reduction": "sum", "graph": "chain", "tol": 1e-5, "max_iter": 77}
    assert {name: params[name] for name in wanted} == wanted
    assert params["random_state"] == 3


def test_search_picks_the_best_cost_on_the_validation_rows(folder, tmp_path):
    from pairrank import RankSVM, metrics

    search = ["--search", "--valid", folder / "valid.txt", "--metric", "pairwise_accuracy"]
    result = run("train", folder / "train.txt", "-o", tmp_path / "m", "--json", *search)
    record = json.loads(result.stdout)
    train, valid = read_svmlight(folder / "train.txt"), read_svmlight(folder / "valid.txt")
    best = max(
        metrics.pairwise_accuracy(
            valid.y,
            RankSVM(C=2.0**power).fit(train.X, train.y, qid=train.qid).predict(valid.X),
            qid=valid.qid,
        )
        for power in range(-15, 11)
    )
    assert record["valid pairwise_accuracy"] >= best - 0.02
    assert math.log2(record["C"]) in range(-15, 11)


def test_csv_columns_are_found_by_name_whatever_their_order(folder, tmp_path):
    columns = ["--qid", "qid", "--label", "label"]
    run("train", folder / "train.csv", "-o", tmp_path / "m", "-q", *columns)
    lines = [line.split(",") for line in (folder / "test.csv").read_text().splitlines()]
    shuffled = tmp_path / "shuffled.csv"
    shuffled.write_text("\n".join(",".join(reversed(line)) for line in lines) + "\n")
    straight = run("predict", tmp_path / "m", folder / "test.csv").stdout
    assert run("predict", tmp_path / "m", shuffled).stdout == straight
    from_text = run("predict", folder / "model", folder / "test.txt").stdout
    np.testing.assert_allclose(scores_of(straight), scores_of(from_text), rtol=1e-9)


def test_weights_change_the_model(folder, tmp_path):
    rows = make_rows(0)
    write_rows(tmp_path / "w.csv", rows._replace(weight=np.linspace(0.1, 9, 60)))
    columns = ["--qid", "qid", "--weight", "weight"]
    run("train", tmp_path / "w.csv", "-o", tmp_path / "m", "-q", *columns)
    weighted = run("predict", tmp_path / "m", folder / "test.csv").stdout
    assert weighted != run("predict", folder / "model", folder / "test.txt").stdout


def test_evaluate_weighs_rows_in_pair_metrics_only(folder, tmp_path):
    write_rows(tmp_path / "w.csv", make_rows(2)._replace(weight=np.linspace(0.1, 9, 60)))
    model = ["evaluate", folder / "model", tmp_path / "w.csv", "--json", "--qid", "qid"]
    weighted = json.loads(run(*model, "--weight", "weight").stdout)
    plain = json.loads(run(*model, "--drop", "weight").stdout)
    same = {name for name in METRICS if weighted[name] == plain[name]}
    assert same == {"mean_ndcg", "ndcg@10", "n_pairs"}


def test_evaluate_leaves_ndcg_out_where_labels_are_negative(folder, tmp_path):
    rows = make_rows(2)
    write_svmlight(tmp_path / "signs.txt", rows._replace(y=np.where(rows.y > 1, 1.0, -1.0)))
    result = run("evaluate", folder / "model", tmp_path / "signs.txt", "--json")
    record = json.loads(result.stdout)
    assert record["mean_ndcg"] is None
    assert record["ndcg@10"] is None
    assert record["pairwise_accuracy"] > 0.8
    assert "mean_ndcg and ndcg@10" in result.stderr


def test_pairs_are_judged_over_the_models_own_graph(folder, tmp_path):
    from pairrank import load_model, metrics

    valid = read_svmlight(folder / "valid.txt")
    model = ["train", folder / "train.txt", "-o", tmp_path / "m", "--graph", "chain", "--json"]
    for search in ([], ["--search"]):
        record = json.loads(run(*model, "--valid", folder / "valid.txt", *search).stdout)
        scores = load_model(tmp_path / "m").predict(valid.X)
        over = {
            graph: metrics.pairwise_accuracy(valid.y, scores, qid=valid.qid, graph=graph)
            for graph in ("full", "chain")
        }
        assert over["full"] != over["chain"]
        assert record["valid pairwise_accuracy"] == over["chain"]
    judged = json.loads(run("evaluate", tmp_path / "m", folder / "valid.txt", "--json").stdout)
    full = json.loads(run("evaluate", folder / "model", folder / "valid.txt", "--json").stdout)
    assert judged["pairwise_accuracy"] == over["chain"]
    assert judged["n_pairs"] < full["n_pairs"]


def test_a_graph_of_text_labels_is_judged_by_pairs(tmp_path):
    from pairrank import OrderGraph, RankSVM

    rows = make_rows(0)
    rows = rows._replace(y=np.array(["poor", "fair", "good"])[rows.y.astype(int)])
    graph = OrderGraph([("poor", "fair"), ("fair", "good")])
    RankSVM(graph=graph).fit(rows.X, rows.y, qid=rows.qid).save(tmp_path / "m")
    write_rows(tmp_path / "words.csv", rows)
    result = run("evaluate", tmp_path / "m", tmp_path / "words.csv", "--qid", "qid", "--json")
    record = json.loads(result.stdout)
    assert record["pairwise_accuracy"] > 0.8
    assert {name for name in METRICS if record[name] is None} == {
        "mean_ndcg", "ndcg@10", "kendall_tau",
    }  # fmt: skip
    assert "numbers" in result.stderr


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


def test_converted_rows_hold_the_same_pairs(folder, tmp_path):
    run("convert", folder / "train.txt", tmp_path / "a.csv")
    text = run("train", folder / "train.txt", "-o", tmp_path / "m", "--json")
    table = run("train", tmp_path / "a.csv", "-o", tmp_path / "m", "--json", "--qid", "qid")
    assert json.loads(table.stdout)["n_pairs"] == json.loads(text.stdout)["n_pairs"]


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


@pytest.mark.parametrize(
    "arguments",
    [
        ["train"],
        ["trian", "x"],
        ["train", "x", "-o", "m", "--model", "nosuch"],
        ["train", "x", "-o", "m", "--metric", "nosuch"],
        ["train", "x", "-o", "m", "--reduction", "columns"],
        ["train", "x", "-o", "m", "-C", "much"],
        ["train", "x", "-o", "m", "-C", "0"],
        ["train", "x", "-o", "m", "-C", "nan"],
        ["train", "x", "-o", "m", "--tol", "-1"],
        ["train", "x", "-o", "m", "--max-iter", "-1"],
        ["train", "x", "-o", "m", "--search"],
        ["train", "x", "-o", "-", "--json"],
        ["train", "-", "-o", "m", "--valid", "-"],
        ["evaluate", "m"],
        ["evaluate", "-", "-"],
        ["predict", "-", "-"],
        ["info", "x", "--nosuch"],
        ["demo", "--seed", "-1"],
    ],
)
def test_wrong_usage_exits_with_2(arguments):
    result = run(*arguments, code=2)
    assert result.stdout == ""
    assert "Usage" in result.stderr


def test_version_and_help():
    assert run("--version").stdout.startswith("pairrank ")
    for command in ("train", "predict", "evaluate", "info", "convert", "demo"):
        assert command in run("--help").stdout
        assert "Usage" in run(command, "--help").stdout


def test_shells_complete_commands_options_and_choices():
    for line, wanted in (
        ("pairrank tr", ["train"]),
        ("pairrank train --mod", ["--model"]),
        ("pairrank train --model rankn", ["rankncg", "ranknet"]),
    ):
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        environment = os.environ | words | {"_PAIRRANK_COMPLETE": "complete_bash"}
        script = "import sys; from pairrank.cli import main; sys.argv = ['pairrank']; main()"
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=False
        )
        assert done.stdout.decode().split() == wanted


def launch(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "pairrank", *map(str, arguments)],
        capture_output=True,
        timeout=120,
        check=False,
        **options,
    )


def test_commands_work_in_a_pipe_of_processes(folder):
    done = launch("predict", folder / "model", "-", input=(folder / "test.txt").read_bytes())
    assert done.returncode == 0
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 60


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


def test_a_reader_that_goes_away_is_no_error(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "pairrank", "predict", folder / "model", folder / "test.txt"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=120) == 141
    process.stderr.close()
