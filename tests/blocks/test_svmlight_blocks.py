"""RowBlocks.from_svmlight: the same rows as read_svmlight, and a cache that is checked."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse

from pairrank import RowBlocks
from pairrank.blocks import openers
from pairrank.exceptions import FileAccessError
from pairrank.io import svmlight_cache


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(svmlight_cache, "_TEXT_BLOCK", 400)
    monkeypatch.setattr(openers, "BLOCK_BYTES", 2000)


def lines_of(seed, n_rows=150, *, share=0.8, width=6, first=1, has_qid=True):
    generator = np.random.default_rng(seed)
    lines = []
    for _ in range(n_rows):
        kept = np.flatnonzero(generator.random(width) < share)
        qid = f"qid:q{generator.integers(0, 9)} " if has_qid else ""
        cells = " ".join(f"{index + first}:{generator.normal():.4f}" for index in kept)
        lines.append(f"{generator.integers(0, 4)} {qid}{cells}\n")
    return lines


def write(path, lines):
    path.write_text("".join(lines))
    return path


def parsed_by(monkeypatch):
    calls = []
    plain = svmlight_cache.SvmlightReader.take

    def watched(self, texts):
        calls.append(len(texts))
        return plain(self, texts)

    monkeypatch.setattr(svmlight_cache.SvmlightReader, "take", watched)
    return calls


def test_the_text_is_parsed_once(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.txt", lines_of(0))
    RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
    calls = parsed_by(monkeypatch)
    RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
    os.utime(path, ns=(1, 1))
    RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
    assert calls == []


@pytest.mark.parametrize(
    ("stated", "is_parsed"),
    [
        ({"n_features": 4}, False),
        ({"n_features": 4, "zero_based": False}, False),
        ({"n_features": 5}, True),
        ({"n_features": 4, "dtype": np.float32}, True),
        ({"n_features": 5, "zero_based": True}, True),
    ],
)
def test_text_is_parsed_again_only_for_other_features(tmp_path, monkeypatch, stated, is_parsed):
    lines = ["1 qid:1 1:2 4:3\n", "0 qid:1 2:5\n", "2 qid:2 3:1\n", "1 qid:2 1:7\n"]
    path, cache = write(tmp_path / "rows.txt", lines), tmp_path / "cache"
    whole = RowBlocks.from_svmlight(path, cache=cache).first_block()
    calls = parsed_by(monkeypatch)
    found = RowBlocks.from_svmlight(path, cache=cache, **stated).first_block()
    assert bool(calls) == is_parsed
    if not is_parsed:
        assert np.array_equal(toarray(found.X), toarray(whole.X))
        assert np.array_equal(found.y, whole.y)


def toarray(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("change", ["size", "digest"])
def test_text_that_changes_is_parsed_again(tmp_path, monkeypatch, change):
    lines = lines_of(0)
    path = write(tmp_path / "rows.txt", lines)
    before = RowBlocks.from_svmlight(path, cache=tmp_path / "cache").labels().y
    lines[3] = ("3" if lines[3][0] != "3" else "2") + lines[3][1:]
    write(path, lines + lines[:1] if change == "size" else lines)
    os.utime(path, ns=(1, 1))
    calls = parsed_by(monkeypatch)
    after = RowBlocks.from_svmlight(path, cache=tmp_path / "cache").labels().y
    assert calls
    assert after[3] != before[3]


def test_a_conversion_that_stops_in_the_middle_is_not_used(tmp_path, monkeypatch):
    lines = lines_of(0)
    path = write(tmp_path / "rows.txt", lines)
    wanted = RowBlocks.from_svmlight(path, cache=tmp_path / "cache").labels().y
    times = os.stat(path)
    write(path, ["3" + line[1:] for line in lines])

    def full(*_):
        raise FileAccessError("the disk is full")

    monkeypatch.setattr(svmlight_cache.SvmlightReader, "shift", full)
    with pytest.raises(FileAccessError, match="full"):
        RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
    monkeypatch.undo()
    write(path, lines)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    rows = RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
    assert np.array_equal(rows.labels().y, wanted)
