"""Model files: an estimator's name, parameters and arrays, without code.

Format, version 2: a zip archive as `numpy.savez` writes, which `numpy.load` opens. It is not
compressed and has one member `NAME.npy` per array of numbers or text, and `model.json`::

    {"format": "pairrank-model", "version": 2, "estimator": ..., "params": {...}, "info": {...},
     "arrays": [names]}

There is no pickle and no import by name: the caller interprets the estimator's name. Zip keeps a
checksum per member.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import Array
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._streams import AnyPath, atomic_write, name_of, read_bytes

FORMAT = "pairrank-model"
VERSION = 2

_MAGIC = b"PK\x03\x04"
_HEADER = "model.json"
_WIDEST = 1 << 16
"""An empty array of text has entries of at most so many bytes; any other fits the file."""
_KINDS = {"estimator": str, "params": dict, "info": dict, "arrays": list}


class ModelRecord(NamedTuple):
    """The content of a model file.

    The name of the estimator's class, its parameters and information on the fit as JSON values
    (tuples come back as lists), and arrays of numbers, booleans or text.
    """

    estimator: str
    params: dict[str, Any]
    arrays: dict[str, Array]
    info: dict[str, Any]


def write_model(path: AnyPath, record: ModelRecord) -> None:
    """Write a model file atomically; "-" is standard output.

    Raises a PairrankError for a parameter that is not a JSON value, such as a callable kernel.
    """
    header = {"format": FORMAT, "version": VERSION, **record._asdict()}
    text = json.dumps(header | {"arrays": list(record.arrays)}, default=_plain)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), text)
        for name, array in record.arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    with atomic_write(path) as file:
        file.write(buffer.getvalue())


def _plain(value: Any) -> Any:
    """Return a number of numpy as a JSON value, and refuse what is not one."""
    if isinstance(value, np.generic):
        return value.item()
    kind = "callable" if callable(value) else type(value).__name__
    raise PairrankError(
        f"the parameter {value!r} is a {kind}; a model file holds no code and no objects, so it "
        "cannot be saved: use a kernel or a loss by name, or pickle the estimator"
    )


def is_model_file(path: AnyPath) -> bool:
    """Return whether a file may be a model, by its first bytes."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def read_model(path: AnyPath) -> ModelRecord:
    """Read a model file; "-" is standard input.

    Raises a FileFormatError if the file is not a model file, of another version, or damaged.
    """
    data, name = read_bytes(path), name_of(path)
    try:
        if not data.startswith(_MAGIC):
            raise ValueError("it does not start as a zip archive")
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            if sum(member.file_size for member in archive.zip.infolist()) > len(data):
                raise ValueError("its members are larger than the file")
            header = json.loads(archive[_HEADER])
            if header["format"] == FORMAT and header["version"] != VERSION:
                raise FileFormatError(
                    f"{name} is a model file of version {header['version']}, this pairrank reads "
                    f"version {VERSION}; install a newer pairrank, or train the model again"
                )
            fits = all(isinstance(header[part], kind) for part, kind in _KINDS.items())
            if not fits or header["format"] != FORMAT:
                raise ValueError(f"its header is not that of a {FORMAT}")
            arrays = {key: _checked(archive[key]) for key in header["arrays"]}
    except FileFormatError:
        raise
    except Exception as error:  # damaged data can raise anything
        raise FileFormatError(
            f"{name} is not a pairrank model file, or is damaged or cut ({error}); fetch it or "
            "train it again"
        ) from error
    return ModelRecord(header["estimator"], header["params"], arrays, header["info"])


def _checked(array: Array) -> Array:
    """Return an array of numbers or text in the byte order of this machine."""
    if array.dtype.kind not in "biufU":
        raise ValueError(f"an array holds {array.dtype}, neither numbers nor text")
    if not 0 <= array.dtype.itemsize <= max(array.nbytes, _WIDEST):  # numpy 1.26 overflows
        raise ValueError(f"an empty array has entries of {array.dtype.itemsize} bytes")
    array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind == "U":
        array.tobytes().decode("utf-32")  # refuses numbers that are not characters
    return array
