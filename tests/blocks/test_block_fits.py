"""Fits on blocks against the same fits in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from memory_passes import MemoryPasses, cut_rows
from pairrank import OrderGraph, PairwiseRanker, RankNCG, RankSVM, design, threads
from pairrank.blocks import catalog, layouts
from pairrank.estimators._blocks import fit_on_passes
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.losses import SquaredHinge
from pairrank.objective import PairObjective

SMOOTH = {
    "squared_hinge": RankSVM(tol=1e-8),
    "logistic": RankNCG(tol=1e-8),
    "probit": RankNCG(loss="probit", tol=1e-8),
    "exponential": PairwiseRanker(tol=1e-8),
    "huberised": PairwiseRanker("huberised_hinge", tol=1e-8),
}
GRAPHS = {"chain": "chain", "edges": OrderGraph([(0, 2), (1, 2)])}


def rows_of(seed, n_rows=2000, *, n_queries=60, n_features=5, n_labels=3):
    """Return X, labels of a noisy linear order (as many as rows if 0), and identifiers."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    qid = np.sort(generator.integers(0, n_queries, n_rows))
    signal = X @ generator.normal(size=n_features) + generator.normal(size=n_rows)
    if not n_labels:
        return X, signal, qid
    edges = np.quantile(signal, np.arange(1, n_labels) / n_labels)
    return X, np.searchsorted(edges, signal).astype(np.float64), qid


def assert_equal_fits(ranker, X, y, borders, **aligned):
    """Fit on blocks and in memory; the coefficients must agree to 1e-6."""
    found = fit_on_passes(clone(ranker), cut_rows(X, y, borders, **aligned))
    wanted = clone(ranker).fit(X, y, **aligned)
    assert found.status_ == wanted.status_ == "converged"
    assert np.abs(found.coef_ - wanted.coef_).max() <= 1e-6 * np.abs(wanted.coef_).max()
    assert found.n_pairs_ == wanted.n_pairs_
    assert found.n_queries_ == wanted.n_queries_
    assert found.n_rows_ == wanted.n_rows_
    assert found.n_ties_ == wanted.n_ties_
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-9)
    return found


@pytest.fixture(autouse=True)
def few_sampled_rows(monkeypatch):
    monkeypatch.setattr(catalog, "SAMPLE_ROWS", 500)


@pytest.mark.parametrize("n_labels", [2, 5, 0], ids=["binary", "levels", "real"])
@pytest.mark.parametrize("layout", ["whole", "split", "one"])
@pytest.mark.parametrize("ranker", SMOOTH.values(), ids=SMOOTH)
def test_smooth_losses_have_the_coefficients_of_a_fit_in_memory(ranker, layout, n_labels):
    X, y, qid = rows_of(1, n_labels=n_labels)
    borders = np.searchsorted(qid, [20, 21, 45])
    aligned = {"qid": qid}
    if layout == "split":
        borders = [100, 101, 1500]
        aligned = {"qid": np.random.default_rng(2).permutation(qid)}
    if layout == "one":
        aligned = {}
    is_sum = isinstance(ranker, PairwiseRanker) and ranker.loss == "exponential"
    if layout == "whole" or not (is_sum or (layout == "one" and not n_labels)):
        assert_equal_fits(ranker, X, y, borders, **aligned)
        return
    reason = "has no sums over several blocks" if is_sum else "more than 1024 distinct labels"
    with pytest.raises(PairrankError, match=f"{reason}.* fit on rows in memory, which needs"):
        fit_on_passes(clone(ranker), cut_rows(X, y, borders, **aligned))


@pytest.mark.parametrize("n_labels", [3, 0], ids=["levels", "real"])
@pytest.mark.parametrize("roles", [False, True], ids=["rows", "roles"])
@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
def test_weights_and_reductions(reduction, roles, n_labels):
    X, y, qid = rows_of(3, n_labels=n_labels)
    generator = np.random.default_rng(4)
    names = ["sample_weight", *["winner_weight", "loser_weight"] * roles]
    weights = {name: generator.choice([0.0, 0.5, 1.0, 3.0], y.size) for name in names}
    ranker = RankSVM(tol=1e-8, reduction=reduction, C=0.01 if reduction == "sum" else 1.0)
    assert_equal_fits(ranker, X, y, [333, 1600], qid=qid, **weights)
    if n_labels:
        assert_equal_fits(ranker, X, y, [333, 1600], **weights)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
def test_graphs(graph, text):
    X, y, qid = rows_of(5)
    if text and graph == "chain":
        pytest.skip("text needs edges")
    if text:
        names = np.array(["bad", "fair", "good"])
        y, graph = names[y.astype(int)], OrderGraph([("bad", "good"), ("fair", "good")])
    ranker = RankNCG(tol=1e-8, graph=graph)
    assert_equal_fits(ranker, X, y, [7, 900, 1999], qid=qid)
    assert_equal_fits(ranker, X, y, [7, 900, 1999])


@pytest.mark.parametrize("kind", ["sparse", "float32", "offset", "text qid"])
def test_rows_of_other_kinds(kind):
    X, y, qid = rows_of(6)
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "offset":
        X = X + 1e9 * (np.arange(5) == 3)
    if kind == "text qid":
        qid = np.array([f"query {number}" for number in qid])
    assert_equal_fits(RankSVM(tol=1e-8), X, y, [600, 1200], qid=qid)


def test_an_absent_class_of_the_graph_is_one_warning():
    X, y, qid = rows_of(7)
    graph = OrderGraph([(0, 2), (1, 2), (2, 9)])
    with pytest.warns(PairrankWarning, match="absent from y: 9"):
        found = fit_on_passes(RankSVM(graph=graph), cut_rows(X, y, [400, 1000], qid=qid))
    with pytest.warns(PairrankWarning, match="absent from y: 9"):
        wanted = RankSVM(graph=graph).fit(X, y, qid=qid)
    assert found.n_pairs_ == wanted.n_pairs_


@pytest.mark.parametrize(
    ("whole", "n_labels"), [(True, 2), (True, 5), (True, 0), (False, 2), (False, 5)]
)
def test_the_hinge_is_within_the_stated_gaps(whole, n_labels):
    X, y, qid = rows_of(8, n_labels=n_labels)
    aligned = {"qid": qid} if whole else {}
    ranker = RankSVM(loss="hinge", tol=1e-3)
    found = fit_on_passes(clone(ranker), cut_rows(X, y, [500, 1100], **aligned))
    wanted = ranker.fit(X, y, **aligned)
    assert found.status_ == wanted.status_ == "gap_closed"
    rounding = 1e-9 * wanted.objective_
    assert found.objective_ - found.gap_ <= wanted.objective_ + rounding
    assert wanted.objective_ - wanted.gap_ <= found.objective_ + rounding


def test_a_default_fit_reads_the_rows_few_times(monkeypatch):
    """One pass for the catalog, one for zero and the start, one per Newton step.

    Where queries cross blocks, each evaluation takes a second one.
    """
    monkeypatch.setattr(catalog, "SAMPLE_ROWS", 50_000)
    X, y, qid = rows_of(9, n_rows=30_000, n_queries=300)
    for ranker in (RankSVM(), RankNCG()):
        passes = cut_rows(X, y, [9000, 17_000], qid=qid)
        found = fit_on_passes(ranker, passes)
        assert (passes.n_described, passes.n_reduced) == (1, 2 * (1 + found.n_iter_))
        assert found.n_iter_ <= 2


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(design, "_BLOCK_ENTRIES", 1 << 12)
    X, y, qid = rows_of(10, n_rows=6000)
    for ranker in (RankSVM(), RankNCG(), RankSVM(loss="hinge")):
        coefs = []
        for n_threads in (1, 3):
            monkeypatch.setattr(threads, "n_threads", lambda n=n_threads: n)
            passes = cut_rows(X, y, [2500], qid=qid)
            coefs.append(fit_on_passes(clone(ranker), passes).coef_)
        assert coefs[0].tobytes() == coefs[1].tobytes()


def test_exact_products_are_the_last_refinement(monkeypatch):
    """A sample of fewer rows than features has a poor Hessian; passes give the exact one."""
    monkeypatch.setattr(catalog, "SAMPLE_ROWS", 40)
    X, y, qid = rows_of(11, n_features=30)
    for layout in ({"qid": qid}, {}):
        found = assert_equal_fits(RankSVM(tol=1e-8), X, y, [500, 1100], **layout)
        assert found.history_[-1].n_products > found.n_iter_


@pytest.mark.parametrize("solver", ["tron", "ncg", "bundle"])
def test_other_solvers(solver):
    X, y, qid = rows_of(12, n_rows=600)
    ranker = PairwiseRanker("squared_hinge", solver=solver, tol=1e-6)
    found = fit_on_passes(clone(ranker), cut_rows(X, y, [200], qid=qid))
    wanted = RankSVM(tol=1e-10).fit(X, y, qid=qid)
    assert found.objective_ == pytest.approx(wanted.objective_, rel=2e-6)


def test_rows_without_a_pair_in_the_sample(monkeypatch):
    """Three rows of the higher label among many: the sample misses them, the fit does not."""
    monkeypatch.setattr(catalog, "SAMPLE_ROWS", 20)
    X, _, _ = rows_of(13, n_rows=4000)
    y = np.zeros(4000)
    y[[5, 1500, 3999]] = 1.0
    qid = np.arange(4000) // 2
    assert_equal_fits(RankSVM(tol=1e-8), X, y, [1001, 2000], qid=qid)


def test_an_interrupt_in_the_fit_of_the_sample_ends_the_fit(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    X, y, qid = rows_of(15)
    monkeypatch.setattr(PairObjective, "at", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        assert fit_on_passes(RankSVM(), cut_rows(X, y, [300], qid=qid)).status_ == "interrupted"


def test_several_columns_of_labels_are_refused():
    X, y, qid = rows_of(16)
    passes = cut_rows(X, np.column_stack([y, y]), [300], qid=qid)
    with pytest.raises(PairrankError, match="y has 2 columns"):
        prepare_of(passes)


def prepare_of(passes):
    """Return prepared blocks of several columns of labels, whose catalog has those of the first."""
    blocks = [block._replace(y=block.y[:, 0]) for block in passes.blocks]
    known = catalog.describe(MemoryPasses(blocks))
    rows = known.sample.rows._replace(y=np.column_stack([known.sample.rows.y] * 2))
    several = replace(known, sample=replace(known.sample, rows=rows))
    return layouts.prepare(passes, several, SquaredHinge())
