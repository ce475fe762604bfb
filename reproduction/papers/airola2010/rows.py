"""The rows that stand in for the paper's two data sets, and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairrank import Pairs
from reproduction.data import load
from reproduction.data.made import make_documents, make_parses
from reproduction.protocols import Problem, Rows, cut
from reproduction.study import Cell, Printed, Quantity, Table

N_PAIRS = 1_000_000
PARSES, REUTERS = "parse ranking (generated)", "Reuters (21578)"
SHAPED, WHOLE = "Reuters (generated, a 20th)", "Reuters (generated, whole)"
CONFIGS: dict[str, dict[str, Any]] = {
    PARSES: {"data": "parses", "size": 600},
    REUTERS: {"data": "reuters21578", "size": 0},
    SHAPED: {"data": "documents", "size": 39_063},
    WHOLE: {"data": "documents", "size": 781_265},
}
STANDS_IN = (
    "RCV1 cannot be had: Reuters-21578, with the stories on earnings before all others, stands in "
    "for it, so that errors cannot be compared."
)
GENERATED = "Generated rows of the paper's shape, so that errors cannot be compared."
NOTES = {
    (PARSES, "*"): GENERATED,
    (REUTERS, "*"): STANDS_IN,
    (SHAPED, "*"): GENERATED,
    (WHOLE, "*"): GENERATED,
}


def problem_of(data: str, size: int, seed: int = 0) -> Problem:
    """Return the parts of a data set; `size` counts training rows, or sentences of parses."""
    if data == "parses":
        parses = make_parses(size, random_state=seed)
        qid = np.asarray(parses.qid)
        ends = np.searchsorted(qid, np.array([0.0, 0.61, 0.81, 1.0]) * (qid[-1] + 1))
        return cut(Rows(parses.X, parses.y, qid), np.diff(ends))
    if data == "documents":
        n_valid, n_test = min(8_149, size), min(23_149, size)
        made = make_documents(size + n_valid + n_test, 47_152, random_state=seed)
        return cut(Rows(made.X, made.y), (size, n_valid, n_test))
    train, test = (load(data, subset=subset) for subset in ("train", "test"))
    order = np.random.default_rng(seed).permutation(train.y.size)
    rows = Rows(train.X, train.y).part(order)
    n_train = int(0.9 * train.y.size)
    learn, valid = rows.part(slice(n_train)), rows.part(slice(n_train, None))
    return Problem(learn, valid, Rows(test.X, test.y))


def with_pairs(problem: Problem, n_pairs: int, seed: int = 0) -> Problem:
    """Return the same with random positive-negative pairs of the training rows as the target."""
    rng = np.random.default_rng(seed)
    y = problem.train.y
    upper, lower = (np.flatnonzero(y == label) for label in np.unique(y)[::-1])
    pairs = Pairs(rng.choice(upper, n_pairs), rng.choice(lower, n_pairs), n_rows=y.size)
    return problem._replace(train=problem.train._replace(y=pairs))


def count_rows(*, data: str, size: int, seed: int = 0) -> dict[str, Any]:
    """Return the sizes of the parts, the features, and the share of entries that are not 0."""
    parts = problem_of(data, size, seed)
    X = parts.train.X
    return {
        "train": X.shape[0],
        "valid": parts.valid.X.shape[0],
        "test": parts.test.X.shape[0],
        "features": X.shape[1],
        "density": 100.0 * X.nnz / (X.shape[0] * X.shape[1]),
    }


_PRINTED = {
    "train": (7_539, 781_265),
    "valid": (2_497, 8_149),
    "test": (2_354, 23_149),
    "features": (195_100, 47_152),
    "density": (0.27, 0.16),
}


def _quantity(value: str, title: str, form: str) -> Quantity:
    parse, reuters = _PRINTED[value]
    paper = {(PARSES, ""): Printed(parse)} | {
        (row, ""): Printed(reuters) for row in (REUTERS, SHAPED, WHOLE)
    }
    return Quantity(value, title, paper, form, not_compared=NOTES)


TABLE = Table(
    name="1-sets",
    title="the data sets",
    cells=tuple(
        Cell(row, "", count_rows, config, full=row == WHOLE, memory=8.0)
        for row, config in CONFIGS.items()
    ),
    quantities=(
        _quantity("train", "training rows", ",.0f"),
        _quantity("valid", "validation rows", ",.0f"),
        _quantity("test", "test rows", ",.0f"),
        _quantity("features", "features", ",.0f"),
        _quantity("density", "entries that are not 0, %", ".2f"),
    ),
    row_title="data",
)
