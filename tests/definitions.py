"""Slow definitions of every sum, pair by pair, that the fast algorithms are checked against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pairrank import OrderGraph


def preferences_of(y: Sequence[Any], qid: Sequence[Any] | None, graph: Any) -> list[tuple]:
    """Return every (i, j), i preferred to j, by the definition of the graph."""
    rows = range(len(y))
    return [
        (i, j)
        for i in rows
        for j in rows
        if (qid is None or qid[i] == qid[j]) and _is_edge(y, qid, graph, i, j)
    ]


def _is_edge(y: Sequence[Any], qid: Sequence[Any] | None, graph: Any, i: int, j: int) -> bool:
    if isinstance(graph, OrderGraph):
        return (y[j], y[i]) in graph.edges
    if graph == "full":
        return bool(y[i] > y[j])
    between = (
        label
        for row, label in enumerate(y)
        if (qid is None or qid[row] == qid[i]) and y[j] < label < y[i]
    )
    return bool(y[i] > y[j]) and next(between, None) is None


class Margin(NamedTuple):
    """One pair: its rows, its weight, and its margin d = s_i - s_j."""

    i: int
    j: int
    weight: float
    d: float


def margins_of(
    pairs: Sequence[tuple], scores: Any, weight: Any = None, scale: Any = None, loser: Any = None
) -> Iterator[Margin]:
    """Yield every pair with its margin; `scale(i)` is the factor of pairs of row i's query.

    `loser` holds the weights of the rows that lose; None: `weight`.
    """
    loser = weight if loser is None else loser
    for i, j in pairs:
        w = 1.0 if weight is None else float(weight[i]) * float(loser[j])
        yield Margin(i, j, w * (1.0 if scale is None else scale(i)), float(scores[i] - scores[j]))


def hinge(margin: float, squared: bool) -> tuple[Callable, Callable, Callable]:
    """Return cost, slope and curvature of the hinge or its square as functions of one margin."""

    def excess(d: float) -> float:
        return max(0.0, margin - d)

    if squared:
        return (
            lambda d: excess(d) ** 2,
            lambda d: -2.0 * excess(d),
            lambda d: 2.0 if margin - d > 0.0 else 0.0,
        )
    return excess, lambda d: -1.0 if margin - d > 0.0 else 0.0, lambda d: 0.0


def logistic() -> tuple[Callable, Callable, Callable]:
    """Return cost, slope and curvature of log(1 + exp(-d)) as functions of one margin."""

    def win(d: float) -> float:
        e = math.exp(-abs(d))
        return 1.0 / (1.0 + e) if d >= 0.0 else e / (1.0 + e)

    return (
        lambda d: max(0.0, -d) + math.log1p(math.exp(-abs(d))),
        lambda d: -win(-d),
        lambda d: win(d) * win(-d),
    )


def probit() -> tuple[Callable, Callable, Callable]:
    """Return cost, slope and curvature of the loss with slope -Phi(-a d), a = sqrt(3)/pi."""
    a = math.sqrt(3.0) / math.pi

    def density(x: float) -> float:
        return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) if abs(x) < 1e3 else 0.0

    def below(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2.0))

    return (
        lambda d: max(0.0, -d) + max(0.0, density(a * d) / a - abs(d) * below(-a * abs(d))),
        lambda d: -below(-a * d),
        lambda d: a * density(a * d),
    )


def exponential() -> tuple[Callable, Callable, Callable]:
    """Return cost, slope and curvature of exp(-d) as functions of one margin."""

    def cost(d: float) -> float:
        return math.exp(-d) if d > -709.0 else math.inf

    return cost, lambda d: -cost(d), cost


def modified_huber() -> tuple[Callable, Callable, Callable]:
    """Return cost, slope and curvature of max(0, 1 - d)^2 down to d = -1 and -4 d below."""
    cost, slope, curvature = huberised_hinge(2.0)
    return lambda d: 4.0 * cost(d), lambda d: 4.0 * slope(d), lambda d: 4.0 * curvature(d)


def huberised_hinge(width: float) -> tuple[Callable, Callable, Callable]:
    """Return cost, slope and curvature of a hinge whose kink is a parabola of this width.

    The rounded excess 1 - d says on which side of a kink a margin lies.
    """
    cost, slope, curvature = hinge(1.0, True)
    return (
        lambda d: cost(d) / (2.0 * width) if 1.0 - d <= width else 1.0 - d - width / 2.0,
        lambda d: slope(d) / (2.0 * width) if 1.0 - d <= width else -1.0,
        lambda d: curvature(d) / (2.0 * width) if 1.0 - d <= width else 0.0,
    )


class Sums(NamedTuple):
    """The sums of a loss over pairs, and the sizes that errors are measured against.

    A pair's margin is known to eps (1 + |d|), so a pair's size is its contribution plus 1 + |d|
    times its derivative: no order of summation has a smaller bound.
    """

    value: float
    gradient: np.ndarray
    product: np.ndarray
    diagonal: np.ndarray
    influence: np.ndarray
    pair_weight: float
    row_weight: np.ndarray
    """Each row's weight of pairs."""
    span: np.ndarray
    """Each row's sum of pair weight times |v_i| + |v_j|."""
    value_size: float
    gradient_size: np.ndarray
    product_size: np.ndarray
    influence_size: np.ndarray


@np.errstate(over="ignore", invalid="ignore")
def sums_over(
    pairs: Sequence[tuple],
    scores: Any,
    loss: tuple[Callable, Callable, Callable],
    v: Any,
    weight: Any = None,
    scale: Any = None,
    loser: Any = None,
) -> Sums:
    """Sum a loss, given by cost, slope and curvature of one margin, over every pair.

    Infinite costs give infinities and NaN.
    """
    cost, slope, curvature = loss
    n_rows = len(scores)
    value, total, value_size = 0.0, 0.0, 0.0
    gradient, product, diagonal, influence, row_weight, span = np.zeros((6, n_rows))
    gradient_size, product_size, influence_size = np.zeros((3, n_rows))
    for i, j, w, d in margins_of(pairs, scores, weight, scale, loser):
        change, both, known = v[i] - v[j], abs(v[i]) + abs(v[j]), 1.0 + abs(d)
        value += w * cost(d)
        total += w
        gradient[[i, j]] += w * slope(d), -w * slope(d)
        product[[i, j]] += w * curvature(d) * change, -w * curvature(d) * change
        diagonal[[i, j]] += w * curvature(d)
        influence[[i, j]] += w * slope(d) * change
        row_weight[[i, j]] += w
        span[[i, j]] += w * both
        value_size += w * (abs(cost(d)) + known * abs(slope(d)))
        gradient_size[[i, j]] += w * (abs(slope(d)) + known * curvature(d))
        product_size[[i, j]] += w * both * curvature(d)
        influence_size[[i, j]] += w * both * (abs(slope(d)) + known * curvature(d))
    return Sums(
        value, gradient, product, diagonal, influence, total, row_weight, span,
        value_size, gradient_size, product_size, influence_size,
    )  # fmt: skip
