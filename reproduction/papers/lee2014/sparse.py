"""Tables 9 and 10: sparse rows beside a forest, and partial pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from pairrank import Pairs, RankSVM, regularization_path
from pairrank.metrics import mean_ndcg, pairwise_accuracy
from reproduction.papers.lee2014.problems import (
    GENERATED,
    LISTS,
    SPARSE,
    Name,
    problem,
)
from reproduction.protocols import Rows, fit_quietly, without_warnings
from reproduction.study import (
    ANY,
    Cell,
    Claim,
    Printed,
    Quantity,
    Study,
    Table,
    Verdict,
)

N_TREES = 40
FOREST_SECONDS = 180.0
LINEAR, FOREST = "linear RankSVM", "random forest"
PARTIAL, ALL = "partial pairs", "all pairs"
POWERS = tuple(range(-15, 11))


def sparse_rows(
    *, name: str, model: str, part: float = 1.0, n_trees: int = N_TREES, seed: int = 0
) -> dict[str, float]:
    """Return test metrics and seconds of RankSVM at C = 1, or of a forest, on sparse rows."""
    rows = problem(name, part, seed)
    ranker: Any = RankSVM(1.0, reduction="sum")
    if model == FOREST:
        ranker = RandomForestRegressor(n_trees, max_features="sqrt", random_state=seed, n_jobs=1)
    else:  # all rows, so that what is timed is compiled
        ranker.fit(rows.train.X, rows.train.y)
    seconds = fit_quietly(ranker, rows.train.X, rows.train.y)
    scores = ranker.predict(rows.test.X)
    accuracy = pairwise_accuracy(rows.test.y, scores, ties="error")
    # Labels are ranks of the click rate here: their shares keep the gains 2^y - 1 finite.
    shares = rows.test.y / rows.train.y.max()
    return {"accuracy": accuracy, "ndcg": float(mean_ndcg(shares, scores)), "seconds": seconds}


def partial_pairs(
    *, name: str, pairs: str, part: float = 1.0, powers: tuple[int, ...] = POWERS, seed: int = 0
) -> dict[str, float]:
    """Choose C on the validation rows; return test accuracy over all pairs, and seconds.

    Partial pairs are those of adjacent places of a query, y_i = y_j + 1, listed.
    """
    rows = problem(name, part, seed)
    target = adjacent_pairs(rows.train) if pairs == PARTIAL else rows.train.y
    qid = {} if pairs == PARTIAL else {"qid": rows.train.qid}
    with without_warnings():
        path = regularization_path(
            RankSVM(reduction="sum"),
            rows.train.X,
            target,
            values=2.0 ** np.array(powers, dtype=np.float64),
            X_val=rows.valid.X,
            y_val=rows.valid.y,
            qid_val=rows.valid.qid,
            **qid,
        )
    ranker = RankSVM(path.best_value, reduction="sum")
    seconds = fit_quietly(ranker, rows.train.X, target, **qid)
    scores = ranker.predict(rows.test.X)
    accuracy = pairwise_accuracy(rows.test.y, scores, qid=rows.test.qid, ties="error")
    return {"log2 C": np.log2(path.best_value), "seconds": seconds, "accuracy": accuracy}


def adjacent_pairs(rows: Rows) -> Pairs:
    """Return the pairs (i, j) of a query with y_i = y_j + 1; labels are places 1, 2, ..."""
    order = np.lexsort((rows.y, rows.qid))
    follows = rows.qid[order][1:] == rows.qid[order][:-1]
    return Pairs(order[1:][follows], order[:-1][follows], n_rows=rows.y.size)


def _quantity(
    value: str, title: str, form: str, sets: dict[str, Name], **columns: tuple[float, ...]
) -> Quantity:
    """Return a quantity with the paper's figures, by column and whole set."""
    names = [row for row, each in sets.items() if each.part == 1.0]
    factor = 0.01 if value == "accuracy" else 1.0
    paper = {
        (row, column): Printed(figure * factor)
        for column, figures in columns.items()
        for row, figure in zip(names, figures, strict=True)
    }
    return Quantity(value, title, paper, form, not_compared={(ANY, ANY): GENERATED})


def _sparse_cells() -> Iterator[Cell]:
    for row, each in SPARSE.items():
        for model in (LINEAR, FOREST):
            config = {**each.settings, "model": model}
            yield Cell(row, model, sparse_rows, config, timed=True, seconds=FOREST_SECONDS)


def _partial_cells() -> Iterator[Cell]:
    for row, each in LISTS.items():
        for pairs in (PARTIAL, ALL):
            config = {**each.settings, "pairs": pairs}
            yield Cell(row, pairs, partial_pairs, config, timed=True, full=each.full)


TABLE_9 = Table(
    name="9",
    title="linear RankSVM and random forests of 40 trees on sparse rows",
    cells=tuple(_sparse_cells()),
    quantities=(
        _quantity("seconds", "seconds of a fit", ".3g", SPARSE,
                  **{LINEAR: (4.3, 2.7), FOREST: (6343.3, 5223.1)}),
        _quantity("accuracy", "test pairwise accuracy", ".4f", SPARSE,
                  **{LINEAR: (60.83, 68.16), FOREST: (60.45, 69.72)}),
        _quantity("ndcg", "test mean NDCG", ".4f", SPARSE,
                  **{LINEAR: (0.4822, 0.5851), FOREST: (0.4732, 0.5982)}),
    ),
    note="C = 1, as in the paper. The generated utility is linear with much noise.",
    row_title="set",
)  # fmt: skip
TABLE_10 = Table(
    name="10",
    title="partial pairs and all pairs, as many levels as rows of a query",
    cells=tuple(_partial_cells()),
    quantities=(
        _quantity("log2 C", "log2 C", ".0f", LISTS, **{PARTIAL: (-9, -10), ALL: (-12, -14)}),
        _quantity("seconds", "seconds of a fit", ".3g", LISTS,
                  **{PARTIAL: (19.9, 10.5), ALL: (38.7, 16.6)}),
        _quantity("accuracy", "test pairwise accuracy", ".4f", LISTS,
                  **{PARTIAL: (79.10, 81.81), ALL: (80.71, 82.11)}),
    ),
    row_title="set",
)  # fmt: skip
TABLES = (TABLE_9, TABLE_10)


def _forests_on_sparse_rows(study: Study) -> Verdict:
    parts, holds = [], True
    for row in SPARSE:
        ours, other = (study.record("9", row, model) for model in (LINEAR, FOREST))
        seconds = study.mean("9", row, LINEAR, "seconds")
        assert ours is not None
        if other is not None and other["status"] == "time":
            parts.append(f"{row}: not ready after {other['time'] / seconds:,.0f} times as long")
            holds &= other["time"] / seconds > 1000.0
            continue
        times = study.mean("9", row, FOREST, "seconds") / seconds
        gain = study.mean("9", row, FOREST, "accuracy") - study.mean("9", row, LINEAR, "accuracy")
        parts.append(f"{row}: {times:,.0f} times as long, accuracy {gain:+.4f}")
        holds &= times > 1000.0 and gain <= 0.02
    return Verdict(holds, "; ".join(parts))


def _partial_is_worse_and_faster(study: Study) -> Verdict:
    losses = [partial - whole for _, partial, whole in study.pairs("10", PARTIAL, ALL, "accuracy")]
    times = [whole / partial for _, partial, whole in study.pairs("10", PARTIAL, ALL, "seconds")]
    figure = f"accuracy {min(losses):+.4f} to {max(losses):+.4f}, "
    figure += f"{min(times):.2g} to {max(times):.2g} times as fast"
    return Verdict(max(losses) <= 0.0 and min(losses) >= -0.05 and min(times) > 1.0, figure)


CLAIMS = (
    Claim(
        "Forests on sparse data are no better, and thousands of times slower.",
        _forests_on_sparse_rows,
        "scikit-learn's forest is much faster on sparse rows than the paper's.",
    ),
    Claim(
        "Partial pairs are slightly worse, and faster.",
        _partial_is_worse_and_faster,
        "They are worse throughout. No pairs are listed here, so that leaving some out need not "
        "save time.",
    ),
)
