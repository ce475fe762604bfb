"""Figures 1d and 2: the series for erfc, and the sum of erfc, fast and pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import erfc

from pairrank import fast_erfc_sum
from reproduction.protocols import seconds_of
from reproduction.study import Cell, Printed, Quantity, Table

REACH = 4.0
"""The series is for z in [-4, 4]."""

FEW_TARGETS = 100
"""Beyond LARGEST_DIRECT points, the direct sum is taken at these and its time extrapolated."""

LARGEST_DIRECT = 3_200


def series_errors(*, terms: int, n_points: int = 20_001, seed: int = 0) -> dict[str, float]:
    """Return the largest error of the truncated series (Eq. 5) and its bound (Eq. 6).

    h minimises the bound, over a grid.
    """
    z = np.linspace(-REACH, REACH, n_points)
    steps = np.linspace(0.02, 0.4, 2_000)
    h = float(steps[np.argmin(_bound(terms, steps))])
    odd = np.arange(1, 2 * terms, 2)
    waves = np.sin(2.0 * h * np.outer(z, odd)) @ (np.exp(-((odd * h) ** 2)) / odd)
    error = np.abs(erfc(z) - (1.0 - 4.0 / np.pi * waves)).max()
    return {"error": float(error), "bound": float(_bound(terms, h)), "h": h}


def _bound(terms: int, h: Any) -> Any:
    """Return the right side of Eq. 6 at |z| = REACH."""
    tail = 2.0 / (np.sqrt(np.pi) * h) * erfc((2 * terms + 1) * h)
    return tail + erfc(np.pi / (2.0 * h) - REACH)


def sum_of_erfc(*, n_points: int, eps: float, method: str, seed: int = 0) -> dict[str, Any]:
    """Time a sum of n erfc at n normal points; return seconds and the error by Q_abs.

    The direct sum of more than LARGEST_DIRECT points is taken
    at FEW_TARGETS targets and extrapolated, as in the paper.
    """
    rng = np.random.default_rng(seed)
    sources, targets = rng.standard_normal((2, n_points))
    few = targets[:FEW_TARGETS]
    fast_erfc_sum(sources[:50], few, eps=eps, method=method)
    part = method == "direct" and n_points > LARGEST_DIRECT
    asked = few if part else targets
    found: list[Any] = []
    seconds = seconds_of(
        lambda: found.append(fast_erfc_sum(sources, asked, eps=eps, method=method))
    )
    exact = np.array([erfc(target - sources).sum() for target in few])
    error = np.abs(found[-1][: few.size] - exact).max() / n_points
    factor = n_points / few.size if part else 1.0
    return {"seconds": seconds * factor, "error": float(error)}


METHODS = {"direct": "direct", "Beaulieu, as in the paper": "beaulieu", "boxes": "boxes"}
SIZES = (100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200)
EPSILONS = tuple(10.0**-power for power in range(2, 13, 2))

TERMS = Table(
    name="fig1d",
    title="the error of the truncated series for erfc on [-4, 4], by its number of terms p",
    cells=tuple(Cell(str(terms), "", series_errors, {"terms": terms}) for terms in range(2, 31, 2)),
    quantities=(
        Quantity("error", "largest error", form=".1e"),
        Quantity("bound", "bound of Eq. 6", form=".1e"),
        Quantity("h", "h, which minimises the bound"),
    ),
    row_title="p",
)

BY_SIZE = Table(
    name="fig2",
    title="sums of N erfc at N normal points, eps 1e-10 (a, b); N = 3,000 by eps (c, d)",
    cells=tuple(
        Cell(row, name, sum_of_erfc, {**config, "method": method}, timed=True)
        for row, config in (
            *((f"N = {size:,}", {"n_points": size, "eps": 1e-10}) for size in SIZES),
            *((f"eps = {eps:.0e}", {"n_points": 3_000, "eps": eps}) for eps in EPSILONS),
        )
        for name, method in METHODS.items()
    ),
    quantities=(
        Quantity(
            "seconds",
            "seconds",
            {
                ("N = 51,200", "direct"): Printed(17.26 * 3600),
                ("N = 51,200", "Beaulieu, as in the paper"): Printed(4.29),
            },
            form=".3g",
        ),
        Quantity("error", "largest error by Q_abs", form=".1e"),
    ),
    note="The paper gives no eps for (a) and (b), but an error of 1e-10. As in the paper, direct "
    f"sums of more than {LARGEST_DIRECT:,} points are taken at {FEW_TARGETS} targets and "
    "extrapolated; errors are at these targets.",
)
