"""Table 2: films ranked for a user by the ratings of d others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.data import load
from reproduction.data.made import make_ratings
from reproduction.data.ratings import ratings_table
from reproduction.papers.raykar2007.methods import BOOST, BOXES, FAST, METHODS, judge_folds
from reproduction.study import ANY, Cell, Quantity, Table, printed_of
from reproduction.users import PROTOCOLS

COLUMNS = (FAST, BOXES, BOOST)
PAPERS = (FAST, BOOST)
ACTIVE = "RankNCG boxes, active references"
"""A column of ours: whether the paper's accuracies need references who have rated much."""

LEAST_OF_ACTIVE = 400
REFERENCES = (50, 100, 200, 400, 800, 1600)
LEAST_RATINGS = 100
"""The paper gives no least number of ratings of its users; its small spread says hundreds."""


def rank_films(
    *,
    data: str,
    n_references: int,
    method: str,
    least_references: int = 0,
    n_users: int = 100,
    seed: int = 0,
) -> dict[str, Any]:
    """Return WMW and seconds of a fit for each user; others refer who have rated enough."""
    ratings = (
        ratings_table(*make_ratings(80, 60, density=0.5, random_state=seed))
        if data == "generated"
        else load(data)
    )
    least = 4 if data == "generated" else LEAST_RATINGS
    protocol = replace(
        PROTOCOLS["raykar"],
        group=(least_references, 10**9),
        n_references=n_references,
        n_users=n_users,
        activity=(least, 10**9),
    )
    folds = (fold for fold in protocol.draw(ratings, seed) if np.ptp(fold.y_test) > 0.0)
    return judge_folds(folds, lambda fold: METHODS[method].chosen(fold, seed))


_SECONDS = {
    "d = 50": ((0.48, 0.19), (6.68, 1.65)),
    "d = 100": ((0.44, 0.17), (12.67, 2.83)),
    "d = 200": ((0.42, 0.17), (27.53, 5.99)),
    "d = 400": ((0.41, 0.17), (68.08, 13.95)),
    "d = 800": ((0.45, 0.13), (193.18, 39.75)),
    "d = 1600": ((0.51, 0.15), (613.54, 124.93)),
}
_WMW = {
    "d = 50": ((0.693, 0.054), (0.672, 0.056)),
    "d = 100": ((0.707, 0.049), (0.679, 0.050)),
    "d = 200": ((0.722, 0.053), (0.685, 0.057)),
    "d = 400": ((0.720, 0.054), (0.685, 0.051)),
    "d = 800": ((0.721, 0.050), (0.673, 0.058)),
    "d = 1600": ((0.719, 0.053), (0.682, 0.058)),
}


def _cell(d: int, column: str) -> Cell:
    method = BOXES if column == ACTIVE else column
    config = {"data": "ml-1m", "n_references": d, "method": method}
    if column == ACTIVE:
        config["least_references"] = LEAST_OF_ACTIVE
    full = d > 100 or (column == ACTIVE and d > 50)
    return Cell(f"d = {d}", column, rank_films, config, timed=True, seconds=180.0, full=full)


TABLE = Table(
    name="2",
    title="MovieLens 1M, 100 users, the ratings of d others as features",
    cells=tuple(_cell(d, column) for d in REFERENCES for column in (*COLUMNS, ACTIVE)),
    quantities=(
        Quantity(
            "wmw",
            "WMW",
            printed_of(PAPERS, _WMW),
            ".3f",
            tolerance=0.01,
            reasons={
                (ANY, ANY): (
                    "The paper does not say who the d others are. Random users, as here, have "
                    "rated few of the films, so that most features are draws. The last column "
                    f"takes users with at least {LEAST_OF_ACTIVE} ratings."
                )
            },
        ),
        Quantity("seconds", "seconds", printed_of(PAPERS, _SECONDS), ".3g"),
    ),
    note="The caption says EachMovie, the text MovieLens, which is used here. 70% of a user's "
    "ratings are for training; a gap is drawn from a Gaussian of the film's ratings by others; "
    "lambda by five folds of the training ratings, RankBoost 100 rounds. Users have at least "
    f"{LEAST_RATINGS} ratings and the d others are random ones: the paper says neither.",
    row_title="references",
)
