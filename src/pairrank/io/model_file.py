"""Model files: an estimator's name, parameters and arrays, without code.

Format, version 1. Three lines of UTF-8 text, each ended by a line feed, then raw bytes::

    pairrank-model 1
    sha256 <64 hex digits> bytes <number of bytes after this line>
    {"estimator": ..., "params": {...}, "info": {...}, "texts": {...}, "arrays": [...]}
    <the arrays' bytes, one after the other, C order, little endian>

The digest is over everything after the second line. An element of `arrays` is `{"name", "dtype",
"shape"}` with dtype one of the names in `DTYPES`; arrays of text stand in `texts` as `{"shape",
"values"}`. A reader refuses versions that it does not know. There is no pickle and no import by
name: the one who reads decides what to do with the estimator's name.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from typing import Any, NamedTuple

import numpy as np

from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io._atomic import STANDARD_STREAM, atomic_write
from pairrank.io._streams import name_of

MAGIC = "pairrank-model"
VERSION = 1
DTYPES = {
    "float64": "<f8",
    "float32": "<f4",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "|i1",
    "uint64": "<u8",
    "uint32": "<u4",
    "uint16": "<u2",
    "uint8": "|u1",
    "bool": "|b1",
}


class ModelRecord(NamedTuple):
    """What a model file holds.

    Attributes
    ----------
    estimator : str
        Name of the estimator's class.
    params : dict
        JSON values; tuples come back as lists.
    arrays : dict of str to ndarray
        Numbers (see `DTYPES`) or text.
    info : dict
        JSON values: anything worth knowing about the fit.
    """

    estimator: str
    params: dict[str, Any]
    arrays: dict[str, np.ndarray[Any, Any]]
    info: dict[str, Any]


def write_model(path: str | os.PathLike[str], record: ModelRecord) -> None:
    """Write a model file, whole or not at all; "-" is standard output.

    Parameters
    ----------
    path : str or path-like
        Where to.
    record : ModelRecord
        What is written.

    Raises
    ------
    PairrankError
        A parameter that is no JSON value (a callable kernel), an array of objects.
    FileAccessError
        The place cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "model")
    >>> write_model(path, ModelRecord("RankSVM", {"C": 1.0}, {"coef": np.array([0.5])}, {}))
    >>> read_model(path).arrays["coef"]
    array([0.5])
    >>> folder.cleanup()
    """
    payload = _payload(record)
    digest = hashlib.sha256()
    for part in payload:
        digest.update(part)
    size = sum(len(part) for part in payload)
    with atomic_write(path, "wb") as file:
        file.write(f"{MAGIC} {VERSION}\nsha256 {digest.hexdigest()} bytes {size}\n".encode())
        for part in payload:
            file.write(part)


def _payload(record: ModelRecord) -> list[bytes]:
    texts: dict[str, Any] = {}
    arrays: list[dict[str, Any]] = []
    buffers: list[bytes] = []
    for name, value in record.arrays.items():
        array = np.asarray(value)
        if array.dtype.kind == "U":
            texts[name] = {"shape": list(array.shape), "values": array.ravel().tolist()}
            continue
        dtype = DTYPES.get(array.dtype.name)
        if dtype is None:
            raise PairrankError(
                f"array {name!r} is of dtype {array.dtype}, which a model file cannot hold; "
                f"convert it to text or to one of {', '.join(DTYPES)}"
            )
        arrays.append({"name": name, "dtype": array.dtype.name, "shape": list(array.shape)})
        buffers.append(np.ascontiguousarray(array, dtype=dtype).tobytes())
    header = {
        "estimator": record.estimator,
        "params": _plain(record.params, "params"),
        "info": _plain(record.info, "info"),
        "texts": texts,
        "arrays": arrays,
    }
    line = json.dumps(header, ensure_ascii=True, allow_nan=True) + "\n"
    return [line.encode("ascii"), *buffers]


def _plain(value: Any, where: str) -> Any:
    """Return `value` as JSON values, or say where it is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise PairrankError(f"{where} has the key {key!r}; a model file needs text keys")
        return {key: _plain(item, f"{where}[{key!r}]") for key, item in value.items()}
    if callable(value):
        raise PairrankError(
            f"{where} is a callable, {value!r}; a model file holds no code, so it cannot be saved. "
            "Use a kernel or a loss by name, or keep the estimator by other means (pickle)"
        )
    raise PairrankError(
        f"{where} is a {type(value).__name__}, which a model file cannot hold; give numbers, text, "
        "lists or dicts of these, and arrays in `arrays`"
    )


def read_model(path: str | os.PathLike[str]) -> ModelRecord:
    """Read a model file; "-" is standard input.

    Parameters
    ----------
    path : str or path-like
        Where from.

    Returns
    -------
    ModelRecord
        What the file holds.

    Raises
    ------
    FileFormatError
        No model file, a newer version, a damaged or cut one.
    FileAccessError
        The file cannot be opened.
    """
    name = name_of(path)
    magic, _, rest = _read_bytes(path).partition(b"\n")
    _check_magic(name, magic)
    seal, _, payload = rest.partition(b"\n")
    _check_seal(name, seal, payload)
    line, _, body = payload.partition(b"\n")
    try:
        return _decode(json.loads(line), body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileFormatError(
            f"{name}: the header of the model file makes no sense ({error}); train it again"
        ) from error


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    import sys

    if os.fspath(path) == STANDARD_STREAM:
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise FileAccessError(
            f"cannot read {name_of(path)}: {error.strerror}; check the path and its permissions"
        ) from error


def _check_magic(name: str, line: bytes) -> None:
    word, _, version = line.partition(b" ")
    if word != MAGIC.encode() or not version.isdigit():
        raise FileFormatError(f"{name} is not a pairrank model file; its first line is not {MAGIC}")
    if int(version) != VERSION:
        raise FileFormatError(
            f"{name} is a model file of version {int(version)}, this pairrank reads version "
            f"{VERSION}; install a newer pairrank, or train the model again"
        )


def _check_seal(name: str, seal: bytes, payload: bytes) -> None:
    words = seal.split(b" ")
    if len(words) != 4 or words[0] != b"sha256" or words[2] != b"bytes" or not words[3].isdigit():
        raise FileFormatError(f"{name}: the second line is damaged; fetch or train the model again")
    expected = int(words[3])
    if len(payload) < expected:
        raise FileFormatError(
            f"{name} is cut: {len(payload)} of {expected} bytes are there; fetch or train it again"
        )
    if len(payload) > expected or hashlib.sha256(payload).hexdigest().encode() != words[1]:
        raise FileFormatError(f"{name} is damaged: its checksum differs; fetch or train it again")


def _decode(header: dict[str, Any], body: bytes) -> ModelRecord:
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for part in ("params", "info", "texts"):
        if not isinstance(header[part], dict):
            raise ValueError(f"{part!r} is no object of names and values")
    start = 0
    for entry in header["arrays"]:
        dtype = np.dtype(DTYPES[entry["dtype"]])
        shape = tuple(int(size) for size in entry["shape"])
        count = math.prod(shape)
        array = np.frombuffer(body, dtype=dtype, count=count, offset=start)
        arrays[entry["name"]] = array.reshape(shape).astype(dtype.newbyteorder("="))
        start += count * dtype.itemsize
    if start != len(body):
        raise ValueError(f"the arrays take {start} bytes of {len(body)}")
    for name, text in header["texts"].items():
        arrays[name] = np.array(text["values"], dtype=str).reshape(text["shape"])
    return ModelRecord(str(header["estimator"]), header["params"], arrays, header["info"])
