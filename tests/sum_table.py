"""The table of the algorithms that sum each loss: a new one is one line here."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from definitions import Sums, sums_over
from loss_table import LOSSES, ROUNDING, assert_within, pairs_of, weights_of
from pairrank.exceptions import PairrankWarning
from pairrank.pair_sums import bind, boxes, sigmoid
from pairrank.pair_sums import sorted as sorted_sums
from pairrank.preferences import Levels
from strategies import Problem

HINGES = ("sorted", "trees", "selection_tree", "level_counting", "direct")
SIGMOIDS = ("auto", "levels", "bands", "boxes", "direct")
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "squared_hinge": HINGES,
    "squared_hinge of margin 0": HINGES,
    "hinge": HINGES,
    "hinge of margin 0.3": HINGES,
    "logistic": SIGMOIDS,
    "probit": (*SIGMOIDS, "beaulieu", "series"),
    "raykar": (*SIGMOIDS, "beaulieu"),
    "exponential": ("separable", "direct"),
    "modified_huber": ("auto", "trees"),
    "huberised_hinge": ("auto",),
    "no family": ("auto",),
}
"""Those of a user, and those of `SMALL`."""
SMALL: dict[str, tuple[str, dict[tuple[Any, str], int]]] = {
    "levels": ("boxes", {(sigmoid, "BAND_ROWS"): 1}),
    "bands": ("boxes", {(sigmoid, "BAND_ROWS"): 3, (boxes, "ROWS_A_BATCH"): 16}),
    "series": ("beaulieu", {(sigmoid, "PAPER_ROWS"): 1}),
    "trees": (
        "auto",
        {
            (sorted_sums, "SMALL_QUERY"): 0,
            (sorted_sums, "LEAF_ROWS"): 4,
            (sorted_sums, "ROWS_PER_PART"): 1,
        },
    ),
}
"""What large queries have, for a few rows: an algorithm, and the sizes that it is bound with."""

EVERY = [(name, algorithm) for name, served in ALGORITHMS.items() for algorithm in served]
ONCE = list(
    {
        (type(LOSSES[name].loss.family), algorithm): (name, algorithm)
        for name, algorithm in reversed(EVERY)
    }.values()
)
"""Each algorithm of a family, with the first of its losses."""


def sum_of(name: str, algorithm: str, levels: Levels, eps: float = 1e-6) -> Any:
    """Return the pair sum of a loss of the table over levels."""
    pair_sum, sizes = SMALL.get(algorithm, (algorithm, {}))
    with pytest.MonkeyPatch.context() as patch:
        for (module, size), value in sizes.items():
            patch.setattr(module, size, value)
        return bind(LOSSES[name].loss, levels, pair_sum=pair_sum, eps=eps)


def levels_of(problem: Problem, reduction: str = "sum") -> Levels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        levels = Levels.build(problem.y, graph=problem.graph, **problem.aligned)
    return levels.reduced(reduction) if levels.n_pairs else levels


def scale_of_rows(levels: Levels) -> np.ndarray:
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
    return levels.from_layout(np.repeat(scale, np.diff(levels.query_start)))


def double_loop(problem: Problem, definition: Any, levels: Levels) -> Sums:
    scale = scale_of_rows(levels)
    winner, loser = weights_of(problem)
    return sums_over(
        pairs_of(problem), problem.scores, definition, problem.v, winner,
        lambda i: scale[i], loser,
    )  # fmt: skip


def assert_sums(name: str, bound: Any, scores: np.ndarray, v: np.ndarray, wanted: Sums) -> None:
    """Compare everything that a sum tells with the double loop."""
    summed = LOSSES[name]
    spread = min(float(np.ptp(scores)), 1500.0) if scores.size else 0.0
    few = ROUNDING * (1.0 + summed.far * spread)
    floor = summed.floor * few
    eps = bound.error / wanted.pair_weight if wanted.pair_weight else 0.0
    found = bound.at(scores)
    assert found.error == bound.error
    if wanted.value > 1e290:
        assert found.value > 1e289
        return
    allowed = few * wanted.value_size + (eps + floor) * wanted.pair_weight
    assert_within(found.value, wanted.value, allowed)
    allowed = few * wanted.gradient_size + (eps + floor) * wanted.row_weight
    assert_within(found.gradient, wanted.gradient, allowed)
    eps = max(eps, 1e-6 if eps else 0.0) + floor
    if hasattr(bound, "influence"):
        influence = bound.influence(scores, np.stack((v, 2.0 * v)))
        allowed = few * wanted.influence_size + eps * wanted.span
        assert_within(influence[0], wanted.influence, allowed)
        assert_within(influence[1], 2.0 * wanted.influence, 2.0 * allowed)
    if not summed.loss.smooth:
        return
    curvature = found.curvature()
    allowed = few * wanted.product_size + eps * wanted.span
    assert_within(curvature.matvec(v), wanted.product, allowed)
    several = curvature.matmat(np.stack((v, -v)))
    assert_within(several, np.stack((wanted.product, -wanted.product)), allowed)
    allowed = few * wanted.diagonal + eps * wanted.row_weight
    assert_within(curvature.diagonal(), wanted.diagonal, allowed)
