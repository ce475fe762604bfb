"""The callback of read_rows: bytes, the file's size and rows so far."""

from __future__ import annotations

import io
import os
import threading

import numpy as np
import pytest

from cli_rows import make_rows
from pairrank.io import _csv, _streams, read_rows, svmlight, write_rows


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


def test_parquet_is_read(tmp_path, small_blocks):
    path, calls = write(tmp_path, "r.parquet"), []
    read_rows(path, qid="qid", callback=lambda *now: calls.append(now))
    size = path.stat().st_size
    assert len(calls) > 5
    assert calls[-1] == (size, size, 0)


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
