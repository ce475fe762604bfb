"""Censored times against scikit-survival on its own data sets; skipped where it is absent."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import RankSVM, survival_target
from pairrank.survival import concordance_index

EPS = np.finfo(np.float64).eps

SETS = {
    "veterans": "load_veterans_lung_cancer",
    "gbsg2": "load_gbsg2",
    "whas500": "load_whas500",
    "flchain": "load_flchain",
}


@pytest.fixture(scope="module", params=SETS)
def rows(request):
    """Standardised features, events and times of a data set."""
    datasets = pytest.importorskip("sksurv.datasets", reason="scikit-survival is not installed")
    columns = pytest.importorskip("sksurv.column")
    frame, y = getattr(datasets, SETS[request.param])()
    frame = frame.drop(columns=["chapter"], errors="ignore")  # flchain: the cause of death
    X = columns.encode_categorical(frame).to_numpy(dtype=np.float64)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    event, time = (np.ascontiguousarray(y[name]) for name in y.dtype.names)
    return X, event, time


def as_structured(event, time):
    return np.array(list(zip(event, time, strict=True)), [("event", "?"), ("time", "<f8")])


def all_scores(X):
    """Return scores without ties, and rounded ones with many."""
    scores = X @ np.random.default_rng(0).normal(size=X.shape[1])
    return scores, np.round(scores), np.round(scores, 1) + 1e-9 * np.arange(scores.size)


def test_the_index_is_theirs(rows):
    metrics = pytest.importorskip("sksurv.metrics")
    X, event, time = rows
    for scores in all_scores(X):
        for tied_tol in (1e-8, 0.05):
            wanted = metrics.concordance_index_censored(event, time, scores, tied_tol=tied_tol)
            found = concordance_index(event, time, scores, tied_tol=tied_tol)
            assert found.value == pytest.approx(wanted[0], rel=1e-12, abs=0)
            assert found[1:5] == tuple(wanted[1:])


@pytest.mark.parametrize("share", [0.9, 0.5])
def test_the_weighted_index_is_theirs(rows, share):
    metrics = pytest.importorskip("sksurv.metrics")
    X, event, time = rows
    known = np.random.default_rng(1).random(time.size) < 0.6
    tau = float(np.quantile(time[known], share))
    training = event[known], time[known]
    for scores in all_scores(X):
        for own in (training, (event, time)):
            wanted = metrics.concordance_index_ipcw(
                as_structured(*own), as_structured(event, time), scores, tau=tau
            )
            found = concordance_index(event, time, scores, ipcw=True, censoring=own, tau=tau)
            assert found.value == pytest.approx(wanted[0], rel=1e-12, abs=0)
            assert found[1:5] == tuple(wanted[1:])


@pytest.mark.filterwarnings("ignore:Optimization did not converge")  # theirs
def test_a_fit_has_the_optimum_of_fast_survival_svm(rows):
    """Its objective is |w|^2/2 + alpha/2 times the squared hinges of the comparable pairs."""
    svm = pytest.importorskip("sksurv.svm")
    X, event, time = rows
    chosen = np.random.default_rng(2).permutation(time.size)[:400]
    chosen = chosen[np.lexsort((~event[chosen], time[chosen]))]
    X, event = X[chosen], event[chosen]
    time = np.arange(1.0, event.size + 1.0)  # distinct, because it breaks ties at random
    alpha = 0.1
    winner, loser = np.nonzero((time[:, np.newaxis] < time) & event[:, np.newaxis])

    def objective(w):
        scores = X @ w
        d = scores[winner] - scores[loser]
        slope = np.minimum(0.0, d - 1.0)
        gradient = w + alpha * (X[winner] - X[loser]).T @ slope
        return w @ w / 2 + alpha / 2 * (slope @ slope), np.linalg.norm(gradient)

    theirs = svm.FastSurvivalSVM(alpha=alpha, rank_ratio=1.0, max_iter=1000, tol=1e-9)
    theirs.fit(X, as_structured(event, time))
    target = survival_target(event, time)
    ours = RankSVM(C=alpha / 2, reduction="sum", tol=1e-9).fit(X, **target)
    (found, left), (wanted, off) = objective(ours.coef_), objective(-theirs.coef_)
    start, slope = objective(np.zeros(X.shape[1]))
    # The penalty's curvature is 1, so an objective is at most |gradient|^2/2 above the optimum.
    # Rounding is that of two sums over the pairs.
    rounding = 4 * winner.size * EPS * start
    assert left <= 2e-9 * slope
    assert found <= wanted + left**2 / 2 + rounding
    assert off <= 1e-4 * slope  # theirs stops by its last step
    assert wanted <= found + off**2 / 2 + rounding
