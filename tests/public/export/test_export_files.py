"""Files of exports: whole or not at all, and the check of the order in the engine's arithmetic."""

from __future__ import annotations

import gzip
import io
import json
import os

import numpy as np
import pytest
from scipy import sparse

from export_readers import SUFFIXES
from pairrank import RankRLS, RankSVM
from pairrank.exceptions import FileAccessError, OrderChangeWarning, PairrankError
from pairrank.export import export

RANKER = RankSVM().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 2])


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("m.CSV", "csv"),
        ("m.csv.gz", "csv"),
        *((f"m{suffix}", name) for name, suffix in SUFFIXES.items()),
    ],
)
def test_a_suffix_of_one_format_names_it(name, format, tmp_path):
    assert RANKER.export(tmp_path / name) is None
    RANKER.export(tmp_path / "named", format)
    found = (tmp_path / name).read_bytes()
    found = gzip.decompress(found) if name.endswith("gz") else found
    assert found == (tmp_path / "named").read_bytes()


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("m.json", "one of elasticsearch, opensearch, solr, json$"),
        ("m.txt", "one of elasticsearch, .*sql$"),
        ("-", "^-: the name does not tell the format"),
    ],
)
def test_a_suffix_that_leaves_a_choice_needs_a_format(name, listed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PairrankError, match=listed):
        RANKER.export(name)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(PairrankError, match="format must be one of 'elasticsearch'"):
        RANKER.export(tmp_path / "m.csv", "pmml")
    with pytest.raises(PairrankError, match="a file object: the name does not tell the format"):
        RANKER.export(io.BytesIO())


def test_a_failed_export_leaves_the_old_file(tmp_path):
    target = tmp_path / "m.json"
    RANKER.export(target, "json")
    before = target.read_bytes()
    with pytest.raises(PairrankError):
        RANKER.export(target, "json", check=([[np.inf, 0.0]], None))
    os.chmod(target, 0o444)
    with pytest.raises(FileAccessError, match="read-only"):
        RANKER.export(target, "solr")
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_the_same_ranker_gives_the_same_bytes_on_standard_output(capfdbinary, tmp_path):
    RANKER.export("-", "json")
    RANKER.export(tmp_path / "m.json", "json")
    shown = capfdbinary.readouterr().out
    assert shown == (tmp_path / "m.json").read_bytes()
    assert json.loads(shown)["ranker"] == "RankSVM"


def test_rows_that_float32_cannot_tell_apart_are_named_after_the_file_is_written(tmp_path):
    X = 1e8 + np.array([[0.0], [1.0], [2.0], [0.0], [64.0]])
    qid = ["a", "a", "a", "b", "b"]
    ranker = RankRLS().fit(X, [0, 1, 2, 0, 1], qid=qid)
    with pytest.warns(
        OrderChangeWarning, match="'solr' is computed in float32: .* 1 of 2 queries: 'a';"
    ):
        check = ranker.export(tmp_path / "m", "solr", check=(X, qid))
    assert (tmp_path / "m").exists()
    assert (check.n_changed, check.n_pairs, check.changed_queries) == (3, 4, ["a"])
    assert ranker.export(io.BytesIO(), "json", check=(X, qid)).changed_queries == []


@pytest.mark.parametrize("sparsely", [False, True])
def test_rows_beyond_float32_are_refused(sparsely, tmp_path):
    X = np.array([[0.0], [1.0], [2.0]])
    ranker, far = RankSVM().fit(X, [0, 1, 2]), np.array([[1.0], [1e300]])
    far = sparse.csr_array(far) if sparsely else far
    with pytest.raises(PairrankError, match="the score of row 1 overflows float32"):
        ranker.export(tmp_path / "m", "ranklib", check=(far, None))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("check", "complaint"),
    [
        (np.ones((2, 2)), "a tuple of two"),
        (([[1.0], [2.0]],), "a tuple of two"),
        (([[1.0, 2.0]], None), "X has 2 features, but the model 1"),
        (([[np.nan]], None), "NaN in row 0"),
        (([[1.0], [2.0]], [1]), "1 entries for 2 rows"),
    ],
)
def test_a_check_that_cannot_be_made_is_refused(check, complaint, tmp_path):
    ranker = RankSVM().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(PairrankError, match=complaint):
        export(ranker, tmp_path / "m", "csv", check=check)
    assert list(tmp_path.iterdir()) == []
