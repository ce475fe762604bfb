"""Hostile input at every public entry: a right answer or a PairrankError, never anything else."""

from __future__ import annotations

import datetime
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from pairrank import (
    ConvexHullRanker,
    GreedyRankRLS,
    OrderGraph,
    Pairs,
    QueryKFold,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    metrics,
)
from pairrank.exceptions import PairrankError
from pairrank.model_selection import get_query_scorer, make_query_scorer, regularization_path

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 2))
Y = np.array([0.0, 1.0, 2.0, 1.0, 0.0, 2.0, 1.0, 0.0])
QID = np.repeat([1, 2], 4)
RANKERS = [RankSVM(), RankRLS(), ConvexHullRanker()]
HIDING = np.ma.array(Y, mask=Y == 2)

COLUMNS = {
    "nothing": None,
    "a number": 3,
    "NaN": math.nan,
    "text": "abcdefgh",
    "bytes": b"abcdefgh",
    "empty": [],
    "no dimension": np.array(1.0),
    "two dimensions": np.ones((8, 2)),
    "one column": Y[:, None],
    "one row": Y[None],
    "ragged": [[1], [1, 2]] * 4,
    "short": Y[:3],
    "infinite": [math.inf, *Y[1:]],
    "NaN inside": [math.nan, *Y[1:]],
    "None inside": [None, *Y[1:]],
    "NA inside": pd.array([None, *Y[1:]], dtype="Float64"),
    "missing text": pd.Series([None, *"abcdefg"], dtype="string"),
    "words": list("aabbccdd"),
    "words in an array": np.array(list("aabbccdd")),
    "words and numbers": ["a", 1, "b", 2, "c", 3, "d", 4],
    "numerals": list("01210210"),
    "bytes inside": [b"1", b"2"] * 4,
    "booleans": Y > 0,
    "negative": -Y,
    "huge": [10**400, *range(7)],
    "beyond float64": [2**53, 2**53 + 1] * 4,
    "unsigned": np.array([0, 2**64 - 1] * 4, dtype=np.uint64),
    "complex": Y + 1j,
    "complex objects": np.array([1j, *Y[1:]], dtype=object),
    "dates": np.arange(8).astype("M8[D]"),
    "durations": np.arange(8).astype("m8[s]"),
    "date objects": [datetime.date(2020, 1, day) for day in range(1, 9)],
    "masked": HIDING,
    "dictionaries": [{}] * 8,
    "a dictionary": dict(enumerate(Y)),
    "a set": set(range(8)),
    "objects": [object()] * 8,
    "fractions": [Fraction(n, 3) for n in range(8)],
    "decimals": [Decimal(n) for n in range(8)],
    "sparse": sparse.csr_array(Y[None]),
    "categories": pd.Categorical(list("aabbccdd")),
    "nullable": pd.Series(Y.astype(int), dtype="Int64"),
    "polars": pl.Series(Y),
    "polars with a gap": pl.Series([None, *Y[1:]]),
    "lazy": pl.LazyFrame({"y": Y}),
    "a frame": pd.DataFrame({"y": Y}),
    "pairs": Pairs([0], [1], n_rows=8),
}

FEATURES = {
    **{name: COLUMNS[name] for name in COLUMNS if name not in ("empty", "nothing")},
    "nothing": None,
    "no rows": np.empty((0, 2)),
    "no columns": np.empty((8, 0)),
    "three dimensions": np.ones((8, 2, 2)),
    "infinite": np.where(X > 1, np.inf, X),
    "complex": X + 1j,
    "sparse complex": sparse.csr_array(X + 1j),
    "dates": X.astype("M8[D]"),
    "durations": (100 * X).astype("m8[s]"),
    "dates in lists": [[np.datetime64("2020-01-01")] * 2] * 8,
    "dates in a frame": pd.DataFrame({"a": pd.date_range("2020", periods=8), "b": Y}),
    "only dates in a frame": pd.DataFrame({"a": pd.date_range("2020", periods=8)}),
    "polars dates": pl.DataFrame({"a": [datetime.date(2020, 1, 1)] * 8}),
    "masked": np.ma.array(X, mask=X > 1),
    "text": np.array([["a", "b"]] * 8),
    "text in a frame": pd.DataFrame({"a": list("abcdefgh")}),
    "nullable with a gap": pd.DataFrame({"a": pd.array([None, *range(7)], dtype="Int64")}),
    "objects": np.array([[object()] * 2] * 8),
    "huge": [[10**400, 1]] * 8,
    "huge floats": 1e307 * X,
    "lazy": pl.LazyFrame({"a": Y, "b": Y}),
    "ragged": [[1.0, 2.0], [1.0]] * 4,
    "a frame": pl.DataFrame(X),
    "booleans": X > 0,
}


def answers(call):
    """Return what a call returns, or the PairrankError that it raises; nothing else may happen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            return call()
        except PairrankError as error:
            found = error
    assert len(str(found)) > 20
    return found


@pytest.mark.parametrize(
    "role", ["y", "qid", "sample_weight", "loser_weight", "X", "X_val", "predict"]
)
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_rankers_answer_or_refuse(ranker, role):
    for name, value in (FEATURES if role in ("X", "X_val", "predict") else COLUMNS).items():
        given = {"X": X, "y": Y, "X_val": None, "y_val": None}
        if role == "X_val":
            given["y_val"] = Y
        if role == "predict":
            found = answers(lambda value=value: ranker.fit(X, Y).predict(value))
            finite = isinstance(found, PairrankError) or np.isfinite(found).all()
            assert finite or name == "huge floats", name
            continue
        given[role] = value
        found = answers(lambda given=given: ranker.fit(**given))
        assert isinstance(found, PairrankError) or np.isfinite(ranker.coef_).all(), name


METRICS = [
    metrics.pairwise_accuracy, metrics.wmw_score, metrics.kendall_tau, metrics.ndcg_score,
    metrics.mean_ndcg, metrics.msd, metrics.m1d, metrics.tube_cost, metrics.hinge_rank_cost,
    metrics.hinge_magnitude_cost, metrics.auc_score, metrics.mean_average_precision,
    metrics.mean_reciprocal_rank, metrics.rank_biased_precision, metrics.expected_reciprocal_rank,
]  # fmt: skip


@pytest.mark.parametrize("role", ["y_true", "scores", "qid", "sample_weight", "winner_weight"])
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_metrics_answer_or_refuse(metric, role):
    for name, value in COLUMNS.items():
        given = {"y_true": Y, "scores": X[:, 0], role: value}
        found = answers(lambda given=given: metric(**given))
        assert isinstance(found, (float, PairrankError)), name


@pytest.mark.parametrize("role", ["i", "j", "weight", "magnitude", "n_rows"])
def test_pairs_answer_or_refuse(role):
    for name, value in {**COLUMNS, "infinity": math.inf, "minus one": -1}.items():
        given = {"i": np.arange(8), "j": np.arange(8) + 8, role: value}
        found = answers(lambda given=given: Pairs(**given))
        assert isinstance(found, (Pairs, PairrankError)), name


@pytest.mark.parametrize("cv", ["a", "", b"a", 1, 0, -1, True, 2.5, 100, [1, 2], [], math.nan,
    object(), {"a": 1}, 10**30, [([0, 1], [99])], [(["a"], ["b"])], [([0.5], [1.5])], [(1, 2, 3)],
    [([], [])], [None]], ids=lambda cv: type(cv).__name__)  # fmt: skip
@pytest.mark.parametrize("qid", [None, QID], ids=["rows", "queries"])
def test_folds_that_make_no_sense_are_refused(cv, qid):
    for search in (RankSVMCV(Cs=[1.0], cv=cv), RankRLSCV(alphas=[1.0], cv=cv)):
        with pytest.raises(PairrankError):
            search.fit(X, Y, qid=qid)


@pytest.mark.parametrize("name", COLUMNS)
def test_other_entries_answer_or_refuse(name):
    value = COLUMNS[name]
    calls = [
        lambda: list(QueryKFold(2).split(X, qid=value)),
        lambda: list(QueryKFold(2).split(value, qid=QID)),
        lambda: QueryKFold(value).get_n_splits(),
        lambda: list(QueryKFold(2, shuffle=True, random_state=value).split(X, qid=QID)),
        lambda: get_query_scorer(value),
        lambda: make_query_scorer(value),
        lambda: RankSVM().fit(X, Y).rank(X, value),
        lambda: RankSVM().fit(X, Y).score(X, value),
        lambda: RankSVM().fit(X, Y).score(X, Y, qid=value),
        lambda: RankSVM(graph=value).fit(X, Y),
        lambda: OrderGraph(value),
        lambda: OrderGraph([(0.0, value)]),
        lambda: regularization_path(RankSVM(), X, Y, values=value),
        lambda: RankSVMCV(Cs=value, cv=2).fit(X, Y),
        lambda: GreedyRankRLS(1).fit(X, value),
    ]
    for call in calls:
        answers(call)


@pytest.mark.parametrize("qid", [["a", "a\0"] * 4, pl.Series(["a", "a\0"] * 4)], ids=type)
def test_a_trailing_nul_tells_queries_apart(qid):
    found = metrics.kendall_tau(Y, X[:, 0], qid=qid, per_query=True)
    assert sorted(found) == ["a", "a\0"]


def test_numbers_and_text_are_different_queries():
    found = metrics.m1d(Y, X[:, 0], qid=["01", 1, "1", 1.5] * 2, per_query=True)
    assert list(found) == ["01", 1, "1", 1.5]


@pytest.mark.parametrize("as_given", [list, np.array], ids=["list", "array"])
def test_numbers_that_float64_cannot_tell_apart_are_refused(as_given):
    close = as_given([2**53, 2**53 + 1] * 4)
    with pytest.raises(PairrankError, match=r"y\[1\] = 9007199254740993 and 9007199254740992 diff"):
        RankSVM().fit(X, close)
    with pytest.raises(PairrankError, match=r"scores\[1\].* differ, but are equal as float64"):
        metrics.kendall_tau(Y, close)
    assert metrics.kendall_tau(as_given([2**60, 2**61] * 4), Y) is not None
    with pytest.raises(PairrankError, match=r"y\[1\] = 'a\\x00' ends with a NUL"):
        RankSVM(graph=[("a", "b")]).fit(X, ["a", "a\0"] * 4)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"y": HIDING}, "y is a masked array that hides 2 of its values"),
        ({"sample_weight": HIDING}, "sample_weight is a masked array"),
        ({"qid": HIDING}, "qid is a masked array"),
        ({"X": FEATURES["masked"]}, r"X is a masked array .* fill them with X\.filled"),
        ({"X": FEATURES["dates"]}, "X holds dates"),
        ({"X": FEATURES["only dates in a frame"]}, "X holds dates"),
        ({"X": FEATURES["lazy"]}, r"X is a LazyFrame, which holds no rows yet: call collect"),
        ({"X": X + 1j}, "X holds complex numbers"),
        ({"sample_weight": math.nan}, "sample_weight contains NaN in row 0"),
        ({"qid": 1}, "qid must hold one identifier per row, got 1"),
        ({"qid": COLUMNS["missing text"]}, "qid is missing in row 0"),
    ],
)
def test_what_is_wrong_is_named(changed, complaint):
    with pytest.raises(PairrankError, match=complaint):
        RankSVM().fit(**{"X": X, "y": Y, **changed})


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("place", ["indices", "indptr"])
@pytest.mark.parametrize("value", [-7, 10**8])
def test_sparse_rows_that_point_outside_of_their_arrays_are_refused(kind, place, value):
    damaged = sparse.csr_array(X).asformat(kind)
    getattr(damaged, place)[1] = value
    ranker = RankSVM().fit(X, Y)
    for call in (ranker.predict, lambda rows: RankSVM().fit(rows, Y)):
        with pytest.raises(PairrankError, match="X is a damaged sparse matrix"):
            call(damaged)
