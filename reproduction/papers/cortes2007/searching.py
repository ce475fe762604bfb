"""Tests of the reasons in Tables 1 and 2: the parameters whose figures are nearest the paper's."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from reproduction.agreement import farthest
from reproduction.papers.cortes2007.judging import (
    ACTIVITY,
    MP,
    N_REFERENCES,
    SV,
    cortes_protocol,
    methods,
    ratings_of,
)
from reproduction.users import evaluate_users

WIDTHS = {MP: (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1e3, 3e3, 5e3, 1e4), SV: (1.0, 10.0)}
STRENGTHS = {MP: (1e3, 1e4, 1e5, 1e6, 1e8), SV: (1e3, 3e3, 1e4, 3e4, 1e5)}
"""Weaker regularisation than `judging.methods` chooses from, which ends at 300 and 125."""


def nearest(
    *,
    dataset: str,
    group: tuple[int, int],
    method: str,
    paper: Mapping[str, tuple[float, float]],
    widths: tuple[float, ...] = (),
    strengths: tuple[float, ...] = (),
    n_users: int = 100,
    n_references: int = N_REFERENCES,
    activity: tuple[int, int] = ACTIVITY,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the metrics on one draw at the parameters that are nearest the paper's figures.

    Nearest has the least of the largest distance over the metrics, in the paper's standard
    deviations, which `paper` gives as metric -> (mean, standard deviation). `widths` and
    `strengths`, in the units of the data, take the place of those of `WIDTHS` and `STRENGTHS`.
    """
    table = ratings_of(dataset)
    protocol = cortes_protocol(group, n_references, n_users, activity)
    problems = protocol.draw(table, 100 + seed)
    variance = float(table.rating.var())
    size, deviation = n_references * variance, variance**0.5
    make = methods(size, deviation)[method].make
    best: dict[str, Any] = {"distance": float("inf")}
    tried = points(method, size, deviation, widths, strengths)
    for params in tried:
        found: dict[str, Any] = dict(evaluate_users(problems, make(**params)))
        distance = farthest(found, paper)
        if distance < best["distance"]:
            shown = ", ".join(f"{name} {value:.3g}" for name, value in params.items())
            best = found | {"distance": distance, "chosen": shown}
    return best | {"tried": len(tried)}


def points(
    method: str,
    size: float,
    deviation: float,
    widths: tuple[float, ...] = (),
    strengths: tuple[float, ...] = (),
) -> list[dict[str, float]]:
    """Return the parameters that are tried, in the units of the data."""
    found = []
    for width, strength in itertools.product(
        widths or WIDTHS[method], strengths or STRENGTHS[method]
    ):
        params = {"gamma": width / size, "C": strength}
        if method == SV:
            params |= {"C": strength * deviation, "epsilon": 0.1 * deviation}
        found.append(params)
    return found
