"""All pairs in LightGBM and XGBoost: AUC over a million rows of one query, NDCG of MQ2008.

First part: binary labels, one query. LightGBM's lambdarank and rank_xendcg refuse more than 10,000
rows per query, so our objective is compared with the pointwise ones, and with XGBoost's rank:ndcg
and rank:pairwise, which draw one pair per row here (lambdarank_pair_method="mean"). Each seed has
training and test rows of its own. "objective" is the time inside our objective, "trees" the rest of
the training; of built-in objectives only the sum is known.

Second part: MQ2008, if PAIRRANK_DATA names a folder that holds it. Each of its five folds trains on
three parts, stops by mean NDCG on the fourth, and is judged by mean NDCG on the fifth.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import xgboost
from scipy.stats import rankdata

import _harness as harness
from pairrank.boosting import AllPairsObjective, RankingMetric
from pairrank.metrics import auc_score, mean_ndcg
from reproduction.data import load
from reproduction.data.made import make_utility

LEAVES, RATE = 31, 0.3
FEW, SLOWLY = 15, 0.05
"""Leaves and learning rate for MQ2008, which is small."""
LIGHTGBM = {"num_leaves": LEAVES, "learning_rate": RATE, "num_threads": 1, "verbose": -1}
XGBOOST = {"max_leaves": LEAVES, "max_depth": 0, "grow_policy": "lossguide", "eta": RATE}
XGBOOST |= {"nthread": 1, "tree_method": "hist", "verbosity": 0}
NO_METRIC = {"lightgbm": {"metric": "None"}, "xgboost": {"disable_default_eval_metric": 1}}
OWN = "all pairs, logistic"
PARTS = ("train", "valid", "test")


class Clocked(AllPairsObjective):
    """The objective, which counts the seconds spent in it."""

    seconds = 0.0

    def __call__(self, *args: Any) -> Any:
        """Return gradient and Hessian."""
        start = time.perf_counter()
        found = super().__call__(*args)
        Clocked.seconds += time.perf_counter() - start
        return found


class Rows(NamedTuple):
    """Rows whose queries are contiguous; without queries they are one."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None = None

    @property
    def sizes(self) -> np.ndarray:
        """The number of rows of each query."""
        return (
            np.array([self.y.size])
            if self.qid is None
            else np.unique(self.qid, return_counts=True)[1]
        )


class Trained(NamedTuple):
    """Scores of test rows and how long training took; `objective` is NaN where it is not known."""

    scores: np.ndarray
    total: float
    objective: float
    rounds: int


def train_lightgbm(
    objective: Any, train: Rows, test: Rows, rounds: int, valid: Rows | None = None
) -> Trained:
    """Train trees of LightGBM; with validation rows, stop early by their mean NDCG."""
    ranks = objective not in ("binary", "regression")
    data = lightgbm.Dataset(train.X, train.y, group=train.sizes if ranks else None)
    data.construct()
    options: dict[str, Any] = {}
    if valid is not None:
        judged = lightgbm.Dataset(valid.X, valid.y, group=valid.sizes, reference=data)
        stop = lightgbm.early_stopping(50, verbose=False)
        options = {"valid_sets": [judged], "callbacks": [stop], "feval": RankingMetric("mean_ndcg")}
    parameters = LIGHTGBM | NO_METRIC["lightgbm"] | {"objective": objective}
    parameters |= {} if valid is None else {"learning_rate": SLOWLY, "num_leaves": FEW}
    Clocked.seconds, start = 0.0, time.perf_counter()
    model = lightgbm.train(parameters, data, rounds, **options)
    total = time.perf_counter() - start
    return Trained(
        model.predict(test.X), total, _own_seconds(objective), model.best_iteration or rounds
    )


def train_xgboost(
    objective: Any, train: Rows, test: Rows, rounds: int, valid: Rows | None = None
) -> Trained:
    """Train trees of XGBoost; with validation rows, stop early by their mean NDCG."""
    ranks = callable(objective) or objective.startswith("rank:")
    queries = {"group": train.sizes} if ranks else {}
    data = xgboost.QuantileDMatrix(train.X, train.y, nthread=1, **queries)
    options: dict[str, Any] = {"obj": objective} if callable(objective) else {}
    if valid is not None:
        judged = xgboost.QuantileDMatrix(valid.X, valid.y, group=valid.sizes, ref=data, nthread=1)
        stop = xgboost.callback.EarlyStopping(rounds=50, save_best=True)
        options |= {"evals": [(judged, "valid")], "callbacks": [stop], "verbose_eval": False}
        options |= {"custom_metric": RankingMetric("mean_ndcg")}
    parameters = XGBOOST | NO_METRIC["xgboost"]
    parameters |= {} if valid is None else {"eta": SLOWLY, "max_leaves": FEW}
    if not callable(objective):
        parameters |= {"objective": objective}
    if ranks and valid is None and not callable(objective):
        parameters |= {"lambdarank_pair_method": "mean"}
    Clocked.seconds, start = 0.0, time.perf_counter()
    model = xgboost.train(parameters, data, rounds, **options)
    total = time.perf_counter() - start
    scores = model.predict(xgboost.DMatrix(test.X), output_margin=True)
    return Trained(scores, total, _own_seconds(objective), model.num_boosted_rounds())


def _own_seconds(objective: Any) -> float:
    return Clocked.seconds if callable(objective) else float("nan")


LIBRARIES: dict[str, Callable[..., Trained]] = {
    "LightGBM": train_lightgbm,
    "XGBoost": train_xgboost,
}


def auc_difference(y: np.ndarray, scores: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Return the first AUC less the second, and the standard error of this (DeLong 1988)."""
    apart = 0.0
    for sign, each in ((1.0, scores), (-1.0, other)):
        within = np.where(y > 0, rankdata(np.where(y > 0, each, np.inf)), 0.0)
        within += np.where(y > 0, 0.0, rankdata(np.where(y > 0, np.inf, each)))
        beaten = rankdata(each) - within
        apart = apart + sign * np.where(y > 0, beaten / (y <= 0).sum(), beaten / (y > 0).sum())
    above, below = apart[y > 0], -apart[y <= 0]
    error = np.sqrt(above.var(ddof=1) / above.size + below.var(ddof=1) / below.size)
    return float(above.mean()), float(error)


def one_query(libraries: list[str], n_rows: int, rounds: int, seeds: int) -> Iterator[list[Any]]:
    """Yield a row per objective: test AUC, its difference to the pointwise objective, seconds."""
    known = {
        "LightGBM": ["binary", OWN],
        "XGBoost": ["binary:logistic", "rank:pairwise", "rank:ndcg", OWN],
    }
    found: dict[tuple[str, str], list[tuple[float, Trained]]] = {}
    test_labels: list[np.ndarray] = []
    AllPairsObjective()(np.arange(n_rows) % 2, np.zeros(n_rows))
    for seed in range(seeds):
        made = make_utility(n_rows + 200_000, 20, n_levels=2, noise=2.0, random_state=seed)
        X, y = made.X * np.abs(made.X), made.y
        train, test = Rows(X[:n_rows], y[:n_rows]), Rows(X[n_rows:], y[n_rows:])
        test_labels.append(test.y)
        for library in libraries:
            for name in known[library]:
                objective = Clocked() if name == OWN else name
                result = LIBRARIES[library](objective, train, test, rounds)
                entry = (float(auc_score(test.y, result.scores)), result)
                found.setdefault((library, name), []).append(entry)
    for (library, name), entries in found.items():
        pointwise = found[library, known[library][0]]
        more = [
            auc_difference(test_labels[at], own[1].scores, other[1].scores)
            for at, (own, other) in enumerate(zip(entries, pointwise, strict=True))
        ]
        total, inside = (
            statistics.median(getattr(result, part) for _, result in entries)
            for part in ("total", "objective")
        )
        yield [
            library, name, f"{statistics.mean(auc for auc, _ in entries):.5f}",
            " ".join(f"{value:+.5f} ± {error:.5f}" for value, error in more),
            total, inside, total - inside,
        ]  # fmt: skip


def mq2008(libraries: list[str], rounds: int) -> Iterator[list[Any]]:
    """Yield a row per objective: mean NDCG on test queries over five folds, rounds and seconds."""
    folds = [
        [_sorted(load("letor4_mq2008", fold=fold, subset=part)) for part in PARTS]
        for fold in range(1, 6)
    ]
    ours = {f"{OWN}, {how}": how for how in ("auto", "rows")}
    known = {
        "LightGBM": ["lambdarank", "rank_xendcg", *ours],
        "XGBoost": ["rank:ndcg", "rank:pairwise", *ours],
    }
    for library in libraries:
        for name in known[library]:
            results = []
            for train, valid, test in folds:
                objective = Clocked(reduction=ours[name]) if name in ours else name
                result = LIBRARIES[library](objective, train, test, rounds, valid)
                results.append((float(mean_ndcg(test.y, result.scores, qid=test.qid)), result))
            yield [
                library, name, f"{statistics.mean(ndcg for ndcg, _ in results):.4f}",
                " ".join(f"{ndcg:.3f}" for ndcg, _ in results),
                " ".join(str(result.rounds) for _, result in results),
                sum(result.total for _, result in results),
            ]  # fmt: skip


def _sorted(data: Any) -> Rows:
    order = np.argsort(data.qid, kind="stable")
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return Rows(X[order], data.y[order], data.qid[order])


def main() -> None:
    """Print both parts as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--part", choices=("query", "mq2008", "all"), default="all")
    parser.add_argument("--library", choices=tuple(LIBRARIES), help="default: both")
    given = parser.parse_args()
    libraries = [given.library] if given.library else list(LIBRARIES)
    limit = harness.one_thread()
    print(harness.header("lightgbm", "xgboost", "xgboost-cpu"))
    if given.part != "mq2008":
        print(f"\nOne query of {given.rows:,} rows x 20, {given.rounds} rounds\n")
        columns = (
            "library",
            "objective",
            "test AUC",
            "difference to pointwise ± its error, by seed",
        )
        columns += ("training, s", "objective, s", "trees, s")
        print(
            harness.table(columns, one_query(libraries, given.rows, given.rounds, given.seeds)),
            flush=True,
        )
    if given.part != "query":
        print("\nMQ2008, five folds\n")
        columns = ("library", "objective", "mean NDCG", "by fold", "rounds", "training, s")
        print(harness.table(columns, mq2008(libraries, 300)))
    limit.restore_original_limits()


if __name__ == "__main__":
    main()
