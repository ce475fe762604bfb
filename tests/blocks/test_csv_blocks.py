"""RowBlocks.from_csv: the same rows as read_rows, and a cache that is checked."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from block_sources import all_rows, joined
from pairrank import RankSVM, RowBlocks
from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io import _converted, csv_blocks, read_rows

NAMES = {"label": "grade", "qid": "query", "weight": "times"}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(csv_blocks, "_TEXT_BYTES", 500)


def lines_of(seed, n_rows=150):
    """Return a header and rows: quoted queries with commas and line breaks, blank lines."""
    generator = np.random.default_rng(seed)
    lines = ["grade,query,title,a,b,times\n"]
    for row in range(n_rows):
        grade, query = generator.integers(0, 4), generator.integers(0, 9)
        a, b = generator.normal(size=2)
        blank = "\n" * (row % 40 == 7)
        lines.append(f'{grade},"q,{query}\n",t{row},{a:.4f},{b:.4f},{row % 3 + 1}\n{blank}')
    return lines


def write(path, lines):
    path.write_text("".join(lines), encoding="utf-8")
    return path


def blocks_of(path, cache, **options):
    given = {"drop_text": True, "batch_rows": 40, **NAMES, **options}
    return RowBlocks.from_csv(path, cache=cache, **given)


@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "byte_order_mark"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_hold_the_rows_of_the_text(tmp_path, start, dtype):
    lines = lines_of(0)
    whole = read_rows(write(tmp_path / "all.csv", lines), drop_text=True, dtype=dtype, **NAMES)
    files = [write(tmp_path / "1.csv", [start, *lines[:70]]), tmp_path / "2.csv.gz"]
    files[1].write_bytes(gzip.compress("".join([lines[0], *lines[70:]]).encode()))
    rows = blocks_of(files, tmp_path / "cache", dtype=dtype)
    labels = rows.labels()
    assert len(all_rows(rows)) == 4
    assert joined(rows).dtype == dtype
    assert np.array_equal(joined(rows), whole.X)
    assert np.array_equal(labels.y, whole.y)
    assert np.array_equal(labels.qid, whole.qid)
    assert np.array_equal(labels.sample_weight, whole.weight)
    assert rows.feature_names == whole.feature_names == ["a", "b"]


@given(
    cells=st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**70), 2**70)),
        min_size=1,
        max_size=30,
    ),
    part=st.integers(64, 400),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_numbers_are_those_that_are_read_in_memory(tmp_path, cells, part):
    path = write(tmp_path / "rows.csv", ["a,b\n", *(f"{a!r},{b}\n" for a, b in cells)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_blocks, "_TEXT_BYTES", part)
        rows = RowBlocks.from_csv(path, cache=tmp_path / "cache")
    assert np.array_equal(joined(rows), read_rows(path, label=None).X)


def test_a_fit_gives_the_model_of_the_rows_in_memory(tmp_path):
    path = write(tmp_path / "rows.csv", lines_of(0))
    whole = read_rows(path, drop_text=True, **NAMES)
    streamed = RankSVM(tol=1e-9).fit(blocks_of(path, tmp_path / "cache"))
    plain = RankSVM(tol=1e-9).fit(whole.X, whole.y, **whole.layout)
    assert np.abs(streamed.coef_ - plain.coef_).max() <= 1e-6 * np.abs(plain.coef_).max()
    assert streamed.n_pairs_ == plain.n_pairs_


def test_columns_of_later_files_are_found_by_name(tmp_path):
    first = write(tmp_path / "1.csv", ["a,b\n", "1,2\n"])
    second = write(tmp_path / "2.csv", ["b,a\n", "4,3\n"])
    rows = RowBlocks.from_csv([first, second], cache=tmp_path / "cache")
    assert np.array_equal(joined(rows), [[1.0, 2.0], [3.0, 4.0]])
    third = write(tmp_path / "3.csv", ["a,c\n", "3,4\n"])
    with pytest.raises(FileFormatError, match=r"3\.csv: no column 'b'"):
        RowBlocks.from_csv([first, third], cache=tmp_path / "cache")


def parsed_by(monkeypatch):
    calls = []
    plain = csv_blocks._CsvFile.write

    def watched(self, *arguments):
        calls.append(self.path)
        return plain(self, *arguments)

    monkeypatch.setattr(csv_blocks._CsvFile, "write", watched)
    return calls


def test_the_text_is_parsed_once(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.csv", lines_of(0))
    blocks_of(path, tmp_path / "cache")
    calls = parsed_by(monkeypatch)
    os.utime(path, ns=(1, 1))
    blocks_of(path, tmp_path / "cache", batch_rows=7)
    assert calls == []
    blocks_of(path, tmp_path / "cache", weight=None, drop=["times"])
    assert calls == [str(path)]


@pytest.mark.parametrize("missing", ["grade", "query", "times", "b"])
def test_columns_of_every_file_are_checked_before_one_is_parsed(tmp_path, missing):
    lines = lines_of(0, 60)
    files = [write(tmp_path / "1.csv", lines), write(tmp_path / "2.csv", lines)]
    lines[0] = lines[0].replace(missing, "other")
    write(files[1], lines)
    with pytest.raises(FileFormatError, match=f"2.csv: no column '{missing}'"):
        blocks_of(files, tmp_path / "cache")
    assert [*tmp_path.glob("cache/*/*")] == []


CONVERSION = """
import os, signal, sys
from pairrank import RowBlocks
from pairrank.io import csv_blocks
csv_blocks._TEXT_BYTES = 500

def stop(*_):
    if sys.argv[3] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[3] == "wait":
        sys.argv[3] = ""
        print("started", flush=True)
        sys.stdin.readline()

rows = RowBlocks.from_csv(sys.argv[1], cache=sys.argv[2], label="grade", qid="query",
                          weight="times", drop_text=True, batch_rows=40, callback=stop)
print(rows.labels().y.sum())
"""


def conversion(path, cache, what):
    command = [sys.executable, "-c", CONVERSION, str(path), str(cache), what]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="folders are locked by fcntl")
@pytest.mark.parametrize("same", [True, False], ids=["same text", "other text"])
def test_what_a_killed_conversion_has_left_is_deleted_by_the_next_one(tmp_path, same):
    path, cache = write(tmp_path / "rows.csv", lines_of(0)), tmp_path / "cache"
    with conversion(path, cache, "die") as killed:
        assert killed.wait() == -signal.SIGKILL
    assert len([*cache.glob("*/.*.part")]) == 1
    blocks_of(path if same else write(tmp_path / "other.csv", lines_of(1)), cache)
    assert [*cache.glob("*/.*.part")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="folders are locked by fcntl")
def test_two_processes_convert_the_same_text_at_once(tmp_path):
    path, cache = write(tmp_path / "rows.csv", lines_of(0)), tmp_path / "cache"
    with conversion(path, cache, "die") as killed:
        killed.wait()
    (left,) = cache.glob("*/.*.part")
    with conversion(path, cache, "wait") as other:
        assert other.stdout.readline() == "started\n"
        assert not left.exists()
        (written,) = cache.glob("*/.*.part")
        total = blocks_of(path, cache).labels().y.sum()
        assert written.exists()
        out, _ = other.communicate("\n")
    assert (other.returncode, float(out)) == (0, total)
    assert [*cache.glob("*/.*.part")] == []
    assert blocks_of(path, cache).labels().y.sum() == total


def test_converted_text_is_used_for_some_of_its_columns(tmp_path, monkeypatch):
    text = ["u,v,w,q,grade\n", *(f"{k},{k * k},{-k},{k // 3},{k % 4}\n" for k in range(9))]
    path, cache = write(tmp_path / "rows.csv", text), tmp_path / "cache"
    RowBlocks.from_csv(path, cache=cache, label="grade", qid="q")
    calls = parsed_by(monkeypatch)
    rows = RowBlocks.from_csv(path, cache=cache, label="grade", features=["w", "u"])
    found = rows.first_block()
    assert calls == []
    assert found.X[:, 0].tolist() == [-float(k) for k in range(9)]
    assert found.X[:, 1].tolist() == [float(k) for k in range(9)]
    assert found.y.tolist() == [k % 4 for k in range(9)]
    assert found.qid is None


@pytest.mark.parametrize(
    "other",
    [
        {"features": ["u", "grade"]},
        {"features": ["u"], "label": "q"},
        {"features": ["u"], "qid": "v"},
        {"features": ["u"], "weight": "w"},
        {"features": ["u"], "dtype": np.float32},
        {"drop": ["q"]},
    ],
)
def test_text_is_parsed_again_for_other_columns_or_roles(tmp_path, monkeypatch, other):
    text = ["u,v,w,q,grade\n", *(f"{k},{k * k},{k},{k // 3},{k % 4}\n" for k in range(9))]
    path, cache = write(tmp_path / "rows.csv", text), tmp_path / "cache"
    RowBlocks.from_csv(path, cache=cache, label="grade", qid="q", features=["u", "v"])
    calls = parsed_by(monkeypatch)
    RowBlocks.from_csv(path, cache=cache, **other)
    assert calls == [str(path)]


def test_text_that_has_changed_is_not_used_for_some_of_its_columns(tmp_path):
    path, cache = write(tmp_path / "rows.csv", ["u,v\n", "1,2\n", "3,4\n"]), tmp_path / "cache"
    RowBlocks.from_csv(path, cache=cache)
    write(path, ["u,v\n", "1,2\n", "9,4\n"])
    os.utime(path, ns=(1, 1))
    found = RowBlocks.from_csv(path, cache=cache, features=["u"]).first_block()
    assert found.X[:, 0].tolist() == [1.0, 9.0]


def test_folders_of_another_version_are_not_read(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.csv", lines_of(0))
    blocks_of(path, tmp_path / "cache")
    calls = parsed_by(monkeypatch)
    monkeypatch.setattr(_converted, "_VERSION", _converted._VERSION + 1)
    blocks_of(path, tmp_path / "cache")
    assert calls == [str(path)]


def test_text_that_changes_is_parsed_again(tmp_path):
    lines = lines_of(0)
    path = write(tmp_path / "rows.csv", lines)
    blocks_of(path, tmp_path / "cache")
    write(path, lines[:60])
    assert blocks_of(path, tmp_path / "cache").labels().y.size == 59


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_damaged_cache_is_an_error(tmp_path, damage):
    path = write(tmp_path / "rows.csv", lines_of(0))
    blocks_of(path, tmp_path / "cache")
    block = next((tmp_path / "cache").rglob("*.parquet"))
    if damage == "cut":
        block.write_bytes(block.read_bytes()[:-30])
    else:
        block.unlink()
    with pytest.raises(FileFormatError, match=r"the cache is damaged .*; delete the folder"):
        joined(blocks_of(path, tmp_path / "cache"))


def test_a_changed_bit_is_an_error_or_changes_nothing(tmp_path, monkeypatch):
    """Page headers hold statistics that no one reads; values and their lengths have checksums."""
    monkeypatch.setattr(csv_blocks, "_TEXT_BYTES", 1 << 20)
    path = write(tmp_path / "rows.csv", lines_of(0))
    wanted = joined(blocks_of(path, tmp_path / "cache"))
    block = next((tmp_path / "cache").rglob("*.parquet"))
    content, refused = block.read_bytes(), 0
    for at in range(4, 2000, 50):
        block.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            found = joined(blocks_of(path, tmp_path / "cache"))
        except PairrankError:
            refused += 1
        else:
            assert np.array_equal(found, wanted)
    assert refused > 20


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1,q,t,nan,2,1\n", "line 264: column 'a': 'nan' is not a finite number"),
        ("1,q,t,1,,1\n", "line 264: column 'b': an empty cell"),
        ("1,q,t,1,2,many\n", "line 264: column 'times': 'many' is not a finite number"),
        ("1,q,t,1\n", "line 264: 4 cells, 6 are expected"),
        ('1,"q,t,1,1,1\n', "line 265: ',' expected after"),
        ("1,q,t,1e300,2,1\n", "line 264: column 'a': 1e[+]300 overflows float32"),
        ("1,,t,1,2,1\n", "line 264: column 'query' is empty"),
        ("inf,q,t,1,2,1\n", "line 264: the label 'inf' is not a finite number"),
    ],
)
def test_errors_name_file_and_line(tmp_path, line, complaint):
    lines = lines_of(0)
    lines[130] = line
    path = write(tmp_path / "rows.csv", lines)
    cache = tmp_path / "cache"
    with pytest.raises(FileFormatError, match=rf"rows\.csv, {complaint}"):
        blocks_of(path, cache, dtype=np.float32).labels()
    if "query" not in complaint and "label" not in complaint:
        assert not list(cache.rglob("*.json"))
        assert not list(cache.rglob("*.parquet"))


def test_a_bad_cell_is_found_wherever_a_part_of_the_text_begins(tmp_path):
    """Parts of 500 bytes have 50 rows of 10 each, less the header."""
    for row in (0, 1, *range(45, 55), 99):
        lines = ["a,b\n", *["1.5,22.25\n"] * 100]
        lines[1 + row] = "1.5,nan\n"
        path = write(tmp_path / f"{row}.csv", lines)
        with pytest.raises(FileFormatError, match=rf"{row}\.csv, line {row + 2}: column 'b'"):
            RowBlocks.from_csv(path, cache=tmp_path / "cache", label="a")


@pytest.mark.parametrize("drop", [[], ["title"]], ids=["query", "column_left_out"])
def test_a_quote_that_is_never_closed_is_refused_in_later_rows_too(tmp_path, drop):
    path = tmp_path / "rows.csv"
    last = "title" if drop else "query"
    lines = [f"a,{last}\n", *["1,q\n"] * 150, '1,"q\n', *["1,q\n"] * 150]
    with pytest.raises(FileFormatError, match=r"rows\.csv, line 302: .* check its quotes"):
        RowBlocks.from_csv(
            write(path, lines),
            cache=tmp_path / "cache",
            qid=None if drop else "query",
            drop=drop,
            dtype=np.float32,
        )
    assert not list((tmp_path / "cache").rglob("*.parquet"))


def test_a_quote_within_a_cell_is_a_character(tmp_path):
    path = write(tmp_path / "rows.csv", ["a,query\n", *["1,q\n"] * 150, '2,19"\n'])
    rows = RowBlocks.from_csv(path, cache=tmp_path / "cache", qid="query")
    assert rows.labels().qid.tolist() == ["q"] * 150 + ['19"']


def test_labels_that_are_bad_are_found_in_the_right_file(tmp_path):
    first = write(tmp_path / "1.csv", ["a,b\n", "1,2\n", "\n", "1,3\n"])
    second = write(tmp_path / "2.csv", ["a,b\n", "\n", "1,2\n", "1,nan\n"])
    rows = RowBlocks.from_csv([first, second], cache=tmp_path / "cache", label="b")
    with pytest.raises(FileFormatError, match=r"2\.csv, line 4: the label 'nan'"):
        rows.labels()


@pytest.mark.parametrize("text", ["1a", "01", "9223372036854775808"])
@pytest.mark.parametrize("opener", ["csv", "parquet"])
def test_queries_are_text_in_all_blocks_if_they_are_text_in_one(tmp_path, text, opener):
    queries = ["10", "10", "7", "7", text, text]
    path = tmp_path / f"rows.{opener}"
    if opener == "csv":
        write(path, ["y,query,a\n", *(f"{row % 2},{q},{row}\n" for row, q in enumerate(queries))])
        rows = RowBlocks.from_csv(
            path, cache=tmp_path / "cache", label="y", qid="query", batch_rows=2
        )
    else:
        columns = {"y": [0.0, 1.0] * 3, "query": queries, "a": np.arange(6.0)}
        parquet.write_table(pa.table(columns), path)
        rows = RowBlocks.from_parquet(path, label="y", qid="query", batch_rows=2)
    whole = read_rows(path, label="y", qid="query")
    assert np.array_equal(rows.labels().qid, whole.qid)
    assert RankSVM().fit(rows).n_pairs_ == 3


def test_queries_of_whole_numbers_are_integers(tmp_path):
    files = [write(tmp_path / f"{at}.csv", ["query,a\n", f"{at},1\n"]) for at in (7, 8)]
    for _ in range(2):
        rows = RowBlocks.from_csv(files, cache=tmp_path / "cache", qid="query", batch_rows=1)
        assert rows.labels().qid.dtype == np.int64


def test_a_cache_that_cannot_be_written_is_refused(tmp_path):
    path = write(tmp_path / "rows.csv", lines_of(0))
    blocks_of(path, tmp_path / "cache")
    manifest = next((tmp_path / "cache").rglob("*.json"))
    manifest.unlink()
    manifest.mkdir()
    with pytest.raises(FileAccessError, match=r"cannot write the cache .*; name another folder"):
        blocks_of(path, tmp_path / "cache")
    with pytest.raises(FileAccessError, match="cannot write the cache"):
        blocks_of(path, path)


@pytest.mark.parametrize("open_", [RowBlocks.from_csv, RowBlocks.from_svmlight])
def test_folders_and_pipes_are_refused(tmp_path, open_):
    cache, pipe = tmp_path / "cache", tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileAccessError, match="it is a pipe or a device, read once only; name"):
        open_(pipe, cache=cache)
    with pytest.raises(FileAccessError, match="it is a folder; name files"):
        open_([tmp_path], cache=cache)
    assert not cache.exists()


def test_what_cannot_be_read_is_refused(tmp_path):
    cache = tmp_path / "cache"
    with pytest.raises(FileAccessError, match="check the path"):
        RowBlocks.from_csv(tmp_path / "none.csv", cache=cache)
    for content, complaint in {
        "": "empty; a header",
        "a,b\n": "no rows below the header",
        "a,a\n1,2\n": "'a' more than once",
        "a;b\n1;2\n": "separate columns with commas",
        "a,b\n1,x\n2,y\n": "hold text or dates: 'b'",
        "label,b\n\xff": "",
    }.items():
        path = tmp_path / "rows.csv"
        path.write_text(content, encoding="latin-1")
        with pytest.raises(PairrankError, match=complaint or "not UTF-8 text"):
            RowBlocks.from_csv(path, cache=cache)
    write(path, ["a,b\n", "1,2\n"])
    write(tmp_path / "rows.csv.query", ["1\n"])
    with pytest.raises(FileFormatError, match="rows per query in a file of their own"):
        RowBlocks.from_csv(path, cache=cache)


def test_progress_is_reported(tmp_path):
    path = write(tmp_path / "rows.csv", lines_of(0, 5000))
    calls = []
    blocks_of(path, tmp_path / "cache", callback=lambda *told: calls.append(told))
    size = path.stat().st_size
    assert calls[-1][:2] == (size, size)
    assert sorted(calls) == calls
    assert calls[-1][2] > 0
