"""train --model mprank and svrank: differences kept by their size, from options to evaluation."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import run
from pairrank import MPRank, SVRank, load_model, metrics
from pairrank.cli._models import MODELS
from pairrank.io import read_svmlight, write_rows, write_svmlight

RANKERS = {"mprank": MPRank, "svrank": SVRank}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("magnitude")
    for seed, name in enumerate(["train", "valid"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows._replace(weight=np.linspace(0.5, 2, 60)))
    return home


def rows_of(folder, name):
    rows = read_svmlight(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def training(folder, tmp_path, model, *options, data="train.txt"):
    return ["train", folder / data, "-o", tmp_path / "m", "--model", model, *options]


@pytest.mark.parametrize("model", RANKERS)
@pytest.mark.parametrize("metric", ["msd", "m1d"])
def test_a_search_picks_the_least_error(folder, tmp_path, model, metric):
    options = ["--search", "--valid", folder / "valid.txt", "--metric", metric, "--json"]
    record = json.loads(run(*training(folder, tmp_path, model, *options)).stdout)
    X, y, qid = rows_of(folder, "train")
    X_val, y_val, qid_val = rows_of(folder, "valid")
    errors = {}
    for C in MODELS[model].values():
        plain = RANKERS[model](C).fit(X, y, qid=qid)
        errors[C] = getattr(metrics, metric)(y_val, plain.predict(X_val), qid=qid_val)
    assert record[f"valid {metric}"] == min(errors.values())
    assert errors[record["C"]] == min(errors.values())


@pytest.mark.parametrize("model", RANKERS)
def test_cutting_planes_show_their_gap_and_control_c_keeps_the_best(
    folder, tmp_path, monkeypatch, model
):
    from pairrank.cli import train

    said = run(*training(folder, tmp_path, model, "--n", "1")).stderr
    assert " gap " in said
    assert "gradient" not in said

    class Impatient(train.Progress):
        def __call__(self, step):
            if step.n_iter >= 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(train, "Progress", Impatient)
    result = run(*training(folder, tmp_path, model, "--n", "1", "-q"), code=130)
    assert "holds the best weights so far" in result.stderr
    assert load_model(tmp_path / "m").status_ == "interrupted"
