"""One thread against two, in turn: fits of three shapes of rows, and reading svmlight.

Beside each ratio stands what the machine allowed in the same minute (two threads against one that
compute, and that read the same X), and what the code allowed (the part of the time on one thread
that threads would share).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_limits

from _allowed import computing, reading
from _fit_worker import dense, few_entries
from _harness import Timing, header, in_turn, ratio, table
from pairrank import RankNCG, RankSVM, threads
from pairrank.io import Rows, read_rows, write_rows

BAR = 1.6
ALLOWED = ("the code allows", "computing", "reading X")
_ROWS_AT_ONCE = 20_000


def write_file(path: Path, megabytes: float) -> None:
    """Write judged rows of 136 features, about 1.6 kB each."""
    made = dense(_ROWS_AT_ONCE, 136, 100, 5)
    part = Rows(made.X.round(6), made.y, made.qid)
    write_rows(path, part)
    text = path.read_bytes()
    rest = int(megabytes * 1e6)
    with open(path, "wb") as file:
        while rest > 0:
            piece = text if rest >= len(text) else text[: text.find(b"\n", rest) + 1 or None]
            rest -= file.write(piece)


def calls(
    scale: float, megabytes: float, folder: Path
) -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """Make the rows of one case after another.

    Yields
    ------
    tuple of str, ndarray and callable
        A name, the numbers that the function reads, and a function to time, which returns an array
        to compare.
    """
    for name, (X, y, *_) in (
        ("1e6 x 20", dense(int(1e6 * scale), 20, None, 2)),
        ("200k x 136", dense(int(2e5 * scale), 136, None, 5)),
        ("sparse 60k x 5,000", few_entries(int(6e4 * scale), 5_000, 50, 5)),
    ):
        for estimator in (RankSVM, RankNCG):
            yield (
                f"{estimator.__name__}().fit, {name}",
                X.data if sparse.issparse(X) else X,
                lambda X=X, y=y, made=estimator: made().fit(X, y).coef_,
            )
    path = folder / "rows.txt"
    write_file(path, megabytes)
    text = np.memmap(path, np.uint8, "r")
    yield f"read_rows, {megabytes:g} MB", text, lambda: read_rows(path).X


def limited(n_threads: int, call: Callable[[], Any]) -> Callable[[], None]:
    """Return a call that uses at most so many threads."""

    def limited_call() -> None:
        with threadpool_limits(n_threads):
            call()

    return limited_call


@contextlib.contextmanager
def shared_seconds() -> Iterator[list[float]]:
    """Collect the seconds of the calls of `threads.run` that threads could share.

    Yields
    ------
    list of float
        It grows by a number per call that is not within another.
    """
    run, found, is_inside = threads.run, [], False

    def timed(work: Any, items: Any) -> Any:
        nonlocal is_inside
        items = list(items)
        if is_inside or len(items) < 2:
            return run(work, items)
        is_inside, start = True, time.perf_counter()
        try:
            return run(work, items)
        finally:
            found.append(time.perf_counter() - start)
            is_inside = False

    threads.run = timed
    try:
        yield found
    finally:
        threads.run = run


def shared_part(call: Callable[[], Any]) -> float:
    """Return the part of a call's time on one thread that threads would share."""
    with threadpool_limits(1), shared_seconds() as shared:
        start = time.perf_counter()
        call()
        return sum(shared) / (time.perf_counter() - start)


def allowed(values: Any, repeat: int) -> tuple[float, float]:
    """Return how many times as fast two threads compute, and read the values, as one does."""
    calls = {}
    for name, call in (
        ("computing", functools.partial(computing, 2)),
        ("reading", functools.partial(reading, values)),
    ):
        calls |= {f"{name} by {n}": limited(n, call) for n in (1, 2)}
    found = in_turn(calls, repeat=repeat)
    gains = (
        ratio(found[f"{name} by 1"], found[f"{name} by 2"]) for name in ("computing", "reading")
    )
    computed, read = (gain.median for gain in gains)
    return computed, read


def same_bits(call: Callable[[], Any]) -> None:
    """Raise where one thread and two differ; also the warm-up."""
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(call())
    assert_array_equal(*found)


def main() -> None:
    """Time one thread and two in turn, and print the ratios as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of rows")
    parser.add_argument("--megabytes", type=float, default=1000.0, help="of the svmlight file")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, values, call in calls(options.scale, options.megabytes, Path(folder)):
            same_bits(call)
            computed, read = allowed(values, options.repeat)
            shared = statistics.median(shared_part(call) for _ in range(options.repeat))
            most = 1.0 / (1.0 - 0.5 * shared)
            found = in_turn(
                {"one": limited(1, call), "two": limited(2, call)}, repeat=options.repeat
            )
            gain: Timing = ratio(found["one"], found["two"])
            lines.append(
                (
                    *(name, found["one"].median, found["two"].median, gain.median, gain.spread),
                    *(most, computed, read, BAR),
                )
            )
    print(header("threadpoolctl").replace(", one thread", ", one thread and two"))
    print()
    heads = ("", "one thread (s)", "two (s)", "ratio", "spread", *ALLOWED, "bar")
    print(table(heads, lines))


if __name__ == "__main__":
    main()
