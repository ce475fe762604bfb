"""Linear models as ONNX graphs: one matrix product and one sum, in float32."""

from __future__ import annotations

import json
from importlib.metadata import version

import numpy as np

from pairrank._extras import require
from pairrank.exceptions import PairrankError
from pairrank.export.engines import single_weights
from pairrank.export.linear import LinearModel

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
