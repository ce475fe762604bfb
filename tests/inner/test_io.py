"""Files inside: whole files or none, blocks cut anywhere, tables, what a callback is told."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

import pairrank.io.svmlight as module
import pairrank.io.tables as tables
from pairrank.io import Rows, convert, read_rows, write_rows
from pairrank.io._streams import atomic_write


def test_atomic_write_keeps_links_and_permissions(tmp_path):
    path, link = tmp_path / "real", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
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


def read(text: str | bytes, **options) -> Rows:
    return read_rows(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_blocks_cut_anywhere_change_nothing(monkeypatch, size, ending):
    lines = [f"{k % 3} qid:{k // 4} 1:{k / 7!r} 3:{-k} # r{k}" for k in range(40)]
    lines[5:5] = ["", "   ", "# only a comment: 3", "\t# and another"]
    text = ending.join(lines)
    whole = read(text + ending, docid="any")
    monkeypatch.setattr(module, "_BLOCK", size)
    cut = read(text, docid="any")
    for one, other in zip(whole[:3], cut[:3], strict=True):
        assert np.array_equal(one, other)
    assert cut.docid.tolist() == whole.docid.tolist() == [f"r{k}" for k in range(40)]
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
