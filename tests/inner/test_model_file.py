"""Model files: what is written comes back, and hostile ones are refused or harmless."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from pairrank import ConvexHullRanker, Kernel, OrderGraph, RankNCG, RankRLS, RankSVM, load_model
from pairrank.exceptions import FileFormatError, PairrankError
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
    with np.load(path) as archive:
        listed = {name: archive[name] for name in arrays}
    assert back.estimator == "RankSVM"
    assert back.params == params
    assert back.info == {"é": [1]}
    assert back.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert listed[name].tobytes() == back.arrays[name].tobytes()
        assert back.arrays[name].dtype == array.dtype or array.dtype.kind == "U"
        assert back.arrays[name].shape == array.shape
        assert back.arrays[name].tolist() == array.tolist() or array.dtype.kind == "f"
        if array.dtype.kind == "f":
            assert np.array_equal(back.arrays[name], array, equal_nan=True)
        assert back.arrays[name].flags.writeable


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
            assert repr(read_model(path)) == repr(record())


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
        (archive({**HEADER, "arrays": ["b"]}, a=npy()), "b is not a file in the archive"),
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


X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 3
SPARSE = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))

MODELS = {
    "covariance": lambda: RankNCG(covariance="laplace", tol=0.1).fit(X, Y),
    "graph": lambda: RankSVM(graph=OrderGraph([(0, 1), (1, 2)]), tol=0.1).fit(X, Y),
    "targets": lambda: RankRLS().fit(X, np.column_stack([Y, -Y])),
    "sparse poly": lambda: RankSVM(kernel=Kernel("poly", degree=2, n_components=9), tol=0.1).fit(
        SPARSE, Y
    ),
    "precomputed": lambda: RankSVM(kernel=Kernel("precomputed", n_components=9), tol=0.1).fit(
        X @ X.T, Y
    ),
    "hull": lambda: ConvexHullRanker().fit(X, Y, qid=np.array(list("aaaaabbbbb") * 3)),
}
ROWS = {"sparse poly": SPARSE, "precomputed": X @ X.T}
ODD = [None, True, -1, 2.5, float("nan"), "scale", [], [[1, 2], [2, 1]], 10**30,
       {"order_graph": [[1]]}, [[["a"]]]]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, fit in MODELS.items():
            fit().save(home / "model")
            found[name] = read_model(home / "model")
    return found


def works_or_is_refused(path, record: ModelRecord, rows) -> bool:
    """Tell whether a record makes a model; anything but a PairrankError is a failure."""
    write_model(path, record)
    try:
        ranker = load_model(path)
        scores = ranker.predict(rows)
    except PairrankError:
        return False
    repr(ranker)
    assert np.shape(scores)[0] == rows.shape[0]
    return True


def positions(value, path=()):
    """Yield the path of every JSON value in a tree, inner ones too."""
    yield path
    inner = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key, item in ((key, value[key]) for key in inner):
        yield from positions(item, (*path, key))


@pytest.mark.parametrize("name", MODELS)
def test_a_wrong_type_in_any_json_field_is_refused_or_harmless(records, tmp_path, name):
    record, rows = records[name], ROWS.get(name, X)
    assert works_or_is_refused(tmp_path / "m", record, rows)
    for part in ("params", "info"):
        for path in list(positions(getattr(record, part)))[1:]:
            for odd in ODD:
                tree = copy.deepcopy(getattr(record, part))
                parent = tree
                for key in path[:-1]:
                    parent = parent[key]
                parent[path[-1]] = odd
                works_or_is_refused(tmp_path / "m", record._replace(**{part: tree}), rows)


def distortions(array: np.ndarray):
    """Yield arrays that cannot take the place of this one."""
    yield array[..., None]
    yield array[:-1]
    yield np.concatenate([array, array])
    yield array.astype(str)
    yield array.astype("i8") if array.dtype.kind == "f" else np.zeros(array.shape)
    yield array.ravel()[0] if array.ndim > 1 or array.size > 1 else np.zeros((2, 2))
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf):
            yield np.where(
                np.arange(array.size).reshape(array.shape) == array.size - 1, value, array
            )


@pytest.mark.parametrize("name", MODELS)
def test_arrays_of_another_shape_or_type_or_that_are_not_finite_are_refused(
    records, tmp_path, name
):
    record, rows = records[name], ROWS.get(name, X)
    for key in record.arrays:
        arrays = dict(record.arrays)
        del arrays[key]
        works_or_is_refused(tmp_path / "m", record._replace(arrays=arrays), rows)
        if key in ("limits_", "limit_labels_", "limit_qid_", "flat_directions_"):
            continue
        for distorted in distortions(record.arrays[key]):
            wrong = record._replace(arrays={**record.arrays, key: distorted})
            fewer_targets = name == "targets" and distorted.shape[1:] == (3,)
            worked = works_or_is_refused(tmp_path / "m", wrong, rows)
            if key == "standard_errors_" and distorted.dtype == "f8" and np.isinf(distorted).any():
                continue  # that of a weight that no comparison determines
            assert not worked or (fewer_targets and np.isfinite(distorted).all()), (key, distorted)


@pytest.mark.parametrize("remembered", [{"zero_based": "x"}, {"columns": {"qid": 1}}])
def test_columns_of_a_wrong_type_are_refused(records, tmp_path, remembered):
    record = records["covariance"]
    info = record.info | remembered
    assert not works_or_is_refused(tmp_path / "m", record._replace(info=info), X)
