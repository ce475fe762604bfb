"""Probabilities that one row is preferred: how far they are from the true ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, ndtr
from sklearn.linear_model import LogisticRegression, Ridge

from pairrank import Pairs, RankNCG
from reproduction.study import Cell, Quantity, Table

N_ROWS, N_FEATURES, N_VOTES, N_TEST, N_REPEATS = 1000, 20, 4000, 20_000, 5
N_BINS = 10
VOTES, LABELS = "votes on two rows", "labelled rows, all pairs"
NCG, PROBIT = "RankNCG", "RankNCG, probit"
LISTED, RIDGE = "logistic regression of listed differences", "ridge, normal errors"


class Drawn(NamedTuple):
    """Rows, the label of each row, and votes: (i, j) says that row i was preferred to row j."""

    X: Any
    y: Any
    i: Any
    j: Any


def draw(kind: str, coef: Any, n_rows: int, seed: int) -> Drawn:
    """Return rows; P(i is preferred to j) is the logistic function of their utilities' difference.

    Labels are utilities plus Gumbel noise, whose differences are logistic; their votes are every
    pair.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, coef.size))
    utility = X @ coef
    y = utility + rng.gumbel(size=n_rows)
    if kind == LABELS:
        i, j = np.nonzero(y[:, None] > y[None, :])
        return Drawn(X, y, i, j)
    i = rng.integers(0, n_rows, N_VOTES)
    j = (i + rng.integers(1, n_rows, N_VOTES)) % n_rows
    wins = rng.random(N_VOTES) < expit(utility[i] - utility[j])
    return Drawn(X, y, np.where(wins, i, j), np.where(wins, j, i))


Probability = Callable[[Any, Any], Any]


def _by_ncg(loss: str) -> Callable[[str, Drawn], Probability]:
    def fit(kind: str, rows: Drawn) -> Probability:
        target: Any = rows.y if kind == LABELS else Pairs(rows.i, rows.j, n_rows=len(rows.X))
        model = RankNCG(1.0, loss=loss).fit(rows.X, target)  # type: ignore[arg-type]
        return lambda Xi, Xj: model.predict_pair_proba(Xi, Xj)

    return fit


def _by_listed(kind: str, rows: Drawn) -> Probability:
    """List the differences of every vote; half of them are turned round, to have two classes."""
    sign = np.where(np.arange(rows.i.size) % 2 == 0, 1.0, -1.0)
    differences = (rows.X[rows.i] - rows.X[rows.j]) * sign[:, None]
    model = LogisticRegression(fit_intercept=False).fit(differences, sign > 0.0)
    return lambda Xi, Xj: model.predict_proba(Xi - Xj)[:, 1]


def _by_ridge(kind: str, rows: Drawn) -> Probability:
    """Take the errors of a fit of the labels as normal, with the deviation of its residuals."""
    model = Ridge(1.0).fit(rows.X, rows.y)
    deviation = float(np.std(rows.y - model.predict(rows.X))) * np.sqrt(2.0)
    return lambda Xi, Xj: ndtr((model.predict(Xi) - model.predict(Xj)) / deviation)


METHODS: dict[str, Callable[[str, Drawn], Probability]] = {
    NCG: _by_ncg("logistic"),
    PROBIT: _by_ncg("probit"),
    LISTED: _by_listed,
    RIDGE: _by_ridge,
}


def judge(
    *, kind: str, method: str, n_rows: int = N_ROWS, n_repeats: int = N_REPEATS, seed: int = 0
) -> dict[str, list[float]]:
    """Return the calibration error and the log loss above that of the true probabilities."""
    found: dict[str, list[float]] = {"calibration": [], "excess": []}
    for repeat in range(seed, seed + n_repeats):
        rng = np.random.default_rng([repeat, 1])
        coef = rng.standard_normal(N_FEATURES) / np.sqrt(N_FEATURES)
        proba = METHODS[method](kind, draw(kind, coef, n_rows, repeat))
        Xi, Xj = rng.standard_normal((2, N_TEST, N_FEATURES))
        p, true = proba(Xi, Xj), expit((Xi - Xj) @ coef)
        found["calibration"].append(calibration_error(p, true))
        found["excess"].append(_log_loss(p, true) - _log_loss(true, true))
    return found


def calibration_error(p: Any, true: Any) -> float:
    """Return the mean difference of p and the truth over ten bins of p, by their pairs."""
    place = np.minimum((p * N_BINS).astype(np.intp), N_BINS - 1)
    gaps = np.bincount(place, p - true, minlength=N_BINS)
    return float(np.abs(gaps).sum() / p.size)


def _log_loss(p: Any, true: Any) -> float:
    """Return the expected log loss of p under the true probabilities."""
    return float(-np.mean(true * np.log(p) + (1.0 - true) * np.log1p(-p)))


TABLE = Table(
    name="probabilities",
    title="probabilities of preferences beside the true ones",
    cells=tuple(
        Cell(kind, method, judge, {"kind": kind, "method": method})
        for kind in (VOTES, LABELS)
        for method in METHODS
        if not (kind == VOTES and method == RIDGE)
    ),
    quantities=(
        Quantity("calibration", "calibration error, ten bins", form=".4f"),
        Quantity("excess", "log loss above that of the true probabilities", form=".4f"),
    ),
    note=f"Generated: {N_REPEATS} draws of {N_ROWS:,} rows with {N_FEATURES} features, judged by "
    f"the true probabilities of {N_TEST:,} fresh pairs; {N_VOTES:,} votes. The true probability "
    "is a logistic function of the difference of utilities. Strengths are the defaults.",
    row_title="data",
)
