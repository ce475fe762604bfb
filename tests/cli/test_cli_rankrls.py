"""train --model rankrls: least squares over differences, stopped by validation rows or not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import run
from pairrank import RankRLS, load_model, metrics
from pairrank.cli._models import MODELS
from pairrank.io import read_svmlight, write_rows, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("rankrls")
    for seed, name in enumerate(["train", "valid"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows._replace(weight=np.linspace(0.5, 2, 60)))
        i, j, magnitude = differences(rows.y, rows.qid)
        lines = [f"{a},{b},1,{c!r}" for a, b, c in zip(i, j, magnitude, strict=True)]
        (home / f"{name}.pairs").write_text("i,j,weight,magnitude\n" + "\n".join(lines) + "\n")
    return home


def differences(y, qid):
    """Return the comparisons of every two rows of a query, by the differences of their labels."""
    first, second = np.triu_indices(y.size, 1)
    joined = qid[first] == qid[second]
    i, j = first[joined], second[joined]
    return i.tolist(), j.tolist(), (y[i] - y[j]).tolist()


def rows_of(folder, name):
    rows = read_svmlight(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def training(folder, tmp_path, *options, data="train.txt"):
    return ["train", folder / data, "-o", tmp_path / "m", "--model", "rankrls", *options]


@pytest.mark.parametrize(("way", "metric"), [
    ("tikhonov", "pairwise_accuracy"), ("tikhonov", "msd"), ("hybrid", "msd"),
    ("hybrid", "pairwise_accuracy"), ("tikhonov", "m1d"), ("tikhonov", "tube_cost"),
])  # fmt: skip
def test_a_search_picks_alpha(folder, tmp_path, way, metric):
    options = ["--search", "--valid", folder / "valid.txt", "--metric", metric, "--json"]
    record = json.loads(run(*training(folder, tmp_path, "--regularization", way, *options)).stdout)
    X, y, qid = rows_of(folder, "train")
    X_val, y_val, qid_val = rows_of(folder, "valid")
    valid = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val} if way == "hybrid" else {}

    by_accuracy = metric == "pairwise_accuracy"
    stop = None if by_accuracy else metric

    def judged(alpha):
        plain = RankRLS(alpha=alpha, regularization=way, validation_metric=stop)
        plain.fit(X, y, qid=qid, **valid)
        return getattr(metrics, metric)(y_val, plain.predict(X_val), qid=qid_val)

    values = {alpha: judged(alpha) for alpha in MODELS["rankrls"].values()}
    best = max(values.values()) if by_accuracy else min(values.values())
    picked = max(alpha for alpha, value in values.items() if value == best)
    assert (record["alpha"], record[f"valid {metric}"]) == (picked, best)
    assert ("validation error" in record) == (way == "hybrid" and by_accuracy)


def test_the_search_shows_what_it_minimises(folder, tmp_path):
    options = ["--search", "--valid", folder / "valid.txt", "--metric", "msd"]
    said = run(*training(folder, tmp_path, *options)).stderr.splitlines()
    shown = [float(line.split()[3]) for line in said if line.startswith("alpha ")]
    assert len(shown) == len(MODELS["rankrls"].values())
    assert said[-1].endswith(f"msd {min(shown):.5f}")


@pytest.mark.parametrize("way", ["iteration", "tikhonov"])
def test_progress_and_control_c_are_as_for_the_others(folder, tmp_path, monkeypatch, way):
    from pairrank.cli import train

    options = ["--regularization", way, "--solver", "cg", "--tol", "1e-14"]
    assert "objective" in run(*training(folder, tmp_path, *options)).stderr

    class Impatient(train.Progress):
        def __call__(self, step):
            if step.n_iter >= 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(train, "Progress", Impatient)
    result = run(*training(folder, tmp_path, *options, "-q"), code=130)
    assert result.stderr.splitlines() == [
        f"pairrank: warning: interrupted: {tmp_path / 'm'} holds the best weights so far."
    ]
    model = load_model(tmp_path / "m")
    assert model.status_ == "interrupted"
    assert np.any(model.coef_ != 0)
