"""Files of exported models: the format by the suffix, atomic writing, compression, streams."""

from __future__ import annotations

import gzip
import io
import json
import os

import numpy as np
import pytest

from export_readers import SUFFIXES
from pairrank import RankSVM
from pairrank.exceptions import FileAccessError, PairrankError

RANKER = RankSVM().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 2])


@pytest.mark.parametrize(
    ("name", "format"),
    [("m.CSV", "csv"), *((f"m{suffix}", name) for name, suffix in SUFFIXES.items())],
)
def test_a_suffix_of_one_format_names_it(name, format, tmp_path):
    assert RANKER.export(tmp_path / name) is None
    RANKER.export(tmp_path / "named", format)
    assert (tmp_path / name).read_bytes() == (tmp_path / "named").read_bytes()


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("m.json", "one of elasticsearch, opensearch, solr, json$"),
        ("m.json.gz", "one of elasticsearch, opensearch, solr, json$"),
        ("m.txt", "one of elasticsearch, .*sql$"),
        ("onnx", "one of elasticsearch"),
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


def test_files_are_compressed_by_their_suffix(tmp_path):
    RANKER.export(tmp_path / "m.csv")
    RANKER.export(tmp_path / "m.csv.gz")
    assert (
        gzip.decompress((tmp_path / "m.csv.gz").read_bytes()) == (tmp_path / "m.csv").read_bytes()
    )


def test_the_same_ranker_gives_the_same_bytes_on_standard_output(capfdbinary, tmp_path):
    RANKER.export("-", "json")
    RANKER.export(tmp_path / "m.json", "json")
    shown = capfdbinary.readouterr().out
    assert shown == (tmp_path / "m.json").read_bytes()
    assert json.loads(shown)["ranker"] == "RankSVM"
