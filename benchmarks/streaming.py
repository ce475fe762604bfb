"""Fits to rows on disk: peak memory, and time against only reading as many bytes.

Makes Parquet files of float32 features, --rows of them (1e8 x 20: 8 GB), and removes them at the
end. Each fit runs in a process of its own; the peak is its highest resident memory. The bar is
3 GB of memory at 1e8 rows, and 2.5 times the seconds in which pyarrow decodes as many bytes of the
same files as the fit has read: the bytes that the operating system has handed out, so blocks that
stay in memory are no bytes read. Only reading is timed before and after each fit, and the faster
time counts. All rows are one query, which crosses all blocks.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import _harness as harness

N_FEATURES = 20
N_FILES = 8
MOST_GB, MOST_TIMES = 3.0, 2.5
_CHUNK = 500_000


class Case(NamedTuple):
    """What a process fits, and to which labels."""

    ranker: str
    label: str

    @property
    def name(self) -> str:
        """How the table calls it."""
        return f"{self.ranker}, {self.label}"


CASES = tuple(
    Case(ranker, label) for ranker in ("RankSVM", "RankNCG") for label in ("binary", "levels")
)


def make_rows(folder: Path, n_rows: int) -> float:
    """Write the files, and return their size in GB."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(0)
    coef = generator.normal(size=N_FEATURES).astype(np.float32)
    spread = float(np.sqrt((coef**2).sum() + 1.0))
    borders = spread * np.array([-0.84, -0.25, 0.25, 0.84], dtype=np.float32)
    per_file = -(-n_rows // N_FILES)
    for number in range(N_FILES):
        writer: Any = None
        left = min(per_file, n_rows - number * per_file)
        while left > 0:
            size = min(_CHUNK, left)
            X = generator.standard_normal((size, N_FEATURES), dtype=np.float32)
            utility = X @ coef + generator.standard_normal(size, dtype=np.float32)
            columns = {f"f{at}": X[:, at] for at in range(N_FEATURES)}
            columns["binary"] = (utility > 0).astype(np.int8)
            columns["levels"] = np.searchsorted(borders, utility).astype(np.int8)
            table = pa.table(columns)
            if writer is None:
                path = folder / f"{number}.parquet"
                writer = pq.ParquetWriter(
                    path, table.schema, compression="none", use_dictionary=False
                )
            writer.write_table(table)
            left -= size
        if writer is not None:
            writer.close()
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e9


def fit_here(folder: str, case: Case, memory_limit: float, batch_rows: int | None) -> Any:
    """Fit to the files; return seconds, bytes of X that were read, passes, and the peak."""
    import numpy as np

    import pairrank

    ranker = getattr(pairrank, case.ranker)
    rng = np.random.default_rng(0)
    few = rng.standard_normal((5000, N_FEATURES), dtype=np.float32)
    labels = np.digitize(few[:, 0], [0] if case.label == "binary" else [-0.8, -0.2, 0.2, 0.8])
    warm = pairrank.RowBlocks.from_arrays(few, labels, batch_rows=2000)
    ranker().fit(warm)
    passes: dict[int, Any] = {}

    def report(reading: Any) -> None:
        passes[reading.number] = reading

    other = {"binary": "levels", "levels": "binary"}[case.label]
    rows = pairrank.RowBlocks.from_parquet(
        f"{folder}/*.parquet",
        label=case.label,
        drop=[other],
        memory_limit=memory_limit,
        batch_rows=batch_rows,
    )._reporting(report)
    start, before = time.perf_counter(), _bytes_read()
    fitted = ranker().fit(rows)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "passes": len(passes),
        "bytes of blocks": sum(each.n_bytes for each in passes.values()),
        "bytes read": _bytes_read() - before,
        "status": fitted.status_,
        "peak GB": _peak_gb(),
    }


def read_here(folder: str) -> Any:
    """Decode the features of all files once; return the seconds, and the bytes read."""
    import pyarrow.parquet as pq

    start, before = time.perf_counter(), _bytes_read()
    names = [f"f{at}" for at in range(N_FEATURES)]
    for path in sorted(Path(folder).iterdir()):
        file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
        for _ in file.iter_batches(1 << 16, columns=names):
            pass
    return {"seconds": time.perf_counter() - start, "bytes read": _bytes_read() - before}


def _bytes_read() -> int:
    """Return the bytes that this process has read by system calls; 0 where it is not known."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return int(dict(line.split(": ") for line in lines)["rchar"])


def _peak_gb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def in_child(*arguments: Any) -> Any:
    """Run this file in a process of its own, and return what it prints."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(asked: argparse.Namespace) -> None:
    """Make the files, run the cases, and remove the files."""
    folder = Path(tempfile.mkdtemp(prefix="pairrank-streaming-", dir=asked.folder))
    try:
        size = make_rows(folder, asked.rows)
        print(harness.header("pyarrow"))
        print(f"{asked.rows:,} rows x {N_FEATURES} float32 in {N_FILES} files, {size:.2f} GB")
        print(
            f"memory_limit {asked.memory_limit:.3g} bytes, batch_rows {asked.batch_rows or 'auto'}"
        )
        before = in_child("--read", folder)
        print(f"only reading: {before['bytes read'] / 1e9:.2f} GB")
        for case in CASES:
            before = in_child("--read", folder)
            found = run_case(folder, case, asked)
            after = in_child("--read", folder)
            show(case, found, min(before, after, key=lambda each: float(each["seconds"])))
    finally:
        shutil.rmtree(folder)


def run_case(folder: Path, case: Case, asked: argparse.Namespace) -> Any:
    """Return the figures of a fit in a process of its own."""
    limits = ["--memory-limit", asked.memory_limit]
    if asked.batch_rows is not None:
        limits += ["--batch-rows", asked.batch_rows]
    return in_child("--read", folder, "--ranker", case.ranker, "--label", case.label, *limits)


def show(case: Case, found: Any, once: Any) -> None:
    """Print a line of the table."""
    times_read = found["bytes read"] / max(1, once["bytes read"])
    ratio = found["seconds"] / (times_read * once["seconds"])
    print(
        f"{case.name:18} {found['seconds']:8.2f} s  {found['passes']:3d} passes, files read "
        f"{times_read:5.2f} times: {ratio:5.2f} x only reading, {once['seconds']:.2f} s each "
        f"(bar {MOST_TIMES})  peak "
        f"{found['peak GB']:5.2f} GB (bar {MOST_GB})  {found['status']}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=100_000_000)
    parser.add_argument("--memory-limit", type=float, default=2.4e9)
    parser.add_argument("--batch-rows", type=int)
    parser.add_argument("--folder", help="where the files are made; the system's if left out")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    parser.add_argument("--ranker", help=argparse.SUPPRESS)
    parser.add_argument("--label", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.ranker is not None:
        case = Case(given.ranker, given.label)
        print(json.dumps(fit_here(given.read, case, given.memory_limit, given.batch_rows)))
    elif given.read is not None:
        print(json.dumps(read_here(given.read)))
    else:
        main(given)
