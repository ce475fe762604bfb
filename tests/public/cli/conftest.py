"""Files that the tests of the command line read and never change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_rows import WORDS, make_rows, weighted_rows
from cli_runs import run
from pairrank.io import write_rows


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """Rows `train`, `valid` and `test` as text and tables, with weights or words; two models.

    `weighted.*` have weights of three kinds, `words.csv` has labels that are words, `flat.txt` has
    one label. `model` is trained on `train.txt`, `named` on `train.csv`.
    """
    home = tmp_path_factory.mktemp("cli")
    for seed, name in enumerate(["train", "valid", "test"]):
        rows = make_rows(seed)
        write_rows(home / f"{name}.txt", rows)
        for suffix in ("csv", "parquet"):
            write_rows(home / f"{name}.{suffix}", rows)
            write_rows(home / f"{name}_weighted.{suffix}", weighted_rows(seed))
    rows = make_rows(0)
    write_rows(home / "words.csv", rows._replace(y=WORDS[rows.y.astype(int)]))
    write_rows(home / "train.txt.gz", rows)
    write_rows(home / "flat.txt", rows._replace(y=np.ones(60)))
    run("train", home / "train.txt", "-o", home / "model", "-q")
    run("train", home / "train.csv", "-o", home / "named", "--qid", "qid", "-q")
    return home
