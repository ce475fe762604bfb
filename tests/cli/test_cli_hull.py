"""train --model hull: classes kept apart by limits, from the options to what is told of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import run
from pairrank import ConvexHullRanker, load_model, metrics
from pairrank.cli._models import NU_VALUES
from pairrank.io import read_svmlight, write_rows, write_svmlight

WORDS = np.array(["poor", "fair", "good"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("hull")
    for seed, name in enumerate(["train", "valid"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows._replace(weight=np.linspace(0.5, 2, 60)))
        write_rows(home / f"{name}_words.csv", rows._replace(y=WORDS[rows.y.astype(int)]))
    return home


def rows_of(folder, name):
    rows = read_svmlight(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def training(folder, tmp_path, *options, data="train.txt"):
    return ["train", folder / data, "-o", tmp_path / "m", "--model", "hull", *options]


def test_the_search_tries_every_nu_and_takes_the_best(folder, tmp_path):
    options = ["--search", "--valid", folder / "valid.txt", "--graph", "full", "--json"]
    record = json.loads(run(*training(folder, tmp_path, *options)).stdout)
    X, y, qid = rows_of(folder, "train")
    X_val, y_val, qid_val = rows_of(folder, "valid")
    reached = {}
    for nu in NU_VALUES:
        plain = ConvexHullRanker(nu, graph="full").fit(X, y, qid=qid)
        reached[nu] = metrics.pairwise_accuracy(y_val, plain.predict(X_val), qid=qid_val)
    best = max(reached.values())
    assert record["valid pairwise_accuracy"] == best
    assert record["nu"] == min(nu for nu, value in reached.items() if value == best)


def test_progress_shows_the_gap_and_control_c_keeps_the_best(folder, tmp_path, monkeypatch):
    from pairrank.cli import train

    lines = run(*training(folder, tmp_path)).stderr.splitlines()
    assert len(lines) == load_model(tmp_path / "m").n_iter_ + 1
    assert all(" gap " in line and "gradient" not in line for line in lines)

    class Impatient(train.Progress):
        def __call__(self, step):
            if step.n_iter >= 4:
                raise KeyboardInterrupt

    monkeypatch.setattr(train, "Progress", Impatient)
    result = run(*training(folder, tmp_path, "-q"), code=130)
    assert "holds the best weights so far" in result.stderr
    assert load_model(tmp_path / "m").status_ == "interrupted"
