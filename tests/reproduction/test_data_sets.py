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
from pairrank.exceptions import FileFormatError
from reproduction.data import DatasetNotFoundError, describe, load
from reproduction.data.loaders import READERS
from reproduction.data.made import discretize
from reproduction.data.registry import read_records
from reproduction.protocols import count_preferences

RATINGS = {
    "ml-1m": (1_000_204, 1.0, 5.0),
    "jester": (1_810_455, -9.95, 10.0),
    "book_crossing_partial": (27_086, 1.0, 10.0),
}
"""Ratings, the least and the greatest; 16 of Book-Crossing are of one book by one reader again."""


def test_every_record_is_complete():
    assert set(read_records("ratings")) == set(RATINGS)
    for record in (*read_records("rows").values(), *read_records("ratings").values()):
        for text in (record.title, record.source, record.licence, record.target):
            assert text.strip(), record.name
        assert record.description.endswith(".")
        assert min(record.n_rows, record.n_columns) > 0
        assert record.reader in READERS
        assert record.files
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in record.files.values())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name == "reuters21578"))
        for name in read_records("rows")
    ],
)
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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "ml-1m")) for name in RATINGS]
)
def test_every_ratings_table_is_what_the_registry_states(data_home, name):
    data, record = load(name, data_home), describe(name)
    assert (len(data), data["rating"].min(), data["rating"].max()) == RATINGS[name]
    assert (data["user"].nunique(), data["item"].nunique()) == (record.n_rows, record.n_columns)
    assert not data.duplicated(["user", "item"]).any()


@pytest.mark.parametrize(
    ("name", "options", "shape", "n_queries"),
    [
        ("letor4_mq2008", {"fold": 1, "subset": "train"}, (9630, 46), 471),
        ("letor4_mq2008", {"fold": 1, "subset": "valid"}, (2707, 46), 157),
        ("letor4_mq2008", {"fold": 4, "subset": "train"}, (2707 + 2874 + 2933, 46), 470),
        ("letor4_mq2008", {"fold": 4, "subset": "test"}, (3062, 46), 157),
        ("mslr_sample", {}, (6042, 136), 54),
        ("libsvm_a9a", {"subset": "test"}, (16281, 123), None),
    ],
)
def test_parts_of_real_sets_have_their_shapes(data_home, name, options, shape, n_queries):
    data = load(name, data_home, **options)
    assert data.X.shape == shape
    assert (None if data.qid is None else len(set(data.qid.tolist()))) == n_queries


@pytest.mark.slow
def test_reuters_is_the_modapte_split(data_home):
    train = load("reuters21578", data_home)
    test = load("reuters21578", data_home, subset="test", topic="grain")
    assert (train.y.size, test.y.size) == (9603, 3299)
    assert (train.y.sum(), test.y.sum()) == (2877, 149)
    assert train.X.shape[1] == test.X.shape[1]
    lengths = np.sqrt(train.X.multiply(train.X).sum(axis=1))
    assert np.allclose(lengths[lengths > 0], 1.0)


def test_real_comparisons_are_all_there(data_home):
    pictures, models = load("gifgif", data_home), load("llmfao", data_home)
    assert (pictures.y.n_pairs, pictures.y.magnitude) == (106_887, None)
    assert pictures.y.groups is None
    assert models.y.n_pairs == 8931
    assert len(set(models.y.groups)) > 100
    assert (models.y.magnitude == 0.0).sum() == 3471


def test_the_papers_pairs_come_out(data_home):
    """Raykar's Table 1 counts the pairs of 4/5 of the rows: bins of equal width for California."""
    california = discretize(load("cal_housing", data_home).y, 3, by="width")
    abalone = discretize(load("abalone", data_home).y, 3, by="count")
    assert 0.64 * count_preferences(california) == pytest.approx(82420255, rel=1e-3)
    assert 0.64 * count_preferences(abalone) == pytest.approx(3713729, rel=3e-3)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return a function that replaces the file of a set, and loads the set."""

    def load_written(name, content, kept=None):
        record = describe(name)
        (file,) = record.files
        changed = replace(record, files={file: hashlib.sha256(content).hexdigest()})
        monkeypatch.setitem(read_records("rows"), name, changed)
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_bytes(gzip.compress(kept or content))
        return load(name, tmp_path)

    return load_written


ARFF = b"@relation r\n@attribute a {3,4}\n@attribute b real\n@data\n3,0.5\n4,0.25\n"


def test_another_checksum_is_refused(written):
    with pytest.raises(FileFormatError, match=r"checksum differs.*source: "):
        written("machine_cpu", ARFF, kept=ARFF + b"3,1\n")


def test_a_missing_set_says_where_it_can_be_had(tmp_path, monkeypatch):
    monkeypatch.delenv("PAIRRANK_DATA", raising=False)
    with pytest.raises(DatasetNotFoundError, match=r"PAIRRANK_DATA.*S1\.txt\.gz.*microsoft\.com"):
        load("letor4_mq2008")
    with pytest.raises(FileNotFoundError, match=r"S1\.txt\.gz is missing .*source: https"):
        load("letor4_mq2008", tmp_path)
    with pytest.raises(DatasetNotFoundError, match=r"ratings_no_timestamp.*source: "):
        load("ml-1m", tmp_path)
    monkeypatch.setenv("PAIRRANK_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"abalone\.arff\.gz is missing"):
        load("abalone")


def test_sides_and_ties_of_comparisons_are_read(written):
    parts = written("llmfao", b"worker,winner,left,right\n7,left,a,b\n7,right,a,c\n9,tie,b,c\n")
    assert parts.feature_names == ["a", "b", "c"]
    assert parts.y.i.tolist() == [0, 2, 1]
    assert parts.y.j.tolist() == [1, 0, 2]
    assert parts.y.magnitude.tolist() == [1.0, 1.0, 0.0]
    assert parts.y.groups.tolist() == ["7", "7", "9"]
    assert (parts.X.toarray() == np.eye(3)).all()
