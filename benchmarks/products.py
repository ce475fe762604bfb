"""Time the products X w and X' v of a fit against BLAS's and scipy's, and kernel values.

Each product and its rival are timed in turn on one thread, at every width in float64 and float32,
in C and Fortran order and as CSR. Asserts nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import _harness as harness

SHAPES = ((2_000_000, 20), (200_000, 136), (40_000, 1000), (8000, 5000), (1000, 20))
SPARSE = ((60_000, 5000, 0.01), (60_000, 5000, 0.002), (100_000, 50_000, 0.001))
KERNELS = ((4000, 20, 500), (4000, 136, 500), (1000, 784, 1000))
ENOUGH = 20_000_000
"""Entries that one timing covers at least: small matrices are multiplied many times."""

Calls = dict[str, Callable[[], Any]]


def dense_products(smaller: int) -> Iterator[tuple[str, Calls]]:
    """Yield the products of dense rows, ours first."""
    import numpy as np

    from pairrank.design import Design

    rng = np.random.default_rng(0)
    for n_rows, n_features in SHAPES:
        rows = max(1, n_rows // smaller)
        for dtype in (np.float64, np.float32):
            for order in "CF":
                X = np.asarray(rng.normal(size=(rows, n_features)), dtype=dtype, order=order)
                name = f"{np.dtype(dtype).name} {order} {rows} x {n_features}"
                yield from both_products(name, X, Design(X), rng)


def sparse_products(smaller: int) -> Iterator[tuple[str, Calls]]:
    """Yield the products of CSR rows, ours first."""
    import numpy as np
    from scipy import sparse

    from pairrank.design import Design

    rng = np.random.default_rng(0)
    for n_rows, n_features, density in SPARSE:
        shape = (max(1, n_rows // smaller), n_features)
        X = sparse.random_array(shape, density=density, format="csr", rng=rng)
        for dtype in (np.float64, np.float32):
            single = X.astype(dtype)
            name = f"{np.dtype(dtype).name} CSR {shape[0]} x {n_features}, {X.nnz} entries"
            yield from both_products(name, single, Design(single), rng)


def both_products(name: str, X: Any, design: Any, rng: Any) -> Iterator[tuple[str, Calls]]:
    """Yield X w and X' v; the rival casts its vector and its result, as a fit would."""
    w, v = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
    times = max(1, ENOUGH // design.n_entries)
    yield (
        f"X w, {name}",
        {
            "ours": repeated(lambda: design.scores(w), times),
            "rival": repeated(lambda: (X @ w.astype(X.dtype)).astype("float64"), times),
        },
    )
    yield (
        f"X' v, {name}",
        {
            "ours": repeated(lambda: design.transposed(v), times),
            "rival": repeated(lambda: (X.T @ v.astype(X.dtype)).astype("float64"), times),
        },
    )


def kernel_values(smaller: int) -> Iterator[tuple[str, Calls]]:
    """Yield kernel values of rows with landmarks, ours first, then scikit-learn's."""
    import numpy as np
    from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

    from pairrank.kernels import Kernel
    from pairrank.kernels.columns import KernelColumns

    rng = np.random.default_rng(0)
    for n_rows, n_features, n_landmarks in KERNELS:
        X = rng.normal(size=(max(1, n_rows // smaller), n_features))
        landmarks = rng.normal(size=(n_landmarks, n_features))
        for function, rival in (("rbf", rbf_kernel), ("poly", polynomial_kernel)):
            columns = KernelColumns(Kernel(function), 1.0 / n_features, landmarks)
            yield (
                f"{function}, {X.shape[0]} x {n_features}, {n_landmarks} landmarks",
                {
                    "ours": lambda columns=columns, X=X: columns(X),
                    "rival": lambda rival=rival, X=X, landmarks=landmarks: rival(X, landmarks),
                },
            )


def repeated(call: Callable[[], Any], times: int) -> Callable[[], None]:
    """Return a call that repeats another."""

    def run() -> None:
        for _ in range(times):
            call()

    return run


def main() -> None:
    """Print a Markdown table of ratios, round by round."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9, help="rounds of each pair (default 9)")
    parser.add_argument(
        "--smaller", type=int, default=1, help="divide the rows by this for a quick look"
    )
    arguments = parser.parse_args()
    limits = harness.one_thread()
    rows = []
    for source in (dense_products, sparse_products, kernel_values):
        for name, calls in source(arguments.smaller):
            for call in calls.values():
                call()
            found = harness.in_turn(calls, arguments.repeat)
            ratio = harness.ratio(found["ours"], found["rival"])
            times = [1e3 * found[which].median for which in ("ours", "rival")]
            rows.append((name, *times, ratio.median, ratio.spread))
    print(harness.header())
    print("- Rivals: numpy's BLAS, scipy.sparse, scikit-learn's pairwise kernels")
    print()
    print(harness.table(("product", "ours (ms)", "rival (ms)", "ratio", "spread"), rows))
    del limits


if __name__ == "__main__":
    main()
