"""Table 1: the data sets, their classes and their numbers of pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from reproduction.data import ALWAYS_THERE, load
from reproduction.data.made import discretize, make_randnet, make_randpoly
from reproduction.protocols import count_preferences, folds_of
from reproduction.study import ANY, Cell, Place, Printed, Quantity, Table, printed_of


class Source(NamedTuple):
    """A row of Table 1: where the rows come from, how many, and what the paper counts."""

    name: str
    data: str
    n_rows: int
    d: int
    n_bins: int
    n_pairs: int
    by: str = "count"


SOURCES = (
    Source("1 Diabetes", "diabetes", 43, 3, 2, 272),
    Source("2 Pyrimidines", "pyrim", 74, 28, 3, 1113),
    Source("3 Triazines", "triazines", 186, 61, 4, 7674),
    Source("4 Wisconsin Breast Cancer", "wisconsin", 194, 33, 4, 8162),
    Source("5 Machine-CPU", "machine_cpu", 209, 7, 4, 9820),
    Source("6 Auto-MPG", "autompg", 392, 8, 3, 30057),
    Source("7 Boston Housing", "housing", 506, 14, 2, 33693),
    Source("8 Airplane Companies", "stock", 950, 10, 5, 217301),
    Source("9 RandNet", "randnet", 1000, 50, 6, 195907),
    Source("10 RandPoly", "randpoly", 1000, 50, 6, 225131),
    Source("11 Abalone", "abalone", 4177, 9, 3, 3713729),
    Source("12 RandNet", "randnet", 5000, 50, 6, 6269910),
    Source("13 RandPoly", "randpoly", 5000, 50, 6, 5367241),
    Source("14 California Housing", "cal_housing", 20640, 9, 3, 82420255, "width"),
)
EXTRA = Source("scikit-learn's diabetes", ALWAYS_THERE, 442, 10, 3, 0)
"""Not in the paper: it is there where no data folder is."""

GENERATED = {"randnet": make_randnet, "randpoly": make_randpoly}
GENERATED_NOTE = "Generated data: the paper's draw is not known, so this is no agreement."


def config_of(source: Source) -> dict[str, Any]:
    """Return the arguments of `rows_of` for a row of the table."""
    made = {"n_rows": source.n_rows} if source.data in GENERATED else {}
    return {"data": source.data, "n_bins": source.n_bins, "by": source.by, **made}


ORDER_OF_SEXES = np.array([2.0, 0.0, 1.0])
"""The places of male, female and infant, Abalone's columns, in alphabetical order: F, I, M."""

FIRST_BY_COUNT = ("pyrim", "triazines", "housing")
"""Sets whose first column has the paper's pairs in bins of equal count, others of equal width."""


def config_of_first(source: Source) -> dict[str, Any]:
    """Return the arguments of `rows_of` with the first column as the target."""
    by = "count" if source.data in FIRST_BY_COUNT else "width"
    return {"data": source.data, "n_bins": source.n_bins, "by": by, "first": True}


def rows_of(
    data: str, n_bins: int, by: Any, n_rows: int = 0, *, first: bool = False, seed: int = 0
) -> tuple[Any, Any]:
    """Return features and classes.

    `first` takes the first column of the file as the target, and the usual one as a feature. The
    first column of Abalone is the sex, whose three values are the classes, in alphabetical order.
    """
    if data in GENERATED:
        made = GENERATED[data](n_rows, n_bins=n_bins, random_state=seed)
        return made.X, made.y
    X, target, *_ = load(data)
    if first and data == "abalone":
        sex, others = X[:, : len(ORDER_OF_SEXES)].argmax(axis=1), X[:, len(ORDER_OF_SEXES) :]
        return np.column_stack([others, target]), ORDER_OF_SEXES[sex]
    if first:
        X, target = np.column_stack([X[:, 1:], target]), X[:, 0]
    return X, discretize(target, n_bins, by=by)


def count_rows(*, seed: int = 0, **source: Any) -> dict[str, Any]:
    """Return N, d, S, the columns with the target, and the mean pairs of a fold's training rows."""
    X, y = rows_of(**source, seed=seed)
    pairs = [count_preferences(fold.y) for fold in folds_of(X, y, seed=seed)]
    found = {"N": len(y), "d": X.shape[1], "S": len(np.unique(y)), "M": float(np.mean(pairs))}
    return found | {"columns": X.shape[1] + 1}


_FIGURES = {each.name: (each.n_rows, each.d, each.n_bins, each.n_pairs) for each in SOURCES}
PRINTED = printed_of(("N", "d", "S", "M"), _FIGURES)


def _printed(value: str, sources: tuple[Source, ...] = SOURCES) -> dict[Place, Printed]:
    return {(each.name, ""): PRINTED[each.name, value] for each in sources}


GENERATED_ROWS = {(each.name, ANY): GENERATED_NOTE for each in SOURCES if each.data in GENERATED}
_OTHER_TARGET = (
    "The paper's target is another column, the first of the file: classes of equal count of the "
    "usual target have the most pairs that S classes can have, and the paper has fewer "
    "(Table 1-first)."
)
UNMATCHED = ("4 Wisconsin Breast Cancer", "5 Machine-CPU", "7 Boston Housing")
"""Sets whose pairs the first column does not have."""


_NO_TARGET = (
    "The cause is unknown. No column of the file as the target has both the paper's pairs and its "
    "WMW, by any of 18 rules for bins of equal count, of equal width and others, with random, "
    "contiguous and strided folds."
)
_COUNTED = (
    "The paper's d counts all columns of the file: the target, and the sex as one column "
    "(Table 1-first)."
)

TABLE = Table(
    name="1",
    title="data sets: rows, attributes, classes, and pairs of a fold's training rows",
    cells=tuple(
        Cell(source.name, "", count_rows, config_of(source)) for source in (*SOURCES, EXTRA)
    ),
    quantities=(
        Quantity("N", "N", _printed("N"), ",.0f", tolerance=0.0),
        Quantity("d", "d", _printed("d"), ",.0f", 0.0, reasons={(ANY, ""): _COUNTED}),
        Quantity("S", "S", _printed("S"), ",.0f", tolerance=0.0),
        Quantity(
            "M",
            "pairs",
            _printed("M"),
            ",.0f",
            tolerance=0.01,
            relative=True,
            reasons={(ANY, ""): _OTHER_TARGET} | {(row, ""): _NO_TARGET for row in UNMATCHED},
            not_compared=GENERATED_ROWS,
        ),
    ),
    note="Targets are cut into bins of equal count, California's into bins of equal width, which "
    "the paper's number of pairs says; so do those of RandNet and RandPoly.",
    row_title="data",
)

REAL = tuple(each for each in SOURCES if each.data not in GENERATED)
FIRST_NOTE = (
    "The target is the first column of the file, in bins of equal width; those of Pyrimidines, "
    "Triazines and Boston Housing are of equal count, which has pairs nearer the paper's. "
    "Abalone's target is the sex, in alphabetical order. The usual target is a feature."
)


FIRST = Table(
    name="1-first",
    title="the data sets of Table 1 with the first column as the target",
    cells=tuple(Cell(source.name, "", count_rows, config_of_first(source)) for source in REAL),
    quantities=(
        Quantity("columns", "columns of the file", _printed("d", REAL), ",.0f"),
        Quantity("M", "pairs", _printed("M", REAL), ",.0f"),
    ),
    note="A test of the reasons of Table 1. " + FIRST_NOTE,
    row_title="data",
)
