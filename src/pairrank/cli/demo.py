"""pairrank demo: what pairs add to a pointwise model, and what they cost."""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
import typer

from pairrank._protocols import Array
from pairrank.cli import _options as options
from pairrank.cli._output import Progress, print_json, print_table
from pairrank.io import Rows

COLUMNS = ["model", "learns from", "accuracy", "seconds"]
"""Accuracy is the share of held-out pairs in the right order."""

_EFFECTS = np.array([1.0, 0.3, 0.3, -0.2, 0.1])


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

    generator = np.random.default_rng(seed)
    with Progress("fitting", quiet=as_json):
        parts = [make_queries(generator, generator.normal(size=1000)) for _ in range(2)]
        results = [result_of(model, *parts) for model in (Ridge(), RankSVM())]
        parts = [make_classes(generator, size) for size in (rows, 50_000)]
        results += [result_of(model, *parts) for model in (LogisticRegression(), RankNCG())]
    if as_json:
        print_json({name: dict(zip(COLUMNS[1:], row, strict=True)) for name, *row in results})
        return
    print_table(
        "Models of single rows and of all pairs: held-out pairs in the right order",
        COLUMNS,
        results,
    )


def make_queries(generator: np.random.Generator, popularity: Array) -> Rows:
    """Make queries whose clicks grow with their popularity, and whose first feature falls with it.

    Within a query, clicks are linear in the features, with noise. X is float32 as in
    `make_classes`, so that products are compiled once.
    """
    qid = np.repeat(np.arange(popularity.size), 20)
    X = generator.normal(size=(qid.size, _EFFECTS.size))
    noise = 0.6 * generator.normal(size=qid.size)
    y = 4.0 * popularity[qid] + X @ _EFFECTS + noise
    X[:, 0] -= popularity[qid]
    return Rows(X.astype(np.float32), y, qid)


def make_classes(generator: np.random.Generator, n_rows: int) -> Rows:
    """Make rows of two classes of equal size: the higher half of a noisy linear score."""
    X = generator.standard_normal((n_rows, 20), dtype=np.float32)
    score = X[:, :5].sum(axis=1) + 2.0 * generator.standard_normal(n_rows)
    return Rows(X, score > np.median(score))


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
