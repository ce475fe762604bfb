"""Model files: an estimator's name, parameters and arrays, without code.

Format, version 2: a zip archive as `numpy.savez` writes, which `numpy.load` opens. It is not
compressed and has one member `NAME.npy` per array of numbers or text, and `model.json`::

    {"format": "pairrank-model", "version": 2, "estimator": ..., "params": {...}, "info": {...},
     "arrays": [names]}

There is no pickle and no import by name: the caller interprets the estimator's name. Zip keeps a
checksum per member, and a reader compares declared sizes with the file's before it makes an array.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
import zlib
from typing import Any, NamedTuple

import numpy as np

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._streams import atomic_write, name_of, open_raw

FORMAT = "pairrank-model"
VERSION = 2

_MAGIC = b"PK\x03\x04"
_HEADER = "model.json"
_MAX_HEADER = 1 << 26
_MAX_DEPTH = 20
_KINDS = "biufU"
_ARRAY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '[<|]([biufU])([0-9]{1,9})', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18}(?:,|, [0-9]{1,18}){0,8})?)\), \} *\n",
    re.DOTALL,
)
"""The start of the npy data that `numpy.savez` writes for arrays of numbers and text."""


class ModelRecord(NamedTuple):
    """The content of a model file.

    The name of the estimator's class, its parameters and information on the fit as JSON values
    (tuples come back as lists), and arrays of numbers, booleans or text.
    """

    estimator: str
    params: dict[str, Any]
    arrays: dict[str, np.ndarray[Any, Any]]
    info: dict[str, Any]


def write_model(path: str | os.PathLike[str], record: ModelRecord) -> None:
    """Write a model file atomically; "-" is standard output.

    Raises a PairrankError for a parameter that is not a JSON value, such as a callable kernel, and
    for an array of objects.
    """
    data = pack_model(record)
    with atomic_write(path, "wb") as file:
        file.write(data)


def pack_model(record: ModelRecord) -> bytes:
    """Return the content of a model file; see `write_model`."""
    header = {"format": FORMAT, "version": VERSION, "estimator": record.estimator}
    for part in ("params", "info"):
        header[part] = _plain(getattr(record, part), part, _MAX_DEPTH)
    arrays = {name: _storable(name, array) for name, array in record.arrays.items()}
    text = json.dumps(header | {"arrays": list(arrays)}).encode("ascii")
    if len(text) > _MAX_HEADER:
        raise PairrankError(f"the parameters take {len(text)} bytes as JSON; {_MAX_HEADER} is most")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), text)
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _storable(name: str, value: Any) -> np.ndarray[Any, Any]:
    """Return an array in C order and little endian, checked for its dtype."""
    array = np.asarray(value)
    if not _ARRAY_NAME.match(name):
        raise PairrankError(f"an array of a model file cannot be called {name!r}; use letters")
    if array.dtype.kind not in _KINDS or array.dtype.name in ("longdouble", "float128"):
        raise PairrankError(
            f"array {name!r} is of dtype {array.dtype}, which a model file cannot hold; convert it "
            "to numbers or text"
        )
    return np.array(array, dtype=array.dtype.newbyteorder("<"), order="C", ndmin=array.ndim)


def _plain(value: Any, where: str, depth: int) -> Any:
    """Return `value` as JSON values; an error names the part that is not one."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth == 0:
        raise PairrankError(f"{where} is nested deeper than {_MAX_DEPTH} levels; flatten it")
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{at}]", depth - 1) for at, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise PairrankError(f"{where} has the key {key!r}; a model file needs text keys")
        return {key: _plain(item, f"{where}[{key!r}]", depth - 1) for key, item in value.items()}
    if callable(value):
        raise PairrankError(
            f"{where} is a callable, {value!r}; a model file holds no code, so it cannot be saved: "
            "use a kernel or a loss by name, or pickle the estimator"
        )
    raise PairrankError(
        f"{where} is a {type(value).__name__}, which a model file cannot hold; give numbers, text, "
        "lists or dicts of these, and arrays in `arrays`"
    )


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a model of this format or an older one, by its first bytes."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        start = stream.read(len(FORMAT))
    return start.startswith((_MAGIC, FORMAT.encode()))


def read_model(path: str | os.PathLike[str]) -> ModelRecord:
    """Read a model file; "-" is standard input.

    The sizes of arrays are checked against the file, but not against one another. Raises a
    FileFormatError if the file is not a model file, of another version, or damaged.
    """
    with open_raw(path) as stream:
        data = stream.read()
    return unpack_model(data, name_of(path))


def unpack_model(data: bytes, name: str) -> ModelRecord:
    """Return the record in the content of a model file; `name` is for messages."""
    if data.startswith(FORMAT.encode()):
        raise FileFormatError(
            f"{name} is a model file of the old format 1, which pairrank no longer reads; train "
            "the model again"
        )
    if not data.startswith(_MAGIC):
        raise FileFormatError(f"{name} is not a pairrank model file")
    try:
        members = _read_members(data)
        header = _read_header(members.pop(_HEADER))
        if list(members) != [f"{array}.npy" for array in header["arrays"]]:
            raise ValueError("an array is missing, or not listed")
        arrays = {member.removesuffix(".npy"): _array(text) for member, text in members.items()}
    except _DAMAGE as error:
        raise FileFormatError(
            f"{name}: the model file is damaged or cut ({error}); fetch it or train it again"
        ) from error
    if header["version"] != VERSION:
        raise FileFormatError(
            f"{name} is a model file of version {header['version']}, this pairrank reads version "
            f"{VERSION}; install a newer pairrank, or train the model again"
        )
    return ModelRecord(header["estimator"], header["params"], arrays, header["info"])


_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError, OverflowError),
    *(NotImplementedError, RuntimeError, TypeError),
)
"""What `zipfile` and `json` raise for damaged data (RuntimeError includes RecursionError)."""


def _read_members(data: bytes) -> dict[str, bytes]:
    """Return the members of an uncompressed zip archive that fills the data exactly."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a member is compressed")
        if sum(member.file_size for member in members) > len(data):
            raise ValueError("the members are larger than the file")
        if len({member.filename for member in members}) < len(members):
            raise ValueError("two members have one name")
        return {member.filename: archive.read(member) for member in members}


def _read_header(text: bytes) -> dict[str, Any]:
    """Return the JSON header, its parts checked for their types."""
    if len(text) > _MAX_HEADER:
        raise ValueError(f"the header takes {len(text)} bytes")
    header = json.loads(text)
    kinds = {"estimator": str, "params": dict, "info": dict, "arrays": list, "version": int}
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"the header is not that of a {FORMAT}")
    for part, kind in kinds.items():
        if not isinstance(header.get(part), kind):
            raise ValueError(f"{part!r} is missing or of a wrong type")
    json.dumps(header, ensure_ascii=False).encode()  # refuses half characters (surrogates)
    if _depth_exceeds(header, _MAX_DEPTH + 1):
        raise ValueError(f"the header is nested deeper than {_MAX_DEPTH} levels")
    return header


def _depth_exceeds(value: Any, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_depth_exceeds(item, depth - 1) for item in inner)


def _array(text: bytes) -> np.ndarray[Any, Any]:
    """Return the array of npy data whose declared size is that of the data."""
    match = _NPY.match(text)
    if match is None:
        raise ValueError("a member is no array of numbers or text")
    kind, size = match[1].decode(), int(match[2])
    dtype = np.dtype(f"<{kind}{size}")
    if dtype.itemsize != (4 * size if kind == "U" else size):  # numpy 1 lets the product wrap
        raise ValueError(f"an array of dtype {kind}{size} is too wide")
    shape = tuple(int(size) for size in match[3].split(b",") if size.strip())
    if math.prod(shape) * dtype.itemsize != len(text) - match.end():
        raise ValueError(f"an array of shape {shape} has {len(text) - match.end()} bytes")
    if kind == "U":
        letters = np.frombuffer(text[match.end() :], dtype="<u4")
        if ((letters > 0x10FFFF) | ((letters >= 0xD800) & (letters < 0xE000))).any():
            raise ValueError("an array of text holds numbers that are no characters")
    array = np.ndarray(shape, dtype, buffer=text, offset=match.end())
    return array.astype(dtype.newbyteorder("="))
