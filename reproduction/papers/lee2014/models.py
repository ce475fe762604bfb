"""Tables 3 to 7, 9 and 10: RankSVM beside regression and forests, and on partial pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.svm import LinearSVR

from pairrank import Pairs, RankSVM, regularization_path
from reproduction.papers.lee2014.problems import (
    LISTS,
    NAMES,
    NOT_COMPARED,
    SPARSE,
    Name,
    problem,
    quality,
)
from reproduction.papers.lee2014.svr import RowOrderSVR
from reproduction.protocols import Rows, fit_quietly, without_warnings
from reproduction.study import Cell, Place, Printed, Quantity, Table, printed_of

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

ENSEMBLES: dict[str, Callable[[int, int], Any]] = {
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
    "linear RankSVM": lambda n_trees, seed: RankSVM(1.0, reduction="sum"),
}
FOREST, GBDT, SVM = ENSEMBLES
PARTIAL, ALL = "partial pairs", "all pairs"


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
    ranker = LINEAR[model]().set_params(**settings or {})
    _fit(clone(ranker), rows.train.part(slice(200)))  # compiles
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
        found["Tree-TRON"] = _fit(tree, rows.train, warm_up=True)[1]
    return found


def trees(
    *, name: str, model: str, n_trees: int, part: float = 1.0, n_repeats: int = 3, seed: int = 0
) -> dict[str, list[float]]:
    """Return test metrics and seconds of an ensemble of regression trees, by its seeds.

    RankSVM at C = 1, which has no trees and draws nothing, is beside them.
    """
    rows = problem(name, part, seed)
    found: dict[str, list[float]] = {}
    for repeat in range(n_repeats):
        fit, seconds = _fit(ENSEMBLES[model](n_trees, seed + repeat), rows.train, warm_up=True)
        for metric, value in quality(name, rows.test, fit.predict(rows.test.X)).items():
            found.setdefault(metric, []).append(value)
        found.setdefault("seconds", []).append(seconds)
    return found


def partial_pairs(
    *, name: str, part: float = 1.0, powers: tuple[int, ...] = POWERS, seed: int = 0
) -> dict[str, float]:
    """Choose C of RankSVM on adjacent pairs; return test accuracy over all pairs, and seconds."""
    rows = problem(name, part, seed)
    pairs = adjacent_pairs(rows.train)
    judged = dict(zip(("X_val", "y_val", "qid_val"), rows.valid[:3], strict=True))
    costs = 2.0 ** np.array(powers, dtype=np.float64)
    with without_warnings():
        path = regularization_path(
            RankSVM(reduction="sum"), rows.train.X, pairs, values=costs, **judged
        )
    ranker = RankSVM(path.best_value, reduction="sum")
    seconds = fit_quietly(ranker, rows.train.X, pairs)
    found = quality(name, rows.test, ranker.predict(rows.test.X))
    chosen = float(np.log2(path.best_value))
    return found | {"log2 C by accuracy": chosen, "seconds by accuracy": seconds}


def adjacent_pairs(rows: Rows) -> Pairs:
    """Return the pairs (i, j) of a query with y_i = y_j + 1; labels are places 1, 2, ..."""
    order = np.lexsort((rows.y, rows.qid))
    follows = rows.qid[order][1:] == rows.qid[order][:-1]
    return Pairs(order[1:][follows], order[:-1][follows], n_rows=rows.y.size)


def _fit(model: Any, rows: Rows, *, warm_up: bool = False) -> tuple[Any, float]:
    """Fit; return the model and its seconds, after an untimed fit if functions may compile."""
    qid = {"qid": rows.qid} if isinstance(model, RankSVM) else {}
    if warm_up and qid:
        fit_quietly(clone(model), rows.X, rows.y, **qid)
    return model, fit_quietly(model, rows.X, rows.y, **qid)


LOG_C: dict[Place, tuple[int, int]] = {("MQ2008", L1): (8, -6), ("MQ2008", L2): (7, 7),
    ("MQ2008", L1_SVR): (8, 8), ("MQ2008", L2_SVR): (-1, -4)}  # fmt: skip
"""Tables 3 and 4 of MQ2008: log2 C by accuracy and by NDCG."""

QUICK = ("MQ2008", "MQ2007-list shape, 1/20")
MOST = tuple(row for row in NAMES if row != "YAHOO set 2 shape")
SEARCHED = {L1: QUICK, L1_SVR: QUICK, L2: MOST, L2_SVR: MOST}
"""The sets on which a model is fitted at every C without --full; others take minutes."""


def _searches(models: tuple[str, ...], sets: Mapping[str, Name]) -> Iterator[Cell]:
    for row, each in sets.items():
        for model in models:
            config = {**each.settings, "model": model}
            if (row, model) in LOG_C:
                config["paper"] = LOG_C[row, model]
            if model == L1_SVR:
                config["settings"] = {"random_state": UNSEEDED}
            full = each.full or row not in SEARCHED[model]
            yield Cell(row, model, search, config, timed=True, full=full)


def _ensembles(n_trees: int, sets: Mapping[str, Name]) -> Iterator[Cell]:
    for row, each in sets.items():
        for model in (FOREST, GBDT):
            count = 40 if n_trees <= 100 and model == FOREST else n_trees
            slow = model == FOREST and row not in ("MQ2008", "YAHOO set 1 shape, 1/20")
            full = each.full or slow or (n_trees > 100 and row != "MQ2008")
            config = {"model": model, "n_trees": count, "n_repeats": 3 if model == FOREST else 1}
            yield Cell(row, model, trees, each.settings | config, timed=True, full=full)


def _on_sparse_rows() -> Iterator[Cell]:
    for row, each in SPARSE.items():
        for model in (SVM, FOREST):
            config = {**each.settings, "model": model, "n_trees": 40, "n_repeats": 1}
            yield Cell(row, model, trees, config, timed=True, seconds=180.0)


def _on_partial_pairs() -> Iterator[Cell]:
    for row, each in LISTS.items():
        yield Cell(row, PARTIAL, partial_pairs, each.settings, timed=True, full=each.full)
    for cell in _searches((L2,), LISTS):
        yield replace(cell, column=ALL)


def _metrics(
    columns: Sequence[str], accuracy: Sequence[float], ndcg: Sequence[float], **options: Any
) -> tuple[Quantity, ...]:
    """Return both test metrics, beside the paper's figures of MQ2008."""
    return tuple(
        Quantity(
            value,
            title,
            printed_of(columns, {"MQ2008": figures}),
            ".4f",
            0.01,
            not_compared=NOT_COMPARED,
            **options,
        )
        for value, title, figures in (
            ("accuracy", "test pairwise accuracy", accuracy),
            ("ndcg", "test NDCG", ndcg),
        )
    )


def _beside(
    columns: Sequence[str], sets: Sequence[str], *shown: tuple[str, str, str, Any]
) -> tuple[Quantity, ...]:
    """Return quantities by value, title, form and the paper's figures, a line for each set."""
    return tuple(
        Quantity(
            value,
            title,
            printed_of(columns, dict(zip(sets, figures, strict=True))),
            form,
            not_compared=NOT_COMPARED,
        )
        for value, title, form, figures in shown
    )


def _choice(name: str, title: str, models: tuple[str, ...]) -> Table:
    """Return Table 3 or 4."""
    places = {place: both for place, both in LOG_C.items() if place[1] in models}
    lost = {place: Printed(0.0) for place in places}
    chosen, losses = [], []
    for at, metric in enumerate(("accuracy", "ndcg")):
        powers = {place: Printed(both[at]) for place, both in places.items()}
        chosen.append(Quantity(f"log2 C by {metric}", f"log2 C by {metric}", powers, ".0f"))
        title_of_lost = f"validation {metric} that the paper's C loses against the best C"
        losses.append(Quantity(f"{metric} lost", title_of_lost, lost, ".4f", 0.01))
    return Table(
        name=name,
        title=title,
        cells=tuple(_searches(models, NAMES)),
        quantities=(*chosen, *losses),
        note="Chosen from 2^-15 .. 2^10 on the validation rows. Validation metrics hardly depend "
        "on C, so the choice itself is not compared, but what is lost by the paper's.",
        row_title="set",
    )


def _of_trees(name: str, n_trees: str, cells: Iterator[Cell], *quantities: Quantity) -> Table:
    """Return Table 6 or 7."""
    return Table(
        name=name,
        title=f"random forests and GBDT, {n_trees} trees",
        cells=tuple(cells),
        quantities=quantities,
        note="Three seeds of the forest; GBDT draws nothing. The forest is scikit-learn's, GBDT "
        "its histogram gradient boosting "
        "(depth 4, rate 0.1), as pGBRT has histograms. One thread; the paper used eight cores.",
        row_title="set",
    )


SMALL = {row: NAMES[row] for row in ("MQ2008", "MQ2007 shape", "YAHOO set 2 shape")}
OVERFITTED = (
    "1,000 boosted trees overfit, in the paper as here, and then depend on bins, depth and the "
    "least rows of a leaf; with 100 trees both agree."
)
_BY_MODEL, _BY_TREES, _ONE = (L2, L1_SVR, L2_SVR), (FOREST, GBDT), ("MQ2008",)
_OF_FIT, _OF_ACCURACY = "seconds of a fit", "test pairwise accuracy"
TABLES = {
    "3": _choice("3", "the best C of RankSVM", (L1, L2)),
    "4": _choice("4", "the best C of support vector regression", (L1_SVR, L2_SVR)),
    "5": Table(
        name="5",
        title="RankSVM and support vector regression",
        cells=tuple(_searches(_BY_MODEL, NAMES)),
        quantities=(
            *_metrics(_BY_MODEL, (0.8270, 0.7772, 0.8217), (0.4571, 0.4153, 0.4450)),
            *_beside(
                _BY_MODEL,
                _ONE,
                ("seconds by accuracy", f"{_OF_FIT} at the C chosen by accuracy", ".3g",
                 [(0.5, 3.4, 0.3)]),
            ),
            Quantity("Tree-TRON", "seconds with Tree-TRON's solver and sum", form=".3g"),
        ),
        note="L2-loss SVR is LIBLINEAR's, by scikit-learn. The paper's L1-loss SVR reached the "
        "most iterations of LIBLINEAR 1.92: its weights depend on the random order of the rows, "
        "which is taken here from the same generator and seed. RankSVM is pairrank's "
        'default; Tree-TRON is `solver="tron", '
        'pair_sum="selection_tree"`, with the same optimum.',
        row_title="set",
    ),
    "6": _of_trees(
        "6",
        "40 and 100",
        _ensembles(100, NAMES),
        *_metrics(_BY_TREES, (0.8036, 0.8283), (0.4541, 0.4706)),
        *_beside(_BY_TREES, _ONE, ("seconds", _OF_FIT, ".3g", [(2.3, 0.4)])),
    ),
    "7": _of_trees(
        "7",
        "1,000",
        _ensembles(1000, SMALL),
        *_metrics(_BY_TREES, (0.8260, 0.7978), (0.4675, 0.4491),
                  reasons={("MQ2008", GBDT): OVERFITTED}),
        *_beside(_BY_TREES, _ONE, ("seconds", _OF_FIT, ".3g", [(52.0, 3.6)])),
    ),
    "9": Table(
        name="9",
        title="linear RankSVM and random forests of 40 trees on sparse rows",
        cells=tuple(_on_sparse_rows()),
        quantities=_beside(
            (SVM, FOREST),
            tuple(SPARSE),
            ("seconds", _OF_FIT, ".3g", [(4.3, 6343.3), (2.7, 5223.1)]),
            ("accuracy", _OF_ACCURACY, ".4f", [(0.6083, 0.6045), (0.6816, 0.6972)]),
            ("ndcg", "test mean NDCG", ".4f", [(0.4822, 0.4732), (0.5851, 0.5982)]),
        ),
        note="C = 1, as in the paper. The generated utility is linear with much noise.",
        row_title="set",
    ),
    "10": Table(
        name="10",
        title="partial pairs and all pairs, as many levels as rows of a query",
        cells=tuple(_on_partial_pairs()),
        quantities=_beside(
            (PARTIAL, ALL),
            ("MQ2007-list shape", "MQ2008-list shape"),
            ("log2 C by accuracy", "log2 C", ".0f", [(-9, -12), (-10, -14)]),
            ("seconds by accuracy", _OF_FIT, ".3g", [(19.9, 38.7), (10.5, 16.6)]),
            ("accuracy", _OF_ACCURACY, ".4f", [(0.7910, 0.8071), (0.8181, 0.8211)]),
        ),
        row_title="set",
    ),
}  # fmt: skip
