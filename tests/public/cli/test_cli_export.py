"""pairrank export: formats, names, the check of the order, files and their errors."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from export_readers import READERS
from pairrank import load_model
from pairrank.io import write_rows

NAMES = ["f1", "f2", "f3", "f4"]


@pytest.mark.parametrize("format", ["solr", "sql"])
def test_a_model_is_written_in_a_format(folder, tmp_path, format):
    target = tmp_path / "out"
    done = run("export", folder / "model", "-o", target, "--format", format)
    assert done.stdout == done.stderr == ""
    X = make_rows(0).X
    found = READERS[format](target.read_bytes(), NAMES, X)
    np.testing.assert_allclose(found, load_model(folder / "model").predict(X), atol=1e-4)
    piped = run("export", "-", "--format", format, stdin=(folder / "model").read_bytes())
    assert piped.stdout_bytes == target.read_bytes()


def test_the_suffix_names_the_format(folder, tmp_path):
    run("export", folder / "model", "-o", tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_text().startswith("feature,weight\nf1,")
    said = refused("export", folder / "model", "-o", tmp_path / "m.json")
    assert "one of elasticsearch, opensearch, solr, json" in said
    assert "one of elasticsearch" in refused("export", folder / "model")
    assert "not one of elasticsearch" in misused("export", folder / "model", "--format", "pmml")


def test_names_are_the_models_or_given(folder, tmp_path):
    def names(model, *asked):
        shown = run("export", folder / model, "--format", "csv", *asked).stdout
        return [line.split(",")[0] for line in shown.splitlines()[1:]]

    given = "--feature-names"
    (tmp_path / "names").write_text("title match\nbody\nage\nclicks\n", encoding="utf-8")
    assert names("named") == ["f0", "f1", "f2", "f3"]
    assert names("model", given, f"@{tmp_path}/names") == ["title match", "body", "age", "clicks"]
    assert names("model", given, "a,b,c,d") == ["a", "b", "c", "d"]
    said = refused("export", folder / "model", "--format", "csv", given, " ,")
    assert "--feature-names holds no name" in said
    shown = run("export", folder / "model", "--format", "opensearch", "--name", "shop")
    assert json.loads(shown.stdout)["model"]["name"] == "shop"


@pytest.mark.parametrize(
    ("model", "data", "columns"),
    [("model", "train.txt", []), ("named", "train.csv", ["--label", "label", "--qid", "qid"])],
)
def test_a_check_says_that_the_order_is_kept(folder, tmp_path, model, data, columns):
    asked = ["-o", tmp_path / "m", "--format", "json", "--check", folder / data, *columns]
    done = run("export", folder / model, *asked)
    assert done.stdout == ""
    assert done.stderr.startswith("pairrank: check: the order of all ")
    assert done.stderr.endswith("pairs is kept (60 rows, 6 queries).\n")
    assert len(done.stderr.splitlines()) == 1


def test_a_check_names_the_queries_whose_order_changes(folder, tmp_path):
    near = make_rows(1)
    write_rows(tmp_path / "far.txt", near._replace(X=1e9 + near.X))
    asked = ["-o", tmp_path / "m", "--format", "solr", "--check", tmp_path / "far.txt"]
    said = run("export", folder / "model", *asked).stderr
    assert said.startswith("pairrank: warning: format 'solr' is computed in float32: ")
    assert "in 6 of 6 queries: " in said
    assert ": 0, 1, 2, 3, 4, 5; subtract a constant " in said
    assert (tmp_path / "m").exists()


def test_bad_input_leaves_no_file(folder, tmp_path):
    target, model, kernel = tmp_path / "out.csv", folder / "model", tmp_path / "kernel"
    run("train", folder / "train.txt", "-o", kernel, "-q", "--kernel", "rbf")
    assert "not linear" in refused("export", kernel, "-o", target)
    assert "no such file" in refused("export", model, "-o", target, "--check", "nosuch.txt")
    assert "folder does not exist" in refused("export", model, "-o", target / "x.csv")
    misused("export", "-", "-o", target, "--check", "-")
    assert list(tmp_path.iterdir()) == [kernel]
    before = model.read_bytes()
    assert "is an input too" in refused("export", model, "-o", model, "--format", "csv")
    assert model.read_bytes() == before


def test_features_keep_their_numbers_in_svmlight_text_that_counts_from_0(tmp_path):
    (tmp_path / "rows.txt").write_text("1 0:1 1:2\n0 0:2 1:1\n")
    run("train", tmp_path / "rows.txt", "-o", tmp_path / "model", "-q")
    shown = run("export", tmp_path / "model", "--format", "csv").stdout
    assert [line.split(",")[0] for line in shown.splitlines()] == ["feature", "f0", "f1"]
    assert " 2:" in run("export", tmp_path / "model", "--format", "ranklib").stdout
    run("convert", tmp_path / "rows.txt", tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text().startswith("label,f0,f1\n")
