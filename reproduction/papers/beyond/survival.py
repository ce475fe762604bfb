"""Censored times: all pairs beside Cox regression and a fit of the times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from pairrank import RankNCG, RankSVM, survival_target
from pairrank.survival import concordance_index
from reproduction.protocols import parts_of
from reproduction.study import Cell, Claim, Quantity, Study, Table, Verdict, ends

GENERATED = "generated"
N_FOLDS = 5
SETS = {
    "veterans' lung cancer": "load_veterans_lung_cancer",
    "GBSG 2": "load_gbsg2",
    "WHAS 500": "load_whas500",
    "FLChain": "load_flchain",
    "AIDS": "load_aids",
    "generated, exponential": GENERATED,
}


class Patients(NamedTuple):
    """Rows with censored times."""

    X: Any
    event: Any
    time: Any

    def part(self, which: Any) -> Patients:
        """Return some of the rows."""
        return Patients(*(each[which] for each in self))


def _by(ranker: Any, train: Patients, X: Any) -> Any:
    return ranker.fit(train.X, **survival_target(train.event, train.time)).predict(X)


def _by_times(train: Patients, X: Any) -> Any:
    """Return minus the predicted log time, learned from events only."""
    seen = train.event
    return -Ridge(1.0).fit(train.X[seen], np.log1p(train.time[seen])).predict(X)


def _by_cox(train: Patients, X: Any) -> Any:
    from sksurv import linear_model, util

    target = util.Surv.from_arrays(train.event, train.time)
    return linear_model.CoxPHSurvivalAnalysis(alpha=1.0).fit(train.X, target).predict(X)


SVM, NCG, COX, TIMES = "RankSVM", "RankNCG", "Cox regression", "ridge on log times of events"
MODELS: dict[str, Callable[[Patients, Any], Any]] = {
    SVM: partial(_by, RankSVM(1.0)),
    NCG: partial(_by, RankNCG(1.0)),
    COX: _by_cox,
    TIMES: _by_times,
}


def judge(*, dataset: str, model: str, n_rows: int = 1000, seed: int = 0) -> dict[str, list[float]]:
    """Return Harrell's concordance index on each of five folds."""
    patients = patients_of(dataset, n_rows, seed)
    fold = parts_of(np.arange(patients.time.size), N_FOLDS, seed)
    found = []
    for each in range(N_FOLDS):
        train, test = patients.part(fold != each), patients.part(fold == each)
        scaler = StandardScaler().fit(train.X)
        risk = MODELS[model](train._replace(X=scaler.transform(train.X)), scaler.transform(test.X))
        found.append(concordance_index(test.event, test.time, risk).value)
    return {"concordance": found}


def patients_of(dataset: str, n_rows: int, seed: int) -> Patients:
    """Return a set of scikit-survival, or exponential times of which 30 % are censored."""
    if dataset != GENERATED:
        return _read(dataset)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 10))
    time = rng.exponential(np.exp(X @ rng.normal(size=10) / 3.0))
    return Patients(X, rng.random(n_rows) < 0.7, time)


def _read(dataset: str) -> Patients:
    from sksurv import column, datasets

    frame, y = getattr(datasets, dataset)()
    frame = frame.drop(columns=["chapter"], errors="ignore")  # FLChain: the cause of death
    X = column.encode_categorical(frame).to_numpy(dtype=np.float64)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    event, time = (np.ascontiguousarray(y[name]) for name in y.dtype.names)
    return Patients(X, event, time.astype(np.float64))


TABLE = Table(
    name="survival",
    title="censored times: Harrell's concordance index",
    cells=tuple(
        Cell(row, model, judge, {"dataset": dataset, "model": model})
        for row, dataset in SETS.items()
        for model in MODELS
    ),
    quantities=(Quantity("concordance", "concordance index"),),
    note="Five folds; every model at strength 1. The sets come with scikit-survival.",
    row_title="data",
)


def _as_good_as_cox(study: Study) -> Verdict:
    gains = [*study.gains("survival", NCG, COX, "concordance").values()]
    figure = f"concordance {ends(gains, '+.3f')} on {len(gains)} sets"
    return Verdict(float(np.mean(gains)) >= -0.01, figure)


def _beats_times(study: Study) -> Verdict:
    gains = [*study.gains("survival", NCG, TIMES, "concordance").values()]
    wins = sum(gain > 0.0 for gain in gains)
    figure = f"concordance {ends(gains, '+.3f')}, better on {wins} of {len(gains)} sets"
    return Verdict(wins * 2 > len(gains), figure)


CLAIMS = (
    Claim("On censored times all pairs are as good as Cox regression.", _as_good_as_cox),
    Claim("On censored times all pairs beat a fit of the times of events.", _beats_times),
)
