"""What is preferred, at the command line: --graph between labels, --pairs beside the rows."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import record_of, refused, run
from pairrank import (
    MPRank,
    OrderGraph,
    Pairs,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
    load_model,
    metrics,
)
from pairrank.io import Rows, read_rows, write_rows


def test_a_model_learns_from_edges_between_numbers(folder, tmp_path):
    run("train", folder / "train.txt", "-o", tmp_path / "m", "-q", "--graph", "0<2")
    model, rows = load_model(tmp_path / "m"), read_rows(folder / "train.txt")
    assert model.graph == OrderGraph([(0, 2)])
    plain = RankSVM(graph=OrderGraph([(0, 2)])).fit(rows.X, rows.y, qid=rows.qid)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)


def test_a_model_learns_from_edges_between_words(folder, tmp_path):
    words = [folder / "words.csv", "--qid", "qid"]
    graph = ["--graph", "poor<fair<good,poor<good"]
    options = ["--valid", folder / "words.csv", "-o", tmp_path / "m"]
    trained = record_of("train", *words, *graph, *options)
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


N_PAIRS = 150


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Rows with comparisons that turn the order of their labels round."""
    made = tmp_path_factory.mktemp("pairs")
    rows = make_rows(0)
    write_rows(made / "rows.txt", rows)
    write_rows(made / "bare.csv", rows._replace(y=None, qid=None))
    words = np.array([f"item {number}" for number in range(60)])
    write_rows(made / "words.csv", rows._replace(y=words, qid=None))
    i, j, weight = comparisons(rows)
    lines = [f"{a},{b},{c!r}" for a, b, c in zip(i, j, weight, strict=True)]
    (made / "pairs.csv").write_text("i,j,weight\n" + "\n".join(lines) + "\n")
    return made


def comparisons(rows: Rows) -> tuple[list[int], list[int], list[float]]:
    """Return comparisons within queries, lower labels preferred, with weights."""
    joined = (rows.qid[:, None] == rows.qid) & (rows.y[:, None] < rows.y)
    rng = np.random.default_rng(1)
    i, j = np.argwhere(joined)[rng.permutation(joined.sum())[:N_PAIRS]].T
    return i.tolist(), j.tolist(), rng.random(N_PAIRS).tolist()


RANKERS = [
    ("ranksvm", RankSVM(), [1.0, 1.0]),
    ("rankncg", RankNCG(), [1.0, 0.0]),
    ("rankrls", RankRLS(), [2.5, 0.5]),
    ("mprank", MPRank(), [2.5, 0.5]),
    ("svrank", SVRank(), [2.5, 0.5]),
]


@pytest.mark.parametrize("data", ["bare.csv", "words.csv"])
@pytest.mark.parametrize(("model", "ranker", "magnitudes"), RANKERS)
def test_comparisons_are_learnt_and_judged(home, tmp_path, data, model, ranker, magnitudes):
    i, j, weight = comparisons(make_rows(0))
    magnitude = np.resize(magnitudes, N_PAIRS).tolist()
    lines = [f"{a},{b},{c!r},{d!r}" for a, b, c, d in zip(i, j, weight, magnitude, strict=True)]
    text = "\n".join(["i,j,weight,magnitude", *lines]) + "\n"
    (tmp_path / "some.csv").write_text(text)
    train = ["train", home / data, "-o", tmp_path / "m", "--model", model]
    record = record_of(*train, "--pairs", "-", stdin=text.encode())
    pairs = Pairs(i, j, weight, magnitude=magnitude, n_rows=60)
    rows = read_rows(home / "rows.txt")
    scores = ranker.fit(rows.X, pairs).predict(rows.X)
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, ranker.coef_, rtol=1e-7)
    assert record["n_pairs"] == N_PAIRS
    assert "levels" not in record
    judged = ["evaluate", tmp_path / "m", home / "bare.csv", "--pairs", tmp_path / "some.csv"]
    found = record_of(*judged)
    accuracy = pytest.approx(metrics.pairwise_accuracy(pairs, scores))
    assert found["pairwise_accuracy"] == accuracy
    found = record_of(*judged, "--metric", "wmw", "--metric", "log_loss")
    assert found["wmw"] == accuracy
    assert found["log_loss"] == pytest.approx(metrics.pairwise_log_loss(pairs, scores))


@pytest.mark.parametrize("search", [[], ["--search"]])
def test_validation_rows_have_comparisons_or_labels(home, tmp_path, search):
    train = ["train", home / "rows.txt", "--pairs", home / "pairs.csv", "-o", tmp_path / "m"]
    valid = ["--valid", home / "rows.txt", *search]
    by_pairs = record_of(*train, *valid, "--valid-pairs", home / "pairs.csv")
    assert by_pairs["valid pairwise_accuracy"] > 0.7
    by_labels = record_of(*train, *valid)
    assert by_labels["valid pairwise_accuracy"] < (0.6 if search else 0.3)


BAD = {
    "a row too high": ("0,1\n60,1\n", "line 2: i is 60, .* 0 to 59"),
    "across queries": ("0,1\n0,59\n", "different queries"),
    "weights of zero": ("0,1,0\n", "no comparison of positive weight"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_comparisons_are_refused_with_their_line(home, tmp_path, case):
    text, message = BAD[case]
    (tmp_path / "bad.csv").write_text(text)
    pairs = ["--pairs", tmp_path / "bad.csv"]
    run("train", home / "rows.txt", "-o", tmp_path / "model", "-q")
    for command in (
        ["train", home / "rows.txt", "-o", tmp_path / "m"],
        ["evaluate", tmp_path / "model", home / "rows.txt"],
    ):
        said = refused(*command, *pairs)
        assert re.search(message, said), said
        assert "bad.csv" in said
        assert "nowhere.csv" in refused(*command, "--pairs", tmp_path / "nowhere.csv")
    assert not (tmp_path / "m").exists()
