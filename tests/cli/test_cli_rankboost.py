"""train --model rankboost: options, early stopping, search, comparisons."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import run
from pairrank import RankBoost, load_model
from pairrank.cli._models import ROUNDS
from pairrank.io import read_svmlight, write_rows, write_svmlight
from pairrank.metrics import pairwise_accuracy

FIRST = [10 * query + row for query in range(6) for row in range(5)]
"""The preferred row of each comparison; the other one is five rows below, in the same query."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("boosting")
    for seed, name in enumerate(["train", "valid"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        weights = rows._replace(winner_weight=np.linspace(0.0, 2.0, 60))
        write_rows(home / f"{name}.csv", weights)
    (home / "pairs.csv").write_text("i,j\n" + "".join(f"{k},{k + 5}\n" for k in FIRST))
    return home


def rows_of(folder, name):
    rows = read_svmlight(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def training(folder, tmp_path, *options, data="train.txt"):
    return ["train", folder / data, "-o", tmp_path / "m", "--model", "rankboost", *options]


def test_search_picks_the_number_of_rounds(folder, tmp_path):
    options = ["--search", "--valid", folder / "valid.txt", "--json"]
    record = json.loads(run(*training(folder, tmp_path, *options)).stdout)
    X, y, qid = rows_of(folder, "valid")
    train = rows_of(folder, "train")
    values = [
        pairwise_accuracy(y, RankBoost(int(n)).fit(*train[:2], qid=train[2]).predict(X), qid=qid)
        for n in ROUNDS
    ]
    assert record["valid pairwise_accuracy"] == max(values)
    assert load_model(tmp_path / "m").n_estimators == ROUNDS[int(np.argmax(values))]
