"""convert, killed: no half file is left, and the next conversion cleans up."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from pairrank.io import convert, read_rows

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
