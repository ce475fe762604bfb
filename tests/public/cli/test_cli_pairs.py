"""--pairs: comparisons beside the rows, to learn from and to judge by."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import refused, run
from pairrank import Pairs, RankSVM, load_model, metrics
from pairrank.io import Rows, read_svmlight, write_rows, write_svmlight

N_PAIRS = 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows with comparisons that turn the order of their labels round."""
    home = tmp_path_factory.mktemp("pairs")
    rows = make_rows(0)
    write_svmlight(home / "rows.txt", rows)
    write_rows(home / "bare.csv", rows._replace(y=None, qid=None))
    words = np.array([f"item {number}" for number in range(60)])
    write_rows(home / "words.csv", rows._replace(y=words, qid=None))
    i, j, weight = comparisons(rows)
    lines = [f"{a},{b},{c!r}" for a, b, c in zip(i, j, weight, strict=True)]
    (home / "pairs.csv").write_text("i,j,weight\n" + "\n".join(lines) + "\n")
    (home / "few.csv").write_text("0,1\n2,1\n")
    return home


def comparisons(rows: Rows) -> tuple[list[int], list[int], list[float]]:
    """Return comparisons within queries, lower labels preferred, with weights."""
    joined = (rows.qid[:, None] == rows.qid) & (rows.y[:, None] < rows.y)
    rng = np.random.default_rng(1)
    i, j = np.argwhere(joined)[rng.permutation(joined.sum())[:N_PAIRS]].T
    return i.tolist(), j.tolist(), rng.random(N_PAIRS).tolist()


def expected(folder, estimator, **options):
    rows = read_svmlight(folder / "rows.txt")
    pairs = Pairs(*comparisons(rows), n_rows=60)
    return estimator.fit(rows.X, pairs, **options), rows, pairs


@pytest.mark.parametrize("data", ["bare.csv", "words.csv"])
def test_comparisons_with_weights_are_learnt_and_judged(folder, tmp_path, data):
    train = ["train", folder / data, "--pairs", folder / "pairs.csv", "-o", tmp_path / "m"]
    run(*train, "-q")
    data = [folder / "bare.csv", "--pairs", folder / "pairs.csv", "--json"]
    record = json.loads(run("evaluate", tmp_path / "m", *data).stdout)
    plain, rows, pairs = expected(folder, RankSVM())
    accuracy = metrics.pairwise_accuracy(pairs, plain.predict(rows.X))
    assert accuracy > 0.7
    assert record == {"pairwise_accuracy": accuracy, "n_pairs": N_PAIRS}
    record = json.loads(run("evaluate", tmp_path / "m", *data, "--metric", "wmw").stdout)
    assert record == {"wmw": accuracy, "n_pairs": N_PAIRS}


def test_a_tie_counts_as_one_comparison(folder, tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("i,j,weight,magnitude\n0,1,1,1\n2,1,1,0\n3,0,1,0\n")
    train = ["train", folder / "bare.csv", "--pairs", votes, "-o", tmp_path / "m", "--json"]
    assert json.loads(run(*train, "--model", "rankncg").stdout)["n_pairs"] == 3
    judge = ["--pairs", votes, "--metric", "log_loss", "--json"]
    record = json.loads(run("evaluate", tmp_path / "m", folder / "bare.csv", *judge).stdout)
    assert record["n_pairs"] == 3
    scores = make_rows(0).X @ load_model(tmp_path / "m").coef_
    pairs = Pairs([0, 2, 3], [1, 1, 0], magnitude=[1, 0, 0], n_rows=60)
    assert record["log_loss"] == pytest.approx(metrics.pairwise_log_loss(pairs, scores))


@pytest.mark.parametrize("search", [[], ["--search"]])
def test_validation_rows_have_comparisons_or_labels(folder, tmp_path, search):
    train = ["train", folder / "rows.txt", "--pairs", folder / "pairs.csv", "-o", tmp_path / "m"]
    valid = ["--valid", folder / "rows.txt", "--json", *search]
    by_pairs = json.loads(run(*train, *valid, "--valid-pairs", folder / "pairs.csv").stdout)
    assert by_pairs["valid pairwise_accuracy"] > 0.7
    by_labels = json.loads(run(*train, *valid).stdout)
    assert by_labels["valid pairwise_accuracy"] < (0.6 if search else 0.3)


def test_comparisons_are_read_from_standard_input(folder, tmp_path):
    text = (folder / "pairs.csv").read_bytes()
    run("train", folder / "rows.txt", "--pairs", "-", "-o", tmp_path / "m", "-q", stdin=text)
    assert load_model(tmp_path / "m").n_pairs_ == N_PAIRS


BAD = {
    "no pair": ("i,j\n", "no pairs"),
    "a row too high": ("0,1\n60,1\n", "line 2: i is 60, .* 0 to 59"),
    "itself": ("5,5\n", "line 1: row 5 is compared with itself"),
    "a word": ("0,1\n1,two\n", "line 2: column 'j': 'two'"),
    "across queries": ("0,1\n0,59\n", "different queries"),
    "weights of zero": ("0,1,0\n", "no comparison of positive weight"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_comparisons_are_refused_with_their_line(folder, tmp_path, case):
    text, message = BAD[case]
    (tmp_path / "bad.csv").write_text(text)
    pairs = ["--pairs", tmp_path / "bad.csv"]
    run("train", folder / "rows.txt", "-o", tmp_path / "model", "-q")
    for command in (
        ["train", folder / "rows.txt", "-o", tmp_path / "m"],
        ["evaluate", tmp_path / "model", folder / "rows.txt"],
    ):
        said = refused(*command, *pairs)
        assert re.search(message, said), said
        assert "bad.csv" in said
    assert not (tmp_path / "m").exists()


def test_missing_comparisons_are_told_before_the_rows_are_read(folder, tmp_path):
    (tmp_path / "torn.txt").write_text("x\n")
    pairs = ["--pairs", tmp_path / "nowhere.csv"]
    assert "nowhere.csv" in refused("train", tmp_path / "torn.txt", "-o", tmp_path / "m", *pairs)
