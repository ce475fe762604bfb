"""Fits on blocks end where the same fits in memory end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from block_sources import cut
from pairrank import MPRank, OrderGraph, PairwiseRanker, RankNCG, RankRLS, RankSVM, SVRank
from pairrank.exceptions import PairrankError, PairrankWarning

SMOOTH = {
    "squared hinge": RankSVM(tol=1e-8),
    "logistic": RankNCG(tol=1e-8),
    "probit by chain": RankNCG(loss="probit", graph="chain", tol=1e-8),
    "exponential": PairwiseRanker(tol=1e-8),
    "huberised": PairwiseRanker("huberised_hinge", tol=1e-8),
    "per query": RankSVM(reduction="query", tol=1e-8),
    "sum": RankNCG(1.0, reduction="sum", tol=1e-8),
    "squares": RankRLS(0.5, tol=1e-12),
    "MPRank": MPRank(2.0, tol=1e-12),
    "SVRank": SVRank(2.0, 0.1, n=2, tol=1e-9),
}
KINKED = {
    "hinge": RankSVM(loss="hinge", tol=1e-4),
    "MPRank 1": MPRank(2.0, n=1, tol=1e-4),
    "SVRank 1": SVRank(2.0, 0.1, tol=1e-4),
}
LAYOUTS = ("sorted queries", "crossing queries", "one query", "one block")
FORMS = ("dense", "float32", "sparse", "offset")
ON_LABELS = (RankSVM, RankNCG, PairwiseRanker)


def made(ranker, layout, form, n_labels, n_rows=900):
    """Return X, y, weights and queries by name, and the rows where blocks begin."""
    rng = np.random.default_rng(len(layout) + len(form))
    X = rng.normal(size=(n_rows, 4))
    y = X @ rng.normal(size=4) + rng.normal(size=n_rows)
    if n_labels:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_labels) / n_labels), y) * 1.0
    X = {
        "dense": X,
        "float32": X.astype(np.float32),
        "sparse": sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0)),
        "offset": X + 1e7 * (np.arange(4) == 3),
    }[form]
    qid = np.sort(rng.integers(0, 30, n_rows))
    borders = [] if layout == "one block" else [77, 78, 500]
    aligned = {"qid": qid, "sample_weight": rng.choice([0.0, 0.5, 1.0, 3.0], n_rows)}
    if layout == "crossing queries":
        aligned["qid"] = rng.permutation(qid)
    if layout == "one query":
        aligned["qid"] = None
    if layout == "crossing queries" and isinstance(ranker, ON_LABELS):
        aligned["winner_weight"], aligned["loser_weight"] = rng.choice([0.0, 1.0, 2.0], (2, n_rows))
    return X, y, aligned, borders


def both(ranker, X, y, aligned, borders):
    names = ("qid", "sample_weight", "winner_weight", "loser_weight")
    rows = cut(borders, X, y, *(aligned.get(name) for name in names))
    found, wanted = clone(ranker).fit(rows), clone(ranker).fit(X, y, **aligned)
    for name in ("n_pairs_", "n_rows_", "n_queries_", "status_"):
        assert getattr(found, name) == getattr(wanted, name), name
    for name in {"C_", "epsilon_"} & set(vars(wanted)):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=1e-12), name
    np.testing.assert_allclose(found.predict(rows), found.predict(X), rtol=1e-12, atol=1e-12)
    return found, wanted


def assert_same(found, wanted, tol=1e-5):
    assert np.abs(found.coef_ - wanted.coef_).max() <= tol * np.abs(wanted.coef_).max()
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        (name, layout)
        for name in SMOOTH
        for layout in LAYOUTS
        if name != "exponential" or layout in ("sorted queries", "one block")
    ],
)
def test_smooth_fits_have_the_weights_of_a_fit_in_memory(name, layout):
    ranker, at = SMOOTH[name], list(SMOOTH).index(name) + LAYOUTS.index(layout)
    n_labels = 0 if not isinstance(ranker, ON_LABELS) else (2, 5, 0)[at % 3]
    found, wanted = both(ranker, *made(ranker, layout, FORMS[at % 4], n_labels))
    assert_same(found, wanted)


@pytest.mark.parametrize("ranker", [RankRLS(tol=1e-8), MPRank(tol=1e-8), SVRank(n=2, tol=1e-8)])
@pytest.mark.parametrize("crossing", [False, True])
def test_wide_sparse_rows_take_iterations_by_passes(ranker, crossing):
    rng = np.random.default_rng(6)
    X = sparse.random_array((600, 1500), density=0.01, format="csr", random_state=rng)
    y = X @ rng.normal(size=1500) + 0.1 * rng.normal(size=600)
    qid = np.sort(rng.integers(0, 20, 600))
    qid = rng.permutation(qid) if crossing else qid
    assert_same(*both(ranker, X, y, {"qid": qid}, [100, 101, 300]), 1e-6)


def test_an_offset_of_1e12_costs_normal_equations_of_crossing_queries_no_digits():
    X, y, aligned, borders = made(RankRLS(), "crossing queries", "dense", 0)
    X = np.round(1024 * X) / 1024
    near, far = (
        RankRLS(2.0).fit(cut(borders, X + offset, y, *aligned.values())).coef_
        for offset in (0.0, 1e12)
    )
    np.testing.assert_allclose(far, near, rtol=1e-9)


@pytest.mark.parametrize(
    ("ranker", "size"),
    [
        (SVRank(n=2, tol=1e-8), 2),
        (SVRank(tol=1e-3), 100),
        (RankSVM(tol=1e-8), 100),
        (RankSVM(loss="hinge", tol=1e-3), 2),
    ],
    ids=str,
)
def test_blocks_of_any_size_reach_the_optimum_with_a_row_far_away(ranker, size):
    X, y, *_ = made(ranker, "one query", "dense", 0, n_rows=400)
    if isinstance(ranker, SVRank):
        y[201] += 1e4
    else:
        y, X[201, 0] = np.digitize(y, [-1.0, 1.0]).astype(float), 1e4
    found, wanted = both(ranker, X, y, {}, [*range(size, 400, size)])
    if hasattr(found, "gap_"):
        assert abs(found.objective_ - wanted.objective_) <= found.gap_ + wanted.gap_
    else:
        assert np.abs(found.coef_ - wanted.coef_).max() <= 1e-6 * np.abs(wanted.coef_).max()


def test_a_loss_without_sums_over_blocks_and_a_query_of_too_many_labels_are_refused():
    ranker = SMOOTH["exponential"]
    for layout in ("crossing queries", "one query"):
        X, y, aligned, borders = made(ranker, layout, "dense", 3)
        message = r"queries have rows in several blocks, and the loss Exponential .* about .* GB"
        with pytest.raises(PairrankError, match=message):
            clone(ranker).fit(cut(borders, X, y, aligned["qid"]))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 2)), rng.normal(size=1500)
    with pytest.raises(PairrankError, match="more than 1024 distinct labels"):
        RankSVM().fit(cut([700], X, y))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", KINKED)
def test_other_fits_are_within_their_gaps(name, layout):
    ranker, at = KINKED[name], list(KINKED).index(name) + LAYOUTS.index(layout)
    n_labels = 3 if isinstance(ranker, ON_LABELS) else 0
    found, wanted = both(ranker, *made(ranker, layout, FORMS[at % 4], n_labels))
    assert abs(found.objective_ - wanted.objective_) <= found.gap_ + wanted.gap_
    assert 0 <= found.gap_ <= ranker.tol * found.objective_


def test_text_labels_and_an_absent_class():
    X, y, aligned, borders = made(RankNCG(), "sorted queries", "dense", 3)
    text = np.array(["bad", "fair", "good"])[y.astype(int)]
    edges = [("bad", "good"), ("fair", "good"), ("good", "best")]
    ranker = RankNCG(graph=OrderGraph(edges), tol=1e-8)
    with pytest.warns(PairrankWarning, match="absent from y: 'best'"):
        found, wanted = both(ranker, X, text, aligned, borders)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-6)


def test_the_number_of_blocks_and_threads_changes_no_bit():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    X, y, aligned, borders = made(RankNCG(), "crossing queries", "dense", 5)
    coefs = []
    for limit in (1, 2):
        with threadpoolctl.threadpool_limits(limit):
            coefs.append(RankNCG().fit(cut(borders, X, y, *aligned.values())).coef_)
    np.testing.assert_array_equal(*coefs)
