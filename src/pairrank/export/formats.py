"""The table of export formats: their writers, and how what reads them computes."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._extras import require
from pairrank._protocols import FloatArray
from pairrank._validation import check_choice
from pairrank.exceptions import PairrankError
from pairrank.io._streams import uncompressed


class LinearModel(NamedTuple):
    """A score that is linear in the raw features: sum of weight times feature, plus the offset.

    The names of the features are all different; `ranker` is the name of the ranker's class, and
    `title` that of the model in a search engine.
    """

    names: list[str]
    weights: FloatArray
    offset: float
    ranker: str
    title: str = "pairrank"


class Arithmetic(NamedTuple):
    """The types in which a score is computed.

    The products of weights and features are added one by one, in the order of the features; each
    product and each sum is rounded. `sums` is the type of the weights, the products and the sums;
    `adds_offset` says whether the offset is added at the end.
    """

    features: type
    sums: type
    adds_offset: bool = False

    @property
    def precision(self) -> str:
        """The type in words."""
        return "float32" if np.float32 in (self.features, self.sums) else "float64"

    def scores(self, X: Any, weights: NDArray[np.float64], offset: float) -> NDArray[np.float64]:
        """Return the score of each row of a dense or CSR matrix; O(entries).

        Raises a PairrankError if a feature or a score is too large for its type.
        """
        columns = sparse.csc_matrix(X)
        columns.sum_duplicates()
        result = np.zeros(X.shape[0], dtype=self.sums)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            values = columns.data.astype(self.features).astype(self.sums)
            for feature, weight in enumerate(weights.astype(self.sums)):
                entries = slice(columns.indptr[feature], columns.indptr[feature + 1])
                result[columns.indices[entries]] += values[entries] * weight
            if self.adds_offset:
                result += self.sums(offset)
        if not np.isfinite(result).all():
            row = int(np.argmin(np.isfinite(result)))
            raise PairrankError(
                f"the score of row {row} overflows {self.precision}, in which it is computed: "
                "scale the features down and fit again"
            )
        return result.astype(np.float64)


SINGLE = Arithmetic(np.float32, np.float32)
"""Search engines: all in float32."""
MIXED = Arithmetic(np.float32, np.float64)
"""RankLib: features in float32, all else in float64."""
DOUBLE = Arithmetic(np.float64, np.float64, adds_offset=True)
"""Databases and programs."""


def learning_to_rank_plugin(model: LinearModel) -> str:
    """Return the body of POST _ltr/_featureset/SET/_createmodel, a `model/linear` definition.

    The plugins of Elasticsearch and OpenSearch take the definition as text that holds JSON.
    """
    weights = _single_by_name(model)
    definition = {"type": "model/linear", "definition": json.dumps(weights)}
    return _json({"model": {"name": model.title, "model": definition}})


def solr(model: LinearModel) -> str:
    """Return a LinearModel for Solr's model store, with a weight for every feature."""
    return _json(
        {
            "class": "org.apache.solr.ltr.model.LinearModel",
            "name": model.title,
            "features": [{"name": feature} for feature in model.names],
            "params": {"weights": _single_by_name(model)},
        }
    )


def ranklib(model: LinearModel) -> str:
    """Return a Coordinate Ascent model, RankLib's linear ranker; features are numbered from 1."""
    weights = enumerate(model.weights.tolist(), start=1)
    return "## Coordinate Ascent\n" + " ".join(f"{id}:{w!r}" for id, w in weights) + "\n"


def single_weights(model: LinearModel) -> np.ndarray:
    """Return the weights as float32; raise a PairrankError for one that is too large for it."""
    with np.errstate(over="ignore", under="ignore"):
        weights = model.weights.astype(np.float32)
    if not np.isfinite(weights).all():
        feature = int(np.argmin(np.isfinite(weights)))
        raise PairrankError(
            f"the weight {model.weights[feature]:g} of feature {model.names[feature]!r} is too "
            "large for float32, in which the engine computes: multiply the feature by a large "
            "constant and fit again"
        )
    return weights


def _single_by_name(model: LinearModel) -> dict[str, float]:
    """Return float32 weights as numbers whose text every parser reads as the same float32."""
    return dict(zip(model.names, single_weights(model).astype(np.float64).tolist(), strict=True))


def _json(body: object) -> str:
    return json.dumps(body, indent=2) + "\n"


def as_json(model: LinearModel) -> str:
    """Return names, weights and offset as a JSON object."""
    return _json(
        {
            "format": "pairrank-linear",
            "version": 1,
            "pairrank": version("pairrank"),
            "ranker": model.ranker,
            "offset": model.offset,
            "names": model.names,
            "weights": model.weights.tolist(),
        }
    )


def as_csv(model: LinearModel) -> str:
    """Return a table with the columns feature and weight."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("feature", "weight"))
    writer.writerows(zip(model.names, model.weights.tolist(), strict=True))
    return text.getvalue()


def as_sql(model: LinearModel) -> str:
    """Return an expression over columns with the names of the features.

    Identifiers are quoted as in standard SQL. Numbers have an exponent, so that databases compute
    with floating point, not with decimals. Features of weight 0 are left out.
    """
    number = functools.partial(np.format_float_scientific, trim="-")
    columns = ('"' + name.replace('"', '""') + '"' for name in model.names)
    weighted = zip(columns, model.weights.tolist(), strict=True)
    terms = [f"{number(weight)} * {column}" for column, weight in weighted if weight]
    return "\n+ ".join([*terms, number(model.offset)]) + "\n"


OPSET = 13
"""The version of ONNX's operators; runtimes since 2020 have it."""


def as_onnx(model: LinearModel) -> bytes:
    """Return a graph from `features`, float32 (rows, features), to `scores`, float32 (rows,).

    The metadata hold the names of the features as a JSON list, under `feature_names`.
    """
    onnx = require("onnx", "onnx", "ONNX files")
    helper, single = onnx.helper, onnx.TensorProto.FLOAT
    if abs(model.offset) > float(np.finfo(np.float32).max):
        raise PairrankError(
            f"the offset {model.offset:g} is too large for float32, in which ONNX computes: "
            "subtract a constant from the features and fit again"
        )
    constants = {"weights": single_weights(model), "offset": np.float32(model.offset)}
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["features", "weights"], ["products"]),
            helper.make_node("Add", ["products", "offset"], ["scores"]),
        ],
        name="pairrank",
        inputs=[helper.make_tensor_value_info("features", single, ["rows", len(model.names)])],
        outputs=[helper.make_tensor_value_info("scores", single, ["rows"])],
        initializer=[
            onnx.numpy_helper.from_array(np.asarray(value), name)
            for name, value in constants.items()
        ],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    proto = helper.make_model(
        graph,
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name="pairrank",
        producer_version=version("pairrank"),
        doc_string=f"Scores of a linear {model.ranker}; higher ranks better.",
    )
    helper.set_model_props(proto, {"feature_names": json.dumps(model.names)})
    onnx.checker.check_model(proto)
    return bytes(proto.SerializeToString())


class Format(NamedTuple):
    """A format: its writer, how scores are computed from the file, and the suffix of its name.

    `has_names` says whether features have names in the file, `has_title` whether the model has.
    """

    write: Callable[[LinearModel], str | bytes]
    arithmetic: Arithmetic
    suffix: str
    has_names: bool = True
    has_title: bool = False


_PLUGIN = Format(learning_to_rank_plugin, SINGLE, ".json", has_title=True)

FORMATS: dict[str, Format] = {
    "elasticsearch": _PLUGIN,
    "opensearch": _PLUGIN,
    "solr": Format(solr, SINGLE, ".json", has_title=True),
    "ranklib": Format(ranklib, MIXED, ".ranklib", has_names=False),
    "onnx": Format(as_onnx, SINGLE._replace(adds_offset=True), ".onnx"),
    "json": Format(as_json, DOUBLE, ".json"),
    "csv": Format(as_csv, DOUBLE._replace(adds_offset=False), ".csv"),
    "sql": Format(as_sql, DOUBLE, ".sql"),
}
"""Name -> format: a new one is a line here and a writer."""


def format_named(name: str | None, path: object) -> str:
    """Return the name of a format, by a file's suffix if the name is None.

    Raises a PairrankError for an unknown name, and if the suffix leaves a choice.
    """
    if name is not None:
        check_choice(name, "format", tuple(FORMATS))
        return name
    shown = os.fspath(path) if isinstance(path, str | os.PathLike) else "a file object"
    stem = uncompressed(shown).lower()
    found = [name for name, each in FORMATS.items() if stem.endswith(each.suffix)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(found or FORMATS)
    raise PairrankError(f"{shown}: the name does not tell the format: give format, one of {listed}")
