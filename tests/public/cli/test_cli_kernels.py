"""train --kernel: a kernel for every model, saved, loaded, and refused where it must be."""

from __future__ import annotations

import pytest

from cli_rows import make_rows
from cli_runs import run
from pairrank.io import write_rows, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("kernels")
    for seed, name in enumerate(["train", "valid"]):
        write_svmlight(home / f"{name}.txt", make_rows(seed))
        write_rows(home / f"{name}.csv", make_rows(seed))
    return home


def training(folder, tmp_path, *options):
    return ["train", folder / "train.txt", "-o", tmp_path / "m", *options]


def test_more_landmarks_than_rows_are_bad_input(folder, tmp_path):
    options = ["--kernel", "rbf", "--kernel-features", "nystroem", "--components", "61", "-q"]
    said = run(*training(folder, tmp_path, *options), code=1).stderr
    assert "n_components = 61 is more than the 60 training rows" in said
