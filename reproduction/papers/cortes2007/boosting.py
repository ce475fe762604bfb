"""Tests of RankBoost's reasons: rounds, gaps and thresholds, searched for the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank import RankBoost
from reproduction.agreement import farthest
from reproduction.data import RatingsTable
from reproduction.papers.cortes2007.judging import (
    ACTIVITY,
    N_REFERENCES,
    N_USERS,
    cortes_protocol,
    ratings_of,
)
from reproduction.users import UserProblem, measured

ROUNDS = (20, 30, 40, 45, 50, 55, 60, 65, 70, 80, 90, 100, 125, 150, 175, 200, 250, 300)
MEDIAN, DEFAULT, LOWEST, HIGHEST = "median", "default", "lowest", "highest"
GAPS = (MEDIAN, DEFAULT, LOWEST, HIGHEST)
"""What a gap is: the reviewer's median, the better of 0 and 1 per weak ranking (the default of
Freund et al.), or a rating below or above all others."""
EVERY = 0
LEVELS = (5, 3, 2)
"""Levels of equal width that ratings are rounded to, so that thresholds are their ends."""


GAUGE = (4, 6, 7, 12, 14, 15, 16, 17, 18, 19)
"""The columns of the jokes that Jester shows to every user first."""


def nearest_boost(
    *,
    dataset: str,
    group: tuple[int, int],
    paper: Mapping[str, tuple[float, float]],
    levels: tuple[int, ...] = (),
    most_rounds: int = ROUNDS[-1],
    thinned: tuple[int, int] | None = None,
    n_users: int = N_USERS,
    n_references: int = N_REFERENCES,
    activity: tuple[int, int] = ACTIVITY,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the metrics on one draw at the variant that is nearest the paper's figures.

    A variant is a number of rounds, and either what a gap is, or the number of `levels` that
    ratings are rounded to. "filled" is the least distance of any number of rounds with medians in
    gaps and every threshold, as in Tables 1 and 2; "tried" is the number of variants. With
    `thinned`, ratings of the group are hidden, see `thin`.
    """
    table = ratings_of(dataset)
    if thinned is not None:
        table = thin(table, group, thinned, seed)
    protocol = cortes_protocol(group, n_references, n_users, activity)
    ends = float(table.rating.min()), float(table.rating.max())
    best: dict[str, Any] = {"distance": float("inf")}
    filled, tried = float("inf"), 0
    for gaps, n_levels in variants(levels):
        impute = "median" if gaps == MEDIAN else "missing"
        problems = replace(protocol, impute=impute).draw(table, 100 + seed)
        rows = [changed(each, gaps, n_levels, ends) for each in problems]
        for n_rounds, found in by_round(rows, most_rounds):
            tried += 1
            distance = farthest(found, paper)
            if gaps == MEDIAN and n_levels == EVERY:
                filled = min(filled, distance)
            if distance < best["distance"]:
                rounded = "every threshold" if n_levels == EVERY else f"{n_levels} levels"
                shown = f"{n_rounds} rounds, gaps {gaps}, {rounded}"
                best = found | {"distance": distance, "chosen": shown}
    return best | {"filled": filled, "tried": tried}


def variants(levels: tuple[int, ...]) -> list[tuple[str, int]]:
    """Return what a gap is with every threshold, then medians in gaps with few levels."""
    return [(gaps, EVERY) for gaps in GAPS] + [(MEDIAN, n_levels) for n_levels in levels]


def changed(
    problem: UserProblem, gaps: str, n_levels: int, ends: tuple[float, float]
) -> UserProblem:
    """Return a reviewer's problem with rounded features, or others in gaps.

    `ends` are the least and the largest rating.
    """
    fills = {LOWEST: ends[0] - 1.0, HIGHEST: ends[1] + 1.0}
    cuts = np.linspace(*ends, n_levels + 1)[1:-1]
    rows = []
    for X in (problem.X_train, problem.X_test):
        if n_levels != EVERY:
            X = np.searchsorted(cuts, X).astype(np.float64)
        rows.append(np.nan_to_num(X, nan=fills[gaps]) if gaps in fills else X)
    return problem._replace(X_train=rows[0], X_test=rows[1])


def by_round(
    problems: list[UserProblem], most_rounds: int
) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield each number of rounds with the metrics after it, means over the reviewers."""
    numbers = [n for n in ROUNDS if n <= most_rounds]
    stages = np.hstack([_stages(each, numbers) for each in problems])
    for n_rounds, scores in zip(numbers, stages, strict=True):
        found = measured(problems, scores)
        yield n_rounds, {metric: float(values.mean()) for metric, values in found.items()}


def _stages(problem: UserProblem, numbers: list[int]) -> NDArray[np.float64]:
    """Return the scores of the test rows after each number of rounds, (n_numbers, n_rows)."""
    ranker = RankBoost(numbers[-1]).fit(problem.X_train, problem.y_train)
    scores = np.zeros((ranker.n_estimators_ + 1, problem.y_test.size))
    for place, stage in enumerate(ranker.staged_predict(problem.X_test), 1):
        scores[place] = stage
    return scores[np.minimum(numbers, ranker.n_estimators_)]


def thin(
    table: RatingsTable, group: tuple[int, int], counts: tuple[int, int], seed: int
) -> RatingsTable:
    """Return the table with ratings of a group's users hidden at random.

    Each keeps a random number of them, at least the first of `counts` and less than the second:
    those of the gauge jokes, then others.
    """
    generator = np.random.default_rng([seed, 2])
    kept = np.ones(table.rating.size, dtype=bool)
    in_group = (table.counts >= group[0]) & (table.counts < group[1])
    for user in np.flatnonzero(in_group).tolist():
        places = generator.permutation(table.counts[user])
        gauge = np.isin(table.item_ids[table.item[table.of(user)][places]], GAUGE)
        order = np.concatenate([places[gauge], places[~gauge]])
        kept[table.start[user] + order[generator.integers(*counts) :]] = False
    return table.only(kept)
