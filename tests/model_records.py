"""The content of model files, read and written as docs/guides/files.rst describes them."""

from __future__ import annotations

import json
import zipfile
from typing import Any, NamedTuple

import numpy as np


class ModelRecord(NamedTuple):
    """An estimator's name, its parameters, arrays and facts of the fit."""

    estimator: str
    params: dict[str, Any]
    arrays: dict[str, Any]
    info: dict[str, Any]


def read_model(path: Any) -> ModelRecord:
    """Return the content of a model file."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name != "model.json"}
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("model.json"))
    return ModelRecord(header["estimator"], header["params"], arrays, header["info"])


def write_model(path: Any, record: ModelRecord) -> None:
    """Write a model file."""
    header = {"format": "pairrank-model", "version": 2, **record._asdict()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(header | {"arrays": list(record.arrays)}))
        for name, array in record.arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), version=(1, 0))
