"""RankRLS beside Ridge on the same rows, and beside RLScore's learners of the same objective.

The rows have the shape, density and number of queries of Airola's sets, which cannot be had. Timed
in turn on one thread. Asserts nothing.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

import _harness as harness
from pairrank import Pairs, RankRLS
from pairrank.datasets import make_queries
from reproduction.data.made import make_documents, make_parses
from reproduction.protocols import Rows


def parses(scale: float) -> Rows:
    """Return training rows of the shape of the parse ranking set."""
    made = make_parses(max(30, int(600 * scale)), random_state=0)
    return made.part(slice(np.searchsorted(made.qid, 0.61 * (made.qid[-1] + 1))))


def documents(scale: float) -> Rows:
    """Return training rows of the shape of RCV1's category CCAT."""
    return make_documents(int(781_265 * scale), 47_152, random_state=0)


def with_pairs(rows: Rows, n_pairs: int) -> Rows:
    """Return the same with random pairs of rows as the target."""
    rng = np.random.default_rng(0)
    upper, lower = (np.flatnonzero(rows.y == one) for one in np.unique(rows.y)[::-1])
    pairs = Pairs(rng.choice(upper, n_pairs), rng.choice(lower, n_pairs), n_rows=rows.y.size)
    return rows._replace(y=pairs)


def beside_ridge(scale: float, repeat: int) -> Iterator[list[Any]]:
    """Yield fits with as many CG steps as Ridge takes on the same rows."""
    from sklearn.linear_model import Ridge

    for name, (X, y, qid, _) in (("documents", documents(scale)), ("parses", parses(scale))):
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
                name, f"{X.shape[0]:,} x {X.shape[1]:,}", steps, ours.n_iter_,
                timed["ours"].median, timed["ridge"].median,
                f"{beside.median:.2f} ({beside.spread})",
            ]  # fmt: skip


def beside_rlscore(scale: float, repeat: int) -> Iterator[list[Any]]:
    """Yield fits of one objective by RLScore and by us, to the same relative residual of 1e-5."""
    from rlscore.learner import CGRankRLS, PPRankRLS, QueryRankRLS
    from rlscore.learner.cg_rankrls import PCGRankRLS

    text, sentences = documents(0.05 * scale), parses(scale)
    judged = make_queries(int(400 * scale) + 5, 50, 46, random_state=0)
    few = text.part(slice(int(2000 * scale)))
    few = few._replace(X=sparse.csr_matrix(few.X))
    compared = with_pairs(text, int(1e5 * scale))
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
            "PPRankRLS, dense", Rows(dense, Pairs(*some.T, n_rows=n_few)), "direct",
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
    parser.add_argument("--only", choices=["ridge", "rlscore"])
    parser.add_argument("--scale", type=float, default=1.0, help="part of the training rows")
    parser.add_argument("--repeat", type=int, default=3, help="rounds of timing in turn")
    options = parser.parse_args()
    limits = harness.one_thread()
    print("## RankRLS\n")
    print(harness.header())
    if options.only in (None, "ridge"):
        print("\n### Beside Ridge(solver='sparse_cg', fit_intercept=False)\n")
        columns = ["data", "rows", "steps asked", "ours took", "RankRLS s", "Ridge s"]
        columns += ["ratio (bar 1.3)"]
        print(harness.table(columns, beside_ridge(options.scale, options.repeat)))
    if options.only in (None, "rlscore"):
        print("\n### Beside RLScore, where it can be imported\n")
        columns = ["its learner", "rows", "RankRLS s", "RLScore s", "times faster"]
        columns += ["relative distance of w"]
        try:
            print(harness.table(columns, beside_rlscore(options.scale, options.repeat)))
        except ImportError as absence:
            print(f"left out: {absence}")
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
