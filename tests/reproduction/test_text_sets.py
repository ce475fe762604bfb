"""Text sets: splits, labels, and lines that are damaged."""

from __future__ import annotations

import gzip
import hashlib

import numpy as np
import pytest

from pairrank.exceptions import FileFormatError, PairrankError
from reproduction.data import describe, load
from reproduction.data.text import load_vw_text


def test_reuters_is_the_modapte_split(data_home):
    train = load("reuters21578", data_home)
    test = load("reuters21578", data_home, subset="test")
    assert (train.y.size, test.y.size) == (9603, 3299)
    assert (train.y.sum(), test.y.sum()) == (2877, 1087)
    assert train.X.shape[1] == test.X.shape[1]
    lengths = np.sqrt(train.X.multiply(train.X).sum(axis=1))
    assert np.allclose(lengths[lengths > 0], 1.0)
    assert load("reuters21578", data_home, topic="grain").y.sum() == 433


def test_reuters_knows_its_topics(data_home):
    with pytest.raises(PairrankError, match=r"topic='sports'; choose one of .*'acq'"):
        load("reuters21578", data_home, topic="sports")


def test_vw_sample_has_its_labels(data_home):
    train = load("vw_rcv1_small", data_home)
    test = load("vw_rcv1_small", data_home, subset="test")
    assert ((train.y == 1).sum(), (test.y == 1).sum()) == (459, 245)
    assert np.allclose(train.X.multiply(train.X).sum(axis=1), 1.0, atol=1e-6)


def test_a_damaged_vw_line_is_named(tmp_path, monkeypatch):
    record = describe("vw_rcv1_small")
    content = b"1 |f 1:0.5 2:0.5\n-1 |f x:1\n"
    digest = hashlib.sha256(content).hexdigest()
    monkeypatch.setitem(record.files, "rcv1_small.dat.gz", digest)
    (tmp_path / record.name).mkdir()
    (tmp_path / record.name / "rcv1_small.dat.gz").write_bytes(gzip.compress(content))
    with pytest.raises(FileFormatError, match=r"rcv1_small.dat.gz, line 2: .*'x'"):
        load_vw_text(record, tmp_path)
