"""Tables 3 to 7: RankSVM beside support vector regression, boosted trees and forests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.svm import LinearSVR

from pairrank import RankSVM
from reproduction.papers.lee2014.problems import (
    GENERATED,
    NAMES,
    problem,
    quality,
)
from reproduction.papers.lee2014.svr import RowOrderSVR
from reproduction.protocols import Rows, fit_quietly
from reproduction.study import ANY, Cell, Place, Printed, Quantity, Table

UNSEEDED = 1
"""The seed of the C library's `rand` in LIBLINEAR, which sets none."""
POWERS = tuple(range(-15, 11))
"""C = 2^-15 .. 2^10 (Section 4.4)."""

L2, L1, L1_SVR, L2_SVR = "L2-loss RankSVM", "L1-loss RankSVM", "L1-loss SVR", "L2-loss SVR"
LINEAR: dict[str, Callable[[], Any]] = {
    L2: lambda: RankSVM(1.0, reduction="sum"),
    L1: lambda: RankSVM(1.0, loss="hinge", reduction="sum"),
    L1_SVR: RowOrderSVR,
    L2_SVR: lambda: LinearSVR(
        epsilon=0.0,
        loss="squared_epsilon_insensitive",
        dual=False,
        fit_intercept=False,
        tol=1e-3,
    ),
}
"""LIBLINEAR's solvers and stops, as the paper has them: no intercept, epsilon 0."""

TREES = {
    "random forest": lambda n_trees, seed: RandomForestRegressor(
        n_trees, max_features="sqrt", random_state=seed, n_jobs=1
    ),
    "GBDT": lambda n_trees, seed: HistGradientBoostingRegressor(
        learning_rate=0.1,
        max_iter=n_trees,
        max_depth=4,
        max_leaf_nodes=None,
        early_stopping=False,
        random_state=seed,
    ),
}
FOREST, GBDT = TREES


def search(
    *,
    name: str,
    model: str,
    part: float = 1.0,
    powers: tuple[int, ...] = POWERS,
    paper: tuple[int, int] | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Choose C on the validation rows by either metric; return the test metrics and seconds.

    `paper` are the paper's log2 C by accuracy and by NDCG: what our validation metrics lose there
    is returned too.
    """
    rows = problem(name, part, seed)
    _warm_up(LINEAR[model](), rows.train)
    ranker = LINEAR[model]().set_params(**settings or {})
    fits = [_fit(clone(ranker).set_params(C=2.0**power), rows.train) for power in powers]
    valid = [quality(name, rows.valid, fit.predict(rows.valid.X)) for fit, _ in fits]
    found: dict[str, Any] = {}
    for at, metric in enumerate(valid[0]):
        values = [each[metric] for each in valid]
        best = int(np.argmax(values))
        fit, seconds = fits[best]
        found[f"log2 C by {metric}"] = powers[best]
        found[metric] = quality(name, rows.test, fit.predict(rows.test.X))[metric]
        found[f"seconds by {metric}"] = seconds
        if paper is not None:
            found[f"{metric} lost"] = values[best] - values[powers.index(paper[at])]
    if model == L2:
        tree = clone(fits[powers.index(found["log2 C by accuracy"])][0])
        tree.set_params(solver="tron", pair_sum="selection_tree")
        _warm_up(tree, rows.train)
        found["Tree-TRON"] = _fit(tree, rows.train)[1]
    return found


def trees(
    *, name: str, model: str, n_trees: int, part: float = 1.0, n_repeats: int = 3, seed: int = 0
) -> dict[str, list[float]]:
    """Return test metrics and seconds of an ensemble of regression trees, by its seeds."""
    rows = problem(name, part, seed)
    _warm_up(TREES[model](1, seed), rows.train)
    found: dict[str, list[float]] = {}
    for repeat in range(n_repeats):
        fit, seconds = _fit(TREES[model](n_trees, seed + repeat), rows.train)
        for metric, value in quality(name, rows.test, fit.predict(rows.test.X)).items():
            found.setdefault(metric, []).append(value)
        found.setdefault("seconds", []).append(seconds)
    return found


def _fit(model: Any, rows: Rows) -> tuple[Any, float]:
    """Fit; return the model and its seconds."""
    rankers = {"qid": rows.qid} if isinstance(model, RankSVM) else {}
    return model, fit_quietly(model, rows.X, rows.y, **rankers)


def _warm_up(model: Any, rows: Rows) -> None:
    """Fit to a few rows, untimed, so that functions are compiled."""
    _fit(clone(model), rows.part(slice(200)))


LOG_C: dict[Place, tuple[int, int]] = {("MQ2008", L1): (8, -6), ("MQ2008", L2): (7, 7),
    ("MQ2008", L1_SVR): (8, 8), ("MQ2008", L2_SVR): (-1, -4)}  # fmt: skip
"""Tables 3 and 4 of MQ2008: log2 C by accuracy and by NDCG."""


QUICK = ("MQ2008", "MQ2007-list shape, 1/20")
MOST = tuple(row for row in NAMES if row != "YAHOO set 2 shape")
SEARCHED = {L1: QUICK, L1_SVR: QUICK, L2: MOST, L2_SVR: MOST}
"""The sets on which a model is fitted at every C without --full; others take minutes."""


def _searches(models: tuple[str, ...], sets: dict[str, Any]) -> Iterator[Cell]:
    for row, each in sets.items():
        for model in models:
            config = {**each.settings, "model": model}
            if (row, model) in LOG_C:
                config["paper"] = LOG_C[row, model]
            if model == L1_SVR:
                config["settings"] = {"random_state": UNSEEDED}
            full = each.full or row not in SEARCHED[model]
            yield Cell(row, model, search, config, timed=True, full=full)


def _ensembles(n_trees: int, sets: dict[str, Any]) -> Iterator[Cell]:
    for row, each in sets.items():
        for model in TREES:
            count = 40 if n_trees <= 100 and model == FOREST else n_trees
            slow = model == FOREST and row not in ("MQ2008", "YAHOO set 1 shape, 1/20")
            full = each.full or slow or (n_trees > 100 and row != "MQ2008")
            config = {"model": model, "n_trees": count, "n_repeats": 3 if model == FOREST else 1}
            config = {**each.settings, **config}
            yield Cell(row, model, trees, config, timed=True, full=full)


SMALL = {row: NAMES[row] for row in ("MQ2008", "MQ2007 shape", "YAHOO set 2 shape")}


def _log_c(models: tuple[str, ...], metric: str, at: int) -> Quantity:
    paper = {place: Printed(both[at]) for place, both in LOG_C.items() if place[1] in models}
    return Quantity(f"log2 C by {metric}", f"log2 C by {metric}", paper, form=".0f")


def _lost(models: tuple[str, ...], metric: str) -> Quantity:
    paper = {place: Printed(0.0) for place in LOG_C if place[1] in models}
    title = f"validation {metric} that the paper's C loses against the best C"
    return Quantity(f"{metric} lost", title, paper, form=".4f", tolerance=0.01)


def _printed(percent: bool, **values: float) -> dict[Place, Printed]:
    """Return the paper's figures of MQ2008 by column, "_" for a blank."""
    factor = 0.01 if percent else 1.0
    return {("MQ2008", column): Printed(value * factor) for column, value in values.items()}


def _metrics(
    rows: Iterable[str],
    accuracy: dict[str, float],
    ndcg: dict[str, float],
    reasons: dict[Place, str],
) -> tuple[Quantity, ...]:
    return tuple(
        Quantity(
            value,
            title,
            _printed(value == "accuracy", **printed),
            form=".4f",
            tolerance=0.01,
            not_compared={(row, ANY): GENERATED for row in rows if row != "MQ2008"},
            reasons=reasons,
        )
        for value, title, printed in (
            ("accuracy", "test pairwise accuracy", accuracy),
            ("ndcg", "test NDCG", ndcg),
        )
    )


def _choice(name: str, title: str, models: tuple[str, ...]) -> Table:
    """Return Table 3 or 4."""
    return Table(
        name=name,
        title=title,
        cells=tuple(_searches(models, NAMES)),
        quantities=(
            _log_c(models, "accuracy", 0),
            _log_c(models, "ndcg", 1),
            _lost(models, "accuracy"),
            _lost(models, "ndcg"),
        ),
        note="Chosen from 2^-15 .. 2^10 on the validation rows. Validation metrics hardly depend "
        "on C, so the choice itself is not compared, but what is lost by the paper's.",
        row_title="set",
    )


CHOSEN_RANKSVM = _choice("3", "the best C of RankSVM", (L1, L2))
CHOSEN_SVR = _choice("4", "the best C of support vector regression", (L1_SVR, L2_SVR))

BESIDE_SVR = Table(
    name="5",
    title="RankSVM and support vector regression",
    cells=tuple(_searches((L2, L1_SVR, L2_SVR), NAMES)),
    quantities=(
        *_metrics(
            NAMES,
            {L2: 82.70, L1_SVR: 77.72, L2_SVR: 82.17},
            {L2: 0.4571, L1_SVR: 0.4153, L2_SVR: 0.4450},
            {},
        ),
        Quantity(
            "seconds by accuracy",
            "seconds of a fit at the C chosen by accuracy",
            _printed(False, **{L2: 0.5, L1_SVR: 3.4, L2_SVR: 0.3}),
            form=".3g",
        ),
        Quantity("Tree-TRON", "seconds with Tree-TRON's solver and sum", form=".3g"),
    ),
    note="L2-loss SVR is LIBLINEAR's, by scikit-learn. The paper's L1-loss SVR reached the most "
    "iterations of LIBLINEAR 1.92: its weights depend on the random order of the rows, "
    "which is taken here from the same generator and seed. RankSVM is pairrank's "
    'default; Tree-TRON is `solver="tron", '
    'pair_sum="selection_tree"`, with the same optimum.',
    row_title="set",
)


def _of_trees(name: str, n_trees: str, n: int, sets: dict[str, Any], *printed: Any) -> Table:
    accuracy, ndcg, seconds, reasons = printed
    return Table(
        name=name,
        title=f"random forests and GBDT, {n_trees} trees",
        cells=tuple(_ensembles(n, sets)),
        quantities=(
            *_metrics(sets, accuracy, ndcg, reasons),
            Quantity("seconds", "seconds of a fit", _printed(False, **seconds), form=".3g"),
        ),
        note="Three seeds of the forest; GBDT draws nothing. The forest is scikit-learn's, GBDT "
        "its histogram gradient boosting "
        "(depth 4, rate 0.1), as pGBRT has histograms. One thread; the paper used eight cores.",
        row_title="set",
    )


OVERFITTED = (
    "1,000 boosted trees overfit, in the paper as here, and then depend on bins, depth and the "
    "least rows of a leaf; with 100 trees both agree."
)
FEW_TREES = _of_trees(
    "6", "40 and 100", 100, NAMES,
    {FOREST: 80.36, GBDT: 82.83}, {FOREST: 0.4541, GBDT: 0.4706}, {FOREST: 2.3, GBDT: 0.4}, {},
)  # fmt: skip
MANY_TREES = _of_trees(
    "7", "1,000", 1000, SMALL,
    {FOREST: 82.60, GBDT: 79.78}, {FOREST: 0.4675, GBDT: 0.4491}, {FOREST: 52.0, GBDT: 3.6},
    {("MQ2008", GBDT): OVERFITTED},
)  # fmt: skip
TABLES = (CHOSEN_RANKSVM, CHOSEN_SVR, BESIDE_SVR, FEW_TREES, MANY_TREES)
