"""pairrank demo: RankSVM beside Ridge on scikit-learn's diabetes data."""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
import typer

from pairrank.cli import _options as options
from pairrank.cli._report import print_json, print_table

COLUMNS = ["model", "pairwise accuracy", "first fit (s)", "next fit (s)", "training pairs"]
"""A first fit compiles its loops, or loads them from the cache."""


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Draws the held-out rows.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Fit RankSVM and Ridge on the diabetes data; show which ranks the held-out rows better."""
    results, ranked = compare(seed)
    if as_json:
        print_json({name: dict(zip(COLUMNS[1:], row, strict=True)) for name, *row in results})
        return
    print_table("Diabetes: held-out rows put in order", COLUMNS, results)
    print_table(
        "The ten rows that RankSVM ranks highest", ["rank", "row", "score", "progression"], ranked
    )


def compare(seed: int) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return a result row for each model, and the ten best-ranked held-out rows."""
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from pairrank.estimators.rank_svm import RankSVM
    from pairrank.metrics import pairwise_accuracy

    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[: len(y) // 3], order[len(y) // 3 :]
    rankers = {"RankSVM": RankSVM(), "Ridge": Ridge()}
    results, scores = [], {}
    for name, ranker in rankers.items():
        model = make_pipeline(StandardScaler(), ranker)
        seconds = [fit_seconds(model, X[train], y[train]) for _ in range(2)]
        scores[name] = model.predict(X[test])
        pairs = getattr(ranker, "n_pairs_", "-")
        results.append([name, pairwise_accuracy(y[test], scores[name]), *seconds, pairs])
    best = np.argsort(-scores["RankSVM"], kind="stable")[:10]
    ranked = [
        [str(place), int(test[row]), scores["RankSVM"][row], y[test[row]]]
        for place, row in enumerate(best, start=1)
    ]
    return results, ranked


def fit_seconds(model: Any, X: Any, y: Any) -> float:
    """Fit a model and return the seconds."""
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start
