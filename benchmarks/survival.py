"""Time concordance indices of made censored times, weighted and with a standard error.

The time of a sort of the scores stands beside them, and scikit-survival's, which compares every
pair, on a part of the rows where it is installed. Asserts nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import _harness as harness

RIVAL_ROWS = 20_000
"""scikit-survival's time grows with the square of the rows."""


class Made(NamedTuple):
    """Censored times and risk scores that follow them, (n_rows,) each."""

    event: Any
    time: Any
    scores: Any


def made(n_rows: int, n_times: int) -> Made:
    """Return times of which about half are censored; `n_times` distinct ones, or 0: all."""
    import numpy as np

    rng = np.random.default_rng(0)
    risk = rng.normal(size=n_rows)
    time, end = rng.exponential(np.exp(-risk)), rng.exponential(size=n_rows)
    event, time = time <= end, np.minimum(time, end)
    if n_times:
        time = np.ceil(n_times * time / (1.0 + time))
    return Made(event, time, risk + rng.normal(size=n_rows))


def calls(rows: Made) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    import numpy as np

    from pairrank.survival import concordance_index, survival_target

    tau = float(np.quantile(rows.time, 0.9))
    return {
        "index": lambda: concordance_index(*rows).value > 0,
        "with ipcw": lambda: concordance_index(*rows, ipcw=True, tau=tau).value > 0,
        "with standard error": lambda: concordance_index(*rows, standard_error=True).value > 0,
        "target": lambda: survival_target(rows.event, rows.time) is None,
        "np.argsort": lambda: np.argsort(rows.scores) is None,
    }


def measured(n_rows: int, repeat: int) -> Iterator[list[Any]]:
    """Yield a row of the table for each kind of times."""
    for label, n_times in (("distinct times", 0), ("1,000 times", 1000)):
        timed = calls(made(n_rows, n_times))
        for call in timed.values():
            call()
        times = harness.in_turn(timed, repeat)
        yield [label, *(f"{each.median:.3f} ({each.spread})" for each in times.values())]


def against_rival(repeat: int) -> str:
    """Return the times on fewer rows beside scikit-survival's, or why there are none."""
    if find_spec("sksurv") is None:
        return "scikit-survival is not installed."
    from sksurv.metrics import concordance_index_censored

    rows = made(RIVAL_ROWS, 0)
    timed = {
        "pairrank": calls(rows)["index"],
        "scikit-survival": lambda: concordance_index_censored(*rows)[0] > 0,
    }
    times = harness.in_turn(timed, repeat)
    shown = ", ".join(f"{name} {each.median:.4f} s" for name, each in times.items())
    return f"{RIVAL_ROWS:,} rows: {shown}."


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    limits = harness.one_thread()
    print(harness.header(), "", sep="\n")
    names = ["times", *(f"{name}, s" for name in calls(made(10, 0)))]
    print(harness.table(names, measured(int(given.rows), given.repeat)))
    print("", against_rival(given.repeat), sep="\n")
    del limits


if __name__ == "__main__":
    main()
