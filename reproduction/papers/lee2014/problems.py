"""The data sets of Tables 2 and 8: MQ2008 from its files, the others generated in their shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pairrank import RankSVM
from pairrank.datasets import make_queries
from pairrank.metrics import mean_ndcg, ndcg_score, pairwise_accuracy
from reproduction.data import load
from reproduction.data.made import make_utility
from reproduction.protocols import Problem, Rows, cut
from reproduction.study import ANY, Cell, Printed, Quantity, Table

GENERATED = (
    "Generated rows in the shape of the paper's set, which is not to be had: agreement would mean "
    "nothing."
)
LATENT = 25
"""Factors that correlate the features of generated rows, as those of real judged documents are."""

HELD = 0.2
"""Validation and test queries of a generated set, in training queries."""


class Shape(NamedTuple):
    """A line of Table 2 or 8.

    `ratio` is the mean of k_q / l_q (1: no two rows of a query have the same level), `nonzeros` the
    mean number of entries per row (None: dense).
    """

    rows: int
    features: int
    levels: int
    queries: int
    pairs: int
    ratio: float = float("nan")
    nonzeros: float | None = None


PAPER = {
    "MQ2008": Shape(9_630, 46, 3, 471, 52_325, 0.1697),
    "MQ2007": Shape(42_158, 46, 3, 1_017, 246_015, 0.0546),
    "MSLR 30k": Shape(2_270_296, 136, 5, 18_919, 101_312_036, 0.0492),
    "YAHOO set 1": Shape(473_134, 519, 5, 19_944, 5_178_545, 0.2228),
    "YAHOO set 2": Shape(34_815, 596, 5, 1_266, 292_951, 0.1560),
    "MQ2007-list": Shape(743_790, 46, 1_268, 1_017, 285_943_893, 1.0),
    "MQ2008-list": Shape(540_679, 46, 1_831, 471, 323_151_792, 1.0),
    "CTR (0.1%)": Shape(11_382, 73_581, 1_087, 1, 46_020_848, nonzeros=22.6),
    "KDD2012b (0.025%)": Shape(17_005, 74_026, 26, 1, 12_704_393, nonzeros=35.3),
}


class Name(NamedTuple):
    """What a row of the tables stands for: a set of the paper, and the part of its queries."""

    of: str
    part: float = 1.0
    full: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `problem`."""
        return {"name": self.of, "part": self.part}


DENSE = {
    "MQ2008": Name("MQ2008"),
    "MQ2007 shape": Name("MQ2007"),
    "YAHOO set 2 shape": Name("YAHOO set 2"),
    "MSLR 30k shape, 1/20": Name("MSLR 30k", 0.05),
    "YAHOO set 1 shape, 1/20": Name("YAHOO set 1", 0.05),
    "MSLR 30k shape": Name("MSLR 30k", full=True),
    "YAHOO set 1 shape": Name("YAHOO set 1", full=True),
}
LISTS = {
    "MQ2007-list shape, 1/20": Name("MQ2007-list", 0.05),
    "MQ2008-list shape, 1/20": Name("MQ2008-list", 0.05),
    "MQ2007-list shape": Name("MQ2007-list", full=True),
    "MQ2008-list shape": Name("MQ2008-list", full=True),
}
SPARSE = {
    "CTR (0.1%) shape": Name("CTR (0.1%)"),
    "KDD2012b (0.025%) shape": Name("KDD2012b (0.025%)"),
}
NAMES = DENSE | LISTS
"""Rows of the tables -> sets."""

NOT_COMPARED = {(row, ANY): GENERATED for row in (*NAMES, *SPARSE) if row != "MQ2008"}


def problem(name: str, part: float = 1.0, seed: int = 0) -> Problem:
    """Return a set of the paper; of generated ones a part of the queries, or of sparse rows."""
    shape = PAPER[name]
    if name == "MQ2008":
        parts = (load("letor4_mq2008", fold=1, subset=each) for each in Problem._fields)
        return Problem(*(Rows(each.X, each.y, each.qid) for each in parts))
    if shape.nonzeros is not None:
        return _sparse(shape, part, seed)
    return _of_queries(shape, part, seed)


def quality(name: str, rows: Rows, scores: Any) -> dict[str, float]:
    """Return pairwise accuracy (ties are wrong) and the NDCG that the paper takes for a set.

    There is no NDCG where levels are too many for gains of 2^y - 1; of sparse rows, whose labels
    are ranks of the click rate, their shares are the labels.
    """
    found = {"accuracy": pairwise_accuracy(rows.y, scores, qid=rows.qid, ties="error")}
    if PAPER[name].nonzeros is not None:
        found["ndcg"] = mean_ndcg(rows.y / (PAPER[name].levels - 1), scores)
    elif name.startswith("YAHOO"):
        found["ndcg"] = ndcg_score(rows.y, scores, qid=rows.qid, k=10)
    elif not name.endswith("list"):
        found["ndcg"] = mean_ndcg(rows.y, scores, qid=rows.qid)
    return {key: float(value) for key, value in found.items()}


def describe(*, name: str, part: float = 1.0, seed: int = 0) -> dict[str, float]:
    """Return what Tables 2 and 8 say of the training rows."""
    rows = problem(name, part, seed).train
    qid = np.zeros(rows.y.size) if rows.qid is None else rows.qid
    starts = np.unique(qid, return_index=True)[1]
    levels = [np.unique(part).size / part.size for part in np.split(rows.y, starts)[1:]]
    stopped = RankSVM(1.0, max_iter=1, tol=0.9).fit(rows.X, rows.y, qid=rows.qid)
    return {
        "rows": rows.y.size,
        "features": rows.X.shape[1],
        "nonzeros": getattr(rows.X, "nnz", rows.X.size) / rows.y.size,
        "levels": np.unique(rows.y).size,
        "queries": starts.size,
        "pairs": stopped.n_pairs_,
        "ratio": float(np.mean(levels)),
    }


def _of_queries(shape: Shape, part: float, seed: int) -> Problem:
    """Return generated judged documents; features are scaled to [0, 1] as in the paper."""
    counts = [round(shape.queries * part)]
    counts += 2 * [max(2, round(HELD * counts[0]))]
    n_queries, rng = sum(counts), np.random.default_rng(seed)
    sizes = rng.multinomial(
        round(shape.rows * n_queries / shape.queries), [1 / n_queries] * n_queries
    )
    made = make_queries(
        n_queries,
        np.maximum(sizes, 2),
        shape.features,
        min(shape.levels, 5),
        latent=LATENT,
        random_state=seed,
    )
    qid: Any = made.qid
    y = made.y
    if shape.levels > 5:  # places 1, 2, ... in each query
        order = np.lexsort((made.utility, qid))
        y = np.empty(qid.size)
        y[order] = np.arange(qid.size) - np.searchsorted(qid, qid) + 1.0
    X = made.X - made.X.min(axis=0)
    X /= made.X.max(axis=0) - made.X.min(axis=0)
    return cut(Rows(X, y, qid), np.diff(np.searchsorted(qid, np.cumsum([0, *counts]))))


def _sparse(shape: Shape, part: float, seed: int) -> Problem:
    """Return generated sparse rows in one query; as many ties at the lowest label as the set has.

    Of l rows z l share the lowest label, the others have the other levels alike, so that
    (1 - z^2) / 2 is the share of pairs.
    """
    rows = round(shape.rows * part)
    held = round(rows * HELD)
    nonzeros = round(shape.nonzeros or 0.0)
    made = make_utility(
        rows + 2 * held, shape.features, nnz_per_row=nonzeros, noise=1.0, random_state=seed
    )
    ties = max(0.0, 1.0 - 2.0 * shape.pairs / shape.rows**2) ** 0.5
    bounds = np.quantile(made.utility, np.linspace(ties, 1.0, shape.levels)[:-1])
    y = np.searchsorted(bounds, made.utility).astype(np.float64)
    return cut(Rows(made.X, y), (rows, held, held))


TITLES = {
    "rows": "l",
    "features": "n",
    "nonzeros": "entries per row",
    "levels": "k",
    "queries": "queries",
    "pairs": "p",
    "ratio": "mean k_q / l_q",
}


def _table(name: str, title: str, sets: Mapping[str, Name], *values: str) -> Table:
    whole = {row: PAPER[each.of] for row, each in sets.items() if each.part == 1.0}
    return Table(
        name=name,
        title=title,
        cells=tuple(
            Cell(row, "", describe, each.settings, full=each.full) for row, each in sets.items()
        ),
        quantities=tuple(
            Quantity(
                value,
                TITLES[value],
                {(row, ""): Printed(getattr(shape, value)) for row, shape in whole.items()},
                form={"ratio": ".4f", "nonzeros": ".1f"}.get(value, ",.0f"),
                tolerance=5e-5 if value == "ratio" else 0.0,
                not_compared=NOT_COMPARED,
            )
            for value in values
        ),
        row_title="set",
    )


TABLE_2 = _table(
    "2", "training sets", NAMES, "rows", "features", "levels", "queries", "pairs", "ratio"
)
TABLE_8 = _table(
    "8", "sparse training sets", SPARSE, "rows", "features", "nonzeros", "levels", "pairs"
)
