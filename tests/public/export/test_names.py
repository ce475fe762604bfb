"""Names of features: where they come from, how every format quotes them, which are refused."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from export_readers import READERS, linear_model
from pairrank import RankRLS, RankSVM
from pairrank.exceptions import PairrankError
from pairrank.export import export

NAMED = sorted(set(READERS) - {"onnx", "ranklib"})

ODD = [
    'say "hi"', "it's", "a,b", "select", '" FROM documents; DROP TABLE documents; --', "x y", " ",
    "größe", "日本", "é",
    "back\\slash", "{brace}", "%s", "[x]", "`tick`", "1", "-", "\U0001f600", "#", '"', "''", '"""',
]  # fmt: skip
"""Names that break naive quoting; SQLite compares the ASCII ones without case."""

ROWS = np.random.default_rng(1).normal(size=(20, len(ODD)))
LABELS = np.arange(20.0) % 4


def written(model, format, **options):
    file = io.BytesIO()
    export(model, file, format, **options)
    return file.getvalue()


@pytest.mark.parametrize("format", NAMED)
def test_odd_names_are_quoted(format):
    ranker = RankRLS().fit(ROWS, LABELS)
    content = written(ranker, format, feature_names=ODD)
    found = READERS[format](content, ODD, ROWS)
    np.testing.assert_allclose(found, ranker.predict(ROWS), atol=1e-4)


@given(st.text(st.characters().filter(str.isprintable), min_size=1))
def test_any_text_that_can_be_printed_is_a_name(name):
    ranker = RankRLS().fit(ROWS[:, :2], LABELS)
    names = [name, name + "2"]
    for format in NAMED:
        found = READERS[format](written(ranker, format, feature_names=names), names, ROWS[:, :2])
        np.testing.assert_allclose(found, ranker.predict(ROWS[:, :2]), atol=1e-5)


def test_names_come_from_the_fit_unless_they_are_given():
    frame = pd.DataFrame(ROWS[:, :2], columns=["title", "body"])
    ranker = RankSVM().fit(frame, LABELS)
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(frame, LABELS)
    assert linear_model(ranker).names == linear_model(pipeline).names == ["title", "body"]
    assert linear_model(pipeline, ["t", "b"]).names == ["t", "b"]
    assert linear_model(RankSVM().fit(ROWS[:, :2], LABELS)).names == ["f1", "f2"]


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["a"], "has 1 names, but the model has 2 features"),
        ("ab", "give a list with one name per feature"),
        (["a", "a"], "features 0 and 1 are both named 'a'"),
        (["a", "b\0"], r"feature_names\[1\]"),
        (["a\nb", "b"], r"feature_names\[0\] = 'a\\nb' cannot be written"),
        (["\ud800", "b"], r"feature_names\[0\]"),
        (["a", 3], r"feature_names\[1\] = 3"),
    ],
)
def test_names_that_cannot_be_written_are_refused(names, complaint, tmp_path):
    ranker = RankSVM().fit(ROWS[:, :2], LABELS)
    with pytest.raises(PairrankError, match=complaint):
        ranker.export(tmp_path / "weights.csv", feature_names=names)
    assert list(tmp_path.iterdir()) == []


def test_names_are_refused_where_a_format_has_none():
    ranker = RankSVM().fit(ROWS[:, :2], LABELS)
    with pytest.raises(PairrankError, match="features have numbers in format 'ranklib'"):
        written(ranker, "ranklib", feature_names=["a", "b"])
    with pytest.raises(PairrankError, match="a model has no name in format 'csv'"):
        written(ranker, "csv", name="mine")
    assert b'"name": "mine \\"1\\""' in written(ranker, "solr", name='mine "1"')
    assert b'"name": "pairrank"' in written(ranker, "opensearch")
