"""Searches for the paper's figures that no other table gives: columns, bins, folds; RankBoost's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pairrank import RankBoost
from pairrank.metrics import wmw_score
from reproduction.agreement import allowed, farthest
from reproduction.papers.raykar2007 import printed
from reproduction.papers.raykar2007.bins import RULES
from reproduction.papers.raykar2007.first_column import (
    ACCURACIES,
    BOOST,
    FAST,
    TINY,
    columns_of,
    config_of_first,
    rows_of_first,
)
from reproduction.papers.raykar2007.methods import METHODS, judge_rows
from reproduction.papers.raykar2007.sets import BOOSTED, SOURCES, TABLE, UNMATCHED, Source
from reproduction.protocols import (
    CONTIGUOUS,
    RANDOM,
    STRIDED,
    Fold,
    count_preferences,
    folds_of,
    split_rows,
    with_ties,
)
from reproduction.study import Cell, Printed, Quantity, Table

FOLDS = (RANDOM, CONTIGUOUS, STRIDED)
Figures = Mapping[str, tuple[float, float]]
"""Name -> the paper's figure, and the largest difference that agrees with it."""


class Target(NamedTuple):
    """A column of a file as classes, and how folds are made.

    Attributes
    ----------
    column : int
    labels : bytes
        The classes as int64, so that equal ones of several rules are judged once.
    rows : str
        RANDOM, CONTIGUOUS or STRIDED.
    """

    column: int
    labels: bytes
    rows: str

    @property
    def y(self) -> Any:
        """The classes."""
        return np.frombuffer(self.labels, dtype=np.int64)


def nearest_target(
    *, data: str, n_bins: int, paper: Figures, n_folds: int = 5, seed: int = 0
) -> dict[str, Any]:
    """Return pairs and WMW of the target whose figures are nearest the paper's.

    Every column of the file is tried, by each of RULES, with each kind of FOLDS. WMW is computed
    where the pairs agree, or, if they agree nowhere, where they are nearest. Folds whose test rows
    have no pair have no WMW.
    """
    columns = columns_of(data)
    tried = list(_targets(columns, n_bins))
    rules = {target: rule for rule, target in reversed(tried)}
    pairs = {each: _pairs(each, n_folds, seed) for each in rules}
    off = {each: farthest({"M": pairs[each]}, {"M": paper["M"]}) for each in rules}
    near = [each for each in rules if off[each] <= 1.0]
    best: dict[str, Any] = {"distance": float("inf")}
    for target in near or [min(off, key=off.__getitem__)]:
        features = np.delete(columns, target.column, axis=1)
        judged = judge_rows(METHODS[FAST], features, target.y, n_folds, seed, target.rows)
        found = {"M": pairs[target], "wmw": float(np.nanmean(judged["wmw"]))}
        distance = farthest(found, paper)
        if distance < best["distance"]:
            shown = f"column {target.column + 1}, {rules[target]}, {target.rows} folds"
            best = found | {"distance": distance, "chosen": shown}
    return best | {"tried": len(tried), "near": len(near)}


def _targets(columns: Any, n_bins: int) -> Iterator[tuple[str, Target]]:
    """Yield each rule's name with what it makes of each column."""
    for at, (name, rule) in itertools.product(range(columns.shape[1]), RULES.items()):
        labels = rule(columns[:, at], n_bins).astype(np.int64).tobytes()
        for rows in FOLDS:
            yield name, Target(at, labels, rows)


def _pairs(target: Target, n_folds: int, seed: int) -> float:
    """Return the mean number of pairs of a fold's training rows."""
    y = target.y
    folds = split_rows(len(y), n_folds, seed, target.rows)
    return float(np.mean([count_preferences(y[train]) for train, _ in folds]))


THRESHOLDS = ("any threshold", "the mean", "the median")
TIES: dict[str, Any] = {"wrong": "error", "half": "half", "right": "correct"}
ROUNDS = (1, 10, 50, 100)
"""The paper says 50 to 100; fewer rounds have weaker rankings and more tied scores."""


def nearest_variant(
    *,
    data: Mapping[str, Any],
    beside: Mapping[str, Any],
    paper: Figures,
    n_folds: int = 5,
    seed: int = 0,
) -> dict[str, Any]:
    """Return the WMW of two sets by the variant of RankBoost that is nearest the paper's.

    A variant has thresholds, a number of rounds, and tied scores that are wrong, half or right.
    "alone" names the variants that give the figure of the first set, whatever the second has.
    """
    own, other = (by_variant(**each, n_folds=n_folds, seed=seed) for each in (data, beside))
    found = {each: {"wmw": own[each], "beside": other[each]} for each in own}
    distances = {each: farthest(figures, paper) for each, figures in found.items()}
    chosen = min(distances, key=distances.__getitem__)
    alone = [each for each in own if farthest(found[each], {"wmw": paper["wmw"]}) <= 1.0]
    return found[chosen] | {
        "tried": len(found),
        "distance": distances[chosen],
        "chosen": chosen,
        "alone": "; ".join(alone) or "none",
    }


def by_variant(
    *, data: str, n_bins: int, by: str, n_folds: int = 5, seed: int = 0
) -> dict[str, float]:
    """Return the WMW of each variant of RankBoost, with the first column as the target."""
    found: dict[str, list[float]] = {}
    for fold in folds_of(*rows_of_first(data, n_bins, by), n_folds, seed):
        for thresholds in THRESHOLDS:
            rows = with_thresholds(fold, thresholds)
            ranker = RankBoost(ROUNDS[-1]).fit(rows.X, rows.y)
            stages = list(ranker.staged_predict(rows.X_test))
            for n_rounds, (name, ties) in itertools.product(ROUNDS, TIES.items()):
                scores = with_ties(stages[min(n_rounds, len(stages)) - 1])
                shown = f"{thresholds}, rounds {n_rounds}, ties {name}"
                wmw = float(wmw_score(rows.y_test, scores, ties=ties))
                found.setdefault(shown, []).append(wmw)
    return {shown: float(np.mean(wmw)) for shown, wmw in found.items()}


def with_thresholds(fold: Fold, thresholds: str) -> Fold:
    """Return a fold whose features are 1 above the mean or median of the training rows, else 0."""
    if thresholds == THRESHOLDS[0]:
        return fold
    middle = np.mean if thresholds == THRESHOLDS[1] else np.median
    cuts = middle(fold.X, axis=0)
    return fold._replace(X=(cuts < fold.X) * 1.0, X_test=(fold.X_test > cuts) * 1.0)


def _figure(table: Table, value: str, place: tuple[str, str]) -> tuple[Printed, list[float]]:
    """Return what the paper prints, and the same with what agreement allows."""
    quantity = next(each for each in table.quantities if each.value == value)
    return quantity.paper[place], [
        quantity.paper[place].mean or 0.0,
        allowed(quantity, quantity.paper[place]),
    ]


def _asked(source: Source) -> dict[str, Any]:
    pairs = _figure(TABLE, "M", (source.name, ""))[1]
    wmw = _figure(ACCURACIES, "wmw", (source.name, FAST))[1]
    return {"data": source.data, "n_bins": source.n_bins, "paper": {"M": pairs, "wmw": wmw}}


DISTANCE = "largest difference, in units of what agreement allows"
_UNMATCHED = tuple(each for each in SOURCES if each.name in UNMATCHED)
COLUMNS = Table(
    name="1-columns",
    title="the target whose pairs and WMW are nearest the paper's",
    cells=tuple(
        Cell(each.name, "", nearest_target, _asked(each), seconds=600.0) for each in _UNMATCHED
    ),
    tiny=Cell(
        "tiny",
        "",
        nearest_target,
        {"data": TINY, "n_bins": 3, "n_folds": 2, "paper": {"M": [1.0, 1.0], "wmw": [0.9, 0.1]}},
    ),
    quantities=(
        Quantity(
            "M",
            "pairs",
            {(each.name, ""): _figure(TABLE, "M", (each.name, ""))[0] for each in _UNMATCHED},
            ",.0f",
        ),
        Quantity(
            "wmw",
            "WMW of RankNCG fast",
            {(each.name, ""): printed.WMW[each.name, FAST] for each in _UNMATCHED},
        ),
        Quantity("distance", DISTANCE, form=".1f"),
        Quantity("tried", "targets tried", form=",.0f"),
        Quantity("near", "with the paper's pairs", form=",.0f"),
        Quantity("chosen", "nearest"),
    ),
    note="A search for the sets whose pairs the first column does not have: every column of the "
    f"file, by {len(RULES)} rules for its classes, with random, contiguous and strided folds. "
    "Among so many some have the paper's pairs by chance, so that WMW decides. The rules: "
    + "; ".join(RULES)
    + ". Classes that several rules have count once among those with the paper's pairs.",
    row_title="data",
)


def _variants_of(source: Source, other: Source) -> Cell:
    config = {"data": config_of_first(source), "beside": config_of_first(other)}
    names = {"wmw": source.name, "beside": other.name}
    paper = {name: _figure(ACCURACIES, "wmw", (row, BOOST))[1] for name, row in names.items()}
    return Cell(source.name, "", nearest_variant, config | {"paper": paper})


_PAIR = tuple(each for each in SOURCES if each.name in BOOSTED)
_TINY = {"data": TINY, "n_bins": 3, "by": "count"}
VARIANTS = Table(
    name="4-boost",
    title="the variant of RankBoost whose figures of two sets are nearest the paper's",
    cells=tuple(
        _variants_of(one, other) for one, other in zip(_PAIR, reversed(_PAIR), strict=True)
    ),
    tiny=Cell(
        "tiny",
        "",
        nearest_variant,
        {
            "data": _TINY,
            "beside": _TINY,
            "paper": {"wmw": [0.9, 0.1], "beside": [0.9, 0.1]},
            "n_folds": 2,
        },
    ),
    quantities=(
        Quantity("wmw", "WMW", {(each.name, ""): printed.WMW[each.name, BOOST] for each in _PAIR}),
        Quantity(
            "beside",
            "WMW of the other set",
            {
                (one.name, ""): printed.WMW[other.name, BOOST]
                for one, other in zip(_PAIR, reversed(_PAIR), strict=True)
            },
        ),
        Quantity("distance", DISTANCE, form=".1f"),
        Quantity("tried", "variants tried", form=",.0f"),
        Quantity("chosen", "nearest"),
        Quantity("alone", "variants with the paper's WMW of this set alone"),
    ),
    note="A search for the two sets whose RankBoost differs in Table 4-first; target and folds are "
    "those of that table. The paper boosts for 50 to 100 rounds. Each feature has any threshold, "
    "or one, its mean or median in the training rows. The paper counts tied scores as right.",
    row_title="data",
)
