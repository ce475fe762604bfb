"""Hostile model files with valid checksums: an error that says so, or a model that works."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from scipy import sparse

from pairrank import (
    ConvexHullRanker,
    Kernel,
    OrderGraph,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
    load_model,
)
from pairrank.exceptions import PairrankError
from pairrank.io.model_file import ModelRecord, read_model, write_model

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 3
SPARSE = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))

MODELS = {
    "linear": lambda: RankSVM(tol=0.1).fit(X, Y),
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
    "sv": lambda: SVRank(tol=0.1).fit(X, Y),
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
    record = records["linear"]
    info = record.info | remembered
    assert not works_or_is_refused(tmp_path / "m", record._replace(info=info), X)
