"""--pairs: comparisons beside the rows, to learn from and to judge by."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import record_of, refused, run
from pairrank import MPRank, Pairs, RankNCG, RankRLS, RankSVM, SVRank, load_model, metrics
from pairrank.io import Rows, read_rows, write_rows

N_PAIRS = 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows with comparisons that turn the order of their labels round."""
    home = tmp_path_factory.mktemp("pairs")
    rows = make_rows(0)
    write_rows(home / "rows.txt", rows)
    write_rows(home / "bare.csv", rows._replace(y=None, qid=None))
    words = np.array([f"item {number}" for number in range(60)])
    write_rows(home / "words.csv", rows._replace(y=words, qid=None))
    i, j, weight = comparisons(rows)
    lines = [f"{a},{b},{c!r}" for a, b, c in zip(i, j, weight, strict=True)]
    (home / "pairs.csv").write_text("i,j,weight\n" + "\n".join(lines) + "\n")
    return home


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
def test_comparisons_are_learnt_and_judged(folder, tmp_path, data, model, ranker, magnitudes):
    i, j, weight = comparisons(make_rows(0))
    magnitude = np.resize(magnitudes, N_PAIRS).tolist()
    lines = [f"{a},{b},{c!r},{d!r}" for a, b, c, d in zip(i, j, weight, magnitude, strict=True)]
    text = "\n".join(["i,j,weight,magnitude", *lines]) + "\n"
    (tmp_path / "some.csv").write_text(text)
    train = ["train", folder / data, "-o", tmp_path / "m", "--model", model, "--json"]
    record = json.loads(run(*train, "--pairs", "-", stdin=text.encode()).stdout)
    pairs = Pairs(i, j, weight, magnitude=magnitude, n_rows=60)
    rows = read_rows(folder / "rows.txt")
    scores = ranker.fit(rows.X, pairs).predict(rows.X)
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, ranker.coef_, rtol=1e-7)
    assert record["n_pairs"] == N_PAIRS
    assert "levels" not in record
    judged = ["evaluate", tmp_path / "m", folder / "bare.csv", "--pairs", tmp_path / "some.csv"]
    found = record_of(*judged)
    accuracy = pytest.approx(metrics.pairwise_accuracy(pairs, scores))
    assert found["pairwise_accuracy"] == accuracy
    asked = ["--metric", "wmw", "--metric", "log_loss", "--json"]
    found = json.loads(run(*judged, *asked).stdout)
    assert found["wmw"] == accuracy
    assert found["log_loss"] == pytest.approx(metrics.pairwise_log_loss(pairs, scores))


@pytest.mark.parametrize("search", [[], ["--search"]])
def test_validation_rows_have_comparisons_or_labels(folder, tmp_path, search):
    train = ["train", folder / "rows.txt", "--pairs", folder / "pairs.csv", "-o", tmp_path / "m"]
    valid = ["--valid", folder / "rows.txt", "--json", *search]
    by_pairs = json.loads(run(*train, *valid, "--valid-pairs", folder / "pairs.csv").stdout)
    assert by_pairs["valid pairwise_accuracy"] > 0.7
    by_labels = json.loads(run(*train, *valid).stdout)
    assert by_labels["valid pairwise_accuracy"] < (0.6 if search else 0.3)


BAD = {
    "a row too high": ("0,1\n60,1\n", "line 2: i is 60, .* 0 to 59"),
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
        assert "nowhere.csv" in refused(*command, "--pairs", tmp_path / "nowhere.csv")
    assert not (tmp_path / "m").exists()
