"""What a fresh process waits for: imports beside scikit-learn's, the demo, first and later fits.

Imports are timed inside fresh processes in turn, interpreter start left out. Python keeps its
bytecode, as pip does of what it installs; imports that are not timed write it first. The demo and
the first fit start from an empty NUMBA_CACHE_DIR, so that all is compiled; "compiling" is the CPU
time within numba's compiler, which other load disturbs less. "Later" is the first fit of another
process that finds the cache, beside the faster of two warm fits of the same process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import _harness as harness

IMPORT = "import time; start = time.perf_counter(); {what}; print(time.perf_counter() - start)"
LISTEN = """
import time
from numba.core import event
class Compiling(event.Listener):
    seconds, depth = 0.0, 0
    def on_start(self, found):
        self.begun = self.begun if self.depth else time.process_time()
        self.depth += 1
    def on_end(self, found):
        self.depth -= 1
        self.seconds += 0.0 if self.depth else time.process_time() - self.begun
compiling = Compiling()
event.register("numba:compile", compiling)
"""
DEMO = """
import contextlib, io, sys
from pairrank.cli import main
sys.argv = ["pairrank", "demo"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""
FIT = """
import time
import numpy as np
from pairrank.datasets import make_queries
from reproduction.data.made import make_utility
data = {data}
from pairrank import {name}
for _ in range(3):
    start = time.perf_counter()
    {ranker}.fit(data.X, data.y, qid=data.qid)
    print(time.perf_counter() - start)
"""
STATEMENTS = {
    "import pairrank": 1.1,
    "from pairrank import RankSVM": None,
}
REFERENCE = "import sklearn.linear_model"
DATA = {
    "one query, 5 levels": "make_utility(50_000, 20, n_levels=5, random_state=0)",
    "queries of 100": "make_queries(500, 100, random_state=0)",
    "sparse, real labels": "make_utility(50_000, 2000, nnz_per_row=20, random_state=0)",
}
FITS = {
    "RankSVM()": ("one query, 5 levels", "sparse, real labels"),
    "RankNCG()": ("one query, 5 levels", "queries of 100"),
    "RankRLS()": ("queries of 100",),
    "ConvexHullRanker()": ("one query, 5 levels",),
}
FIRST_BAR, LATER_BAR = 8.0, 0.5


def run(code: str, cache: str | None = None) -> list[float]:
    """Run code in a fresh process of one thread and return the numbers that it prints."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPATH"] = f"{harness.ROOT}{os.pathsep}{environment.get('PYTHONPATH', '')}"
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return [float(line) for line in done.stdout.split()]


def importing(what: str) -> Callable[[], float]:
    """Return a call that times an import in a fresh process."""
    return lambda: run(IMPORT.format(what=what))[0]


def import_rows(repeat: int) -> Iterator[list[object]]:
    """Yield the import times of pairrank beside scikit-learn's, in turn."""
    calls = {what: importing(what) for what in [*STATEMENTS, REFERENCE]}
    for call in calls.values():
        call()
    taken = harness.in_turn(calls, repeat)
    for what, bar in STATEMENTS.items():
        factor = harness.ratio(taken[what], taken[REFERENCE])
        verdict = "-" if bar is None else f"{bar}: {_verdict(factor.median <= bar)}"
        yield [
            what,
            taken[what].median,
            taken[REFERENCE].median,
            f"{factor.median:.2f} ({factor.spread})",
            verdict,
        ]


def fit_rows(repeat: int) -> Iterator[list[object]]:
    """Yield first fits with an empty cache, and first and warm fits with a full one."""
    for ranker, data in ((ranker, data) for ranker, some in FITS.items() for data in some):
        code = FIT.format(data=DATA[data], ranker=ranker, name=ranker.partition("(")[0])
        with tempfile.TemporaryDirectory() as cache:
            compiled = run(code, cache)[0]
            later = [run(code, cache) for _ in range(repeat)]
        first = harness.Timing(tuple(found[0] for found in later))
        warm = harness.Timing(tuple(min(found[1:]) for found in later))
        above = first.median - warm.median
        holds = compiled <= FIRST_BAR and above <= LATER_BAR
        yield [
            f"{ranker}, {data}",
            compiled,
            compile_seconds(code),
            first.median,
            warm.median,
            above,
            _verdict(holds),
        ]


def compile_seconds(code: str) -> float:
    """Return the CPU seconds that code compiles for in a fresh process with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        return run(LISTEN + code + "print(compiling.seconds)", cache)[-1]


def _verdict(holds: bool) -> str:
    return "holds" if holds else "FAILS"


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3, help="later processes of each fit")
    options = parser.parse_args()
    harness.one_thread()
    for ranker in FITS:
        run(f"import pairrank.metrics; from pairrank import {ranker.partition('(')[0]}")
    print("## Start-up\n")
    print(harness.header() + "\n")
    columns = ["statement", "s", f"`{REFERENCE}` s", "ratio", "bar"]
    print(harness.table(columns, import_rows(2 * options.repeat + 1)) + "\n")
    seconds = compile_seconds(DEMO)
    print(
        f"`pairrank demo` compiles for {seconds:.1f} s of CPU time (bar {FIRST_BAR:g}: "
        f"{_verdict(seconds <= FIRST_BAR)}).\n"
    )
    columns = ["fit", f"first s (bar {FIRST_BAR:g})", "of it compiling, CPU s"]
    columns += ["first in a later process s"]
    columns += ["warm s", f"later above warm s (bar {LATER_BAR:g})", "bars"]
    print(harness.table(columns, fit_rows(options.repeat)))


if __name__ == "__main__":
    main()
