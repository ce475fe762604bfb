"""RankNet: accuracy and NDCG against seconds, every pair beside sampled pairs, beside RankNCG.

Each way of training is seen at every iteration: the seconds since the fit was called, and how well
the network at that time ranks test rows (scoring them is not counted). MQ2008's fold 1 is read
where PAIRRANK_DATA names a folder that holds it; else rows are made, whose order a linear model
cannot learn. RankNCG is the linear model of the same loss.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import _harness as harness
from pairrank import RankNCG, RankNet
from pairrank.metrics import ndcg_score, pairwise_accuracy
from reproduction.data import load

WAYS: dict[str, dict[str, Any]] = {
    "every pair, L-BFGS": {"solver": "lbfgs"},
    "every pair, Adam": {"solver": "adam", "learning_rate": 0.03},
    "every pair of 32 queries, Adam": {"solver": "adam", "batch_size": 32},
    "32 sampled pairs, Adam": {"solver": "adam", "pairs": "sampled"},
    "1 sampled pair, plain steps (the paper's)": {
        "solver": "sgd",
        "pairs": "sampled",
        "batch_size": 1,
    },
    "1,024 sampled pairs, Adam": {"solver": "adam", "pairs": "sampled", "batch_size": 1024},
}
COLUMNS = ["network", "training", "seconds", "objective", "pairwise accuracy", "NDCG@10"]


class Rows(NamedTuple):
    """Features, labels and queries."""

    X: Any
    y: Any
    qid: Any


class Seen(NamedTuple):
    """What a fit had reached after some seconds."""

    seconds: float
    objective: float
    accuracy: float
    ndcg: float


def mq2008() -> tuple[Rows, Rows]:
    """Return training and test rows of fold 1."""
    parts = [load("letor4_mq2008", fold=1, subset=subset) for subset in ("train", "test")]
    train, test = (Rows(part.X, part.y, part.qid) for part in parts)
    return train, test


def made(n_rows: int) -> tuple[Rows, Rows]:
    """Return queries of 40 rows in five grades; a feature's size and the signs of two count."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n_rows, 20))
    value = np.abs(X[:, 0]) + np.tanh(2 * X[:, 1]) * X[:, 2] + X[:, 3]
    value += 0.5 * rng.normal(size=value.size)
    grades = np.digitize(value, np.quantile(value, [0.5, 0.7, 0.85, 0.95])).astype(float)
    qid = np.arange(2 * n_rows) // 40
    half = slice(n_rows), slice(n_rows, None)
    train, test = (Rows(X[part], grades[part], qid[part]) for part in half)
    return train, test


def judged(scores: Any, test: Rows) -> tuple[float, float]:
    """Return the pairwise accuracy and the NDCG@10 of scores."""
    accuracy = pairwise_accuracy(test.y, scores, qid=test.qid)
    return float(accuracy), float(ndcg_score(test.y, scores, qid=test.qid, k=10))


def curve(ranker: Any, train: Rows, test: Rows, limit: float) -> list[Seen]:
    """Return what a fit reached at each iteration, for `limit` seconds."""
    states: list[tuple[float, float, Any]] = []
    start = time.perf_counter()

    def note(step: Any) -> bool:
        states.append((time.perf_counter() - start, step.value, step.coef.copy()))
        return states[-1][0] > limit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker.fit(train.X, train.y, qid=train.qid, callback=note)
    return [Seen(*of, *judged(scored(ranker, state, test.X), test)) for *of, state in states]


def scored(ranker: Any, state: Any, X: Any) -> Any:
    """Return the scores of a network in a state, or of weights."""
    if isinstance(ranker, RankNet):
        ranker.parameters_ = state
    else:
        ranker.coef_ = state
    return ranker.predict(X)


def at_times(seen: list[Seen], times: list[float]) -> Iterator[Seen]:
    """Yield the last state at each time, and the one in the end."""
    for limit in times:
        before = [each for each in seen if each.seconds <= limit]
        if before and limit < seen[-1].seconds:
            yield before[-1]._replace(seconds=limit)
    yield seen[-1]


def main() -> None:
    """Print a table of curves."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000, help="rows of made data")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each fit, at most")
    parser.add_argument("--hidden", type=int, nargs="*", default=[0, 10], help="hidden units")
    parser.add_argument("--alpha", type=float, default=10.0, help="the penalty")
    given = parser.parse_args()
    limits = harness.one_thread()
    train, test = mq2008() if os.environ.get("PAIRRANK_DATA") else made(given.rows)
    print(harness.header("torch"))
    print(f"\n{train.y.size:,} rows of {train.X.shape[1]} features, {test.y.size:,} to test on\n")
    times = [given.seconds / 2**halvings for halvings in (6, 4, 2)]
    models: list[tuple[str, str, Any]] = [("linear", "RankNCG", RankNCG(given.alpha, tol=1e-6))]
    for hidden in given.hidden:
        name = f"{hidden} hidden units" if hidden else "linear"
        for way, options in WAYS.items():
            net = RankNet(hidden, alpha=given.alpha, max_iter=10_000, tol=1e-5, **options)
            models.append((name, way, net))
    few = train.qid <= np.unique(train.qid)[10]
    for rows in (Rows(*(part[few] for part in train)), train):
        for _, way, model in models:
            if rows is not train or "every pair" in way:
                once = clone(model).set_params(max_iter=1)
                curve(once, rows, test, given.seconds)
    table = []
    for name, way, model in models:
        for seen in at_times(curve(model, train, test, given.seconds), times):
            table.append([name, way, *seen])
    print(harness.table(COLUMNS, table))
    del limits


if __name__ == "__main__":
    main()
