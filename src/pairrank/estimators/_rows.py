"""Validated rows, the drawing of validation rows, and the scoring of iterates on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, Step
from pairrank._validation import ALIGNED
from pairrank.design import Design
from pairrank.exceptions import NoPairsError, NoPairsWarning, PairrankError
from pairrank.metrics._names import metric_named
from pairrank.preferences import Levels, Pairs, Preferences, as_graph
from pairrank.preferences._codes import level_codes, query_codes
from pairrank.preferences.roles import weights_of_rows

Judge = Callable[[FloatArray], float]
"""From the scores of validation rows to one number; higher is better."""

_REMEDY = "pass X_val, y_val (and qid_val) to fit"


class Rows(NamedTuple):
    """Validated rows: features (or a kernel matrix), labels or Pairs, and the `ALIGNED` arguments.

    Validation rows that were drawn have `places` among the training rows instead of X.
    """

    X: Any
    y: Any
    qid: NDArray[Any] | None = None
    sample_weight: FloatArray | None = None
    winner_weight: FloatArray | None = None
    loser_weight: FloatArray | None = None
    places: NDArray[np.intp] | None = None

    @property
    def layout(self) -> dict[str, Any]:
        """The `ALIGNED` arguments that are given, by name, as preferences and metrics take them."""
        parts = {name: getattr(self, name) for name in ALIGNED}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0] if self.places is None else self.places.size)

    @property
    def kept_weight(self) -> FloatArray | None:
        """The sample weights, 0 where a row weighs nothing in either role."""
        return weights_of_rows(self.sample_weight, self.winner_weight, self.loser_weight)[0]

    def drawn(self, y: Any, places: NDArray[np.intp]) -> Rows:
        """Return labels or Pairs of the training rows at `places`, with their `ALIGNED` parts."""
        layout = {name: part[places] for name, part in self.layout.items()}
        return Rows(None, y, places=places, **layout)


def are_given(X: Any, y: Any, layout: Mapping[str, Any]) -> bool:
    """Whether validation rows are given; raise a PairrankError where X_val or y_val is missing."""
    given = {"X": X, "y": y, **layout}
    there = [name for name, value in given.items() if value is not None]
    for needed in ("X", "y"):
        if there and needed not in there:
            raise PairrankError(
                f"{there[0]}_val is given without {needed}_val: validation rows need both X_val "
                "and y_val"
            )
    return bool(there)


def preferences_of(rows: Rows, graph: Any, reduction: str) -> Preferences:
    """Return the scaled preferences of training rows; raise a PairrankError if there are none."""
    if isinstance(rows.y, Pairs):
        if as_graph(graph) != "full":
            raise PairrankError("Pairs are preferences already: leave graph at its default")
        pairs = rows.y.bound(rows.X.shape[0], reduction=reduction, **rows.layout)
        pairs.require_pairs()
        return pairs
    levels = Levels.build(rows.y, graph=graph, **rows.layout)
    levels.require_pairs()
    return levels.reduced(reduction)


def keep(estimator: Any, **attributes: Any) -> None:
    """Set fitted attributes; one that is None is removed."""
    for name, value in attributes.items():
        estimator.__dict__.pop(name, None)
        if value is not None:
            setattr(estimator, name, value)


def keep_counts(ranker: Any, rows: Rows, preferences: Any) -> None:
    """Set `n_pairs_`, `n_rows_`, `n_queries_` and, where it takes no further work, `n_ties_`.

    Rows of weight 0 are not counted. Costs O(n_rows).
    """
    of_pairs, n_ties, weight = isinstance(preferences, Pairs), None, rows.kept_weight
    if isinstance(rows.y, Pairs):
        magnitude = rows.y.magnitude
        n_ties = 0 if magnitude is None else int(np.count_nonzero(magnitude == 0))
    if isinstance(preferences, Levels):
        n_queries, sizes = preferences.n_queries, np.diff(preferences.group_start)
        n_ties = int((sizes * (sizes - 1) // 2).sum())
    else:
        kept = slice(None) if weight is None else weight > 0
        n_queries = 1 if rows.qid is None else query_codes(rows.qid[kept])[0].size
    n_pairs = preferences.n_comparisons if of_pairs else preferences.n_pairs
    n_rows = rows.X.shape[0] if weight is None else int(np.count_nonzero(weight))
    keep(ranker, n_pairs_=n_pairs, n_rows_=n_rows, n_queries_=n_queries, n_ties_=n_ties)


def columns_of(y: Any) -> list[Any]:
    """Return the labels of each target, (n_rows,); for Pairs a single None."""
    if isinstance(y, Pairs):
        return [None]
    return [y] if y.ndim == 1 else list(y.T)


def draw_held_rows(
    rows: Rows, fraction: float, generator: np.random.Generator
) -> tuple[Rows, Rows]:
    """Hold out a fraction: whole queries or groups of Pairs; else comparisons, or rows.

    Only queries, groups and comparisons with a preference are drawn. Rows of a single query are
    drawn along their sorted labels (those of the first target), so that the lowest and the highest
    label are among them. X is not copied: rows held out get weight 0.

    Returns the training rows and the validation rows; raises a PairrankError if there are too few
    rows, queries, groups or comparisons for both.
    """
    y, weight = rows.y, rows.sample_weight
    queries = np.zeros(len(y), dtype=np.int32) if rows.qid is None else query_codes(rows.qid)[1]
    if isinstance(y, Pairs):
        prefers = np.ones(y.n_pairs, bool) if y.magnitude is None else y.magnitude != 0
        if weight is not None:
            prefers &= (weight[y.i] > 0) & (weight[y.j] > 0)
        if y.groups is not None or not queries.any():
            if y.groups is None:
                held = _drawn(prefers, "comparisons", fraction, generator)
            else:
                groups = query_codes(y.groups)[1]
                held = _drawn(_present(groups, prefers), "groups", fraction, generator)[groups]
            held_rows = rows.drawn(y.select(held), np.arange(y.n_rows, dtype=np.intp))
            return rows._replace(y=y.select(~held)), held_rows
        eligible = _present(queries, y.i[prefers])
    else:
        codes = level_codes(columns_of(y)[0])[1]
        levels = Levels.build(codes, queries, sample_weight=weight)
        first = levels.row_of[levels.query_start[:-1]][levels.query_pair_weight > 0]
        eligible = _present(queries, first)
    if queries.any():
        places = np.flatnonzero(_drawn(eligible, "queries", fraction, generator)[queries])
    else:
        places = _along_labels(codes, weight, fraction, generator)
    training = np.ones(len(y)) if weight is None else weight.copy()
    training[places] = 0.0
    return rows._replace(sample_weight=training), rows.drawn(y[places], places)


def _present(codes: NDArray[np.int32], places: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which codes are at one of the places."""
    found = np.zeros(int(codes.max(initial=-1)) + 1, dtype=bool)
    found[codes[places]] = True
    return found


def _drawn(
    eligible: NDArray[np.bool_], name: str, fraction: float, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which units are drawn: a fraction of the eligible, at least one and not all."""
    units = np.flatnonzero(eligible)
    if units.size < 2:
        raise PairrankError(
            f"validation rows are drawn by whole {name}, but {units.size} of the {name} "
            f"{'has' if units.size == 1 else 'have'} a preference: {_REMEDY}"
        )
    n_drawn = min(max(1, round(fraction * units.size)), units.size - 1)
    drawn = np.zeros(eligible.size, dtype=bool)
    drawn[generator.choice(units, n_drawn, replace=False)] = True
    return drawn


def _along_labels(
    codes: NDArray[np.int32],
    weight: FloatArray | None,
    fraction: float,
    generator: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw one row from each stretch of the sorted labels, including both ends; ascending."""
    kept = np.arange(codes.size) if weight is None else np.flatnonzero(weight > 0)
    codes = codes[kept]
    if kept.size < 4 or np.ptp(codes) == 0:
        few = f"{kept.size} sample" + "s" * (kept.size != 1)
        few += " of one class" if kept.size and np.ptp(codes) == 0 else ""
        raise PairrankError(f"validation rows cannot be drawn from {few}: {_REMEDY}")
    order = generator.permutation(np.arange(kept.size, dtype=np.int32))
    order = order[np.argsort(codes[order], kind="stable")]
    n_drawn = min(max(2, round(fraction * kept.size)), kept.size - 2)
    spread = (np.arange(n_drawn) + generator.random(n_drawn)) * (kept.size / n_drawn)
    places = spread.astype(np.intp)
    places[0], places[-1] = 0, kept.size - 1
    held = order[places]
    if np.ptp(np.delete(codes, held)) == 0:
        raise PairrankError(
            "nearly all labels are equal, so that drawing validation rows leaves fewer than two "
            f"labels to learn from: {_REMEDY}"
        )
    return np.sort(kept[held])


def row_scores(X: Any, rows: NDArray[np.intp] | None = None) -> Callable[[FloatArray], FloatArray]:
    """Return the function from w to the scores of all or some rows of X, which are copied."""
    return Design(X if rows is None else X[rows]).scores


def judge_of(ranker: Any, held: Rows) -> Judge:
    """Return a ranker's metric as a function of the scores of validation rows; higher is better.

    Its options are the ranker's parameters. What the metric refuses raises its error here, before
    any work, and so do rows that it cannot judge. Scores that are not finite give NaN, as do equal
    scores where the metric needs differences.
    """
    metric = metric_named(ranker.validation_metric or ranker._accuracy(held))
    name = metric.function.__name__
    for each in held.layout:
        if each not in metric.row_arguments:
            raise PairrankError(
                f"{each}_val is given, but {name} knows no {each}: leave it out, or take another "
                "validation_metric"
            )
    options, sign = metric.arguments(ranker), 1.0 if metric.greater_is_better else -1.0

    def judge(scores: FloatArray) -> float:
        if not np.isfinite(scores).all():
            return float("nan")
        with warnings.catch_warnings(action="ignore", category=NoPairsWarning):
            return sign * float(metric.function(held.y, scores, **held.layout, **options))

    if np.isnan(judge(np.arange(held.n_rows, dtype=np.float64))):
        raise NoPairsError(
            f"the validation rows have nothing that {name} can judge: give rows of at least two "
            "labels in a query"
        )
    return judge


@dataclass
class Watch:
    """A callback that scores each iterate on validation rows and keeps the best.

    `scores` maps coefficients to the scores of the validation rows. It stops the solver after
    `patience` successive iterates without improvement; None: never. Iterations that leave the
    weights unchanged, or all zero, do not count: cutting planes often need several to move.
    """

    judge: Judge
    scores: Callable[[FloatArray], FloatArray]
    patience: int | None
    curve: list[float] = field(default_factory=list)
    best: FloatArray | None = None
    best_iteration: int = 0
    highest: float = -np.inf
    ran_out: bool = False
    _last: FloatArray | None = None
    _waited: int = 0

    def __call__(self, step: Step) -> bool:
        """Score one more iterate; weights that are all zero are never the best."""
        assert step.coef is not None
        if self._last is not None and np.array_equal(step.coef, self._last):
            self.curve.append(self.curve[-1])
            return False
        self._last = step.coef
        score = self.judge(self.scores(step.coef))
        self.curve.append(score)
        if not step.coef.any():
            return False
        self._waited += 1
        if score > self.highest:
            self.best, self.best_iteration, self.highest = step.coef, step.n_iter, score
            self._waited = 0
        self.ran_out = self.patience is not None and self._waited >= self.patience
        return self.ran_out
