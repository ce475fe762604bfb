"""train --model ranknet: its options, its search, its file, and its help."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")
from cli_rows import make_rows  # noqa: E402
from cli_runs import record_of  # noqa: E402
from pairrank import RankNet, load_model  # noqa: E402
from pairrank.io import read_rows, write_rows  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(["train", "valid"]):
        write_rows(home / f"{name}.txt", make_rows(seed))
    return home


def training(folder, tmp_path, *options):
    return ["train", folder / "train.txt", "-o", tmp_path / "m", "--model", "ranknet", *options]


def test_the_fit_is_that_of_the_estimator(folder, tmp_path):
    options = ["--hidden-layer-sizes", "3", "--alpha", "0.5", "--seed", "2", "--solver", "adam"]
    options += ["--max-iter", "20", "--batch-size", "2", "--activation", "relu"]
    record = record_of(*training(folder, tmp_path, *options))
    rows = read_rows(folder / "train.txt")
    params = {"alpha": 0.5, "random_state": 2, "solver": "adam", "max_iter": 20}
    net = RankNet(3, activation="relu", batch_size=2, **params).fit(rows.X, rows.y, qid=rows.qid)
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(rows.X), net.predict(rows.X))
    assert record["objective"] == net.objective_
    assert record["status"] == "finished"
    judged = record_of("evaluate", tmp_path / "m", folder / "valid.txt")
    assert judged["pairwise_accuracy"] > 0.8
    assert record_of("info", tmp_path / "m")["param hidden_layer_sizes"] == 3


def test_patience_stops_by_given_or_drawn_validation_rows(folder, tmp_path):
    for valid in ([], ["--valid", folder / "valid.txt", "--metric", "ndcg@10"]):
        assert "best iteration" in record_of(*training(folder, tmp_path, "--patience", "3", *valid))
