"""Columns at the command line: what a model file remembers, what is left out, what is warned of."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import refused, run
from pairrank import RankSVM
from pairrank.cli._columns import recalled
from pairrank.estimators.model_files import load_model, read_ranker, save_model
from pairrank.exceptions import FileFormatError
from pairrank.io import write_rows
from pairrank.io.model_file import read_model, write_model

NAMED = {"label": "grade", "qid": "query", "weight": "views", "docid": "doc"}
OPTIONS = [word for role, column in NAMED.items() for word in (f"--{role}", column)]


def rows_of(seed):
    rows = make_rows(seed)
    ids = np.array([f"d{seed}-{row}" for row in range(len(rows.y))])
    return rows._replace(weight=np.linspace(1, 3, len(rows.y)), docid=ids)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with rows in three formats, and models trained on tables and on svmlight text."""
    home = tmp_path_factory.mktemp("columns")
    for seed, name in enumerate(["train", "test"]):
        for suffix in ("csv", "parquet"):
            write_rows(home / f"{name}.{suffix}", rows_of(seed), **NAMED)
        write_rows(home / f"{name}.txt", rows_of(seed)._replace(weight=None))
    run("train", home / "train.csv", "-o", home / "named", "-q", *OPTIONS)
    run("train", home / "train.txt", "-o", home / "plain", "-q")
    return home


@pytest.mark.parametrize(
    ("given", "pairs", "wanted"),
    [
        ({}, False, {"label": "l", "qid": "q", "winner_weight": "w"}),
        ({"label": "m"}, False, {"label": "m", "qid": "q", "winner_weight": "w"}),
        ({"qid": ""}, False, {"label": "l", "qid": "", "winner_weight": "w"}),
        ({"time": "t", "event": "e"}, False, {"qid": "q", "time": "t", "event": "e"}),
        ({}, True, {"qid": "q", "winner_weight": "w"}),
    ],
)
def test_what_is_given_replaces_what_is_remembered(given, pairs, wanted):
    asked = {"label": None, "qid": None, "winner_weight": None, "time": None, **given}
    found = recalled(asked, {"label": "l", "qid": "q", "winner_weight": "w"}, pairs=pairs)
    assert {role: column for role, column in found.items() if column is not None} == wanted


def test_weights_of_winners_replace_remembered_times():
    asked = {"label": None, "time": None, "event": None, "winner_weight": "w"}
    found = recalled(asked, {"time": "t", "event": "e", "qid": "q"}, pairs=False)
    assert found == {**asked, "qid": "q"}


def test_a_model_file_keeps_columns_and_refuses_damaged_ones(tmp_path):
    ranker = RankSVM().fit([[0.0], [1.0]], [0, 1])
    save_model(ranker, tmp_path / "m", columns=NAMED)
    assert read_ranker(tmp_path / "m").columns == NAMED
    ranker.save(tmp_path / "none")
    assert read_ranker(tmp_path / "none").columns == {}
    record = read_model(tmp_path / "m")
    for part, bad in (("columns", []), ("columns", {"qid": 3}), ("zero_based", 1)):
        write_model(tmp_path / "m", record._replace(info={**record.info, part: bad}))
        with pytest.raises(FileFormatError, match="its columns are of a wrong type"):
            load_model(tmp_path / "m")


def test_a_model_remembers_that_features_count_from_0(tmp_path):
    (tmp_path / "a.txt").write_text("2 0:3 2:1\n1 1:2\n0 0:1 1:4\n")
    (tmp_path / "b.txt").write_text("1 1:2\n0 2:1\n")  # auto alone would read features 0 and 1
    valid = ["--valid", tmp_path / "b.txt", "--json"]
    record = json.loads(run("train", tmp_path / "a.txt", "-o", tmp_path / "m", *valid).stdout)
    assert read_ranker(tmp_path / "m").zero_based is True
    coef = load_model(tmp_path / "m").coef_
    scores = [
        float(line) for line in run("predict", tmp_path / "m", tmp_path / "b.txt").stdout.split()
    ]
    assert scores == pytest.approx([2 * coef[1], coef[2]])
    assert record["valid pairwise_accuracy"] == float(scores[0] > scores[1])


def test_features_from_0_are_refused_by_a_model_of_features_from_1(folder, tmp_path):
    (tmp_path / "zero.txt").write_text("1 0:1 3:2\n0 1:1\n")
    assert read_ranker(folder / "plain").zero_based is False
    said = refused("predict", folder / "plain", tmp_path / "zero.txt")
    assert "line 1: index 0, though indices count from 1 (as in the rows of the training" in said
    run("predict", folder / "named", tmp_path / "zero.txt")
