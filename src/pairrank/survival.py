"""Censored times: the targets that `fit` needs, and the concordance index of risk scores."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._arrays import as_array
from pairrank._protocols import FloatArray
from pairrank._validation import check_number, check_numbers
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.metrics._inputs import check_flags
from pairrank.preferences._codes import counting_order

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Concordance(NamedTuple):
    """A concordance index and the pairs that it compares; the first five as in scikit-survival.

    Attributes
    ----------
    value : float
        The concordance index: the weighted share of comparable pairs whose event has the higher
        score; ties count 1/2.
    concordant : int
        The number of comparable pairs whose event has the higher score.
    discordant : int
        The number of comparable pairs whose event has the lower score.
    tied_risk : int
        The number of comparable pairs whose scores differ by at most the tolerance.
    tied_time : int
        The number of comparable pairs of an event and a censored row at the same time.
    standard_error : float or None
        The standard error of the index, where it is asked for.
    """

    value: float
    concordant: int
    discordant: int
    tied_risk: int
    tied_time: int
    standard_error: float | None = None


class _Times(NamedTuple):
    """Checked times, (n,) each; `level` is higher for rows that fail earlier."""

    event: BoolArray
    time: FloatArray
    level: IntArray
    tied_time: int


def survival_target(event: ArrayLike, time: ArrayLike | None = None) -> dict[str, FloatArray]:
    """Return what `fit` and `score` need to rank rows by risk, from times that may be censored.

    A row with an event is preferred to every row that is known to last longer: rows of later
    times, and censored rows of the same time. Censored rows are never preferred, and events at
    the same time are not compared. Pass the result as keywords, such as
    ``RankSVM().fit(X, **survival_target(event, time))``. Higher scores then mean a higher risk.

    Parameters
    ----------
    event : array-like of shape (n_rows,)
        Whether the event was observed (True or 1) or the row was censored (False or 0), such as a
        column of a frame. Or a structured array with one bool field, the event, and one number
        field, the time, as scikit-survival has them.
    time : array-like of shape (n_rows,), optional
        The time of the event or of the censoring; left out with a structured array.

    Returns
    -------
    dict
        ``y``, whole numbers, higher for an earlier event, and ``winner_weight``, 1 for an event and
        0 for a censored row. Every row may lose, so ``loser_weight`` keeps its default, 1.

    Raises
    ------
    PairrankError
        If lengths differ, an event is neither 0 nor 1, a time is not finite, or a structured array
        does not have these two fields.

    Notes
    -----
    There is one level more than there are distinct times of events. Costs O(m log m).

    References
    ----------
    Poelsterl, Navab & Katouzian 2015, "Fast training of support vector machines for survival
    analysis", Section 2.

    Examples
    --------
    >>> target = survival_target([True, False, True, False], [2.0, 2.0, 5.0, 9.0])
    >>> target["y"], target["winner_weight"]
    (array([2., 1., 1., 0.]), array([1., 0., 1., 0.]))
    """
    if time is None:
        event, time = _fields(event)
    times = _times(event, time)
    return {"y": times.level.astype(np.float64), "winner_weight": times.event.astype(np.float64)}


def concordance_index(
    event: ArrayLike,
    time: ArrayLike,
    scores: ArrayLike,
    *,
    ipcw: bool = False,
    censoring: tuple[ArrayLike, ArrayLike] | None = None,
    tau: float | None = None,
    tied_tol: float = 1e-8,
    standard_error: bool = False,
) -> Concordance:
    """Return the concordance index of risk scores: Harrell's, or with `ipcw` Uno's.

    A pair (i, j) is comparable if i has an event and j lasts longer: t_j > t_i, or t_j = t_i and j
    is censored. The index is the sum of w_i [s_i > s_j] over the comparable pairs divided by the
    sum of w_i. Scores that differ by at most `tied_tol` count 1/2.

    Parameters
    ----------
    event : array-like of shape (n_rows,)
        Whether the event was observed (True or 1) or the row was censored (False or 0).
    time : array-like of shape (n_rows,)
        The time of the event or of the censoring.
    scores : array-like of shape (n_rows,)
        Risk scores; a higher score predicts an earlier event.
    ipcw : bool
        Whether w_i is 1/G(t_i)^2, the inverse probability of censoring weight; False: w_i is 1.
        G(t) is the Kaplan-Meier estimate of the probability of being censored after t.
    censoring : (event, time), optional
        The rows that G is estimated from, usually the training rows; None: the rows judged.
    tau : float, optional
        Events at `tau` or later get w_i = 0, so G must be positive only before.
    tied_tol : float
        The largest difference of scores that is a tie.
    standard_error : bool
        Whether to compute the standard error, which takes twice as long.

    Returns
    -------
    Concordance
        The index, the numbers of pairs and the standard error. Pairs of weight 0 are counted in
        the numbers, as in scikit-survival. Without a pair of positive weight the index is NaN,
        with a NoPairsWarning.

    Raises
    ------
    PairrankError
        If lengths differ, an event is neither 0 nor 1, a number is not finite or out of range,
        G is 0 at an event or not known there, or `censoring` is given without `ipcw`.

    Notes
    -----
    Costs O(m log m). The standard error is the infinitesimal jackknife's: the root of the sum of
    squares of the index's derivatives by row weights. It takes G as known.

    References
    ----------
    Harrell, Lee & Mark 1996, Section 5.5; Uno et al. 2011, Eq. 6; Therneau & Watson 2015, "The
    concordance statistic and the Cox model", for the standard error.

    Examples
    --------
    >>> concordance_index([1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0], [0.9, 0.5, 0.1, 0.4]).value
    0.75
    """
    times = _times(event, time)
    values = check_numbers(scores, "scores", times.time.size)
    check_number(tied_tol, "tied_tol", inclusive=True)
    if censoring is not None and not ipcw:
        raise PairrankError("censoring is used with ipcw=True only: set ipcw=True, or leave it out")
    weight = _winner_weight(times, ipcw, censoring, tau)
    return _index(times, values, weight, float(tied_tol), standard_error)


def _fields(observed: Any) -> tuple[Any, Any]:
    """Return the events and times of a structured array."""
    array = as_array(observed, "event")
    names = array.dtype.names or ()
    flags = [name for name in names if array.dtype[name].kind == "b"]
    if len(names) != 2 or len(flags) != 1:
        raise PairrankError(
            "without time, event must be a structured array of a bool field, the event, and a "
            f"number field, the time (got {array.dtype}): give event and time"
        )
    (flag,) = flags
    return array[flag], array[names[1 - names.index(flag)]]


def _times(event: Any, time: Any) -> _Times:
    """Return checked times with levels.

    The level falls by 1 at each distinct time of events. An event is at the level before the fall,
    a censored row of the same time after it. Censored rows never win, so they can share the level
    of the next events.
    """
    instants = check_numbers(time, "time")
    failed = check_flags(event, "event", instants.size)
    falls, at_fall = np.unique(instants[failed], return_inverse=True)
    passed = np.empty(instants.size, dtype=np.int64)
    passed[failed] = at_fall
    passed[~failed] = np.searchsorted(falls, instants[~failed], side="right")
    censored = passed[~failed]
    is_tied = np.append(np.nan, falls)[censored] == instants[~failed]
    tied_time = np.bincount(at_fall, minlength=1)[censored[is_tied] - 1].sum()
    return _Times(failed, instants, falls.size - passed, int(tied_time))


def _winner_weight(times: _Times, ipcw: bool, censoring: Any, tau: float | None) -> FloatArray:
    """Return the weight of each row in the pairs that it wins."""
    counted = times.event
    if tau is not None:
        check_number(tau, "tau", low=-math.inf)
        counted = counted & (times.time < tau)
    weight = counted.astype(np.float64)
    if ipcw:
        known = times if censoring is None else _times(*censoring)
        weight[counted] = 1.0 / _uncensored(known, times.time[counted]) ** 2
    return weight


def _uncensored(known: _Times, at: FloatArray) -> FloatArray:
    """Return G at the times `at`, the Kaplan-Meier estimate from the rows of `known`.

    Events at a time leave before its censored rows.
    """
    instants, which = np.unique(known.time, return_inverse=True)
    n_censored = np.bincount(which, ~known.event, instants.size)
    remaining = np.cumsum(np.bincount(which, minlength=instants.size)[::-1])[::-1]
    at_risk = remaining - np.bincount(which, known.event, instants.size)
    share = np.divide(n_censored, at_risk, out=np.zeros(instants.size), where=n_censored > 0)
    curve = np.append(1.0, np.cumprod(1.0 - share))
    survival = curve[np.searchsorted(instants, at, side="right")]
    survival[at > known.time.max(initial=-np.inf)] = 0.0
    if not survival.all():
        first = at[survival == 0.0].min()
        raise PairrankError(
            f"the censoring rows do not last beyond time {first:g}, so an event there has no "
            f"weight: give tau={first:g} or less"
        )
    return survival


def _index(
    times: _Times, scores: FloatArray, weight: FloatArray, tied_tol: float, with_error: bool
) -> Concordance:
    """Return the index; rows are laid out by level, so that losers lie before winners."""
    from pairrank.compiled.sorting import sorted_segments
    from pairrank.compiled.windows import sum_below, tied_windows

    n_rows = scores.size
    order, start = counting_order(times.level.astype(np.int32), int(times.level.max()) + 1)
    event, weight = times.event[order], weight[order]
    ascending, places = sorted_segments(scores[order], np.array([0, n_rows]))
    place = np.empty(n_rows, dtype=np.int64)
    place[places] = np.arange(n_rows)
    low, high = tied_windows(ascending, tied_tol)
    lower, upto = sum_below(place, low, high, start, np.ones(n_rows), event).T
    lasting = np.where(event, np.repeat(start[:-1], np.diff(start)), 0)
    credit, base = weight * (lower + upto) / 2.0, weight * lasting
    concordant, tied = (int(each.astype(np.int64).sum()) for each in (lower, upto - lower))
    discordant = int(lasting.sum()) - concordant - tied
    counts, total = (concordant, discordant, tied, times.tied_time), float(base.sum())
    if total == 0.0:
        nothing = "no comparable pair has a positive weight, so the index is NaN"
        warnings.warn(nothing, NoPairsWarning, stacklevel=3)
        return Concordance(math.nan, *counts, math.nan if with_error else None)
    value = float(credit.sum()) / total
    if not with_error:
        return Concordance(value, *counts)
    won = credit - value * base
    lost = _lost((place, low, high), start, weight, value)
    return Concordance(value, *counts, float(np.linalg.norm((won + lost) / total)))


def _lost(
    windows: tuple[IntArray, IntArray, IntArray], start: IntArray, weight: FloatArray, value: float
) -> FloatArray:
    """Return the weights of the pairs that each row loses, times their credit less the index.

    It is the sum of `won` with all rows in reverse order, so that winners lie before losers.
    """
    from pairrank.compiled.windows import sum_below

    place, low, high = windows
    everyone, starts = np.ones(place.size, dtype=bool), (place.size - start)[::-1].copy()
    weights = weight[::-1].copy()
    beaten = sum_below(place[::-1].copy(), low, high, starts, weights, everyone).sum(axis=1) / 2.0
    total = np.repeat(np.append(0.0, np.cumsum(weights))[starts[:-1]], np.diff(starts))
    return ((1.0 - value) * total - beaten)[::-1]
