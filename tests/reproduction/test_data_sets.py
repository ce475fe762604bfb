"""The registry: every real set has its shape and its checksum, and errors say where to look."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from pairrank import Pairs
from pairrank.exceptions import FileFormatError, PairrankError
from reproduction.data import DatasetNotFoundError, describe, list_datasets, load
from reproduction.data.loaders import READERS
from reproduction.data.made import discretize
from reproduction.data.registry import read_records


@pytest.mark.parametrize("name", list_datasets())
def test_every_real_set_is_what_the_registry_states(data_home, name):
    data = load(name, data_home)
    assert data.X.shape == (data.record.n_rows, data.record.n_columns)
    assert data.y.shape == (data.record.n_rows,)
    if not isinstance(data.y, Pairs):
        assert data.y.dtype == np.float64
        assert len(np.unique(data.y)) > 1
    values = data.X.data if sparse.issparse(data.X) else data.X
    assert np.isfinite(values).all()
    assert data.feature_names is None or len(data.feature_names) == data.X.shape[1]
    assert data.qid is None or data.qid.shape == data.y.shape


@pytest.mark.parametrize("name", list_datasets())
def test_every_record_is_complete(name):
    record = describe(name)
    assert record.name == name
    for text in (record.title, record.source, record.licence, record.target):
        assert text.strip()
    assert record.description.endswith(".")
    assert min(record.n_rows, record.n_columns) > 0
    assert record.reader in READERS
    assert record.files
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in record.files.values())


@pytest.mark.parametrize(
    ("name", "options", "shape", "n_queries"),
    [
        ("letor4_mq2008", {"fold": 1, "subset": "train"}, (9630, 46), 471),
        ("letor4_mq2008", {"fold": 1, "subset": "valid"}, (2707, 46), 157),
        ("letor4_mq2008", {"fold": 1, "subset": "test"}, (2874, 46), 156),
        ("letor4_mq2008", {"fold": 4, "subset": "train"}, (2707 + 2874 + 2933, 46), 470),
        ("letor4_mq2008", {"fold": 4, "subset": "test"}, (3062, 46), 157),
        ("letor4_mq2008", {}, (15211, 46), 784),
        ("mslr_sample", {}, (6042, 136), 54),
        ("webis_clueweb09_ltr", {}, (26646, 42), 61),
        ("libsvm_a9a", {"subset": "test"}, (16281, 123), None),
    ],
)
def test_parts_of_real_sets_have_their_shapes(data_home, name, options, shape, n_queries):
    data = load(name, data_home, **options)
    assert data.X.shape == shape
    assert (None if data.qid is None else len(set(data.qid.tolist()))) == n_queries


def test_the_papers_pairs_come_out(data_home):
    """Raykar's Table 1 counts the pairs of 4/5 of the rows: bins of equal width for California."""

    def n_pairs(labels):
        counts = np.bincount(labels)
        return (counts.sum() ** 2 - (counts**2).sum()) // 2

    california = n_pairs(discretize(load("cal_housing", data_home).y, 3, by="width"))
    abalone = n_pairs(discretize(load("abalone", data_home).y, 3, by="count"))
    assert 0.64 * california == pytest.approx(82420255, rel=1e-3)
    assert 0.64 * abalone == pytest.approx(3713729, rel=3e-3)


def make_home(tmp_path, monkeypatch, content: bytes):
    """A data_home with one registered set of our own."""
    record = describe("machine_cpu")
    digest = hashlib.sha256(content).hexdigest()
    records = read_records("rows")
    monkeypatch.setitem(
        records, "machine_cpu", replace(record, files={"machine_cpu.arff.gz": digest})
    )
    folder = tmp_path / "machine_cpu"
    folder.mkdir()
    return folder


ARFF = b"@relation r\n@attribute a {3,4}\n@attribute b real\n@data\n3,0.5\n4,0.25\n"


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_may_be_compressed_or_not(tmp_path, monkeypatch, compressed, line_end):
    content = ARFF.replace(b"\n", line_end)
    folder = make_home(tmp_path, monkeypatch, content)
    if compressed:
        (folder / "machine_cpu.arff.gz").write_bytes(gzip.compress(content))
    else:
        (folder / "machine_cpu.arff").write_bytes(content)
    data = load("machine_cpu", tmp_path)
    assert data.X.tolist() == [[3.0], [4.0]]
    assert data.y.tolist() == [0.5, 0.25]


def test_another_checksum_is_refused(tmp_path, monkeypatch):
    folder = make_home(tmp_path, monkeypatch, ARFF)
    (folder / "machine_cpu.arff.gz").write_bytes(gzip.compress(ARFF + b"3,1\n"))
    with pytest.raises(FileFormatError, match=r"checksum differs.*source: "):
        load("machine_cpu", tmp_path)
    (folder / "machine_cpu.arff.gz").write_bytes(gzip.compress(ARFF)[:-9])
    with pytest.raises(FileFormatError, match="damaged or cut"):
        load("machine_cpu", tmp_path)


def test_a_missing_set_says_where_it_can_be_had(tmp_path, monkeypatch):
    monkeypatch.delenv("PAIRRANK_DATA", raising=False)
    with pytest.raises(DatasetNotFoundError, match=r"PAIRRANK_DATA.*S1\.txt\.gz.*microsoft\.com"):
        load("letor4_mq2008")
    with pytest.raises(FileNotFoundError, match=r"S1\.txt\.gz is missing .*source: https"):
        load("letor4_mq2008", tmp_path)
    monkeypatch.setenv("PAIRRANK_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"abalone\.arff\.gz is missing"):
        load("abalone")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("nothing", {}, "no data set 'nothing'; there are abalone"),
        ("abalone", {"fold": 1}, "no option fold; there are: none"),
        ("letor4_mq2008", {"bin": 1}, "no option bin; there are: fold, subset"),
        ("letor4_mq2008", {"fold": 6}, r"fold=6; choose one of 1, 2, 3, 4, 5"),
        (
            "letor4_mq2008",
            {"subset": "vali"},
            "subset='vali'; choose one of 'train', 'valid', 'test'",
        ),
        ("libsvm_a9a", {"subset": "valid"}, "subset='valid'; choose one of 'train', 'test'"),
    ],
)
def test_names_and_options_that_are_not_known_are_refused(tmp_path, name, options, message):
    with pytest.raises(PairrankError, match=message):
        load(name, tmp_path, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not the ARFF"),
        ("hello\n@data\n", "no rows"),
        ("@relation r\n@attribute a real\n@data\n", "no rows"),
        ("@relation r\n@attribute a string\n@data\nx\n", "not the ARFF"),
        ("@relation r\n@attribute a real\n@data\nx\n", "not the ARFF.*'x'"),
        ("@relation r\n@attribute a {u,v}\n@data\nw\n", "not the ARFF.*w value not in"),
        ("@relation r\n@attribute a real\n@data\n1\n?\n", "row 2: a value is missing"),
        ("@relation r\n@attribute a {1,2}\n@data\n?\n", "row 1: a value is missing"),
    ],
)
def test_bad_arff_is_refused(tmp_path, monkeypatch, text, message):
    folder = make_home(tmp_path, monkeypatch, text.encode())
    (folder / "machine_cpu.arff").write_text(text)
    with pytest.raises(FileFormatError, match=rf"machine_cpu\.arff\.gz.*{message}"):
        load("machine_cpu", tmp_path)


def test_arff_rows_with_gaps_are_dropped_on_request(tmp_path, monkeypatch):
    text = (
        "% c\n@RELATION 'r'\n@attribute 'a b' { 1, 2}\n@attribute s {M,F}\n@ATTRIBUTE c REAL\n"
        "@ATTRIBUTE y REAL\n@DATA\n1,F,2,5\n?,M,3,5\n2,M, 4,6\n"
    )
    folder = make_home(tmp_path, monkeypatch, text.encode())
    (folder / "machine_cpu.arff").write_text(text)
    kept = replace(describe("machine_cpu"), settings={"drop_missing": True})
    monkeypatch.setitem(read_records("rows"), "machine_cpu", kept)
    data = load("machine_cpu", tmp_path)
    assert data.X.tolist() == [[1, 0, 1, 2], [2, 1, 0, 4]]
    assert data.y.tolist() == [5, 6]
    assert data.feature_names == ["a b", "s=M", "s=F", "c"]
