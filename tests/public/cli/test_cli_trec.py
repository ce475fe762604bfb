"""TREC runs and qrels, document identifiers and side files at the command line."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, record_of, refused, run
from pairrank import load_model
from pairrank.io import read_rows, to_qrels, to_run, write_rows
from trec_files import content_of, qrels_of, run_of

NAMES = {"label": "grade", "qid": "query", "docid": "doc"}
OPTIONS = [word for role, column in NAMES.items() for word in (f"--{role}", column)]


def rows_of(seed):
    rows = make_rows(seed)
    return rows._replace(docid=np.array([f"GX{row % 10}" for row in range(len(rows.y))]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("trec")
    for seed, name in enumerate(["train", "test"]):
        for suffix in ("csv", "parquet", "txt"):
            write_rows(home / f"{name}.{suffix}", rows_of(seed), **NAMES)
    run("train", home / "train.txt", "-o", home / "plain", "-q")
    run("train", home / "train.csv", "-o", home / "named", "-q", *OPTIONS)
    return home


@pytest.mark.parametrize("suffix", ["csv", "parquet", "txt"])
def test_a_run_has_the_model_s_scores(folder, tmp_path, suffix):
    predict = ["predict", folder / "named", folder / f"test.{suffix}", "--run", "me"]
    text = run(*predict).stdout_bytes
    rows = rows_of(1)
    scores = load_model(folder / "plain").predict(rows.X)
    assert run_of(text) == to_run(rows.qid, rows.docid, scores)
    assert {line.split()[5] for line in text.splitlines()} == {b"me"}
    for name in ("run.txt", "run.gz"):
        run(*predict, "-o", tmp_path / name)
        assert content_of(tmp_path / name) == text


def test_a_run_of_a_table_takes_its_columns_from_options_too(folder):
    predict = ["predict", folder / "plain", folder / "test.csv", "--run", "me"]
    text = run(*predict, *OPTIONS).stdout
    assert text == run("predict", folder / "plain", folder / "test.txt", "--run", "me").stdout
    named = misused(*predict, "--qid", "query", "--label", "grade")
    assert "name their column with --docid" in named
    said = refused(*predict, "--docid", "doc", "--drop", "grade,query")
    assert "--run needs queries: name their column with --qid" in said
    for name in ("a b", ""):
        assert "--run takes a name without blanks" in misused(*predict[:-1], name)


@pytest.mark.parametrize(
    ("command", "text", "message"),
    [
        ("predict", "0 qid:1 1:1 4:1\n", "no row has a document identifier; write '# docid = X'"),
        ("predict", "0 qid:1 1:1 4:1 # a\n1 qid:1 1:2 # a\n", "has the document 'a' twice"),
        ("predict", "0 qid:1 1:1 4:1 # a\n1 qid:1 1:2\n", "row 1 (from 0) has no document"),
        ("convert", "1 1:2 # a\n", "qrels need queries"),
        ("convert", "1.5 qid:1 1:2 # a\n", "qrels need whole numbers as labels"),
    ],
)  # fmt: skip
def test_what_runs_and_qrels_cannot_hold_is_refused(folder, tmp_path, command, text, message):
    bad, out = tmp_path / "bad.txt", tmp_path / "x.qrels"
    bad.write_text(text)
    commands = {
        "predict": ["predict", folder / "plain", bad, "--run", "x", "-o", out],
        "convert": ["convert", bad, out],
    }
    assert message in refused(*commands[command])
    assert not out.exists()


@pytest.mark.parametrize(
    ("source", "target"), [("csv", ["x.qrels.gz"]), ("txt", ["x", "--to", "qrels"])]
)
def test_labels_are_converted_to_qrels(folder, tmp_path, source, target):
    options = [] if source == "txt" else OPTIONS
    run("convert", folder / f"test.{source}", tmp_path / target[0], *target[1:], *options)
    rows = rows_of(1)
    assert qrels_of(content_of(tmp_path / target[0])) == to_qrels(rows.qid, rows.docid, rows.y)


@pytest.mark.parametrize("suffix", ["query", "group"])
def test_side_files_give_the_queries_of_every_command(folder, tmp_path, suffix):
    for name, seed in (("train", 0), ("test", 1)):
        write_rows(tmp_path / f"{name}.txt", rows_of(seed)._replace(qid=None))
        (tmp_path / f"{name}.txt.{suffix}").write_text("10\n" * 6)
    train = ["train", tmp_path / "train.txt", "-o", tmp_path / "m"]
    record = record_of(*train, "--valid", tmp_path / "test.txt")
    assert record["queries"] == 6
    plain = load_model(folder / "plain")
    np.testing.assert_array_equal(load_model(tmp_path / "m").coef_, plain.coef_)
    evaluate = ["evaluate", folder / "plain", tmp_path / "test.txt", "--json"]
    wanted = run("evaluate", folder / "plain", folder / "test.txt", "--json").stdout
    assert run(*evaluate).stdout == wanted
    sizes = (tmp_path / f"test.txt.{suffix}").rename(tmp_path / "sizes")
    named = ["--query-sizes", sizes]
    assert run(*evaluate, *named).stdout == wanted
    assert record_of("info", tmp_path / "test.txt", *named)["queries"] == 6
    run("convert", tmp_path / "test.txt", tmp_path / "x.csv", *named)
    back = read_rows(tmp_path / "x.csv", qid="qid", docid="docid")
    assert back.qid.tolist() == (rows_of(1).qid + 1).tolist()


def test_a_named_side_file_is_of_the_training_rows_only_and_never_the_output(tmp_path):
    rows, valid, sizes = (tmp_path / name for name in ("train.txt", "valid.txt", "sizes"))
    write_rows(rows, make_rows(0)._replace(qid=None))
    write_rows(valid, make_rows(1, 30, 3))
    sizes.write_text("30\n30\n")
    options = ["-o", tmp_path / "m", "--valid", valid, "--query-sizes"]
    run("train", rows, "-q", *options, sizes)
    assert "queries of their own" in refused("train", valid, *options, sizes)
    assert "no such file" in refused("train", rows, *options, tmp_path / "nowhere")
    assert "holds one input" in misused("train", "-", *options, "-")
    for command in (["train", rows, "-o"], ["convert", rows]):
        assert "is an input too" in refused(*command, sizes, "--query-sizes", sizes)
    assert sizes.read_text() == "30\n30\n"


@pytest.mark.parametrize("suffix", ["txt", "parquet"])
def test_letor_rows_go_from_training_to_a_run(data_home, tmp_path, suffix):
    """MQ2008's own lines, `#docid = GX... inc = 1 prob = 0.08`, through every format."""
    for part, name in (("S1", "train"), ("S5", "test")):
        text = gzip.decompress((data_home / "letor4_mq2008" / f"{part}.txt.gz").read_bytes())
        (tmp_path / f"{name}.txt").write_bytes(text)
        if suffix != "txt":
            run("convert", tmp_path / f"{name}.txt", tmp_path / f"{name}.{suffix}")
    named = [] if suffix == "txt" else ["--qid", "qid", "--docid", "docid"]
    run("train", tmp_path / f"train.{suffix}", "-o", tmp_path / "m", "-q", *named)
    test = tmp_path / f"test.{suffix}"
    record = record_of("evaluate", tmp_path / "m", test)
    run("predict", tmp_path / "m", test, "--run", "me", "-o", tmp_path / "run")
    rows = read_rows(tmp_path / "test.txt", docid="docid")
    assert [docid.encode() for docid in rows.docid] == re.findall(rb"#docid = (\S+)", text)
    model = load_model(tmp_path / "m")
    vars(model).pop("feature_names_in_", None)
    assert run_of(content_of(tmp_path / "run")) == to_run(
        rows.qid, rows.docid, model.predict(rows.X)
    )
    assert record["pairwise_accuracy"] > 0.75
