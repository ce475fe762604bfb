"""ConvexHullRanker beside Clarabel on the paper's formulation (28), and its growth.

California housing in five bins of equal size, both to 1e-6, timed in turn on one thread; then ever
more rows of 8 features. Asserts nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

import _harness as harness
from pairrank import ConvexHullRanker
from reproduction.data import DatasetNotFoundError, load
from reproduction.data.made import discretize

N_BINS = 5


def california() -> tuple[Any, Any]:
    """Return standardised features, and labels in bins of equal size."""
    data = load("cal_housing")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    return X, discretize(data.y, N_BINS).astype(float)


def formulation_28(X: Any, y: Any, nu: float, edges: Any) -> tuple[Any, ...]:
    """Return P, q, A, b of the paper's program: w, a slack per row, two limits per edge."""
    n_rows, n_features = X.shape
    n_limits = 2 * len(edges)
    diagonal = np.repeat([1.0, 2 * nu, 0.0], [n_features, n_rows, n_limits])
    parts, bounds = [], []
    for edge, pair in enumerate(edges):
        for end, label, sign in zip((0, 1), pair, (1.0, -1.0), strict=True):
            inside = np.flatnonzero(y == label)
            ones, places = np.ones(inside.size), np.arange(inside.size)
            slacks = sparse.csr_matrix((-ones, (places, inside)), (inside.size, n_rows))
            column = np.full(inside.size, 2 * edge + end)
            limits = sparse.csr_matrix((-sign * ones, (places, column)), (inside.size, n_limits))
            parts.append(sparse.hstack((sparse.csr_matrix(sign * X[inside]), slacks, limits)))
            bounds.append(np.zeros(inside.size))
        margin = np.zeros((1, diagonal.size))
        margin[0, n_features + n_rows + 2 * edge :][:2] = 1.0, -1.0
        parts.append(sparse.csr_matrix(margin))
        bounds.append(np.array([-1.0]))
    A = sparse.vstack(parts, format="csc")
    return sparse.diags(diagonal, format="csc"), np.zeros(diagonal.size), A, np.concatenate(bounds)


def clarabel_of(program: tuple[Any, ...], tol: float) -> Any:
    """Return Clarabel's solution."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    cones = [clarabel.NonnegativeConeT(program[3].size)]
    return clarabel.DefaultSolver(*program, cones, settings).solve()


def beside_clarabel(repeat: int) -> Iterator[list[Any]]:
    """Yield fits of California's rows and Clarabel's on the same program, both to 1e-6."""
    rows = california()
    graphs = {
        "chain": [(low, low + 1) for low in range(N_BINS - 1)],
        "full": [(low, high) for low in range(N_BINS) for high in range(low + 1, N_BINS)],
    }
    for graph, edges in graphs.items():
        for nu in (1e-3, 1.0):
            program = formulation_28(*rows, nu, edges)
            optimum = clarabel_of(program, 1e-9).obj_val
            ranker = ConvexHullRanker(nu, graph=graph)
            ranker.fit(*rows)
            timed = harness.in_turn(
                {
                    "ours": lambda ranker=ranker: ranker.fit(*rows) and None,
                    "clarabel": lambda program=program: clarabel_of(program, 1e-6) and None,
                },
                repeat,
            )
            times = harness.ratio(timed["clarabel"], timed["ours"])
            yield [
                graph, nu, ranker.n_iter_, timed["ours"].median, timed["clarabel"].median,
                f"{times.median:.0f} ({times.spread})",
                f"{ranker.objective_ / optimum - 1:.1e}",
            ]  # fmt: skip


def growth(largest: int) -> Iterator[list[Any]]:
    """Yield fits of ever more rows of 8 features in five classes, chain; the exponent last."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(largest, 8))
    noisy = X @ rng.normal(size=8) + 2 * rng.normal(size=largest)
    y = np.digitize(noisy, np.quantile(noisy, [0.2, 0.4, 0.6, 0.8])).astype(float)
    sizes = [size for size in (10_000, 31_623, 100_000, 316_228, 10**6) if size <= largest]
    ConvexHullRanker().fit(X[:1000], y[:1000])
    found = []
    ranker = ConvexHullRanker()
    for size in sizes:
        timed = harness.in_turn({"fit": lambda n=size: ranker.fit(X[:n], y[:n]) and None}, 3)
        found.append(timed["fit"].best)
        yield [f"{size:,}", ranker.n_iter_, found[-1], 1e6 * found[-1] / size]
    yield ["exponent", "", f"{harness.growth_exponent(sizes, found):.2f}", ""]


def main() -> None:
    """Print every table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=["clarabel", "growth"])
    parser.add_argument("--repeat", type=int, default=5, help="rounds of timing in turn")
    parser.add_argument("--largest", type=int, default=10**6, help="rows of the growth's last step")
    options = parser.parse_args()
    limits = harness.one_thread()
    print("## ConvexHullRanker\n")
    print(harness.header("clarabel"))
    if options.only in (None, "clarabel"):
        print("\n### Beside Clarabel on formulation (28), California, 20,640 x 8, five bins\n")
        columns = ["graph", "nu", "steps", "ConvexHullRanker s", "Clarabel s"]
        columns += ["times faster (bar 20)", "objective above the optimum, part of it"]
        try:
            print(harness.table(columns, beside_clarabel(options.repeat)))
        except (DatasetNotFoundError, ImportError) as absence:
            print(f"left out: {absence}")
    if options.only in (None, "growth"):
        print("\n### Growth: five classes, chain, 8 features\n")
        columns = ["rows", "steps", "s", "us per row"]
        print(harness.table(columns, growth(options.largest)))
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
