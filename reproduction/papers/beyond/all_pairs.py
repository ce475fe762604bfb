"""Whether all pairs beat a pointwise fit, which no paper asks: where, and by how much."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pairrank import compare
from pairrank.datasets import make_queries
from reproduction.data import load
from reproduction.data.made import discretize, make_utility
from reproduction.study import Cell, Claim, Quantity, Study, Table, Verdict, ends

PAIRS = ("ranksvm", "rankncg")
POINTS = {False: ("ridge",), True: ("ridge", "logistic_regression")}
"""Linear pointwise models, for several levels and for two."""

JUDGES, NOISE = "generated: queries differ in severity", "generated: one query, linear"
REGRESSION = {
    "diabetes in children": "diabetes",
    "pyrimidines": "pyrim",
    "triazines": "triazines",
    "breast cancer": "wisconsin",
    "machine CPU": "machine_cpu",
    "auto MPG": "autompg",
    "housing": "housing",
    "stocks": "stock",
    "abalone": "abalone",
}
JUDGED = {
    "MQ2008": "letor4_mq2008",
    "MSLR, 54 queries": "mslr_sample",
    "ClueWeb09, 61 queries": "webis_clueweb09_ltr",
}
BINARY = {"a9a": "libsvm_a9a"}


class Given(NamedTuple):
    """Rows to compare models on, and the metric that judges them."""

    X: Any
    y: Any
    qid: Any = None
    metric: str = "pairwise_accuracy"


def given_of(dataset: str, n_queries: int, seed: int) -> Given:
    """Return a set: regression targets in five bins of equal size, others as they are."""
    if dataset == JUDGES:
        return _judges(n_queries, seed)
    if dataset == NOISE:
        made = make_utility(20 * n_queries, 20, noise=1.0, n_levels=5, random_state=seed)
        return Given(made.X, made.y)
    data = load(dataset)
    if dataset in REGRESSION.values():
        return Given(data.X, discretize(data.y, 5).astype(np.float64))
    if dataset in BINARY.values():
        return Given(sparse.csr_array(data.X), (data.y > 0).astype(np.float64), metric="auc")
    return Given(data.X, data.y, data.qid)


def _judges(n_queries: int, seed: int) -> Given:
    """Return judged rows whose labels are shifted per query, by an amount that a feature shows."""
    made = make_queries(n_queries, 20, 10, 5, random_state=seed)
    rng = np.random.default_rng(seed)
    shift = rng.integers(0, 5, n_queries)[made.qid]
    shown = shift + rng.normal(size=made.y.size)
    return Given(np.column_stack((made.X, shown)), made.y + shift, made.qid)


def judge(*, dataset: str, n_queries: int = 200, cv: int = 5, seed: int = 0) -> dict[str, Any]:
    """Return the metric of linear models, and the best of all pairs less the best pointwise one."""
    given = given_of(dataset, n_queries, seed)
    points = POINTS[given.metric == "auc"]
    found = compare(
        given.X,
        given.y,
        qid=given.qid,
        models=[*PAIRS, *points],
        metrics=given.metric,
        cv=cv,
        random_state=seed,
    )
    means = dict(zip(found.models, found.summary[given.metric].tolist(), strict=True))
    best, rival = (max(names, key=means.__getitem__) for names in (PAIRS, points))
    difference: Any = found.between(given.metric, best, rival)
    return {name: means[name] for name in PAIRS} | {
        "rival": means[rival],
        "name": rival.replace("_", " "),
        "difference": difference.difference,
        "interval": f"{difference.low:+.4f} to {difference.high:+.4f}",
        "low": difference.low,
        "high": difference.high,
    }


SETS = REGRESSION | JUDGED | BINARY | {JUDGES: JUDGES, NOISE: NOISE}
TABLE = Table(
    name="pairs",
    title="all pairs beside pointwise fits, linear models",
    cells=tuple(
        Cell(row, "", judge, {"dataset": dataset}, seconds=600.0) for row, dataset in SETS.items()
    ),
    quantities=(
        Quantity("ranksvm", "RankSVM", form=".4f"),
        Quantity("rankncg", "RankNCG", form=".4f"),
        Quantity("rival", "best pointwise", form=".4f"),
        Quantity("name", "which"),
        Quantity("difference", "best of all pairs less best pointwise", form="+.4f"),
        Quantity("interval", "its 95 % interval"),
    ),
    note="`pairrank.compare`: five folds, strengths chosen in inner folds; pointwise are ridge, "
    "for two levels also logistic regression. Pairwise accuracy, of a9a the area under the ROC "
    "curve. Regression targets are in five bins of equal size. With queries the difference is a "
    "mean over queries, the others are means over folds.",
    row_title="data",
)


def _verdicts(study: Study) -> dict[str, str]:
    """Return for each set "yes", "no" or "alike", by the interval of the difference."""
    found = {}
    for cell in study.done("pairs"):
        low, high = (study.mean("pairs", cell.row, "", end) for end in ("low", "high"))
        found[cell.row] = "yes" if low > 0.0 else "no" if high < 0.0 else "alike"
    return found


def _pairs_win(study: Study) -> Verdict:
    found = _verdicts(study)
    parts = []
    for word in ("yes", "alike", "no"):
        rows = [row for row, each in found.items() if each == word]
        if rows:
            gains = [study.mean("pairs", row, "", "difference") for row in rows]
            parts.append(f"{word} on {len(rows)} ({ends(gains, '+.3f')}: {', '.join(rows)})")
    return Verdict(list(found.values()).count("yes") * 2 > len(found), "; ".join(parts))


def _pairs_never_lose(study: Study) -> Verdict:
    worse = [row for row, each in _verdicts(study).items() if each == "no"]
    losses = [study.mean("pairs", cell.row, "", "difference") for cell in study.done("pairs")]
    return Verdict(not worse, f"least difference {min(losses):+.4f}")


CLAIMS = (
    Claim("All pairs beat a pointwise fit of the same features on most sets.", _pairs_win),
    Claim("All pairs are never clearly worse than a pointwise fit.", _pairs_never_lose),
)
