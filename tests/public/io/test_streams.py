"""Output whole or not at all: short writes, closed streams, signals, read-only files."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import refused, run
from pairrank.exceptions import FileAccessError
from pairrank.io import Rows, read_rows, write_rows


class ShortWrites(io.RawIOBase):
    """A raw stream that takes at most seven bytes at a time, as a pipe may."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self.taken += bytes(data[:7])
        return min(7, len(data))


@pytest.mark.parametrize("format", ["svmlight", "csv", "parquet"])
def test_rows_on_a_raw_standard_output_are_whole(monkeypatch, format):
    raw, rows = ShortWrites(), Rows(np.arange(6000.0).reshape(2000, 3), np.arange(2000.0))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, write_through=True))
    write_rows("-", rows, format=format)
    back = read_rows(io.BytesIO(bytes(raw.taken)), format=format)
    assert np.array_equal(back.X, rows.X)
    assert np.array_equal(back.y, rows.y)


@pytest.mark.skipif(os.name == "nt", reason="pipes break as on Unix")
def test_a_reader_that_leaves_ends_an_unbuffered_command_quietly(tmp_path):
    write_rows(tmp_path / "rows.txt", Rows(np.ones((20_000, 3)), np.ones(20_000)))
    process = subprocess.Popen(
        [sys.executable, "-m", "pairrank", "convert", tmp_path / "rows.txt", "-", "--to", "csv"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout.readline() == b"label,f1,f2,f3\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=120) == 141
    process.stderr.close()


def test_closed_standard_streams_are_named(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(FileAccessError, match="standard output: it is closed"):
        write_rows("-", make_rows(0))


def test_a_read_only_file_is_not_replaced(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(FileAccessError, match=r"out\.txt: the file is read-only; make it writable"):
        write_rows(path, make_rows(0))
    (tmp_path / "rows.txt").write_text("no rows: nothing is read")
    for command in (["convert", tmp_path / "rows.txt", path], ["train", path, "-o", path]):
        assert "read-only" in refused(*command)
    assert path.read_text() == "old"


def test_a_value_that_overflows_float32_is_refused_by_every_command(tmp_path):
    rows, model, out = (tmp_path / name for name in ("rows.txt", "m", "out.txt"))
    write_rows(rows, make_rows(0))
    run("train", rows, "-o", model, "-q")
    with open(rows, "a") as file:
        file.write("1 qid:9 2:1e39\n")
    for command in (
        ["convert", rows, out], ["train", rows, "-o", out], ["predict", model, rows, "-o", out],
    ):  # fmt: skip
        said = refused(*command, "--dtype", "float32")
        assert "line 61: index 2: 1e+39 overflows float32; read it as float64 (--dtype" in said
        assert not out.exists()
