"""Model files: what is written comes back, and nothing else is believed."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pairrank.exceptions import FileFormatError
from pairrank.io.model_file import ModelRecord, read_model, write_model

DTYPES = ["float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint8", "bool"]
IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True)
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ARRAYS = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
) | st.lists(TEXT).map(lambda texts: np.array(texts, dtype=str))


def record() -> ModelRecord:
    arrays = {"coef": np.array([0.5, -2.0]), "names": np.array(["a", "é"])}
    return ModelRecord("RankSVM", {"C": 1.0, "graph": "full"}, arrays, {"n_iter": 3})


@given(
    params=st.dictionaries(TEXT, JSON, max_size=4),
    arrays=st.dictionaries(IDENTIFIERS, ARRAYS, max_size=4),
)
def test_what_is_written_comes_back(tmp_path_factory, params, arrays):
    path = tmp_path_factory.mktemp("models") / "model"
    write_model(path, ModelRecord("RankSVM", params, arrays, {"é": [1]}))
    back = read_model(path)
    assert back.estimator == "RankSVM"
    assert back.params == params
    assert back.info == {"é": [1]}
    assert back.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back.arrays[name].dtype == array.dtype or array.dtype.kind == "U"
        assert back.arrays[name].shape == array.shape
        assert back.arrays[name].tolist() == array.tolist() or array.dtype.kind == "f"
        if array.dtype.kind == "f":
            assert np.array_equal(back.arrays[name], array, equal_nan=True)
        assert back.arrays[name].flags.writeable


def same(one: ModelRecord, other: ModelRecord) -> bool:
    return repr(one) == repr(other)


def test_every_cut_is_noticed_and_no_flipped_bit_changes_a_model(tmp_path):
    """Zip has a few bits without meaning, such as dates."""
    path = tmp_path / "model"
    write_model(path, record())
    data = path.read_bytes()
    for size in range(0, len(data), 3):
        path.write_bytes(data[:size])
        with pytest.raises(FileFormatError):
            read_model(path)
    for position in range(0, len(data), 2):
        path.write_bytes(data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :])
        with contextlib.suppress(FileFormatError):
            assert same(read_model(path), record())


HEADER = {"format": "pairrank-model", "version": 2, "estimator": "X", "params": {}, "info": {}}


def archive(header: object = HEADER, compression: int = zipfile.ZIP_STORED, **members) -> bytes:
    """Return an archive with valid checksums, whatever its members hold."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        listed = isinstance(header, dict) and {"arrays": list(members), **header}
        text = header if isinstance(header, str) else json.dumps(listed)
        file.writestr("model.json", text)
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(descr="'<f8'", shape="(1,)", order="False", content=bytes(8), version=b"\1\0") -> bytes:
    head = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + version + len(head).to_bytes(2, "little") + head + content


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not start as a zip"),
        (b"\x80\x04\x95pickle", "not a pairrank model file"),
        (b"PK\x03\x04", "not a zip file"),
        (archive({**HEADER, "version": 3}), "version 3, this pairrank reads version 2; install"),
        (archive({**HEADER, "format": "other"}), "header is not that of a pairrank-model"),
        (archive("{}"), "'format'"),
        (archive("[" * 100_000), "recursion"),
        (archive({**HEADER, "estimator": ["X"]}), "header is not that of a pairrank-model"),
        (archive(compression=zipfile.ZIP_DEFLATED, a=npy("'<i1'", "(9999,)", content=bytes(9999))),
         "larger than the file"),
        (archive({**HEADER, "arrays": ["b"]}, a=npy()), r"no item named 'b\.npy'"),
        (archive(a=npy("'|O'")), "Object arrays cannot be loaded"),
        (archive(a=npy("'<f3'", content=bytes(3))), "damaged or cut"),
        (archive(a=npy("'<c16'", content=bytes(16))), "neither numbers nor text"),
        (archive(a=npy(shape="(2,)")), "expected 16 bytes got 8"),
        (archive(a=npy(shape="(999999999999999, 999999999999999)")), "damaged or cut"),
        (archive(a=npy("'<U99999'", "(0,)", content=b"")), "entries of 399996 bytes"),
        (archive(a=npy("'<U2'", content=b"\0\0\x11\0\0\0\0\0")), "can't decode"),
        (archive(a=npy(shape="(" * 5000)), "damaged or cut"),
    ],
)  # fmt: skip
def test_foreign_newer_and_lying_files_are_refused(tmp_path, data, message):
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=message):
        read_model(path)
