"""RankSVM on nearly separable rows: Newton, which "auto" takes, beside the paper's TRON.

Rows of Gaussian features, in "scaled" multiplied by widths that differ by e^4 and more, and real
labels without noise or two levels of them, which some weights order perfectly. Large C then leaves
few pairs that violate their margin. A fit that takes --most seconds is stopped there. Asserts
nothing.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import _harness as harness
from pairrank import RankSVM
from pairrank._protocols import Step

SHAPES = ((300, 400), (2000, 200))
CS = (1.0, 1e4)
KINDS = ("real", "binary", "scaled")
TOLERANCES = (1e-3, 1e-6)


def make(n_rows: int, n_features: int, kind: str) -> tuple[Any, Any]:
    """Return rows and labels that some weights order perfectly."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    if kind == "scaled":
        X *= np.exp(2.0 * rng.normal(size=n_features))
    y = X @ rng.normal(size=n_features)
    return X, (y > 0.0).astype(float) if kind == "binary" else y


def fit(X: Any, y: Any, C: float, tol: float, solver: Any, most: float) -> tuple[RankSVM, float]:
    """Fit, for at most so many seconds; return the ranker and the seconds."""
    start = time.perf_counter()

    def late(step: Step) -> bool:
        return time.perf_counter() - start > most

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = RankSVM(C, tol=tol, solver=solver).fit(X, y, callback=late)
    return ranker, time.perf_counter() - start


def rows(most: float) -> Iterator[list[Any]]:
    """Yield a line of the table for each fit, Newton and TRON in turn."""
    for (n_rows, n_features), kind in (
        (s, k) for s in SHAPES for k in ("real", "binary", "scaled")
    ):
        X, y = make(n_rows, n_features, kind)
        for C, tol in itertools.product(CS, TOLERANCES):
            line: list[Any] = [f"{n_rows} x {n_features}, {kind}", f"{C:g}", f"{tol:g}"]
            values = []
            for solver in ("auto", "tron"):
                ranker, seconds = fit(X, y, C, tol, solver, most)
                last = ranker.history_[-1]
                values.append(last.value)
                line += [f"{seconds:.3f}", ranker.n_iter_, ranker.status_]
            yield [*line, f"{values[1] / values[0] - 1:+.2g}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=10.0, help="seconds of a fit")
    options = parser.parse_args()
    limit = harness.one_thread()
    print(harness.header())
    X, y = make(*SHAPES[0], "real")
    for solver in ("auto", "tron"):
        fit(X, y, 1.0, 1e-3, solver, options.most)
    names = (
        "Newton s",
        "steps",
        "status",
        "TRON s",
        "steps",
        "status",
        "TRON's objective / Newton's - 1",
    )
    print(harness.table(("rows", "C", "tol", *names), rows(options.most)))
    del limit


if __name__ == "__main__":
    main()
