"""Censored times: targets, concordance indices and standard errors against their definitions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import survival_target
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.survival import concordance_index

EPS = np.finfo(np.float64).eps


def comparable_pairs(event: Sequence[Any], time: Sequence[float]) -> list[list[int]]:
    """Return every (i, j) where i has an event and j is known to last longer."""
    event, time = np.asarray(event, dtype=bool), np.asarray(time)
    lasts = (time > time[:, None]) | ((time == time[:, None]) & ~event)
    return np.argwhere(event[:, None] & lasts).tolist()


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


def made(n_rows: int, seed: int, *, n_times: int = 12):
    """Return events, tied times and scores of which many are close to one another."""
    rng = np.random.default_rng(seed)
    time = rng.integers(1, n_times, n_rows).astype(np.float64)
    scores = np.round(rng.normal(size=n_rows), 1) + 1e-9 * rng.integers(-30, 30, n_rows)
    return rng.random(n_rows) < 0.6, time, scores


def test_every_kind_of_columns_gives_the_same_target():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    event, time, _ = made(40, 0)
    wanted = survival_target(event, time)
    columns = {"died": event, "days": time}
    forms = [
        (event.astype(int), time),
        (event.tolist(), time.tolist()),
        *((frame["died"], frame["days"]) for frame in map(polars.DataFrame, [columns])),
        *((frame["died"], frame["days"]) for frame in map(pandas.DataFrame, [columns])),
        (np.array(list(zip(event, time, strict=True)), [("died", "?"), ("days", "<f8")]),),
        (np.array(list(zip(time, event, strict=True)), [("days", "<f4"), ("died", "?")]),),
    ]
    for form in forms:
        found = survival_target(*form)
        assert list(found) == list(wanted)
        for name, values in wanted.items():
            assert found[name].tolist() == values.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 2], [1.0, 2.0]), "event must hold True or False, or 1 or 0 .got 2 in row 1"),
        (([0, 1], [1.0]), "event has 2 entries for 1 rows"),
        (([0, 1], [1.0, np.nan]), "time contains NaN in row 1"),
        (([True, False],), "structured array of a bool field"),
        ((np.zeros(2, [("a", "?"), ("b", "?")]),), "structured array of a bool field"),
    ],
)
def test_a_wrong_target_is_refused(arguments, message):
    with pytest.raises(PairrankError, match=message):
        survival_target(*arguments)


@pytest.mark.parametrize("tied_tol", [0.0, 1e-8, 0.1, 3.0, 100.0])
def test_the_index_equals_its_definition(tied_tol):
    event, time, scores = made(70, 0)
    found = concordance_index(event, time, scores, tied_tol=tied_tol)
    wanted = concordance(event, time, scores, np.ones(70), tied_tol)
    assert found[1:4] == wanted[1:]
    # Halves of whole numbers are exact, so one division is rounded.
    assert found.value == wanted[0]
    assert found.tied_time == sum(time[i] == time[j] for i, j in comparable_pairs(event, time))
    assert found.standard_error is None


ANY = st.tuples(st.booleans(), st.integers(0, 4), st.sampled_from([-1e300, -1, 0, 1e-9, 3, 1e300]))


@given(st.lists(ANY, min_size=1, max_size=12))
def test_counts_are_exact_for_any_scores(rows):
    event, time, scores = (list(each) for each in zip(*rows, strict=True))
    wanted = concordance(event, time, scores, np.ones(len(rows)), 1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoPairsWarning)
        found = concordance_index(event, time, scores)
    np.testing.assert_equal(found[:4], wanted)


@pytest.mark.parametrize("tau", [None, 8.0])
@pytest.mark.parametrize("same", [True, False])
def test_an_event_weighs_the_inverse_square_of_g(same, tau):
    event, time, scores = made(80, 5)
    event = event | (time == time.max())  # G stays positive
    other = np.append(made(90, 6)[0], True), np.append(made(90, 6)[1], 99)
    known = (event, time) if same else other
    weight = event * np.array([uncensored(*known, t) ** -2.0 for t in time])
    weight = weight if tau is None else weight * (time < tau)
    censoring = None if same else known
    found = concordance_index(event, time, scores, ipcw=True, censoring=censoring, tau=tau)
    wanted = concordance(event, time, scores, weight, 1e-8)
    assert found[1:4] == wanted[1:]
    # Products of at most 2 * 12 rounded factors per weight, sums of at most 80 * 80 terms.
    assert found.value == pytest.approx(wanted[0], rel=(4 * 24 + 2 * 80 * 80) * EPS, abs=0)


@pytest.mark.parametrize("ipcw", [False, True])
@pytest.mark.parametrize("tied_tol", [1e-8, 0.3])
def test_the_standard_error_is_that_of_rows_left_out(ipcw, tied_tol):
    event, time, scores = made(40, 8)
    event = event | (time == time.max())
    weight = np.array([uncensored(event, time, t) ** -2.0 if ipcw else 1.0 for t in time]) * event
    found = concordance_index(
        event, time, scores, ipcw=ipcw, tied_tol=tied_tol, standard_error=True
    )
    # The definition subtracts indices of at most 1, each a sum of at most 40 * 40 terms.
    wanted = influence(event, time, scores, weight, tied_tol)
    bound = 4 * 40 * 40 * EPS * np.sqrt(40)
    assert found.standard_error == pytest.approx(np.linalg.norm(wanted), rel=0, abs=bound)
    assert found[:5] == concordance_index(event, time, scores, ipcw=ipcw, tied_tol=tied_tol)[:5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"censoring": ([1], [1.0])}, "set ipcw=True"),
        ({"ipcw": True}, "do not last beyond time 2, so an event there has no weight: give tau=2"),
        ({"ipcw": True, "censoring": ([1, 0], [1.0, 1.5])}, "give tau=2 or less"),
        ({"tied_tol": -1.0}, "tied_tol must be at least 0"),
        ({"tau": "late"}, "tau must be a finite number"),
    ],
)
def test_a_wrong_option_is_refused(options, message):
    with pytest.raises(PairrankError, match=message):
        concordance_index([1, 0, 1], [1.0, 2.0, 2.0], [0.0, 1.0, 2.0], **options)


def test_no_comparable_pair_gives_nan_and_a_warning():
    with pytest.warns(NoPairsWarning, match="no comparable pair has a positive weight"):
        found = concordance_index([0, 0], [1.0, 2.0], [1.0, 2.0], standard_error=True)
    assert np.isnan(found.value)
    assert np.isnan(found.standard_error)
