"""RowBlocks.from_svmlight: the same rows as read_svmlight, and a cache that is checked."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
from scipy import sparse

from block_sources import all_rows, joined
from pairrank import RowBlocks
from pairrank.blocks import openers
from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io import read_svmlight, svmlight_cache


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


@pytest.mark.parametrize(
    "options",
    [{}, {"share": 0.1, "n_rows": 900}, {"first": 0}, {"has_qid": False}, {"share": 1.0}],
    ids=["dense", "sparse", "zero_based", "no_qid", "full"],
)
def test_blocks_hold_the_rows_of_the_text(tmp_path, options):
    lines = [*lines_of(0, **options), "# a comment\n", "\n"]
    whole = read_svmlight(write(tmp_path / "all.txt", lines))
    files = [write(tmp_path / "1.txt", lines[:70]), tmp_path / "2.txt.gz"]
    files[1].write_bytes(gzip.compress("".join(lines[70:]).encode()))
    rows = RowBlocks.from_svmlight(files, cache=tmp_path / "cache")
    labels = rows.labels()
    parts = all_rows(rows)
    assert len(parts) > 1
    assert {sparse.issparse(part) for part in parts} == {sparse.issparse(whole.X)}
    wanted = whole.X.toarray() if sparse.issparse(whole.X) else whole.X
    assert np.array_equal(joined(rows), wanted)
    assert np.array_equal(labels.y, whole.y)
    assert (labels.qid is None) == (whole.qid is None)
    assert labels.qid is None or np.array_equal(labels.qid, whole.qid)
    assert rows.zero_based == whole.zero_based
    assert rows.n_features == whole.X.shape[1]


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


def test_text_that_shrinks_leaves_no_surplus_blocks(tmp_path):
    lines = lines_of(0)
    path, cache = write(tmp_path / "rows.txt", lines), tmp_path / "cache"
    RowBlocks.from_svmlight(path, cache=cache)
    before = sorted(found.name for found in cache.rglob("block-*.npz"))
    rows = RowBlocks.from_svmlight(write(path, lines[:40]), cache=cache)
    after = sorted(found.name for found in cache.rglob("block-*.npz"))
    assert len(after) == len(all_rows(rows)) < len(before)
    assert after == before[: len(after)]


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


@pytest.mark.parametrize("damage", ["changed", "cut", "missing"])
def test_a_damaged_cache_is_an_error(tmp_path, damage):
    path = write(tmp_path / "rows.txt", lines_of(0))
    rows = RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
    block = next(iter((tmp_path / "cache").rglob("block-000001.npz")))
    content = bytearray(block.read_bytes())
    if damage == "changed":
        content[len(content) // 2] ^= 1
        block.write_bytes(content)
    elif damage == "cut":
        block.write_bytes(content[:-5])
    else:
        block.unlink()
    with pytest.raises(FileFormatError, match=r"block 1 of .*cache is damaged.*delete the folder"):
        all_rows(rows)


def test_an_interrupted_conversion_leaves_nothing_to_use(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.txt", lines_of(0))

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RowBlocks.from_svmlight(path, cache=tmp_path / "cache", callback=interrupted)
    assert not list((tmp_path / "cache").rglob("manifest.json"))
    assert RowBlocks.from_svmlight(path, cache=tmp_path / "cache").labels().y.size == 150


def test_damaged_queries_are_an_error_and_a_damaged_manifest_is_made_again(tmp_path):
    path = write(tmp_path / "rows.txt", lines_of(0))
    rows = RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
    wanted = rows.labels().y
    for content in ("5", '{"files": [[1, 2]]}', "{"):
        next((tmp_path / "cache").rglob("manifest.json")).write_text(content)
        again = RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
        assert np.array_equal(again.labels().y, wanted)
    next((tmp_path / "cache").rglob("queries.npy")).write_bytes(b"\x93NUMPY")
    with pytest.raises(FileFormatError, match=r"cache is damaged.*delete the folder"):
        rows.labels()


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


def test_arguments_that_name_no_file_are_refused(tmp_path):
    path = write(tmp_path / "rows.txt", lines_of(0))
    with pytest.raises(FileAccessError, match="folder"):
        RowBlocks.from_svmlight(tmp_path, cache=tmp_path / "cache")
    for paths, cache in ((5, tmp_path), (path, None)):
        with pytest.raises(PairrankError, match="must be names of files"):
            RowBlocks.from_svmlight(paths, cache=cache)
    with pytest.raises(PairrankError, match="zero_based must be"):
        RowBlocks.from_svmlight(path, cache=tmp_path / "cache", zero_based="x")
    with pytest.raises(PairrankError, match="n_features must be"):
        RowBlocks.from_svmlight(path, cache=tmp_path / "cache", n_features="6")
    rows = RowBlocks.from_svmlight(path, cache=tmp_path / "cache", n_features=np.int64(9))
    assert rows.n_features == 9


def test_an_error_names_file_and_line(tmp_path):
    first = write(tmp_path / "1.txt", lines_of(0, 40))
    second = write(tmp_path / "2.txt", [*lines_of(1, 20), "1 qid:2 3:x\n"])
    with pytest.raises(FileFormatError, match=r"2\.txt, line 21"):
        RowBlocks.from_svmlight([first, second], cache=tmp_path / "cache")
    with pytest.raises(FileFormatError, match="no rows"):
        RowBlocks.from_svmlight(write(tmp_path / "3.txt", ["# none\n"]), cache=tmp_path / "cache")
    with pytest.raises(FileAccessError, match="cannot read"):
        RowBlocks.from_svmlight(tmp_path / "4.txt", cache=tmp_path / "cache")


def test_queries_in_a_side_file_are_refused(tmp_path):
    path = write(tmp_path / "rows.txt", lines_of(0, has_qid=False))
    write(tmp_path / "rows.txt.query", ["150\n"])
    with pytest.raises(FileFormatError, match=r"rows\.txt\.query: rows per query.*write qid"):
        RowBlocks.from_svmlight(path, cache=tmp_path / "cache")
