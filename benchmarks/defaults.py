"""The default strengths of the rankers on every data set, beside the strength that folds choose.

``python benchmarks/defaults.py`` prints Markdown: for each ranker and strength the accuracy that it
loses against the strength chosen in folds, and the same for the settings of RankBoost. Sets that
`PAIRRANK_DATA` lacks are left out. Features are standardized by the training rows (sparse ones are
as they are), and at most 1,000 rows (whole queries) of a set are taken. The strength is chosen for
a fold by the mean accuracy on the other folds.

Strengths mean the same for all: the cost of a row, where the penalty is half the squared norm. They
are C of RankSVM, nu of ConvexHullRanker, and C of MPRank and SVRank divided by the rows of a query
and by the unit of the labels, as in their default.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import _harness as harness

harness.one_thread()

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from pairrank import ConvexHullRanker, MPRank, RankBoost, RankSVM, SVRank  # noqa: E402
from pairrank.io import read_rows  # noqa: E402
from pairrank.metrics import pairwise_accuracy  # noqa: E402
from reproduction.data import DatasetNotFoundError, load  # noqa: E402
from reproduction.data.made import discretize  # noqa: E402

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
N_FOLDS, MOST_ROWS, BINS = 3, 1000, 5
SMALL, MOST_BOOSTED = 100, 2000
ROUGH: dict[str, Any] = {"tol": 0.01, "max_iter": 60}
"""The stops of cutting planes: the order of rows settles long before the weights."""
KINDS = ("binary", "ordinal", "real", "queries")
REAL = (
    *("diabetes", "pyrim", "triazines", "wisconsin", "machine_cpu", "autompg", "housing"),
    *("stock", "abalone", "cal_housing"),
)
FURTHER = ("servo", "bank8fm", "bank32nh", "cpu_small", "cpu_act", "census_house8L")
"""Files of the same collection that the registry does not have."""
QUERIES = ("letor4_mq2008", "mslr_sample", "webis_clueweb09_ltr")
DIGITS = (1, 3, 8, 9)


class Rows(NamedTuple):
    """A data set: binary, ordinal, real or with queries."""

    name: str
    kind: str
    X: Any
    y: Any
    qid: Any = None


def all_rows() -> Iterator[Rows]:
    """Yield every set that is there."""
    cancer, digits = datasets.load_breast_cancer(), datasets.load_digits()
    yield Rows("breast cancer", "binary", cancer.data, cancer.target)
    for digit in DIGITS:
        yield Rows(f"digits, {digit}", "binary", digits.data, digits.target == digit)
    yield from found("libsvm_a9a", "binary")
    if (home := os.environ.get("PAIRRANK_DATA")) is not None:
        file = Path(home) / "sofia_ml_demo" / "demo.train.gz"
        if file.exists():
            demo = read_rows(file, format="svmlight")
            yield Rows("sofia_ml_demo", "binary", demo.X, demo.y)
    X, y = datasets.make_classification(
        2000, 20, n_informative=8, n_redundant=4, weights=[0.98], flip_y=0.05, random_state=1
    )
    yield Rows("made, 2 % positive", "binary", X, y)
    for name, make in (("iris", datasets.load_iris), ("wine", datasets.load_wine)):
        yield Rows(name, "ordinal", *make(return_X_y=True))
    yield Rows("digits, 0 to 9", "ordinal", digits.data, digits.target)
    real = [Rows("diabetes, Efron", "real", *datasets.load_diabetes(return_X_y=True))]
    real += [rows for name in REAL for rows in found(name, "real")]
    real += [rows for name in FURTHER for rows in from_arff(name)]
    for rows in real:
        yield rows
        yield rows._replace(kind="ordinal", y=discretize(rows.y, BINS))
    for name in QUERIES:
        yield from found(name, "queries")


def found(name: str, kind: str) -> Iterator[Rows]:
    """Yield a registered set, unless it is not there."""
    try:
        loaded = load(name)
    except DatasetNotFoundError:
        return
    yield Rows(name, kind, loaded.X, loaded.y, loaded.qid)


def from_arff(name: str) -> Iterator[Rows]:
    """Yield a set whose target is the last column of an ARFF file, unless it is not there."""
    import gzip
    import io

    from scipy.io import arff

    for file in (Path(os.environ.get("PAIRRANK_DATA", ".")) / name).glob("*.arff.gz"):
        text = gzip.decompress(file.read_bytes()).decode()
        table, header = arff.loadarff(io.StringIO(text))
        columns = []
        for attribute in header.names():
            words = header[attribute][1]
            cells = table[attribute]
            columns += [cells] if words is None else [cells == word.encode() for word in words]
        numbers = np.column_stack([np.asarray(column, dtype=float) for column in columns])
        yield Rows(name, "real", numbers[:, :-1], numbers[:, -1])


def taken(rows: Rows) -> Rows:
    """Return at most `MOST_ROWS` rows, of whole queries."""
    rng = np.random.default_rng(0)
    if rows.qid is None:
        chosen = rng.permutation(len(rows.y))[:MOST_ROWS]
        return rows._replace(X=rows.X[chosen], y=np.asarray(rows.y)[chosen].astype(float))
    names, code = np.unique(rows.qid, return_inverse=True)
    order = rng.permutation(names.size)
    sizes = np.bincount(code)[order].cumsum()
    kept = np.isin(code, order[: max(2 * N_FOLDS, int(np.searchsorted(sizes, MOST_ROWS)))])
    return rows._replace(X=rows.X[kept], y=rows.y[kept].astype(float), qid=rows.qid[kept])


def folds(rows: Rows) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield the standardized training and test rows of each fold, and their places."""
    cv: Any = KFold(N_FOLDS, shuffle=True, random_state=0)
    if rows.kind == "binary" or (rows.kind == "ordinal" and np.unique(rows.y).size < SMALL):
        cv = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    if rows.qid is not None:
        cv = GroupKFold(N_FOLDS)
    for train, test in cv.split(rows.y, rows.y, rows.qid):
        if sparse.issparse(rows.X):
            yield rows.X[train], rows.X[test], train, test
            continue
        scaler = StandardScaler().fit(rows.X[train])
        yield scaler.transform(rows.X[train]), scaler.transform(rows.X[test]), train, test


def rankers(strength: float, rows: Rows, n_rows: int, spread: float) -> dict[str, Any]:
    """Return the rankers at a strength."""
    found: dict[str, Any] = {
        "RankSVM": RankSVM(strength),
        "RankSVM, hinge": RankSVM(strength, loss="hinge", **ROUGH),
        "MPRank": MPRank(strength * n_rows),
        "SVRank": SVRank(strength * n_rows * spread, **ROUGH),
    }
    if np.unique(rows.y).size < SMALL:
        found["ConvexHullRanker"] = ConvexHullRanker(strength)
    return found


BOOSTED: dict[str, RankBoost] = {
    **{f"learning_rate {rate}": RankBoost(learning_rate=rate) for rate in (1.0, 0.5, 0.3)},
    "0.1, 300 rounds": RankBoost(300, learning_rate=0.1),
    "1.0, 50 rounds": RankBoost(50, learning_rate=1.0),
    "1.0, stopped early": RankBoost(learning_rate=1.0, early_stopping=True),
}
"""The first is the paper's, to which the others are compared."""


def accuracies(rows: Rows, *, boosting: bool) -> dict[str, Any]:
    """Return the accuracy of each fold by ranker, (n_folds, n_strengths or 1)."""
    result: dict[str, list[list[float]]] = {}
    for X_train, X_test, train, test in folds(rows):
        qid = (None, None) if rows.qid is None else (rows.qid[train], rows.qid[test])
        n_rows = train.size if qid[0] is None else train.size / np.unique(qid[0]).size
        candidates = [{name: clone(ranker) for name, ranker in BOOSTED.items()}]
        if not boosting:
            spread = float(np.std(rows.y[train]))
            candidates = [rankers(each, rows, n_rows, spread) for each in STRENGTHS]
        here: dict[str, list[float]] = {}
        for name, ranker in (pair for each in candidates for pair in each.items()):
            ranker.fit(X_train, rows.y[train], qid=qid[0])
            accuracy = pairwise_accuracy(rows.y[test], ranker.predict(X_test), qid=qid[1])
            here.setdefault(name, []).append(float(accuracy))
        for name, values in here.items():
            result.setdefault(name, []).append(values)
    return {name: np.array(values) for name, values in result.items()}


def searched(values: Any) -> float:
    """Return the mean accuracy at the strength that is best on the other folds."""
    total = values.sum(axis=0)
    return float(np.mean([fold[int(np.argmax(total - fold))] for fold in values]))


def losses(sets: list[tuple[Rows, dict[str, Any]]]) -> Iterator[list[Any]]:
    """Yield a line per ranker and kind: the mean and the largest loss at each strength."""
    for name in dict.fromkeys(name for _, found in sets for name in found):
        for kind in (*KINDS, "all"):
            lost = [
                searched(found[name]) - found[name].mean(axis=0)
                for rows, found in sets
                if kind in (rows.kind, "all") and name in found
            ]
            if lost:
                each = zip(np.mean(lost, axis=0), np.max(lost, axis=0), strict=True)
                yield [name, kind, len(lost), *(f"{mean:.4f}, {most:.3f}" for mean, most in each)]


def gains(sets: list[tuple[Rows, dict[str, Any]]]) -> Iterator[list[Any]]:
    """Yield a line per kind: what each RankBoost gains on the paper's, the mean and the least."""
    paper, *others = BOOSTED
    for kind in (*KINDS, "all"):
        of_kind = [found for rows, found in sets if kind in (rows.kind, "all")]
        if of_kind:
            base = np.array([found[paper].mean() for found in of_kind])
            each = [np.array([found[name].mean() for found in of_kind]) - base for name in others]
            cells = [f"{gain.mean():+.4f}, {gain.min():+.3f}" for gain in each]
            yield [kind, len(of_kind), f"{base.mean():.4f}", *cells]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="", help="only sets whose name begins so")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = [rows for rows in map(taken, all_rows()) if rows.name.startswith(given.sets)]
    found = [(rows, accuracies(rows, boosting=False)) for rows in sets]
    print(harness.table(["ranker", "sets", "n", *map(str, STRENGTHS)], losses(found)))
    few = [rows for rows in sets if rows.X.shape[1] <= MOST_BOOSTED]
    found = [(rows, accuracies(rows, boosting=True)) for rows in few]
    print(harness.table(["sets", "n", *BOOSTED], gains(found)))


if __name__ == "__main__":
    main()
