"""Sets of comparisons: the pairs that the files state, ready to be ranked."""

from __future__ import annotations

import gzip
import hashlib

import numpy as np
import pytest

from pairrank import RankSVM
from pairrank.exceptions import FileFormatError
from reproduction.data import describe, load
from reproduction.data.loaders import load_comparisons_csv


def written(tmp_path, monkeypatch, name, content):
    """Return the record of a set whose file is replaced by `content`."""
    record = describe(name)
    (file,) = record.files
    monkeypatch.setitem(record.files, file, hashlib.sha256(content).hexdigest())
    (tmp_path / name).mkdir()
    (tmp_path / name / file).write_bytes(gzip.compress(content))
    return record


def test_sides_and_ties_are_read(tmp_path, monkeypatch):
    content = b"worker,winner,left,right\n7,left,a,b\n7,right,a,c\n9,tie,b,c\n"
    parts = load_comparisons_csv(written(tmp_path, monkeypatch, "llmfao", content), tmp_path)
    assert parts.feature_names == ["a", "b", "c"]
    assert parts.y.i.tolist() == [0, 2, 1]
    assert parts.y.j.tolist() == [1, 0, 2]
    assert parts.y.magnitude.tolist() == [1.0, 1.0, 0.0]
    assert parts.y.groups.tolist() == ["7", "7", "9"]
    assert (parts.X.toarray() == np.eye(3)).all()


def test_a_winner_that_is_no_side_is_named(tmp_path, monkeypatch):
    content = b"winner,left,right\nleft,a,b\nboth,a,c\n"
    record = written(tmp_path, monkeypatch, "llmfao", content)
    with pytest.raises(
        FileFormatError, match=r"row 2: the winner must be left, right or tie .got 'both'"
    ):
        load_comparisons_csv(record, tmp_path)


def test_real_comparisons_are_all_there(data_home):
    pictures, models = load("gifgif", data_home), load("llmfao", data_home)
    assert (pictures.y.n_pairs, pictures.y.magnitude) == (106_887, None)
    assert pictures.y.groups is None
    assert models.y.n_pairs == 8931
    assert len(set(models.y.groups)) > 100
    assert (models.y.magnitude == 0.0).sum() == 3471


def test_items_are_ranked_by_their_comparisons(data_home):
    data = load("gifgif", data_home)
    ranker = RankSVM(C=10.0).fit(data.X, data.y)
    assert ranker.score(data.X, data.y) > 0.8
