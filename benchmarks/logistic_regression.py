"""RankSVM and RankNCG on a million binary rows of one query, beside LogisticRegression.

Default fits of 1,000,000 x 20 and `LogisticRegression(tol=1e-3)` on the same rows, timed in turn on
one thread. Asserts nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import _harness as harness
from pairrank import RankNCG, RankSVM
from reproduction.data.made import make_utility

CS = (1e-4, 1.0, 100.0)


def rows_of(scale: float, dtype: Any, noise: float) -> tuple[Any, Any]:
    """Return features and labels of two levels."""
    made = make_utility(int(1_000_000 * scale), 20, noise=noise, n_levels=2, random_state=0)
    return made.X.astype(dtype), made.y


def timed(X: Any, y: Any, ours: dict[str, Any], rival: Any, repeat: int) -> Iterator[list[Any]]:
    """Yield, for each of our models, its seconds and evaluations, the rival's, and the ratio."""
    models = {**ours, "rival": rival}
    calls: dict[str, Callable[[], Any]] = {
        name: lambda model=model: model.fit(X, y) and None for name, model in models.items()
    }
    for call in calls.values():
        call()
    found = harness.in_turn(calls, repeat)
    for name, model in ours.items():
        beside = harness.ratio(found[name], found["rival"])
        yield [
            name, found[name].median, model.history_[-1].n_evaluations, found["rival"].median,
            int(rival.n_iter_[0]), f"{beside.median:.2f} ({beside.spread})",
        ]  # fmt: skip


def svm_table(scale: float, repeat: int) -> Iterator[list[Any]]:
    """Yield fits of RankSVM at every C."""
    cases = [(dtype, 1.0, C) for dtype in (np.float64, np.float32) for C in CS]
    for dtype, noise, C in [*cases, (np.float64, 0.1, 1.0), (np.float32, 0.1, 1.0)]:
        X, y = rows_of(scale, dtype, noise)
        rival = LogisticRegression(C=C, tol=1e-3)
        for _, *found in timed(X, y, {"ours": RankSVM(C)}, rival, repeat):
            yield [np.dtype(dtype).name, f"{noise:g}", f"{C:g}", *found]


def ncg_table(scale: float, repeat: int) -> Iterator[list[Any]]:
    """Yield fits of RankNCG by either likelihood."""
    for dtype, noise in ((np.float64, 1.0), (np.float32, 1.0), (np.float64, 0.1)):
        X, y = rows_of(scale, dtype, noise)
        rankers = {name: RankNCG(loss=name) for name in ("logistic", "probit")}
        for found in timed(X, y, rankers, LogisticRegression(tol=1e-3), repeat):
            yield [np.dtype(dtype).name, f"{noise:g}", *found]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="part of the rows")
    parser.add_argument("--repeat", type=int, default=7, help="rounds of timing in turn")
    options = parser.parse_args()
    limits = harness.one_thread()
    print(harness.header(), "", sep="\n")
    rest = ["evaluations", "LogisticRegression s", "its iterations"]
    columns = ["X", "noise", "C", "RankSVM s", *rest, "ratio (bar 0.6)"]
    print(harness.table(columns, svm_table(options.scale, options.repeat)), "\n")
    columns = ["X", "label noise", "loss", "RankNCG s", *rest, "ratio (bar 0.55)"]
    print(harness.table(columns, ncg_table(options.scale, options.repeat)))
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
