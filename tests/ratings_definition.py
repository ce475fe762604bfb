"""Slow definitions of ratings: likelihoods comparison by comparison, optima by scipy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from scipy.special import expit

TIES = ("half", "davidson", "rao-kupper")


class Votes(NamedTuple):
    """Comparisons of items 0 ... n - 1: arrays of one length."""

    winner: Any
    loser: Any
    tie: Any
    weight: Any
    covariates: Any

    @property
    def n_items(self) -> int:
        return int(max(self.winner.max(), self.loser.max())) + 1


def probabilities(kind: str, d: float, parameter: float) -> tuple[float, float, float]:
    """Return win, tie and loss as the papers write them; `parameter` is nu or theta."""
    first, second = np.exp(d), 1.0
    if kind == "davidson":
        tie = parameter * np.sqrt(first * second)
        total = first + second + tie
        return first / total, tie / total, second / total
    win, loss = first / (first + parameter * second), second / (second + parameter * first)
    return win, 1.0 - win - loss, loss


def log_likelihood(votes: Votes, scores: Any, effects: Any, kind: str, parameter: float) -> float:
    total = 0.0
    for i, j, tie, weight, z in zip(*votes, strict=True):
        d = scores[i] - scores[j] + z @ effects
        if kind == "half":
            win, loss = np.log(expit(d)), np.log(expit(-d))
            total += weight * (0.5 * (win + loss) if tie else win)
        else:
            total += weight * np.log(probabilities(kind, d, parameter)[1 if tie else 0])
    return total


def unpacked(votes: Votes, w: Any, kind: str) -> tuple[Any, Any, float]:
    """Return scores with sum 0, effects and nu or theta of a vector without constraints."""
    n, p = votes.n_items, votes.covariates.shape[1]
    scores = np.append(w[: n - 1], -w[: n - 1].sum())
    last = w[-1] if kind != "half" else 0.0
    parameter = 1.0 + np.exp(last) if kind == "rao-kupper" else np.exp(last)
    return scores, w[n - 1 : n - 1 + p], parameter


def fitted(votes: Votes, kind: str, alpha: float = 0.0) -> tuple[Any, Any, float]:
    """Return scores with sum 0, effects and parameter by a general minimiser."""

    def cost(w: Any) -> float:
        scores, effects, parameter = unpacked(votes, w, kind)
        penalty = 0.5 * alpha * scores @ scores
        return penalty - log_likelihood(votes, scores, effects, kind, parameter)

    size = votes.n_items - 1 + votes.covariates.shape[1] + (kind != "half")
    start = np.zeros(size)
    for _ in range(3):
        start = optimize.minimize(cost, start, method="BFGS", options={"gtol": 1e-9}).x
    return unpacked(votes, start, kind)


def make_votes(
    seed: int, n_items: int = 5, size: int = 80, *, covariates: int = 0, ties: float = 0.3
) -> Votes:
    """Return votes whose outcomes are random enough for finite scores."""
    rng = np.random.default_rng(seed)
    winner = rng.integers(0, n_items, size)
    loser = (winner + rng.integers(1, n_items, size)) % n_items
    first = np.arange(n_items)
    winner[:n_items], loser[:n_items] = first, (first + 1) % n_items  # a cycle of wins
    tie = rng.random(size) < ties
    tie[:n_items] = False
    weight = rng.integers(1, 4, size) * 0.5
    return Votes(winner, loser, tie, weight, rng.normal(size=(size, covariates)))


def arguments(votes: Votes) -> dict[str, Any]:
    """Return the arguments of `BradleyTerry.fit`."""
    given = votes._asdict()
    if not votes.covariates.shape[1]:
        given["covariates"] = None
    return given
