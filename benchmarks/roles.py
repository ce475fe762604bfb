"""Time sums with weights by role against plain ones, and tubes, in expit of the scores.

One query of the squared hinge, value and gradient, at 2, 5 and 100 levels and at as many levels as
rows; then a tube of each power over the differences of a query. Timed in turn on one thread.
Asserts nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import _harness as harness


def roles(n_rows: int, repeat: int) -> Iterator[list[Any]]:
    """Yield a row of the first table for each number of levels."""
    import numpy as np

    from pairrank.losses import SquaredHinge
    from pairrank.pair_sums import bind
    from pairrank.preferences import Levels

    rng = np.random.default_rng(0)
    winner, loser = rng.uniform(0.5, 2.0, (2, n_rows))
    scores = rng.normal(size=n_rows)
    for n_levels in (2, 5, 100, n_rows):
        some = n_levels < n_rows
        y = rng.integers(0, n_levels, n_rows) if some else rng.permutation(n_rows)
        y = y.astype(np.float64)
        plain = bind(SquaredHinge(), Levels.build(y))
        weighted = bind(SquaredHinge(), Levels.build(y, winner_weight=winner, loser_weight=loser))
        times = timed({"plain": plain, "roles": weighted}, scores, repeat)
        ratios = [harness.ratio(times[name], times["expit"]) for name in ("plain", "roles")]
        ratios.append(harness.ratio(times["roles"], times["plain"]))
        yield [n_levels, *(f"{each.median:.3g} ({each.spread})" for each in ratios)]


def tubes(n_rows: int, repeat: int) -> Iterator[list[Any]]:
    """Yield a row of the second table for each power of a tube."""
    import numpy as np

    from pairrank.losses import Tube
    from pairrank.pair_sums import bind
    from pairrank.preferences import Differences

    rng = np.random.default_rng(0)
    y = rng.normal(size=n_rows)
    scores = y + 0.5 * rng.normal(size=n_rows)
    for power in (1, 2):
        tube = bind(Tube(0.1, power), Differences.build(y))
        times = timed({"tube": tube}, scores, repeat)
        found = harness.ratio(times["tube"], times["expit"])
        yield [power, f"{found.median:.3g} ({found.spread})"]


def timed(sums: dict[str, Any], scores: Any, repeat: int) -> dict[str, Any]:
    """Return the times of value and gradient of each sum, and of expit, in turn."""
    from scipy.special import expit

    for each in sums.values():
        each.at(scores)
    calls = {name: lambda s=each: s.at(scores) is None for name, each in sums.items()}
    return harness.in_turn({**calls, "expit": lambda: expit(scores) is None}, repeat)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--tube-rows", type=float, default=1e7)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    limits = harness.one_thread()
    columns = ("levels", "plain / expit", "with roles / expit", "with roles / plain")
    print(harness.header(), "", sep="\n")
    print(harness.table(columns, roles(int(given.rows), given.repeat)))
    print()
    print(harness.table(("n", "tube / expit"), tubes(int(given.tube_rows), given.repeat)))
    del limits


if __name__ == "__main__":
    main()
