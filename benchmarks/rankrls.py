"""RankRLS: Airola's Table 1 on data of its shape and on real text, and fits beside Ridge.

Three methods: (1) Tikhonov, lambda of 2^-10 ... 2^10 by the validation rows, CG to 1e-5 or 500
steps; (2) iteration: lambda = 0, the best validated iterate kept, ended by ten worse ones;
(3) hybrid: both. "Selection" is the time to choose (the whole grid for 1 and 3), "training" that of
the chosen lambda again. The paper's sets cannot be had: ``make_documents`` and ``make_parses`` have
their shape, density and number of queries; Reuters-21578 and a sample of RCV1 are real and are read
where PAIRRANK_DATA names a folder that holds them. "all pairs" learns from the labels; "10^6 pairs"
from so many pairs drawn of them, as the paper's third table does.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import _harness as harness
from pairrank import Pairs, RankRLS
from pairrank.datasets import make_queries
from pairrank.metrics import pairwise_accuracy
from reproduction.data import DatasetNotFoundError, load
from reproduction.data.made import make_documents, make_parses

GRID = tuple(2.0**power for power in range(-10, 11))
NO_PENALTY = 1e-300
METHODS = ("tikhonov", "iteration", "hybrid")
PAPER = {
    "parses": {
        "tikhonov": (0.2185, 11, 1743), "iteration": (0.2180, 6, 9), "hybrid": (0.2185, 7, 137),
    },
    "documents": {
        "tikhonov": (0.01472, 352, 17186), "iteration": (0.01531, 65, 97),
        "hybrid": (0.01473, 155, 2120),
    },
    "documents, 10^6 pairs": {
        "tikhonov": (0.01530, 226, 15295), "iteration": (0.01621, 52, 78),
        "hybrid": (0.01530, 94, 1695),
    },
}  # fmt: skip


class Rows(NamedTuple):
    """Rows with labels, in queries or in one."""

    X: Any
    y: Any
    qid: np.ndarray | None

    def part(self, rows: slice) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[rows], self.y[rows], None if self.qid is None else self.qid[rows])


class Problem(NamedTuple):
    """Training, validation and test rows under a name."""

    name: str
    train: Rows
    valid: Rows
    test: Rows

    def with_pairs(self, n_pairs: int) -> Problem:
        """Return the same with random pairs of the training rows as the target."""
        rng = np.random.default_rng(0)
        upper, lower = (
            np.flatnonzero(self.train.y == one) for one in np.unique(self.train.y)[::-1]
        )
        pairs = Pairs(
            rng.choice(upper, n_pairs), rng.choice(lower, n_pairs), n_rows=self.train.y.size
        )
        return self._replace(
            name=f"{self.name}, {n_pairs:.0e} pairs".replace("1e+06", "10^6"),
            train=self.train._replace(y=pairs),
        )


def parses(scale: float) -> Problem:
    """Return rows of the shape of the parse ranking set."""
    made = make_parses(max(30, int(600 * scale)), random_state=0)
    rows = Rows(made.X, made.y, made.qid)
    starts = np.searchsorted(made.qid, np.array([0.61, 0.81]) * (made.qid[-1] + 1))
    return _cut("parses", rows, *starts)


def documents(scale: float) -> Problem:
    """Return rows of the shape of RCV1's category CCAT."""
    n_train, n_valid, n_test = int(781_265 * scale), 8_149, 23_149
    made = make_documents(n_train + n_valid + n_test, 47_152, random_state=0)
    return _cut("documents", Rows(made.X, made.y, None), n_train, n_train + n_valid)


def reuters(_: float) -> Problem:
    """Return Reuters-21578: earnings before all else."""
    train, test = (load("reuters21578", subset=subset) for subset in ("train", "test"))
    order = np.random.default_rng(0).permutation(train.y.size)
    rows = Rows(train.X[order], train.y[order], None)
    cut = int(0.9 * train.y.size)
    return Problem(
        "Reuters-21578", rows.part(slice(cut)), rows.part(slice(cut, None)),
        Rows(test.X, test.y, None),
    )  # fmt: skip


def rcv1(_: float) -> Problem:
    """Return the sample of RCV1."""
    train, test = (load("vw_rcv1_small", subset=subset) for subset in ("train", "test"))
    rows = Rows(train.X, train.y, None)
    return Problem(
        "RCV1 sample", rows.part(slice(800)), rows.part(slice(800, None)),
        Rows(test.X, test.y, None),
    )  # fmt: skip


def _cut(name: str, rows: Rows, first: int, second: int) -> Problem:
    return Problem(
        name, rows.part(slice(first)), rows.part(slice(first, second)),
        rows.part(slice(second, None)),
    )  # fmt: skip


SYNTHETIC: dict[str, Callable[[float], Problem]] = {"parses": parses, "documents": documents}
REAL: dict[str, Callable[[float], Problem]] = {"reuters": reuters, "rcv1": rcv1}


def fit(problem: Problem, method: str, alpha: float, max_iter: int = 500) -> RankRLS:
    """Fit on the training rows, validated on the others where the method needs them."""
    ranker = RankRLS(alpha, regularization=method, solver="cg", tol=1e-5, max_iter=max_iter)
    valid: dict[str, Any] = {}
    if method != "tikhonov":
        valid = dict(zip(("X_val", "y_val", "qid_val"), problem.valid, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ranker.fit(problem.train.X, problem.train.y, qid=problem.train.qid, **valid)


def error(ranker: RankRLS, rows: Rows) -> float:
    """Return the part of pairs in the wrong order, ties counting half, the mean over queries."""
    scores = ranker.predict(rows.X)
    return 1.0 - float(pairwise_accuracy(rows.y, scores, qid=rows.qid, average="queries"))


def choose(problem: Problem, method: str) -> RankRLS:
    """Return the fit of the least validation error: over the grid, where the method has one."""
    if method == "iteration":
        return fit(problem, method, 1.0)
    fits = [fit(problem, method, alpha) for alpha in GRID]
    return min(fits, key=lambda ranker: error(ranker, problem.valid))


def train_again(problem: Problem, chosen: RankRLS) -> None:
    """Fit with what was chosen, as many steps, and no validation."""
    method = chosen.regularization
    alpha = NO_PENALTY if method == "iteration" else chosen.alpha
    steps = chosen.n_iter_ if method == "tikhonov" else chosen.best_iteration_
    fit(problem, "tikhonov", alpha, steps)


def table_1(problem: Problem) -> Iterator[list[Any]]:
    """Yield the three methods: test error, seconds to train, seconds to choose."""
    first = 0.0
    paper = PAPER.get(problem.name, {})
    for method in METHODS:
        chosen: list[RankRLS] = []

        def select(method: str = method, chosen: list[RankRLS] = chosen) -> None:
            chosen.append(choose(problem, method))

        def train(chosen: list[RankRLS] = chosen) -> None:
            train_again(problem, chosen[0])

        selection, training = harness.seconds(select), harness.seconds(train)
        first = first or selection
        theirs = paper.get(method)
        yield [
            problem.name, method, "-" if method == "iteration" else f"{chosen[0].alpha:g}",
            chosen[0].n_iter_, f"{error(chosen[0], problem.test):.5f}", training, selection,
            f"{first / selection:.3g}",
            "-" if theirs is None else " / ".join(f"{one:g}" for one in theirs),
        ]  # fmt: skip


def beside_ridge(scale: float, repeat: int) -> Iterator[list[Any]]:
    """Yield fits with as many CG steps as Ridge takes on the same rows."""
    from sklearn.linear_model import Ridge

    for problem in (documents(scale), parses(scale)):
        X, y, qid = problem.train
        for steps in (10, 50):
            ours = RankRLS(1e-12, solver="cg", tol=1e-30, max_iter=steps)
            theirs = Ridge(
                1e-12, solver="sparse_cg", fit_intercept=False, tol=1e-30, max_iter=steps
            )

            def run(model: Any, X: Any = X, y: Any = y, **rows: Any) -> Callable[[], None]:
                def call() -> None:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        model.fit(X, y, **rows)

                return call

            calls = {"ours": run(ours, qid=qid), "ridge": run(theirs)}
            timed = harness.in_turn(calls, repeat)
            beside = harness.ratio(timed["ours"], timed["ridge"])
            yield [
                problem.name, f"{X.shape[0]:,} x {X.shape[1]:,}", steps, ours.n_iter_,
                timed["ours"].median, timed["ridge"].median,
                f"{beside.median:.2f} ({beside.spread})",
            ]  # fmt: skip


def beside_rlscore(scale: float, repeat: int) -> Iterator[list[Any]]:
    """Yield fits of one objective by RLScore and by us, to the same relative residual of 1e-5."""
    from rlscore.learner import CGRankRLS, PPRankRLS, QueryRankRLS
    from rlscore.learner.cg_rankrls import PCGRankRLS

    text, sentences = documents(0.05 * scale).train, parses(scale).train
    judged = make_queries(int(400 * scale) + 5, 50, 46, random_state=0)
    few = text.part(slice(int(2000 * scale)))
    few = few._replace(X=sparse.csr_matrix(few.X))
    compared = documents(0.05 * scale).with_pairs(int(1e5 * scale)).train
    listed = np.column_stack((compared.y.i, compared.y.j))
    n_few = int(1000 * scale)
    dense = np.random.default_rng(0).normal(size=(n_few, 50))
    some = np.random.default_rng(0).permutation(n_few)[: n_few // 2 * 2].reshape(-1, 2)
    cases: list[tuple[str, Rows, str, Callable[[], Any]]] = [
        ("CGRankRLS, text", text, "cg", lambda: CGRankRLS(text.X, text.y, regparam=1.0)),
        (
            "CGRankRLS, parses", sentences, "cg",
            lambda: CGRankRLS(sentences.X, sentences.y, regparam=1.0, qids=sentences.qid),
        ),
        (
            "QueryRankRLS, judged", Rows(judged.X, judged.y, judged.qid), "direct",
            lambda: QueryRankRLS(judged.X, judged.y, qids=judged.qid, regparam=1.0),
        ),
        (
            "QueryRankRLS, few text rows", few, "direct",
            lambda: QueryRankRLS(few.X, few.y, qids=np.zeros(few.y.size, int), regparam=1.0),
        ),
        ("PCGRankRLS, text", compared, "cg", lambda: PCGRankRLS(compared.X, listed, regparam=1.0)),
        (
            "PPRankRLS, dense", Rows(dense, Pairs(*some.T, n_rows=n_few), None), "direct",
            lambda: PPRankRLS(dense, some[:, 0], some[:, 1], regparam=1.0),
        ),
    ]  # fmt: skip
    for name, rows, solver, theirs in cases:
        ours = RankRLS(1.0, solver=solver, tol=1e-5)
        last: dict[str, Any] = {}

        def fit_ours(ours: RankRLS = ours, rows: Rows = rows) -> None:
            ours.fit(rows.X, rows.y, qid=rows.qid)

        def fit_theirs(theirs: Callable[[], Any] = theirs, last: dict[str, Any] = last) -> None:
            last["model"] = theirs()

        fit_ours()
        timed = harness.in_turn({"ours": fit_ours, "theirs": fit_theirs}, repeat)
        beside = harness.ratio(timed["theirs"], timed["ours"])
        weights = np.ravel(last["model"].predictor.W)
        apart = np.linalg.norm(weights - ours.coef_) / np.linalg.norm(weights)
        yield [
            name, f"{rows.X.shape[0]:,} x {rows.X.shape[1]:,}", timed["ours"].median,
            timed["theirs"].median, f"{beside.median:.1f} ({beside.spread})", f"{apart:.1e}",
        ]  # fmt: skip


def main() -> None:
    """Print every table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=[*SYNTHETIC, "real", "ridge", "rlscore"])
    parser.add_argument("--scale", type=float, default=1.0, help="part of the training rows")
    parser.add_argument("--repeat", type=int, default=3, help="rounds of timing in turn")
    options = parser.parse_args()
    limits = harness.one_thread()
    columns = ["data", "method", "lambda", "steps", "test error", "training s", "selection s"]
    columns += ["selection, times faster than Tikhonov's", "paper: error / training / selection"]
    print("## RankRLS\n")
    print(harness.header())
    for name, make in SYNTHETIC.items():
        if options.only in (None, name):
            problem = make(options.scale)
            X = problem.train.X
            print(f"\n### {problem.name}: {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} entries\n")
            print(harness.table(columns, table_1(problem)))
            if problem.name == "documents":
                print("\n" + harness.table(columns, table_1(problem.with_pairs(10**6))))
    if options.only in (None, "real"):
        for name, make in REAL.items():
            try:
                problem = make(1.0)
            except DatasetNotFoundError as absence:
                print(f"\n{name} left out: {absence}")
                continue
            print(f"\n### {problem.name}: {problem.train.X.shape[0]:,} rows\n")
            print(harness.table(columns, table_1(problem)))
            print("\n" + harness.table(columns, table_1(problem.with_pairs(10**6))))
    if options.only in (None, "ridge"):
        print("\n### Beside Ridge(solver='sparse_cg', fit_intercept=False)\n")
        columns = ["data", "rows", "steps asked", "ours took", "RankRLS s", "Ridge s"]
        columns += ["ratio (bar 1.3)"]
        print(harness.table(columns, beside_ridge(options.scale, options.repeat)))
    if options.only in (None, "rlscore"):
        print("\n### Beside RLScore, where it can be imported\n")
        columns = [
            "its learner",
            "rows",
            "RankRLS s",
            "RLScore s",
            "times faster",
            "|w - its w|/|w|",
        ]
        try:
            print(harness.table(columns, beside_rlscore(options.scale, options.repeat)))
        except ImportError as absence:
            print(f"left out: {absence}")
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
