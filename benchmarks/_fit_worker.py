"""Shapes of rows, fits of them, and a process that times one fit after another.

The rows are made by numpy and scipy alone, so that two versions of pairrank are given the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Rows(NamedTuple):
    """What a fit is given; `pairs` (2, n) instead of `y` for comparisons."""

    X: Any
    y: Any
    qid: Any = None
    pairs: Any = None


def _utility(rng: np.random.Generator, X: Any, noise: float) -> Any:
    """Return a linear utility of variance 1 plus normal noise."""
    signal = X @ rng.standard_normal(X.shape[1])
    return signal / signal.std() + noise * rng.standard_normal(X.shape[0])


def _levels(utility: Any, n_levels: int | None) -> Any:
    """Return the level of each row, of equal counts; None: the utility itself."""
    if n_levels is None:
        return utility
    bounds = np.quantile(utility, np.linspace(0, 1, n_levels + 1)[1:-1])
    return np.searchsorted(bounds, utility).astype(float)


def dense(
    n_rows: int,
    n_features: int,
    rows_per_query: int | None,
    n_levels: int | None,
    n_factors: int | None = None,
) -> Rows:
    """Return normal rows; no rows per query: one query; no levels: real labels.

    So many factors, if given, correlate the features: the condition number of their covariance is
    1e4, as that of judged documents may be.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    if n_factors is not None:
        axes, _ = np.linalg.qr(rng.standard_normal((n_features, n_factors)))
        factors = rng.standard_normal((n_rows, n_factors)) * np.geomspace(1.0, 0.01, n_factors)
        X = 0.01 * X + factors @ axes.T
        X /= X.std()
    y = _levels(_utility(rng, X, 1.0), n_levels)
    return Rows(X, y, None if rows_per_query is None else np.arange(n_rows) // rows_per_query)


def few_entries(n_rows: int, n_features: int, entries: int, n_levels: int | None) -> Rows:
    """Return CSR rows of norm 1 in one query, with so many entries each."""
    rng = np.random.default_rng(0)
    bounds = np.linspace(0, n_features, entries + 1).astype(np.int64)
    columns = rng.integers(bounds[:-1], bounds[1:], (n_rows, entries)).astype(np.int32)
    values = rng.standard_normal((n_rows, entries))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    starts = np.arange(0, n_rows * entries + 1, entries, dtype=np.int32)
    X = sparse.csr_array((values.ravel(), columns.ravel(), starts), (n_rows, n_features))
    return Rows(X, _levels(_utility(rng, X, 0.1), n_levels))


def comparisons(n_rows: int, n_features: int, n_pairs: int) -> Rows:
    """Return normal rows and comparisons of random ones by their utility."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    utility = _utility(rng, X, 1.0)
    i, j = rng.integers(0, n_rows, n_pairs), rng.integers(0, n_rows - 1, n_pairs)
    j += j >= i
    wins = utility[i] > utility[j]
    return Rows(X, None, pairs=(np.where(wins, i, j), np.where(wins, j, i)))


SHAPES: dict[str, Callable[[], Rows]] = {
    "1e5 x 20, 10, 5": functools.partial(dense, 100_000, 20, 10, 5),
    "1e5 x 20, 100, 5": functools.partial(dense, 100_000, 20, 100, 5),
    "1e5 x 20, 1000, 5": functools.partial(dense, 100_000, 20, 1000, 5),
    "1e5 x 136, 100, 5": functools.partial(dense, 100_000, 136, 100, 5),
    "1e5 x 136, 100, 5, correlated": functools.partial(dense, 100_000, 136, 100, 5, 25),
    "3e5 x 20, one, 5": functools.partial(dense, 300_000, 20, None, 5),
    "3e5 x 20, one, 100": functools.partial(dense, 300_000, 20, None, 100),
    "5e4 x 20, one, real": functools.partial(dense, 50_000, 20, None, None),
    "1e5 x 20, 100, real": functools.partial(dense, 100_000, 20, 100, None),
    "1e5 x 20, 1000, real": functools.partial(dense, 100_000, 20, 1000, None),
    "sparse": functools.partial(few_entries, 60_000, 5000, 40, None),
    "separable": functools.partial(few_entries, 100_000, 50_000, 40, 2),
    "comparisons": functools.partial(comparisons, 100_000, 20, 1_000_000),
    "1e6 x 20, one, 2": functools.partial(dense, 1_000_000, 20, None, 2),
}
"""Rows x features, rows per query, levels; "sparse" is 60,000 x 5,000 with real labels, "separable"
1e5 x 50,000 with 2 levels (40 entries per row), "comparisons" 1e6 of 1e5 x 20."""
FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "RankNCG": ("RankNCG", {}),
    "RankSVM": ("RankSVM", {}),
    "RankSVM, C=100": ("RankSVM", {"C": 100.0}),
    "RankSVM, hinge": ("RankSVM", {"loss": "hinge"}),
    "RankRLS": ("RankRLS", {}),
    "MPRank": ("MPRank", {}),
    "SVRank, n=1": ("SVRank", {"n": 1}),
    "SVRank, n=2": ("SVRank", {"n": 2}),
    "ConvexHullRanker": ("ConvexHullRanker", {}),
    "RankBoost, 25 rounds": ("RankBoost", {"n_estimators": 25}),
}
ONLY_ON = {"RankSVM, C=100": ("sparse", "separable")}
"""Fits of long descents, which few features do not have: on these shapes only."""
LEFT_OUT = {
    ("comparisons", "ConvexHullRanker"): "it is fitted to labels",
    ("separable", "RankBoost, 25 rounds"): "weak rankings of 50,000 columns take seconds per fit",
}
"""Why a fit is not measured on a shape."""


def fits_of(shape: str, names: Iterable[str]) -> list[str]:
    """Return which of these fits are measured on a shape."""
    return [
        name
        for name in names
        if (shape, name) not in LEFT_OUT and shape in ONLY_ON.get(name, SHAPES)
    ]


@contextlib.contextmanager
def _peak_memory(found: dict[str, Any]) -> Any:
    """Note the bytes that the block needs at most beyond those before it, on Linux."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        yield
        return
    before = _memory_of("VmRSS")
    yield
    found["bytes"] = _memory_of("VmHWM") - before


def _memory_of(name: str) -> int:
    """Return a line of this process's status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    raise OSError(f"no {name}")


def fit(rows: Rows, name: str, *, memory: bool = False) -> dict[str, Any]:
    """Fit, and return the seconds, the iterations, the objective and the peak memory."""
    import pairrank

    found: dict[str, Any] = {}
    kind, params = FITS[name]
    try:
        y = pairrank.Pairs(*rows.pairs, n_rows=rows.X.shape[0]) if rows.pairs else rows.y
        ranker = getattr(pairrank, kind)(**params)
        with (
            warnings.catch_warnings(),
            _peak_memory(found) if memory else contextlib.nullcontext(),
        ):
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            ranker.fit(rows.X, y, qid=rows.qid)
            found["seconds"] = time.perf_counter() - start
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    found["n_iter"] = int(np.max(getattr(ranker, "n_iter_", 0)))
    found["rows"] = rows.X.shape[0]
    return found


def serve() -> None:
    """Answer one line of JSON after another: a shape to make, or a fit of the last shape."""
    rows: Rows | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        if "shape" in asked:
            rows = None
            rows = SHAPES[asked["shape"]]()
            answer: dict[str, Any] = {}
        else:
            assert rows is not None
            answer = fit(rows, asked["fit"], memory=asked.get("memory", False))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
