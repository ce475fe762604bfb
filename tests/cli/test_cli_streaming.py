"""--stream: train, evaluate and predict on rows that are read block by block."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli_rows import make_rows
from cli_runs import invoke, misused, run
from pairrank import load_model
from pairrank.cli import _rows, train
from pairrank.io import write_rows, write_svmlight

NAMES = ("--label", "grade", "--qid", "query")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("streaming")
    rows = make_rows(0, 600)
    write_svmlight(home / "rows.txt", rows)
    write_rows(home / "all.parquet", rows, label="grade", qid="query")
    (home / "parts").mkdir()
    table = pq.read_table(home / "all.parquet")
    for number, start in enumerate((0, 250, 260)):
        stop = (250, 260, 600)[number]
        pq.write_table(table.slice(start, stop - start), home / "parts" / f"{number}.parquet")
    run("train", home / "all.parquet", *NAMES, "-o", home / "model", "-q", "--tol", "1e-8")
    return home


def test_files_larger_than_the_memory_need_the_option(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_rows, "memory_bytes", lambda: 1000)
    arguments = ("train", folder / "all.parquet", *NAMES, "-o", tmp_path / "m", "-q")
    assert "larger than the memory: read it with --stream" in misused(*arguments)
    run(*arguments, "--stream")


def test_control_c_keeps_the_best_weights(folder, tmp_path, monkeypatch):
    class Impatient(train.Progress):
        def __call__(self, step):
            raise KeyboardInterrupt

    monkeypatch.setattr(train, "Progress", Impatient)
    out = ("-o", tmp_path / "m", "-q", "--tol", "1e-14", "--eps", "1e-14")
    arguments = ["train", str(folder / "parts"), "--stream", *NAMES, *map(str, out)]
    result = invoke([*arguments, "--model", "rankncg"])
    assert result.exit_code == 130, result.stderr
    assert "best weights so far" in result.stderr
    assert np.any(load_model(tmp_path / "m").coef_ != 0)


def test_control_c_in_the_first_pass_writes_nothing(folder, tmp_path, monkeypatch):
    def interrupted(self, reading):
        raise KeyboardInterrupt

    monkeypatch.setattr(train.Progress, "reading", interrupted)
    arguments = ["train", str(folder / "parts"), "--stream", *NAMES, "-o", str(tmp_path / "m")]
    result = invoke(arguments)
    assert result.exit_code == 130
    assert "interrupted; nothing was written" in result.stderr
    assert not (tmp_path / "m").exists()
