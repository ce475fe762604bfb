"""Whole fits of every ranker on fourteen shapes of rows, beside those of another checkout.

Each tree has a worker process per number of threads, and the workers take turns: A B A B. A ratio
is this tree's seconds divided by the other's: the median over the turns. Memory is the peak of a
fit beyond what the process held before it, X and labels included, per row. Nothing is asserted.
On one thread and two it takes about ten minutes per tree.

    python benchmarks/fits.py --beside ../before/src --threads 1 2
    python benchmarks/fits.py --shapes "1e5 x 20, 100, 5" sparse --fits RankSVM RankNCG
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import _harness as harness
from _fit_worker import FITS, LEFT_OUT, ONLY_ON, SHAPES, fits_of
from _harness import Timing

SOURCE = harness.ROOT / "src"
WORKER = Path(__file__).with_name("_fit_worker.py")


class Cell(NamedTuple):
    """One fit of one shape on a number of threads, of each tree: this one, and the other."""

    shape: str
    fit: str
    threads: int
    taken: list[Timing]
    bytes_per_row: list[float]
    n_iter: list[int]
    error: str = ""

    @property
    def ratio(self) -> Timing | None:
        """This tree's seconds by the other's, turn by turn; None where there is no other."""
        return harness.ratio(*self.taken) if len(self.taken) == 2 else None


class Worker:
    """A process that fits with one tree on a number of threads."""

    def __init__(self, source: Path, n_threads: int, cache: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(source.resolve()), "NUMBA_CACHE_DIR": cache}
        for variable in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
            environment[f"{variable}_NUM_THREADS"] = str(n_threads)
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, **asked: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended with exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def cache_of(source: Path, folder: Path) -> str:
    """Return the folder of a tree's compiled code."""
    digest = hashlib.sha256(str(source.resolve()).encode()).hexdigest()
    return str(folder / digest[:12])


def measure(workers: list[Worker], shape: str, name: str, n_threads: int, repeats: int) -> Cell:
    """Warm up, note the memory, then time the workers in turn."""
    warm = [worker.ask(fit=name) for worker in workers]
    told = [worker.ask(fit=name, memory=True) for worker in workers]
    errors = [each["error"] for each in (*warm, *told) if "error" in each]
    if errors:
        return Cell(shape, name, n_threads, [], [], [], errors[0])
    taken: list[list[float]] = [[] for _ in workers]
    for _ in range(repeats):
        for worker, seconds in zip(workers, taken, strict=True):
            seconds.append(worker.ask(fit=name)["seconds"])
    return Cell(
        shape,
        name,
        n_threads,
        [Timing(tuple(seconds)) for seconds in taken],
        [each.get("bytes", float("nan")) / each["rows"] for each in told],
        [each["n_iter"] for each in told],
    )


def cells(sources: list[Path], options: argparse.Namespace) -> Iterator[Cell]:
    """Yield every cell; a line of each goes to standard error."""
    caches = [cache_of(source, options.caches) for source in sources]
    for n_threads in options.threads:
        workers = [
            Worker(source, n_threads, cache) for source, cache in zip(sources, caches, strict=True)
        ]
        for shape in options.shapes:
            fits = fits_of(shape, options.fits)
            for worker in workers if fits else []:
                worker.ask(shape=shape)
            for name in fits:
                cell = measure(workers, shape, name, n_threads, options.repeats)
                print("; ".join(map(str, _cells_of(cell))), file=sys.stderr, flush=True)
                yield cell
        for worker in workers:
            worker.end()


def _cells_of(cell: Cell) -> list[Any]:
    if cell.error:
        return [cell.shape, cell.fit, cell.threads, cell.error]
    row: list[Any] = [cell.shape, cell.fit, cell.threads]
    row += [f"{taken.median:.3f} ({taken.spread})" for taken in cell.taken]
    if cell.ratio is not None:
        row.append(f"{cell.ratio.median:.2f} ({cell.ratio.spread})")
    row.append(" / ".join(f"{each:.0f}" for each in cell.bytes_per_row))
    row.append(" / ".join(map(str, cell.n_iter)))
    return row


def print_cells(found: list[Cell], *, beside: bool) -> None:
    """Print the fits, and the geometric means of their ratios."""
    columns = ["shape", "fit", "threads", "this, s"]
    columns += ["other, s", "this / other"] if beside else []
    columns += ["bytes per row beyond X", "iterations"]
    rows = (row + [""] * (len(columns) - len(row)) for row in map(_cells_of, found))
    print(harness.table(columns, rows) + "\n")
    left = [f"{fit} on {shape} ({why})" for (shape, fit), why in LEFT_OUT.items()]
    left += [f"{fit} on all but {' and '.join(shapes)}" for fit, shapes in ONLY_ON.items()]
    print("Left out: " + "; ".join(left) + ".\n")
    if beside:
        columns = ["geometric mean of this / other", "fits", "ratio"]
        print(harness.table(columns, _means(found)) + "\n")


def _means(found: list[Cell]) -> Iterator[list[Any]]:
    """Yield the geometric mean of the ratios of some cells, with their number."""
    groups: dict[str, Callable[[Cell], bool]] = {"all": lambda cell: True}
    for n_threads in sorted({cell.threads for cell in found}):
        groups["one thread" if n_threads == 1 else f"{n_threads} threads"] = (
            lambda cell, n=n_threads: cell.threads == n
        )
    for name in FITS:
        groups[name] = lambda cell, name=name: cell.fit == name
    for name, belongs in groups.items():
        ratios = [cell.ratio.median for cell in found if cell.ratio is not None and belongs(cell)]
        if ratios:
            yield [name, len(ratios), f"{harness.geometric_mean(ratios):.3f}"]


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--this", type=Path, default=SOURCE, help="the src that is measured")
    parser.add_argument("--beside", type=Path, help="the src of another checkout")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), metavar="NAME")
    parser.add_argument("--fits", nargs="+", choices=FITS, default=list(FITS), metavar="NAME")
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--caches",
        type=Path,
        default=Path(tempfile.gettempdir()) / "pairrank-fits",
        help="a folder for compiled code, of each tree by itself",
    )
    return parser.parse_args()


def main() -> None:
    """Print the tables as Markdown."""
    options = parse()
    sources = [options.this] + ([options.beside] if options.beside else [])
    for source in sources:
        if not (source / "pairrank" / "__init__.py").is_file():
            sys.exit(f"{source} holds no pairrank: name the src folder of a checkout")
    print("## Whole fits\n")
    print(harness.header() + "\n")
    print_cells(list(cells(sources, options)), beside=options.beside is not None)


if __name__ == "__main__":
    main()
