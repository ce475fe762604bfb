"""Slow definitions for censored times: comparable pairs and the concordance index, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def comparable_pairs(event: Sequence[Any], time: Sequence[float]) -> list[tuple[int, int]]:
    """Return every (i, j) where i has an event and j is known to last longer."""
    rows = range(len(time))
    return [
        (i, j)
        for i in rows
        for j in rows
        if event[i] and (time[j] > time[i] or (time[j] == time[i] and not event[j]))
    ]


def uncensored(event: Sequence[Any], time: Sequence[float], at: float) -> float:
    """Return the Kaplan-Meier estimate of the probability of being censored after `at`."""
    result = 1.0
    for moment in sorted(set(time)):
        here = [k for k in range(len(time)) if time[k] == moment]
        n_censored = sum(not event[k] for k in here)
        if moment <= at and n_censored:
            n_later = sum(other > moment for other in time)
            result *= 1.0 - n_censored / (n_later + n_censored)
    return result


def concordance(event, time, scores, weight, tied_tol):
    """Return the index and the numbers of concordant, discordant and tied pairs."""
    right = total = 0.0
    counts = [0, 0, 0]
    for i, j in comparable_pairs(event, time):
        d = scores[i] - scores[j]
        kind = 2 if abs(d) <= tied_tol else int(d < 0)
        counts[kind] += 1
        right += weight[i] * (1.0, 0.0, 0.5)[kind]
        total += weight[i]
    return (right / total if total else math.nan), *counts


def influence(event, time, scores, weight, tied_tol):
    """Return the derivative of the index by each row's weight, 0 of a row in no pair.

    Without row k a ratio A/B of sums over pairs becomes (A - A_k)/(B - B_k), and the derivative
    (A_k - A/B B_k)/B follows from it: the difference of the two ratios times 1 - B_k/B.
    """
    pairs = comparable_pairs(event, time)
    index = concordance(event, time, scores, weight, tied_tol)[0]
    total = sum(weight[i] for i, _ in pairs)
    result = np.zeros(len(time))
    for k in range(len(time)):
        kept = [row for row in range(len(time)) if row != k]
        left = [np.asarray(each)[kept] for each in (event, time, scores, weight)]
        own = sum(weight[i] for i, j in pairs if k in (i, j))
        if own == total:
            raise ValueError(f"every pair has row {k}: the index without it is not defined")
        without = concordance(*left, tied_tol)[0]
        result[k] = (index - without) * (1.0 - own / total)
    return result
