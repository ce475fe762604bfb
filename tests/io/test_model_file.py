"""Model files: what is written comes back, and nothing else is believed."""

from __future__ import annotations

import errno
import hashlib
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io import ModelRecord, read_model, write_model
from pairrank.io.model_file import DTYPES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ARRAYS = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
) | st.lists(st.text(alphabet=st.characters(exclude_characters="\0")), min_size=1).map(np.array)


def record() -> ModelRecord:
    arrays = {"coef": np.array([0.5, -2.0]), "names": np.array(["a", "é"])}
    return ModelRecord("RankSVM", {"C": 1.0, "graph": "full"}, arrays, {"n_iter": 3})


@given(
    params=st.dictionaries(st.text(), JSON, max_size=4),
    arrays=st.dictionaries(st.text(), ARRAYS, max_size=4),
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


def test_foreign_byte_order_and_views_are_written_right(tmp_path):
    array = np.arange(6, dtype=">i8").reshape(2, 3).T
    write_model(tmp_path / "model", record()._replace(arrays={"a": array}))
    assert read_model(tmp_path / "model").arrays["a"].tolist() == array.tolist()


def test_numpy_scalars_and_tuples_are_plain_values(tmp_path):
    params = {"C": np.float32(0.5), "k": np.int64(3), "t": (1, 2), "inf": float("inf")}
    write_model(tmp_path / "model", record()._replace(params=params))
    back = read_model(tmp_path / "model").params
    assert back == {"C": 0.5, "k": 3, "t": [1, 2], "inf": float("inf")}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"params": {"kernel": lambda a, b: 0}},
            r"params\['kernel'\] is a callable.*holds no code",
        ),
        ({"params": {"a": [1, {"b": len}]}}, r"params\['a'\]\[1\]\['b'\] is a callable"),
        ({"params": {"a": object()}}, r"params\['a'\] is a object"),
        ({"params": {1: 2}}, "the key 1"),
        ({"info": {"a": np.ones(2)}}, r"info\['a'\] is a ndarray"),
        ({"arrays": {"a": np.array([None, "x"], dtype=object)}}, "array 'a' is of dtype object"),
        ({"arrays": {"a": np.array([1j])}}, "array 'a' is of dtype complex128"),
        ({"arrays": {"a": np.array(["2020-01-01"], dtype="M8[D]")}}, "dtype datetime64"),
    ],
)
def test_what_a_model_file_cannot_hold_is_refused(tmp_path, changes, message):
    with pytest.raises(PairrankError, match=message):
        write_model(tmp_path / "model", record()._replace(**changes))
    assert list(tmp_path.iterdir()) == []


def test_every_cut_and_every_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "model"
    write_model(path, record())
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(FileFormatError):
            read_model(path)
    for position in range(len(data)):
        path.write_bytes(data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :])
        with pytest.raises(FileFormatError):
            read_model(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(FileFormatError, match="damaged"):
        read_model(path)


def sealed(header: bytes, version: int = 1) -> bytes:
    digest = hashlib.sha256(header).hexdigest()
    return f"pairrank-model {version}\nsha256 {digest} bytes {len(header)}\n".encode() + header


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a pairrank model file"),
        (b"\x80\x04\x95pickle", "not a pairrank model file"),
        (sealed(b"{}", 2), "version 2, this pairrank reads version 1; install a newer"),
        (b"pairrank-model 1\nnonsense\n", "second line is damaged"),
        (sealed(b"{}\n"), "header of the model file makes no sense"),
        (sealed(b"[]\n"), "makes no sense"),
        (sealed(b"not json\n"), "makes no sense"),
    ],
)
def test_foreign_and_newer_files_are_refused(tmp_path, data, message):
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=message):
        read_model(path)


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "a", "dtype": "object", "shape": [1]},
        {"name": "a", "dtype": "float64", "shape": [2]},
        {"name": "a", "dtype": "float64", "shape": [-1]},
        {"name": "a", "dtype": "float64", "shape": []},
        {"dtype": "float64", "shape": [1]},
    ],
)
def test_headers_that_lie_are_refused(tmp_path, entry):
    header = {"estimator": "X", "params": {}, "info": {}, "texts": {}, "arrays": [entry]}
    body = b"" if entry.get("shape") == [] else bytes(8)
    path = tmp_path / "model"
    path.write_bytes(sealed(json.dumps(header).encode() + b"\n" + body))
    with pytest.raises(FileFormatError, match="makes no sense"):
        read_model(path)


@pytest.mark.parametrize("part", ["params", "info", "texts"])
@pytest.mark.parametrize("value", [3, None, [], "C"])
def test_parts_that_are_no_objects_are_refused(tmp_path, part, value):
    header = {"estimator": "X", "params": {}, "info": {}, "texts": {}, "arrays": [], part: value}
    path = tmp_path / "model"
    path.write_bytes(sealed(json.dumps(header).encode() + b"\n"))
    with pytest.raises(FileFormatError, match=f"makes no sense.*'{part}'"):
        read_model(path)


def test_a_full_disk_leaves_the_old_model(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_model(path, record())
    old = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileAccessError, match="No space left on device"):
        write_model(path, record()._replace(estimator="Other"))
    assert path.read_bytes() == old
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(FileAccessError, match=r"cannot read .*absent: No such file"):
        read_model(tmp_path / "absent")
