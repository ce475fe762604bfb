"""Files inside: whole files or none, blocks cut anywhere, tables, what a callback is told."""

from __future__ import annotations

import csv
import errno
import io
import os
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest

import pairrank.io.svmlight as module
import pairrank.io.tables as tables
from cli_rows import make_rows
from pairrank.exceptions import FileAccessError
from pairrank.io import (
    Rows,
    _csv,
    _streams,
    convert,
    read_rows,
    read_svmlight,
    svmlight,
    write_rows,
)
from pairrank.io._streams import atomic_write
from pairrank.io.tables import write_columns


class ShortWrites(io.RawIOBase):
    """A raw stream that takes at most seven bytes at a time, as a pipe may."""

    def __init__(self) -> None:
        self.taken = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self.taken += bytes(data[:7])
        return min(7, len(data))


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_a_raw_standard_output_gets_every_byte(monkeypatch, mode):
    raw = ShortWrites()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii", write_through=True))
    text = "é, " * 100_000
    with atomic_write("-", mode) as file:
        file.write(text if mode == "w" else text.encode())
    assert raw.taken == text.encode()
    assert not raw.closed


def test_a_failure_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")

    def interrupted():
        with atomic_write(path, "w") as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(FileAccessError, match="No space left"), atomic_write(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_atomic_write_keeps_links_and_permissions(tmp_path):
    path, link = tmp_path / "real", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link, "w") as file:
        file.write("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o022)
    try:
        with atomic_write(tmp_path / "fresh") as file:
            file.write(b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o644
    with pytest.raises(ValueError, match="mode"), atomic_write(path, "a"):
        pass


COLUMNS = {
    "qid": np.array(["a,b", 'say "x"', "c"]),
    "ndcg@10": np.array([0.5, np.nan, 1e-300]),
    "none": np.array([None, None, None]),
    "n": np.array([1, 2, 3]),
}


def test_csv_has_one_line_per_row_and_empty_cells(tmp_path):
    write_columns(tmp_path / "t.csv", COLUMNS)
    with (tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["qid", "ndcg@10", "none", "n"],
            ["a,b", "0.5", "", "1"],
            ['say "x"', "", "", "2"],
            ["c", "1e-300", "", "3"],
        ]


@pytest.mark.parametrize("name", ["t.parquet", "T.PARQUET"])
def test_parquet_keeps_types(tmp_path, name):
    write_columns(tmp_path / name, COLUMNS)
    found = pq.read_table(tmp_path / name)
    assert found.to_pydict() == {
        "qid": ["a,b", 'say "x"', "c"],
        "ndcg@10": [0.5, None, 1e-300],
        "none": [None] * 3,
        "n": [1, 2, 3],
    }
    assert [str(field.type) for field in found.schema] == ["string", "double", "string", "int64"]


CONVERSION = """
import os, signal, sys
from pairrank.io import convert, svmlight, tables
svmlight._BLOCK, svmlight._AT_ONCE, tables._CELLS_PER_TABLE = 500, 1, 10
calls = []

def stop(n_bytes, size, n_rows):
    calls.append(n_rows)
    if calls.count(n_rows) < 2 or n_rows < 200:  # in the second reading, amid the rows
        return
    if sys.argv[3] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[3] == "wait":
        sys.argv[3] = ""
        print("started", flush=True)
        sys.stdin.readline()

convert(sys.argv[1], sys.argv[2], callback=stop)
"""


def conversion(source, target, what):
    command = [sys.executable, "-c", CONVERSION, str(source), str(target), what]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="files are locked by fcntl")
def test_a_killed_conversion_leaves_no_half_file_and_the_next_one_cleans_up(tmp_path):
    source, target = tmp_path / "rows.txt", tmp_path / "rows.parquet"
    source.write_text("".join(f"{k % 3} 1:{k} 2:0.5\n" for k in range(500)))
    with conversion(source, target, "die") as killed:
        assert killed.wait() == -signal.SIGKILL
    assert not target.exists()
    (left,) = tmp_path.glob(".*.part")
    other_target = tmp_path / ".other.parquet.left.part"
    other_target.write_text("half")
    with conversion(source, target, "wait") as other:
        assert other.stdout.readline() == "started\n"
        assert not left.exists()
        (written,) = set(tmp_path.glob(".*.part")) - {other_target}
        convert(source, target)
        assert written.exists()
        other.communicate("\n")
    assert other.returncode == 0
    assert read_rows(target).X.shape == (500, 2)
    assert set(tmp_path.iterdir()) == {source, target, other_target}


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(svmlight, "_BLOCK", 500)
    monkeypatch.setattr(svmlight, "_AT_ONCE", 1)
    monkeypatch.setattr(_streams, "_BLOCK", 500)
    monkeypatch.setattr(_csv, "_PART_BYTES", 500)


def write(folder, name):
    path = folder / name
    write_rows(path, make_rows(0, 600))
    return path


@pytest.mark.parametrize("name", ["r.txt", "r.txt.gz", "r.txt.bz2", "r.txt.xz", "r.csv"])
def test_bytes_grow_to_the_size_of_the_file(tmp_path, small_blocks, name):
    path, calls = write(tmp_path, name), []
    roles = {} if "txt" in name else {"qid": "qid"}
    rows = read_rows(path, callback=lambda *now: calls.append(now), **roles)
    plain = read_rows(path, **roles)
    np.testing.assert_array_equal(rows.X, plain.X)
    np.testing.assert_array_equal(rows.y, plain.y)
    size = path.stat().st_size
    first = calls[: 1 + [now[0] for now in calls].index(size)]
    assert len(first) > (5 if name == "r.txt" else 0)
    assert [now[0] for now in first] == sorted(now[0] for now in first)
    assert {now[1] for now in first} == {size}
    if "txt" in name:
        assert calls[-1] == (size, size, 600)


def test_the_size_of_a_pipe_or_a_stream_in_memory_is_unknown(tmp_path, small_blocks):
    text = write(tmp_path, "r.txt").read_bytes()
    out, into = os.pipe()

    def feed():
        with os.fdopen(into, "wb") as pipe:
            pipe.write(text)

    feeder = threading.Thread(target=feed)
    feeder.start()
    with os.fdopen(out, "rb") as pipe:
        for source in (pipe, io.BytesIO(text)):
            calls = []
            read_rows(source, callback=lambda *now, calls=calls: calls.append(now))
            assert {now[1] for now in calls} == {0}
            assert calls[-1] == (len(text), 0, 600)
    feeder.join()


def read(text: str | bytes, **options) -> Rows:
    return read_svmlight(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_blocks_cut_anywhere_change_nothing(monkeypatch, size, ending):
    lines = [f"{k % 3} qid:{k // 4} 1:{k / 7!r} 3:{-k} # row {k}" for k in range(40)]
    lines[5:5] = ["", "   ", "# only a comment: 3", "\t# and another"]
    text = ending.join(lines)
    whole = read(text + ending, comments=True)
    monkeypatch.setattr(module, "_BLOCK", size)
    cut = read(text, comments=True)
    for one, other in zip(whole[:3], cut[:3], strict=True):
        assert np.array_equal(one, other)
    assert cut.comments == whole.comments == [f" row {k}" for k in range(40)]
    assert whole.X.shape == (40, 3)
    assert whole.qid.tolist() == [k // 4 for k in range(40)]


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_blocks_of_rows_change_nothing(tmp_path, monkeypatch, name, size):
    monkeypatch.setattr(tables, "_CELLS_PER_TABLE", size)
    X = np.arange(40.0).reshape(20, 2)
    write_rows(tmp_path / name, Rows(X, X[:, 1] / 3, X[:, 0].astype(int)))
    rows = read_rows(tmp_path / name, qid="qid")
    assert np.array_equal(rows.X, X)
    assert np.array_equal(rows.y, X[:, 1] / 3)
    assert rows.qid.tolist() == list(range(0, 40, 2))
    assert rows.qid.dtype == np.int64
