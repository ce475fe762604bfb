"""Every estimator and the svmlight reader: the same bits on one thread, two and three."""

from __future__ import annotations

import io

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from loss_table import NAMED
from pairrank import (
    ConvexHullRanker,
    MPRank,
    PairwiseRanker,
    RankBoost,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
    threads,
)
from pairrank.design import Design
from pairrank.exceptions import FileFormatError
from pairrank.io import read_svmlight, svmlight
from pairrank.losses import Logistic, SquaredHinge
from pairrank.objective import models
from pairrank.pair_sums import _bound, bind, box_sum, boxes, cells, sigmoid_pairs
from pairrank.pair_sums import sorted as sorted_sums
from pairrank.preferences import Levels

ESTIMATORS = {
    "squared hinge": RankSVM(),
    "squared hinge, sorted": RankSVM(pair_sum="sorted"),
    "hinge": RankSVM(loss="hinge", max_iter=30),
    "logistic": RankNCG(),
    "logistic, boxes": RankNCG(pair_sum="boxes"),
    "logistic, direct": RankNCG(pair_sum="direct"),
    "raykar": RankNCG(loss="raykar"),
    "square": RankRLS(),
    "squared tube": MPRank(),
    "tube": SVRank(max_iter=30),
    "hull": ConvexHullRanker(),
    "boosting": RankBoost(20),
    **{name: PairwiseRanker(name, max_iter=30) for name in NAMED if name != "raykar"},
}
N_ROWS = 700


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut a few hundred rows into many blocks, and let cells serve small queries."""
    for module, name, value in (
        ("pairrank.design", "_BLOCK_ENTRIES", 100),
        ("pairrank.design", "_ENTRIES_PER_FEATURE", 1),
        (cells, "LEAST_ROWS", 300),
        (cells, "ROWS_PER_BAND", 30),
        (cells, "SMALL_TABLE", 1 << 20),
        (cells, "ROWS_PER_ENTRY", 0.01),
        ("pairrank.pair_sums.cells", "ROWS_PER_BLOCK", 50),
        (_bound, "_FEW_ROWS", 1),
        (models, "_ROWS_IN_CACHE", 64),
        (models, "_ROWS_A_BLOCK", 50),
        ("pairrank.estimators._descent", "_LEAST_SAMPLE", 200),
        ("pairrank.estimators._descent", "_LINE_ROWS", 300),
        (sorted_sums, "ROWS_PER_PART", 30),
        (boxes, "ROWS_A_BATCH", 30),
        (sigmoid_pairs, "PAIRS_A_THREAD", 100),
        (box_sum, "ROWS_A_BLOCK", 50),
        (box_sum, "_POINTS_PER_ENTRY", 0),
        (svmlight, "_BLOCK", 64),
        ("pairrank.rank_boost.rounds", "_ENTRIES_A_TASK", 1),
        ("pairrank.rank_boost.rankings", "_ENTRIES_A_BLOCK", 100),
    ):
        if isinstance(module, str):
            monkeypatch.setattr(f"{module}.{name}", value)
        else:
            monkeypatch.setattr(module, name, value)


@pytest.fixture
def on_each(monkeypatch):
    """Return a function that calls another on one thread, two and three; all results."""

    def call(function):
        found = []
        for n in (1, 2, 3):
            with monkeypatch.context() as patch:
                patch.setattr(threads, "n_threads", lambda n=n: n)
                found.append(function())
        return found

    return call


def rows(with_queries: bool, n_levels: int = 5):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N_ROWS, 6))
    y = np.argsort(np.argsort(X @ np.arange(6.0) + generator.normal(size=N_ROWS)))
    qid = np.where(np.arange(N_ROWS) < 200, 0, np.arange(N_ROWS) // 20) if with_queries else None
    return X, y * n_levels // N_ROWS, qid


def learnt(ranker, X):
    """Return what a ranker has learnt, and its scores."""
    weights = ranker.rankings_.alphas if isinstance(ranker, RankBoost) else ranker.coef_
    return np.append(weights, ranker.predict(X))


@pytest.mark.parametrize("with_queries", [False, True])
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_has_the_same_bits_on_any_number_of_threads(
    small_blocks, on_each, name, with_queries
):
    X, y, qid = rows(with_queries)
    one, *others = on_each(lambda: learnt(clone(ESTIMATORS[name]).fit(X, y, qid=qid), X))
    for other in others:
        assert_array_equal(other, one)


@pytest.mark.parametrize("n_levels", [2, 5, 700])
@pytest.mark.parametrize("name", ["squared hinge", "logistic", "boosting"])
def test_a_fit_of_sparse_rows_has_the_same_bits_on_any_number_of_threads(
    small_blocks, on_each, name, n_levels
):
    X, y, _ = rows(False, n_levels)
    X = sparse.csr_array(np.where(abs(X) > 0.5, X, 0.0))
    one, *others = on_each(lambda: learnt(clone(ESTIMATORS[name]).fit(X, y), X))
    for other in others:
        assert_array_equal(other, one)


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_have_the_same_bits_on_any_number_of_threads(small_blocks, on_each, form, dtype):
    X = rows(False)[0].astype(dtype)
    design, (v, w) = Design(form(X)), np.random.default_rng(1).normal(size=(2, N_ROWS))
    assert len(design._blocks()) > 20

    def found():
        squares = design.squares_transposed(v)
        return np.concatenate((design.scores(w[:6]), design.transposed(v), squares))

    one, *others = on_each(found)
    for other in others:
        assert_array_equal(other, one)


@pytest.mark.parametrize("n_levels", [2, 5, 100])
@pytest.mark.parametrize("with_queries", [False, True])
@pytest.mark.parametrize(
    ("loss", "pair_sum"),
    [(SquaredHinge(), "sorted"), (SquaredHinge(), "cells"), (Logistic(), "auto"),
     (Logistic(), "boxes"), (Logistic(), "direct")],
)  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_have_the_same_bits_on_any_number_of_threads(
    small_blocks, on_each, loss, pair_sum, weighted, with_queries, n_levels
):
    _, y, qid = rows(with_queries, n_levels)
    scores, weight, *vectors = np.random.default_rng(1).normal(size=(7, N_ROWS))
    made = Levels.build(y, qid, sample_weight=np.exp(weight) if weighted else None)
    scores *= 0.1

    def found():
        at = bind(loss, made, pair_sum=pair_sum).at(scores)
        curvature = at.curvature()
        products = curvature.matmat(np.array(vectors))
        sums = (at.value, at.error, getattr(at, "gradient_error", 0.0))
        return np.concatenate((sums, at.gradient, curvature.diagonal(), products.ravel()))

    one, *others = on_each(found)
    for other in others:
        assert_array_equal(other, one)


def test_parts_of_levels_hold_every_query_once():
    _, y, qid = rows(True)
    weight = np.arange(N_ROWS) % 3 * 1.0
    for graph in ("full", "chain"):
        whole = Levels.build(y, qid, graph=graph, sample_weight=weight).reduced("query")
        parts = whole.parts(100)
        assert len(parts) > 3
        assert sum(part.n_queries for part in parts) == whole.n_queries
        assert sum(part.n_pairs for part in parts) == whole.n_pairs
        assert_array_equal(np.concatenate([part.row_of for part in parts]), whole.row_of)
        assert_array_equal(np.concatenate([part.weight for part in parts]), whole.weight)
        assert_array_equal(np.concatenate([part.pair_scale for part in parts]), whole.pair_scale)
    assert whole.parts(N_ROWS) == [whole]


LINES = b"".join(
    b"%d qid:q%d 1:%.17g %d:1e-30 # %d\n" % (k % 3, k // 7, np.sin(k), k % 5 + 2, k)
    for k in range(400)
)


def test_svmlight_is_read_with_the_same_bits_on_any_number_of_threads(small_blocks, on_each):
    def found():
        read = read_svmlight(io.BytesIO(b"# first\n\n" + LINES), comments=True, sparse=True)
        return *(getattr(read.X, name) for name in ("data", "indices", "indptr")), *read[1:3]

    one, *others = on_each(found)
    assert one[3].size == 400
    for other in others:
        for array, wanted in zip(other, one, strict=True):
            assert_array_equal(array, wanted)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1 qid:q9 3:x\n", "line 401: the value in '3:x' is not a number"),
        (b"1 3:1\n", "line 401: no qid, though earlier rows have one"),
        (b"1 qid:q9 3:1 2:1\n", "line 401: the index of '2:1' is below"),
        (b"1 qid:q9 3:1e999\n", "line 401: the value in '3:1e999' is not finite"),
        (b"1 qid:q9 90:1\n", "line 401: index 90, though 9 features are expected"),
    ],
)
def test_the_first_error_of_a_file_names_its_line(small_blocks, on_each, line, message):
    def found():
        with pytest.raises(FileFormatError, match=message):
            read_svmlight(io.BytesIO(LINES + line + LINES), n_features=9)

    on_each(found)


def test_a_file_on_disk_is_read_as_a_stream_is(small_blocks, tmp_path):
    """Room is made for all lines of a file once the first block is read."""
    path = tmp_path / "rows.txt"
    path.write_bytes(LINES)
    wanted = read_svmlight(io.BytesIO(LINES), sparse=False)
    read = read_svmlight(path, sparse=False)
    for found, array in zip(read[:3], wanted[:3], strict=True):
        assert_array_equal(found, array)


def test_a_grid_search_in_processes_runs_no_more_threads_than_cores():
    X, y, _ = rows(False)
    search = GridSearchCV(
        RankSVM(), {"C": [0.1, 1.0]}, cv=2, n_jobs=2, refit=False,
        scoring=lambda estimator, X, y: float(threads.n_threads()),
    )  # fmt: skip
    found = search.fit(X, y).cv_results_["mean_test_score"]
    assert 2 * found.max() <= max(2, joblib.cpu_count())
