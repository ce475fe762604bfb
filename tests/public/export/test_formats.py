"""Formats: independent readers compute a model's scores, and read every name of a feature."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from export_readers import READERS, WITHOUT_OFFSET, linear_model, rounding_bound
from pairrank import ConvexHullRanker, GreedyRankRLS, MPRank, RankRLS, RankRLSCV, RankSVM
from pairrank.datasets import make_queries
from pairrank.exceptions import PairrankError
from pairrank.export import export

DATA = make_queries(8, 25, 6, random_state=0)
X, HELD = DATA.X[:100] * [1, 10, 0.1, 1, 3, 1] + [0, 5, -1, 2, 0, 7], DATA.X[100:] * 1.5 + 1
Y, QID = DATA.y[:100], DATA.qid[:100]

MODELS = {
    "RankSVM": RankSVM(),
    "MPRank": MPRank(C=10.0),
    "ConvexHullRanker": ConvexHullRanker(nu=1e-3),
    "RankRLSCV": RankRLSCV(),
    "GreedyRankRLS": GreedyRankRLS(3),
    "scaled twice": make_pipeline(MinMaxScaler((-1, 3)), StandardScaler(), RankRLS()),
    "search": GridSearchCV(RankRLS(), {"alpha": [0.1, 1.0]}, cv=2),
}

CASES = [
    pytest.param(name, marks=pytest.mark.extras) if name == "onnx" else name for name in READERS
]


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    """A fitted model, and the scores of held-out rows by its own arithmetic."""
    given = {} if request.param in ("search", "scaled twice") else {"qid": QID}
    fitted = MODELS[request.param].fit(X, Y, **given)
    if not hasattr(fitted, "predict"):
        return fitted, fitted.transform(HELD) @ fitted.coef_
    return fitted, fitted.predict(HELD)


def need(format):
    if format == "onnx":
        pytest.importorskip("onnx", reason="pip install 'pairrank[onnx]' to test this format")
        pytest.importorskip("onnxruntime", reason="onnxruntime reads what format onnx writes")


def content_of(model, format, **options):
    file = io.BytesIO()
    result = export(model, file, format, **options)
    return file.getvalue(), result


@pytest.mark.parametrize("format", CASES)
def test_scores_are_those_of_the_model_and_keep_its_order(model, format):
    need(format)
    fitted, expected = model
    content, check = content_of(fitted, format, check=(HELD, DATA.qid[100:]))
    found = READERS[format](content, [f"f{number}" for number in range(1, 7)], HELD)
    linear = linear_model(fitted)
    if format in WITHOUT_OFFSET:
        found = found + linear.offset
    bound = rounding_bound(format, linear.weights, np.vstack([X, HELD]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
    assert np.ptp(expected) > 100 * bound, "the bound must tell rows apart"
    assert (check.n_rows, check.n_queries) == (100, 4)
    assert check.largest_difference <= 2 * bound


def test_weights_of_an_engine_are_float32_numbers():
    ranker = RankSVM().fit(X, Y, qid=QID)
    weights = json.loads(content_of(ranker, "solr")[0])["params"]["weights"]
    np.testing.assert_array_equal(list(weights.values()), ranker.coef_.astype(np.float32))


@pytest.mark.extras
def test_an_onnx_graph_states_its_operators():
    onnx = pytest.importorskip("onnx", reason="pip install 'pairrank[onnx]' to test this format")
    ranker = RankSVM().fit(X, Y, qid=QID)
    graph = onnx.load_from_string(content_of(ranker, "onnx")[0])
    assert [(each.domain, each.version) for each in graph.opset_import] == [("", 13)]
    assert [node.op_type for node in graph.graph.node] == ["MatMul", "Add"]
    assert graph.producer_name == "pairrank"


def test_an_offset_beyond_float32_is_refused():
    need("onnx")
    model = make_pipeline(StandardScaler(), RankSVM()).fit(X, Y)
    model[0].mean_ = np.full(6, 1e300)
    with pytest.raises(ValueError, match=r"the offset .* is too large for float32"):
        content_of(model, "onnx")


def test_onnx_that_is_absent_is_named_with_its_remedy(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    ranker = RankSVM().fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match=r"pip install 'pairrank\[onnx\]'"):
        ranker.export(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


NAMED = sorted(set(READERS) - {"onnx", "ranklib"})

ODD = [
    'say "hi"', "it's", "a,b", "select", '" FROM documents; DROP TABLE documents; --', "x y", " ",
    "größe", "日本", "é",
    "back\\slash", "{brace}", "%s", "[x]", "`tick`", "1", "-", "\U0001f600", "#", '"', "''", '"""',
]  # fmt: skip
"""Names that break naive quoting; SQLite compares the ASCII ones without case."""

ROWS = np.random.default_rng(1).normal(size=(20, len(ODD)))
LABELS = np.arange(20.0) % 4


@pytest.mark.parametrize("format", NAMED)
def test_odd_names_are_quoted(format):
    ranker = RankRLS().fit(ROWS, LABELS)
    content, _ = content_of(ranker, format, feature_names=ODD)
    found = READERS[format](content, ODD, ROWS)
    np.testing.assert_allclose(found, ranker.predict(ROWS), atol=1e-4)


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
        (["a", ""], r"feature_names\[1\] = ''"),
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
        content_of(ranker, "ranklib", feature_names=["a", "b"])
    with pytest.raises(PairrankError, match="a model has no name in format 'csv'"):
        content_of(ranker, "csv", name="mine")
    assert b'"name": "mine \\"1\\""' in content_of(ranker, "solr", name='mine "1"')[0]
    assert b'"name": "pairrank"' in content_of(ranker, "opensearch")[0]
