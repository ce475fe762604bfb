"""Rows on disk that need not fit into memory: how long a fit takes, and how much memory."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from pairrank import RankSVM, RowBlocks
from pairrank.metrics import pairwise_accuracy
from reproduction.data import DatasetNotFoundError
from reproduction.data.made import make_utility
from reproduction.study import Cell, Claim, NotRun, Quantity, Readings, Table, Verdict, verdict

N_FEATURES, N_LEVELS = 10, 5
BYTES = 4 * N_FEATURES + 1
"""What a row takes on disk: float32 features, a level in one byte."""

CHUNK = 1_000_000
WARM_UP = 20_000
"""Rows of an untimed fit, before which functions are compiled."""

MEMORY_LIMIT = 2e9
SIZES = {"1e6 rows": 10**6, "1e7 rows": 10**7, "1e8 rows": 10**8, "1e9 rows": 10**9}


def stream(*, n_rows: int, in_memory: bool = False, seed: int = 0) -> dict[str, float]:
    """Write rows of one query to disk, fit RankSVM to them block by block, and measure.

    `in_memory` fits the same rows as arrays too; `same` is then the largest difference of the
    weights, relative to the largest weight.
    """
    with tempfile.TemporaryDirectory(prefix="reproduction-") as folder:
        X, y = write_rows(Path(folder), n_rows, seed)
        RankSVM().fit(RowBlocks.from_arrays(X[:WARM_UP], y[:WARM_UP]))
        blocks = RowBlocks.from_arrays(X, y, memory_limit=MEMORY_LIMIT)
        start = time.perf_counter()
        ranker = RankSVM().fit(blocks)
        seconds = time.perf_counter() - start
        peak = _peak_gigabytes()
        found = {
            "gigabytes": BYTES * n_rows / 1e9,
            "seconds": seconds,
            "evaluations": ranker.history_[-1].n_evaluations,
            "peak": peak,
            "pairs": float(ranker.n_pairs_),
            "accuracy": _accuracy(ranker, seed),
        }
        if in_memory:
            other = RankSVM().fit(np.array(X), np.array(y)).coef_
            found["same"] = float(np.abs(ranker.coef_ - other).max() / np.abs(other).max())
        return found


def write_rows(folder: Path, n_rows: int, seed: int) -> tuple[Any, Any]:
    """Write features and levels, chunk by chunk; return them as maps of the files."""
    free = shutil.disk_usage(folder).free
    if BYTES * n_rows > 0.9 * free:
        raise DatasetNotFoundError(
            f"{BYTES * n_rows / 1e9:.0f} GB of disk are needed for temporary files, "
            f"{free / 1e9:.0f} GB are free"
        )
    X = np.lib.format.open_memmap(
        folder / "X.npy", "w+", dtype=np.float32, shape=(n_rows, N_FEATURES)
    )
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", dtype=np.int8, shape=(n_rows,))
    for start in range(0, n_rows, CHUNK):
        size = min(CHUNK, n_rows - start)
        X[start : start + size], y[start : start + size] = _chunk(size, seed, start // CHUNK)
    X.flush()
    y.flush()
    return np.load(folder / "X.npy", "r"), np.load(folder / "y.npy", "r")


def _chunk(size: int, seed: int, chunk: int) -> tuple[Any, Any]:
    """Return rows of one linear utility with noise, in five levels."""
    rng = np.random.default_rng([seed, chunk])
    coef = make_utility(2, N_FEATURES, random_state=seed).X[0]
    X = rng.standard_normal((size, N_FEATURES), dtype=np.float32)
    noisy = X @ (coef / np.linalg.norm(coef)) + rng.standard_normal(size)
    return X, np.digitize(noisy, np.sqrt(2.0) * np.array([-0.84, -0.25, 0.25, 0.84]))


def _accuracy(ranker: Any, seed: int) -> float:
    """Return the accuracy on rows that were not trained on."""
    X, y = _chunk(100_000, seed, 10**9)
    return float(pairwise_accuracy(y.astype(np.float64), ranker.predict(X)))


def _peak_gigabytes() -> float:
    """Return the most memory that the process has held; NaN where the system does not say."""
    try:
        import resource
    except ImportError:
        return float("nan")
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


TABLE = Table(
    name="streaming",
    title="rows on disk: `RankSVM().fit(RowBlocks)`, 10 features, 5 levels, one query",
    cells=tuple(
        Cell(
            row,
            "",
            stream,
            {"n_rows": n_rows, "in_memory": n_rows <= 10**7},
            timed=True,
            full=n_rows > 10**7,
            seconds=3.0 * 3600.0 if n_rows > 10**7 else 240.0,
            memory=6.0,
            threads=2,
        )
        for row, n_rows in SIZES.items()
    ),
    tiny=Cell("2e4 rows", "", stream, {"n_rows": 20_000, "in_memory": True}, timed=True),
    quantities=(
        Quantity("gigabytes", "GB on disk", form=".3g"),
        Quantity("pairs", "pairs", form=".2e"),
        Quantity("seconds", "seconds of the fit", form=".3g"),
        Quantity("evaluations", "evaluations over all rows", form=".0f"),
        Quantity("peak", "peak memory of the process, GB", form=".2f"),
        Quantity("accuracy", "test pairwise accuracy", form=".4f"),
        Quantity("same", "weights against a fit in memory, relative", form=".1e"),
    ),
    note=f"Two threads, `memory_limit` {MEMORY_LIMIT:.0e}; temporary files. A size for which the "
    "disk has no room is left out. Peak memory counts pages of the files that the system keeps "
    "for the process.",
    row_title="rows",
)


def _same_as_in_memory(readings: Readings) -> Verdict:
    found = [
        (cell.row, readings.mean("streaming", cell.row, "", "same"))
        for cell in readings.done("streaming")
        if cell.config["in_memory"]
    ]
    if not found:
        raise NotRun("streaming")
    figure = ", ".join(f"{row}: {difference:.1e}" for row, difference in found)
    # Both end at a gradient of at most 1e-3 of that at 0.
    return verdict(max(difference for _, difference in found) <= 1e-2, figure)


CLAIMS = (Claim("Rows on disk give the weights of a fit in memory.", _same_as_in_memory),)
