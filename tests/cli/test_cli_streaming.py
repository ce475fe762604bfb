"""--stream: train, evaluate and predict on rows that are read block by block."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from cli_rows import make_rows
from cli_runs import invoke, misused, run
from pairrank import load_model
from pairrank.cli import _learnt, _streaming
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


def test_files_larger_than_the_memory_are_streamed_and_it_says_so(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_streaming, "memory_bytes", lambda: 1000)
    told = run("train", folder / "all.parquet", *NAMES, "-o", tmp_path / "m", "-q").stderr
    assert "read block by block, as with --stream" in told
    again = ("-o", tmp_path / "n", "-q", "--search", "--valid", folder / "all.parquet")
    told = misused("train", folder / "all.parquet", *NAMES, *again)
    assert "--search needs all rows in memory" in told
    assert "leave out --stream" not in told


def test_control_c_keeps_the_best_weights(folder, tmp_path, monkeypatch):
    class Impatient(_learnt.Progress):
        def __call__(self, step):
            raise KeyboardInterrupt

    monkeypatch.setattr(_learnt, "Progress", Impatient)
    out = ("-o", tmp_path / "m", "-q", "--tol", "1e-14", "--eps", "1e-14")
    arguments = ["train", str(folder / "parts"), "--stream", *NAMES, *map(str, out)]
    result = invoke([*arguments, "--model", "rankncg"])
    assert result.exit_code == 130, result.stderr
    assert "best weights so far" in result.stderr
    assert np.any(load_model(tmp_path / "m").coef_ != 0)


def test_control_c_in_the_first_pass_writes_nothing(folder, tmp_path, monkeypatch):
    def interrupted(self, reading):
        raise KeyboardInterrupt

    monkeypatch.setattr(_learnt.Progress, "reading", interrupted)
    arguments = ["train", str(folder / "parts"), "--stream", *NAMES, "-o", str(tmp_path / "m")]
    result = invoke(arguments)
    assert result.exit_code == 130
    assert "interrupted; nothing was written" in result.stderr
    assert not (tmp_path / "m").exists()
