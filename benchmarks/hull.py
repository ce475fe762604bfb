"""ConvexHullRanker: Fung's Table 1 and Figure 3, beside Clarabel on formulation (28), and growth.

Nine sets in five bins of equal size, ten folds; the order graph is a chain or full. Accuracy is the
paper's Wilcoxon-Mann-Whitney statistic: the mean over the edges of the full graph, ties wrong. nu
is the best of a grid on a quarter of the training rows held out; time is that of a fit with it. The
paper shows its figures as bars only and says neither its nu nor its kernel, so there is nothing to
set beside them but their order: chain at least as accurate as full, and faster.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import _harness as harness
from pairrank import ConvexHullRanker, RankSVM
from pairrank.metrics import wmw_score
from reproduction.data import DatasetNotFoundError, load
from reproduction.data.made import discretize

SETS = {
    "abalone": "1 Abalone", "stock": "2 Airplane Comp.", "autompg": "3 Auto-MPG",
    "cal_housing": "4 CA Housing", "housing": "5 Housing-Boston", "machine_cpu": "6 Machine-CPU",
    "pyrim": "7 Pyrimidines", "triazines": "8 Triazines", "wisconsin": "9 WI Breast Cancer",
}  # fmt: skip
GRID = tuple(10.0**power for power in range(-4, 3))
N_BINS, N_FOLDS = 5, 10


class Way(NamedTuple):
    """A ranker to be compared, as a function of its one parameter."""

    name: str
    make: Callable[[float], Any]
    most_rows: float = float("inf")


WAYS = (
    Way("hull, chain", lambda nu: ConvexHullRanker(nu, graph="chain")),
    Way("hull, full", lambda nu: ConvexHullRanker(nu, graph="full")),
    Way("hull, chain, rbf", lambda nu: ConvexHullRanker(nu, graph="chain", kernel="rbf"), 600),
    Way("hull, full, rbf", lambda nu: ConvexHullRanker(nu, graph="full", kernel="rbf"), 600),
    Way("RankSVM, full", lambda C: RankSVM(C)),
)


class Rows(NamedTuple):
    """Rows with labels of five bins."""

    X: Any
    y: Any

    def part(self, rows: Any) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[rows], self.y[rows])


def read(name: str) -> Rows:
    """Return a set in five bins of equal size."""
    data = load(name)
    return Rows(np.asarray(data.X, dtype=np.float64), discretize(data.y, N_BINS).astype(float))


def scaled(train: Rows, *others: Rows) -> list[Rows]:
    """Return rows in units of the training rows' spread."""
    spread = train.X.std(axis=0)
    spread[spread == 0] = 1.0
    mean = train.X.mean(axis=0)
    return [Rows((rows.X - mean) / spread, rows.y) for rows in (train, *others)]


def folds(rows: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield training and test rows, each row tested once."""
    order = np.random.default_rng(0).permutation(rows.y.size)
    for fold in range(N_FOLDS):
        inside = np.zeros(rows.y.size, dtype=bool)
        inside[order[fold::N_FOLDS]] = True
        yield rows.part(~inside), rows.part(inside)


def accuracy(ranker: Any, rows: Rows) -> float:
    """Return the paper's statistic over the full graph."""
    scores = ranker.predict(rows.X)
    return float(wmw_score(rows.y, scores, ties="error", average="edges"))


def choose(way: Way, train: Rows) -> float:
    """Return the parameter that ranks a held-out quarter of the training rows best."""
    held = np.arange(train.y.size) % 4 == 0
    inner, held_out = scaled(train.part(~held), train.part(held))
    found = [accuracy(way.make(value).fit(*inner), held_out) for value in GRID]
    return GRID[int(np.argmax(found))]


def figure_3(names: list[str]) -> Iterator[list[Any]]:
    """Yield accuracy and seconds of every way on every set."""
    for name in names:
        try:
            rows = read(name)
        except DatasetNotFoundError as absence:
            yield [SETS[name], f"left out: {absence}", *[""] * 5]
            continue
        for way in WAYS:
            if rows.y.size > way.most_rows:
                continue
            reached, taken, chosen = [], [], []
            for train, test in folds(rows):
                chosen.append(choose(way, train))
                train, test = scaled(train, test)
                ranker = way.make(chosen[-1])
                taken.append(harness.seconds(lambda fit=ranker.fit, rows=train: fit(*rows)))
                reached.append(accuracy(ranker, test))
            yield [
                SETS[name], f"{rows.y.size:,} x {rows.X.shape[1]}", way.name,
                f"{statistics.mean(reached):.4f}",
                f"{min(reached):.3f} to {max(reached):.3f}",
                f"{statistics.median(chosen):g}", statistics.median(taken),
            ]  # fmt: skip


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
    (rows,) = scaled(read("cal_housing"))
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
    parser.add_argument("--only", choices=["figure", "clarabel", "growth"])
    parser.add_argument("--sets", nargs="*", choices=[*SETS], default=[*SETS])
    parser.add_argument("--repeat", type=int, default=5, help="rounds of timing in turn")
    parser.add_argument("--largest", type=int, default=10**6, help="rows of the growth's last step")
    options = parser.parse_args()
    limits = harness.one_thread()
    print("## ConvexHullRanker\n")
    print(harness.header("clarabel"))
    if options.only in (None, "figure"):
        print("\n### Figure 3: accuracy and time in ten folds\n")
        columns = ["set", "rows", "method", "WMW, mean", "range", "nu or C, median", "fit s"]
        print(harness.table(columns, figure_3(options.sets)))
    if options.only in (None, "clarabel"):
        print("\n### Beside Clarabel on formulation (28), California, 20,640 x 8, five bins\n")
        columns = ["graph", "nu", "steps", "ConvexHullRanker s", "Clarabel s"]
        columns += ["times faster (bar 30)", "objective above the optimum, part of it"]
        print(harness.table(columns, beside_clarabel(options.repeat)))
    if options.only in (None, "growth"):
        print("\n### Growth: five classes, chain, 8 features\n")
        columns = ["rows", "steps", "s", "us per row"]
        print(harness.table(columns, growth(options.largest)))
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
