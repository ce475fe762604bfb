"""Time cell sums against the sorted sum and expit, and measure their error and its bound.

One query of the squared hinge, value and gradient, at 2, 5 and 100 levels and at as many levels as
rows; timed in turn on one thread. Asserts nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import _harness as harness


def problems(n_rows: int) -> Iterator[tuple[int, Any, Any]]:
    """Yield the number of levels, the levels, and scores that follow the labels a little."""
    import numpy as np

    from pairrank.preferences import Levels

    rng = np.random.default_rng(0)
    for n_levels in (2, 5, 100, n_rows):
        some = n_levels < n_rows
        y = rng.integers(0, n_levels, n_rows) if some else rng.permutation(n_rows)
        scores = 0.7 * rng.normal(size=n_rows) + y / n_levels
        yield n_levels, Levels.build(y.astype(np.float64)), scores


def measured(n_rows: int, repeat: int) -> Iterator[list[Any]]:
    """Yield a row of the table for each number of levels."""
    import numpy as np
    from scipy.special import expit

    from pairrank.losses import SquaredHinge
    from pairrank.pair_sums import bind

    for n_levels, levels, scores in problems(n_rows):
        cells = bind(SquaredHinge(), levels, pair_sum="cells")
        exact = bind(SquaredHinge(), levels, pair_sum="sorted")
        found, wanted = cells.at(scores), exact.at(scores)
        v = np.random.default_rng(1).normal(size=n_rows)
        curvature = found.curvature()
        curvature.matvec(v)
        times = harness.in_turn(
            {
                "cells": lambda s=cells, x=scores: at_new_scores(s, x),
                "product": lambda c=curvature, v=v: c.matvec(v) is None,
                "sorted": lambda s=exact, x=scores: at_new_scores(s, x),
                "expit": lambda x=scores: expit(x) is None,
            },
            repeat,
        )
        names = ("cells", "product", "sorted")
        ratios = [harness.ratio(times[name], times["expit"]) for name in names]
        off = np.linalg.norm(found.gradient - wanted.gradient) / np.linalg.norm(wanted.gradient)
        yield [
            n_levels,
            *(f"{each.median:.3g} ({each.spread})" for each in ratios),
            f"{abs(found.value - wanted.value) / wanted.value:.1e}",
            f"{found.error / wanted.value:.1e}",
            f"{off:.1e}",
        ]


def at_new_scores(pair_sum: Any, scores: Any) -> float:
    """Return the seconds of a value and gradient at scores that the sum has not seen.

    The sorted sum keeps the sort of the last scores. Making the scores is no part of the time.
    """
    moved = scores + time.perf_counter() % 1.0
    start = time.perf_counter()
    pair_sum.at(moved)
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    limits = harness.one_thread()
    columns = (
        "levels", "cells / expit", "Hessian product / expit", "sorted / expit",
        "error of the value", "its bound", "error of the gradient",
    )  # fmt: skip
    print(harness.header(), "", sep="\n")
    print(harness.table(columns, measured(int(given.rows), given.repeat)))
    del limits


if __name__ == "__main__":
    main()
