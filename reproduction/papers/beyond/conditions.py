"""One utility under many conditions: levels, scales, wrong labels, sparse rows, few rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import sem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge

from pairrank import RankBoost, RankNCG, RankSVM
from pairrank.metrics import pairwise_accuracy
from reproduction.data.made import discretize, make_utility
from reproduction.protocols import Method, Rows, quarter
from reproduction.study import Cell, Claim, Quantity, Study, Table, Verdict

N_TEST, N_REPEATS = 2000, 10
SVM, HINGE, NCG, BOOST = "RankSVM", "RankSVM, hinge", "RankNCG", "RankBoost"
RIDGE, LOGISTIC = "ridge", "logistic regression"
KERNEL_SVM, KERNEL_RIDGE = "RankSVM, rbf kernel", "kernel ridge, rbf"
COSTS, PENALTIES = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0), (1e-2, 0.1, 1.0, 10.0, 100.0, 1e3)


METHODS = {
    SVM: Method(lambda C: RankSVM(C), COSTS),
    HINGE: Method(lambda C: RankSVM(C, loss="hinge"), COSTS),
    NCG: Method(lambda alpha: RankNCG(alpha), PENALTIES),
    BOOST: Method(lambda rounds: RankBoost(int(rounds), learning_rate=1.0), (10, 30, 100, 300)),
    RIDGE: Method(lambda alpha: Ridge(alpha), PENALTIES),
    LOGISTIC: Method(lambda C: LogisticRegression(C=C), COSTS),
    KERNEL_SVM: Method(lambda C: RankSVM(C, kernel="rbf"), COSTS),
    KERNEL_RIDGE: Method(lambda alpha: KernelRidge(alpha, kernel="rbf"), PENALTIES),
}


class Condition(NamedTuple):
    """How rows are made, and the models that they are given to.

    `wrong` is the share of labels that are replaced by those of other rows; `scale` is "plain",
    "exponential" (labels are exp of thrice the utility) or "heavy" (Cauchy noise); a curved
    utility is not linear in the features.
    """

    methods: tuple[str, ...] = (SVM, NCG, RIDGE)
    n_rows: int = 1000
    n_features: int = 20
    nnz_per_row: int | None = None
    n_levels: int | None = 5
    wrong: float = 0.0
    scale: str = "plain"
    curved: bool = False


ROBUST = (SVM, HINGE, NCG, RIDGE, BOOST)
CURVED = (SVM, KERNEL_SVM, KERNEL_RIDGE, BOOST)
CONDITIONS = {
    "2 levels": Condition((SVM, NCG, RIDGE, LOGISTIC), n_levels=2),
    "5 levels": Condition(),
    "100 levels": Condition(n_levels=100),
    "as many levels as rows": Condition(n_levels=None),
    "labels on an exponential scale": Condition(n_levels=None, scale="exponential"),
    "labels with Cauchy noise": Condition(n_levels=None, scale="heavy"),
    "no wrong labels": Condition(ROBUST),
    "10 % wrong labels": Condition(ROBUST, wrong=0.1),
    "30 % wrong labels": Condition(ROBUST, wrong=0.3),
    "5,000 sparse rows, 5,000 features": Condition(n_rows=5000, n_features=5000, nnz_per_row=50),
    "200 rows, curved utility": Condition(CURVED, n_rows=200, n_features=5, curved=True),
}


def rows_of(condition: Condition, n_rows: int, seed: int) -> Rows:
    """Return rows of one query; labels are of the utility plus noise of its own deviation."""
    rng = np.random.default_rng([seed, n_rows])
    made = make_utility(
        n_rows,
        condition.n_features,
        nnz_per_row=condition.nnz_per_row,
        noise=0.0,
        random_state=seed,
    )
    utility = made.utility
    if condition.curved:
        utility = np.sin(2.0 * made.X[:, 0]) + made.X[:, 1] * made.X[:, 2]
    utility = utility / utility.std()
    noise = rng.standard_cauchy if condition.scale == "heavy" else rng.standard_normal
    y = utility + noise(n_rows)
    if condition.scale == "exponential":
        y = np.exp(3.0 * y)
    wrong = rng.random(n_rows) < condition.wrong
    y[wrong] = rng.permutation(y)[wrong]
    if condition.n_levels is not None:
        y = discretize(y, condition.n_levels).astype(np.float64)
    return Rows(made.X, y, None, utility)


def judge(
    *, condition: str, method: str, n_rows: int = 0, n_repeats: int = N_REPEATS, seed: int = 0
) -> dict[str, list[float]]:
    """Return the share of pairs of fresh rows in the order of their utilities, by draw.

    The strength is chosen on a quarter of the training rows, by their labels.
    """
    made = CONDITIONS[condition]
    n_train = n_rows or made.n_rows
    found = []
    for repeat in range(n_repeats):
        rows = rows_of(made, n_train + N_TEST, seed + repeat)
        train, test = rows.part(slice(n_train)), rows.part(slice(n_train, None))
        strength = METHODS[method].chosen(*quarter(train), _accuracy)
        model = METHODS[method].make(strength).fit(train.X, train.y)
        found.append(_accuracy(model, test._replace(y=test.utility)))
    return {"accuracy": found}


def _accuracy(model: Any, rows: Rows) -> float:
    """Judge a classifier by the distance to its boundary, which no label rounds."""
    scores = model.decision_function if hasattr(model, "classes_") else model.predict
    return float(pairwise_accuracy(rows.y, scores(rows.X)))


TABLE = Table(
    name="conditions",
    title="one query of generated rows under many conditions",
    cells=tuple(
        Cell(row, method, judge, {"condition": row, "method": method})
        for row, made in CONDITIONS.items()
        for method in made.methods
    ),
    quantities=(Quantity("accuracy", "pairs in the order of the utility without noise"),),
    note=f"Generated: {N_REPEATS} draws of 1,000 training rows with 20 features, or as the row "
    "says; noise has the deviation of the utility, which is linear. Wrong labels are those of "
    "other rows. Strengths are chosen on a quarter of the training rows, by their labels. "
    f"{N_TEST:,} fresh rows are judged.",
    row_title="condition",
)


def gain(study: Study, row: str, first: str, second: str) -> tuple[float, float]:
    """Return the mean by which one method is above another, and its standard error.

    Both have the same rows in each draw.
    """
    ours, theirs = (
        np.array(study.values(TABLE.name, row, each, "accuracy")) for each in (first, second)
    )
    return float((ours - theirs).mean()), float(sem(ours - theirs))


def _order_is_enough(study: Study) -> Verdict:
    rows = ("labels on an exponential scale", "labels with Cauchy noise")
    found = {row: gain(study, row, SVM, RIDGE) for row in rows}
    shown = ", ".join(f"{row} {mean:+.3f} ± {error:.3f}" for row, (mean, error) in found.items())
    holds = all(mean > 2.0 * error for mean, error in found.values())
    return Verdict(holds, f"accuracy of RankSVM against ridge, ± standard error: {shown}")


def _wrong_labels(study: Study) -> Verdict:
    mean, error = gain(study, "30 % wrong labels", HINGE, SVM)
    figure = f"30 % wrong labels: accuracy {mean:+.4f} ± {error:.4f} (standard error)"
    return Verdict(mean > 2.0 * error, figure)


CLAIMS = (
    Claim("Ranks survive scales and outliers that mislead a fit of the labels.", _order_is_enough),
    Claim("The hinge tolerates wrong labels better than the squared hinge.", _wrong_labels),
)
