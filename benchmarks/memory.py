"""Peak memory of a whole fit in a process of its own, beyond X: bytes per row, against the bar.

X is made in place, a block at a time, so that making it does not set the peak. The bar is X plus
120 bytes per row plus 400 MB of interpreter and libraries. The wide case shows that X is not
copied: its X is three times as large as all that the bar allows beside it.
"""

from __future__ import annotations

import argparse
import functools
import json
import resource
import subprocess
import sys
from typing import Any, NamedTuple

import _harness as harness

BYTES_A_ROW = 120
N_PAIRS, PAIR_ROWS, PAIRS_GB = 100_000_000, 1_000_000, 3.0
PAIR_STEPS = 3
LIBRARIES_MB = 400
_BLOCK = 100_000


class Case(NamedTuple):
    """What a process fits."""

    ranker: str
    name: str
    n_rows: int
    n_features: int
    n_levels: int
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def model(self) -> str:
        """The ranker as one would write it."""
        if not self.params:
            return self.ranker
        return f"{self.ranker}({', '.join(f'{name}={value!r}' for name, value in self.params)})"


CASES = (
    Case("RankSVM", "5 levels", 10_000_000, 10, 5),
    Case("RankSVM", "wide, 5 levels", 3_000_000, 136, 5),
    Case("RankNCG", "5 levels", 10_000_000, 10, 5),
    Case("RankRLS", "5 levels", 10_000_000, 10, 5),
    Case("RankSVM", "5 levels", 10_000_000, 10, 5, (("loss", "hinge"), ("tol", 0.01))),
    Case("MPRank", "5 levels", 10_000_000, 10, 5),
    Case("SVRank", "5 levels", 10_000_000, 10, 5, (("n", 1), ("tol", 0.01))),
    Case("SVRank", "5 levels", 10_000_000, 10, 5, (("n", 2),)),
    Case("ConvexHullRanker", "5 levels", 3_000_000, 10, 5),
)


def peak_mb() -> float:
    """Return the highest resident memory of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def fit_here(case: Case) -> dict[str, float]:
    """Make X in place, fit, and return the peaks before and after, in MB."""
    import numpy as np

    import pairrank

    ranker = functools.partial(getattr(pairrank, case.ranker), **dict(case.params))
    rng = np.random.default_rng(0)
    coef = rng.standard_normal(case.n_features, dtype=np.float32)
    bounds = np.linspace(0, 1, case.n_levels + 1)[1:-1]
    few = rng.standard_normal((5000, case.n_features), dtype=np.float32)
    cuts = np.quantile(few @ coef, bounds)
    ranker().fit(few, np.searchsorted(cuts, few @ coef))
    X = np.empty((case.n_rows, case.n_features), dtype=np.float32)
    y = np.empty(case.n_rows, dtype=np.int64)
    for start in range(0, case.n_rows, _BLOCK):
        rows = slice(start, min(start + _BLOCK, case.n_rows))
        X[rows] = rng.standard_normal(X[rows].shape, dtype=np.float32)
        utility = X[rows] @ coef
        utility += coef.std() * rng.standard_normal(utility.size, dtype=np.float32)
        y[rows] = np.searchsorted(cuts, utility)
    before = peak_mb()
    taken = harness.seconds(lambda: ranker().fit(X, y))
    return {"X": X.nbytes / 1e6, "before": before, "peak": peak_mb(), "seconds": taken}


def compare_here(regularization: str, n_pairs: int) -> dict[str, float]:
    """Fit RankRLS on as many comparisons; return the peak beyond X, and what is in it, in MB."""
    import warnings

    import numpy as np

    from pairrank import Pairs, RankRLS

    rng = np.random.default_rng(0)
    X = rng.standard_normal((PAIR_ROWS, 10), dtype=np.float32)
    start = peak_mb() - X.nbytes / 1e6
    i = rng.integers(0, PAIR_ROWS, n_pairs, dtype=np.int32)
    j = rng.integers(0, PAIR_ROWS - 1, n_pairs, dtype=np.int32)
    j += j >= i
    ranker = RankRLS(regularization=regularization, solver="cg", max_iter=PAIR_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = harness.seconds(lambda: ranker.fit(X, Pairs(i, j, n_rows=PAIR_ROWS)) and None)
    return {"pairs": 8 * n_pairs / 1e6, "beyond": peak_mb() - start, "seconds": taken}


def measure_pairs(regularization: str, n_pairs: int) -> list[object]:
    """Run `compare_here` in a fresh process and return its line of the table."""
    told = json.dumps([regularization, n_pairs])
    command = [sys.executable, __file__, "--pairs-child", told]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    allowed = PAIRS_GB * 1e3
    return [
        f"RankRLS, {regularization}",
        f"{n_pairs:,} over {PAIR_ROWS:,} rows",
        f"{found['pairs']:,.0f}",
        f"{found['beyond']:,.0f}",
        f"{allowed:,.0f}",
        f"{found['seconds']:.1f}",
        "holds" if found["beyond"] <= allowed else "FAILS",
    ]


def measure(case: Case) -> list[object]:
    """Run a case in a fresh process and return its line of the table."""
    command = [sys.executable, __file__, "--child", json.dumps(case)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    beyond = found["peak"] - found["X"]
    allowed = case.n_rows * BYTES_A_ROW / 1e6 + LIBRARIES_MB
    a_row = (beyond - LIBRARIES_MB) * 1e6 / case.n_rows
    added = (found["peak"] - found["before"]) * 1e6 / case.n_rows
    return [
        f"{case.model}, {case.name}",
        f"{case.n_rows:,} x {case.n_features}",
        *(f"{found[key]:,.0f}" for key in ("X", "before", "peak")),
        f"{beyond:,.0f}",
        f"{allowed:,.0f}",
        f"{a_row:.0f}",
        f"{added:.0f}",
        f"{found['seconds']:.1f}",
        "holds" if beyond <= allowed else "FAILS",
    ]


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--pairs-child", help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=["rows", "pairs"], help="one of the tables")
    options = parser.parse_args()
    limits = harness.one_thread()
    if options.child:
        print(json.dumps(fit_here(Case(*json.loads(options.child)))))
        return
    if options.pairs_child:
        print(json.dumps(compare_here(*json.loads(options.pairs_child))))
        return
    print("## Memory of a fit\n")
    print(harness.header())
    shrink = 10 if options.quick else 1
    if options.only != "pairs":
        columns = ["labels", "float32 X", "X MB", "peak before fit MB", "peak MB", "beyond X MB"]
        columns += ["bar MB", "bytes per row beyond X and 400 MB"]
        columns += ["bytes per row that the fit adds", "fit s", "bar"]
        rows = [measure(case._replace(n_rows=case.n_rows // shrink)) for case in CASES]
        print("\n" + harness.table(columns, rows))
    if options.only != "rows":
        print(f"\n### Comparisons, {PAIR_STEPS} steps\n")
        columns = ["fit", "comparisons", "of them indices MB", "peak beyond X MB", "bar MB"]
        columns += ["fit s", "bar"]
        kinds = ("tikhonov", "iteration")
        print(harness.table(columns, [measure_pairs(kind, N_PAIRS // shrink) for kind in kinds]))
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
