"""pairrank demo: what pairs add to a pointwise model, and what they cost."""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
import typer

from pairrank._protocols import Array
from pairrank.cli import _options as options
from pairrank.cli._output import Progress, print_json, print_table
from pairrank.datasets import Generated, make_queries
from pairrank.io import Rows

COLUMNS = ["model", "learns from", "accuracy", "seconds"]
"""Accuracy is the share of held-out pairs in the right order."""


def demo(
    rows: Annotated[
        int, typer.Option(min=1000, help="The rows of the second part, which form one query.")
    ] = 2_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Draws the data.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Fit pairwise beside pointwise models: where queries differ, and on 1e12 pairs.

    The data is made. Rows of popular queries get more clicks, which misleads a pointwise model.
    """  # fmt: skip
    from sklearn.linear_model import LogisticRegression, Ridge

    from pairrank.estimators.rank_ncg import RankNCG
    from pairrank.estimators.rank_svm import RankSVM

    with Progress("fitting", quiet=as_json):
        queries, classes = popular_queries(seed), two_classes(seed, rows)
        results = [result_of(model, *queries) for model in (Ridge(), RankSVM())]
        results += [result_of(model, *classes) for model in (LogisticRegression(), RankNCG())]
    if as_json:
        print_json({name: dict(zip(COLUMNS[1:], row, strict=True)) for name, *row in results})
        return
    print_table(
        "Models of single rows and of all pairs: held-out pairs in the right order",
        COLUMNS,
        results,
    )


def popular_queries(seed: int) -> list[Rows]:
    """Make queries whose labels grow with their popularity, while useful features fall with it.

    X is float32 as in `two_classes`, so that products are compiled once.
    """
    data = make_queries(2000, 20, 5, noise=0.6, dtype=np.float32, random_state=seed)
    popularity = np.random.default_rng(seed).normal(size=2000)[data.qid]
    data.X[:] -= np.outer(popularity, data.coef)
    return halves(data, 4.0 * popularity + data.utility, 20_000)


def two_classes(seed: int, n_rows: int) -> list[Rows]:
    """Make rows of two classes of equal size: the higher half of a noisy linear score."""
    data = make_queries(1, n_rows + 50_000, dtype=np.float32, random_state=seed)
    return halves(data, data.utility > np.median(data.utility[:n_rows]), n_rows)


def halves(data: Generated, y: Array, n_rows: int) -> list[Rows]:
    """Return the first rows, to learn from, and the others, to judge by."""
    parts = slice(n_rows), slice(n_rows, None)
    return [Rows(data.X[part], y[part], data.qid[part]) for part in parts]


def result_of(model: Any, train: Rows, test: Rows) -> list[Any]:
    """Return a model's row of the table; pairrank's second fit is timed, without compiling."""
    from pairrank.metrics import pairwise_accuracy

    pairwise = "pairrank" in type(model).__module__
    qid = {"qid": train.qid} if pairwise else {}
    for _ in range(2 if pairwise else 1):
        start = time.perf_counter()
        model.fit(train.X, train.y, **qid)
        seconds = time.perf_counter() - start
    scores = test.X @ np.ravel(model.coef_)
    source = f"{model.n_pairs_:,} pairs" if pairwise else f"{train.X.shape[0]:,} rows"
    accuracy = pairwise_accuracy(test.y, scores, qid=test.qid)
    return [type(model).__name__, source, round(accuracy, 3), round(seconds, 3)]
