"""Readers of exported models that compute as the documentation of each engine says."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sqlite3
from typing import Any, NamedTuple

import numpy as np

from pairrank.export import export


def sum_of_products(weights: Any, rows: Any, features: type, sums: type) -> np.ndarray:
    """Add the products of every row one by one, each rounded to a type."""
    scores = []
    for row in np.asarray(rows):
        total = sums(0)
        for weight, value in zip(weights, row, strict=True):
            total = sums(total + sums(sums(weight) * sums(features(value))))
        scores.append(float(total))
    return np.array(scores)


def read_plugin(content: bytes, names: list[str], X: Any) -> np.ndarray:
    """LinearRanker of the learning-to-rank plugins: float weights in the order of the set."""
    model = json.loads(content)["model"]
    assert isinstance(model["name"], str)
    assert model["model"]["type"] == "model/linear"
    definition = json.loads(model["model"]["definition"])
    weights = [0.0] * len(names)
    for name, weight in definition.items():
        weights[names.index(name)] = weight
    return sum_of_products(weights, X, np.float32, np.float32)


def read_solr(content: bytes, names: list[str], X: Any) -> np.ndarray:
    """LinearModel of Solr: a Double for every feature, cast to float."""
    model = json.loads(content)
    assert model["class"] == "org.apache.solr.ltr.model.LinearModel"
    assert [feature["name"] for feature in model["features"]] == names
    weights = [model["params"]["weights"][name] for name in names]
    assert all(isinstance(weight, float) for weight in weights)  # Solr casts them to Double
    return sum_of_products(weights, X, np.float32, np.float32)


def read_ranklib(content: bytes, names: list[str], X: Any) -> np.ndarray:
    """CoorAscent of RankLib: the first line names the ranker, features are floats from 1."""
    header, *lines = content.decode("ascii").splitlines()
    assert header == "## Coordinate Ascent"
    (line,) = [line for line in lines if line.strip() and not line.startswith("##")]
    pairs = [pair.split(":") for pair in line.split(" ")]
    assert [int(number) for number, _ in pairs] == list(range(1, len(names) + 1))
    return sum_of_products([float(text) for _, text in pairs], X, np.float32, np.float64)


def read_json(content: bytes, names: list[str], X: Any) -> np.ndarray:
    record = json.loads(content)
    assert record["format"] == "pairrank-linear"
    assert record["version"] == 1
    assert record["names"] == names
    return np.asarray(X) @ record["weights"] + record["offset"]


def read_csv(content: bytes, names: list[str], X: Any) -> np.ndarray:
    header, *lines = csv.reader(io.StringIO(content.decode(), newline=""))
    assert header == ["feature", "weight"]
    assert [name for name, _ in lines] == names
    return np.asarray(X) @ [float(weight) for _, weight in lines]


def read_sql(content: bytes, names: list[str], X: Any) -> np.ndarray:
    """Run the expression in SQLite, over a table with a column per feature."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE documents ({', '.join(f'{name} REAL' for name in quoted)})")
        places = ", ".join("?" * len(names))
        database.executemany(f"INSERT INTO documents VALUES ({places})", np.asarray(X).tolist())
        found = database.execute(f"SELECT {content.decode()} FROM documents ORDER BY rowid")
        return np.array([score for (score,) in found], dtype=float)


def read_onnx(content: bytes, names: list[str], X: Any) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["feature_names"]) == names
    (scores,) = session.run(["scores"], {"features": np.asarray(X, dtype=np.float32)})
    assert scores.shape == (len(X),)
    return scores.astype(float)


READERS = {
    "elasticsearch": read_plugin,
    "opensearch": read_plugin,
    "solr": read_solr,
    "ranklib": read_ranklib,
    "json": read_json,
    "csv": read_csv,
    "sql": read_sql,
    "onnx": read_onnx,
}
"""Format -> function from the content of a file, names and rows to scores."""

WITHOUT_OFFSET = frozenset(READERS) - {"json", "sql", "onnx"}
"""Formats that leave out what is the same for every row."""

SUFFIXES = {"ranklib": ".ranklib", "csv": ".csv", "sql": ".sql"}
"""Those that belong to one format."""

UNITS = {
    "ranklib": 2.0**-24,
    **dict.fromkeys(["elasticsearch", "opensearch", "solr", "onnx"], 2.0**-24),
    **dict.fromkeys(["json", "csv", "sql"], 2.0**-53),
}
"""Format -> the largest relative rounding error of a number, a product or a sum."""


class Linear(NamedTuple):
    """A linear model as its JSON export has it."""

    names: list[str]
    weights: np.ndarray
    offset: float
    ranker: str


def linear_model(model: Any, feature_names: list[str] | None = None) -> Linear:
    """Export a model to JSON and read it."""
    file = io.BytesIO()
    export(model, file, "json", feature_names=feature_names)
    record = json.loads(file.getvalue())
    weights = np.array(record["weights"])
    return Linear(record["names"], weights, record["offset"], record["ranker"])


def rounding_bound(format: str, weights: Any, X: Any) -> float:
    """Return how far a score may be from the model's, the offset apart.

    Features, weights, products and sums are each rounded: n + 3 errors per term of n features at
    most, one more for the offset, and as many in float64 for the model's own score, plus four for
    a scaler (its center and scale, the difference and the quotient). No term is larger than weight
    times largest feature, and a center lies between the features. SQLite reads literals with an
    error of one unit more.
    """
    largest = float(np.abs(weights) @ np.abs(np.asarray(X)).max(axis=0))
    n = len(weights)
    counts = (n + 6) * UNITS[format] + (n + 8) * 2.0**-53
    return 2 * largest * counts / (1 - counts)
