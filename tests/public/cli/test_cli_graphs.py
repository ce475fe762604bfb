"""--graph at the command line: full, chain, and edges between labels."""

from __future__ import annotations

import json

import numpy as np

from cli_runs import record_of, refused, run
from pairrank import OrderGraph, RankSVM, load_model, metrics
from pairrank.io import read_rows


def test_a_model_learns_from_edges_between_numbers(folder, tmp_path):
    run("train", folder / "train.txt", "-o", tmp_path / "m", "-q", "--graph", "0<2")
    model, rows = load_model(tmp_path / "m"), read_rows(folder / "train.txt")
    assert model.graph == OrderGraph([(0, 2)])
    plain = RankSVM(graph=OrderGraph([(0, 2)])).fit(rows.X, rows.y, qid=rows.qid)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)


def test_a_model_learns_from_edges_between_words(folder, tmp_path):
    words = [folder / "words.csv", "--qid", "qid"]
    graph = ["--graph", "poor<fair<good,poor<good"]
    options = ["--valid", folder / "words.csv", "-o", tmp_path / "m", "--json"]
    trained = json.loads(run("train", *words, *graph, *options).stdout)
    full = record_of("train", folder / "train.txt", "-o", tmp_path / "n")
    assert trained["n_pairs"] == full["n_pairs"]
    a, b = load_model(tmp_path / "m").coef_, load_model(tmp_path / "n").coef_
    np.testing.assert_allclose(a, b, rtol=1e-9)
    judged = record_of("evaluate", tmp_path / "m", *words, "--metric", "wmw")
    assert judged["wmw"] == trained["valid pairwise_accuracy"]
    info = record_of("info", *words, *graph)
    assert (info["levels"], info["n_pairs"]) == (3, trained["n_pairs"])


def test_words_without_edges_are_told_of_the_option(folder, tmp_path):
    words = [folder / "words.csv", "--qid", "qid"]
    for arguments in (
        ["train", *words, "-o", tmp_path / "n", "--graph", "chain"],
        ["evaluate", folder / "model", *words],
        ["info", *words],
    ):
        said = refused(*arguments)
        assert "words.csv: the labels are text, such as 'fair' and 'good'" in said
        assert "--graph 'low<high,...'" in said
        assert "OrderGraph" not in said
    said = refused("train", folder / "train.txt", "-o", tmp_path / "m", "--graph", "poor<good")
    assert "'poor', but the labels are numbers" in said


def test_an_absent_label_is_one_warning_and_no_pair_an_error(folder, tmp_path):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "-q"]
    said = run(*train, "--valid", folder / "train.txt", "--graph", "0<1,1<7").stderr
    assert said == (
        "pairrank: warning: the order graph names labels that are absent from y: 7.0; edges to "
        "them are ignored: check their spelling, or leave them out\n"
    )
    result = run(*train, "--graph", "6<7", code=1)
    assert "error: " in result.stderr
    assert "train.txt" in result.stderr


def test_evaluate_judges_over_the_graph_asked_for(folder):
    rows = read_rows(folder / "train.txt")
    scores = load_model(folder / "model").predict(rows.X)
    for text, graph in {"chain": "chain", "0<2": OrderGraph([(0, 2)]), "full": "full"}.items():
        judged = ["evaluate", folder / "model", folder / "train.txt", "--graph", text, "--json"]
        over = {"qid": rows.qid, "graph": graph}
        record = json.loads(run(*judged, "--metric", "wmw").stdout)
        assert set(record) == {"wmw", "n_pairs"}
        assert record["wmw"] == metrics.wmw_score(rows.y, scores, **over)
        record = json.loads(run(*judged).stdout)
        assert record["pairwise_accuracy"] == metrics.pairwise_accuracy(rows.y, scores, **over)
        assert record["kendall_tau"] is not None
