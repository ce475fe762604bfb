"""Reading svmlight text: pairrank beside scikit-learn, in turn, on files made here."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from pairrank.datasets import make_queries
from pairrank.io import Rows, read_svmlight, write_svmlight
from reproduction.data.made import make_utility


def make_files(folder: Path, scale: float) -> dict[str, Path]:
    """Write judged queries with 6 and with 17 digits, and sparse rows."""
    n_queries = max(1, int(170 * scale))
    judged = make_queries(n_queries, 120, 136, latent=25, random_state=0)
    text = make_utility(max(1, int(50_000 * scale)), 50_000, nnz_per_row=40, random_state=0)
    rows = {
        "dense, 6 digits": Rows(judged.X.round(6), judged.y, judged.qid),
        "dense, 17 digits": Rows(judged.X, judged.y, judged.qid),
        "sparse, 17 digits": Rows(text.X, text.y),
    }
    paths = {}
    for number, (name, part) in enumerate(rows.items()):
        paths[name] = folder / f"{number}.txt"
        write_svmlight(paths[name], part)
    return paths


def seconds(call: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def check(path: Path, has_qid: bool) -> None:
    """Raise where the two readers disagree."""
    ours = read_svmlight(path, sparse=True)
    theirs = load_svmlight_file(str(path), query_id=has_qid)
    if (theirs[0] != ours.X).nnz or not np.array_equal(ours.y, theirs[1]):
        raise SystemExit(f"the two readers disagree on {path}")


def main() -> None:
    """Time both readers in turn and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1: files of 20 to 60 MB")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    print(f"{'file':20}{'MB':>7}{'MB/s':>8}{'times faster':>14}{'spread':>16}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in make_files(Path(folder), options.scale).items():
            has_qid = name.startswith("dense")
            check(path, has_qid)
            ours, ratios = [], []
            for _ in range(options.repeat):
                ours.append(seconds(lambda path=path: read_svmlight(path)))
                theirs = seconds(
                    lambda path=path, qid=has_qid: load_svmlight_file(str(path), query_id=qid)
                )
                ratios.append(theirs / ours[-1])
            size = path.stat().st_size / 1e6
            spread = f"{min(ratios):.1f} to {max(ratios):.1f}"
            print(
                f"{name:20}{size:7.1f}{size / statistics.median(ours):8.0f}"
                f"{statistics.median(ratios):14.1f}{spread:>16}"
            )


if __name__ == "__main__":
    main()
