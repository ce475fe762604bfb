"""Validation rows drawn or given, the ranking error on them, and the iterate that has the least."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from pairrank._protocols import FloatArray, Step
from pairrank.design import Design
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.preferences import Levels, Pairs
from pairrank.preferences._codes import level_codes, query_codes

_BLOCK_ENTRIES = 1 << 19
_REMEDY = "pass X_val, y_val (and qid_val) to fit"


class Holdout(NamedTuple):
    """What is learnt from, and what is kept back to validate on.

    `y` and `weight` are those of the rows to learn from, where weight 0 marks a row that is kept
    back; `rows` are those that are scored, `y_val, qid_val, weight_val` theirs.
    """

    y: Any
    weight: FloatArray | None
    rows: NDArray[np.intp]
    y_val: Any
    qid_val: NDArray[Any] | None
    weight_val: FloatArray | None


def draw_holdout(
    y: Any,
    qid: NDArray[Any] | None,
    weight: FloatArray | None,
    fraction: float,
    generator: np.random.Generator,
) -> Holdout:
    """Keep a fraction back by whole queries; of one query, by rows, of its Pairs, by comparisons.

    Only queries with a preference are drawn; rows are drawn along their sorted labels, so that the
    lowest and the highest label are among them. X is never copied: rows kept back weigh 0.

    Parameters
    ----------
    y : array of shape (n_rows,) or (n_rows, n_targets), or Pairs
        Of several targets the first decides.
    qid, weight : array of shape (n_rows,), optional
    fraction : float
        Above 0 and below 1.
    generator : numpy Generator

    Raises
    ------
    PairrankError
        If nothing is left to learn from, or to validate on.
    """
    n_rows = len(y)
    codes = None if qid is None else query_codes(qid)[1]
    if codes is not None and codes.max(initial=0) > 0:
        held = _whole_queries(y, codes, weight, fraction, generator)
    elif isinstance(y, Pairs):
        return _some_comparisons(y, weight, fraction, generator)
    else:
        held = _some_rows(_first(y), weight, fraction, generator)
    rows = np.flatnonzero(held)
    training = np.ones(n_rows) if weight is None else weight.copy()
    training[rows] = 0.0
    return Holdout(
        y,
        training,
        rows,
        y[rows],
        None if qid is None else qid[rows],
        None if weight is None else weight[rows],
    )


def _first(y: NDArray[Any]) -> NDArray[Any]:
    return y if y.ndim == 1 else y[:, 0]


def _whole_queries(
    y: Any,
    codes: NDArray[np.int32],
    weight: FloatArray | None,
    fraction: float,
    generator: np.random.Generator,
) -> NDArray[np.bool_]:
    """Tell the rows of the queries drawn, among those that hold a preference."""
    if isinstance(y, Pairs):
        prefers = np.ones(y.n_pairs, bool) if y.magnitude is None else y.magnitude != 0
        if weight is not None:
            prefers &= (weight[y.i] > 0) & (weight[y.j] > 0)
        eligible = np.unique(codes[y.i[prefers]])
    else:
        labels = _first(y)
        kept = slice(None) if weight is None else weight > 0
        one_of = np.zeros(int(codes.max()) + 1)
        one_of[codes[kept]] = labels[kept]
        differs = labels != one_of[codes]
        if weight is not None:
            differs &= kept
        eligible = np.flatnonzero(np.bincount(codes[differs]))
    if eligible.size < 2:
        raise PairrankError(
            f"validation rows are drawn by whole queries, but {eligible.size} of "
            f"{int(codes.max()) + 1} queries has rows of different labels: {_REMEDY}"
        )
    n_drawn = min(max(1, round(fraction * eligible.size)), eligible.size - 1)
    drawn = np.zeros(int(codes.max()) + 1, dtype=bool)
    drawn[generator.choice(eligible, n_drawn, replace=False)] = True
    return drawn[codes]


def _some_rows(
    y: NDArray[Any], weight: FloatArray | None, fraction: float, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Tell rows drawn one from each stretch of the sorted labels, one of them of each end."""
    kept = np.arange(y.size) if weight is None else np.flatnonzero(weight > 0)
    levels, codes = level_codes(y[kept])
    if kept.size < 4 or levels.size < 2:
        held = f"{kept.size} sample" + "s" * (kept.size != 1)
        held += " of one class" if levels.size == 1 else ""
        raise PairrankError(f"validation rows cannot be drawn from {held}: {_REMEDY}")
    order = generator.permutation(np.arange(kept.size, dtype=np.int32))
    order = order[np.argsort(codes[order], kind="stable")]
    n_drawn = min(max(2, round(fraction * kept.size)), kept.size - 2)
    places = _one_a_stretch(kept.size, n_drawn, generator)
    places[0], places[-1] = 0, kept.size - 1
    held_back = np.zeros(kept.size, dtype=bool)
    held_back[order[places]] = True
    if np.unique(codes[~held_back]).size < 2:
        raise PairrankError(
            "y is so one-sided that no validation rows can be drawn and two labels be left to "
            f"learn from: {_REMEDY}"
        )
    result = np.zeros(y.size, dtype=bool)
    result[kept[held_back]] = True
    return result


def _some_comparisons(
    pairs: Pairs, weight: FloatArray | None, fraction: float, generator: np.random.Generator
) -> Holdout:
    candidates = None if pairs.magnitude is None else np.flatnonzero(pairs.magnitude)
    size = pairs.n_pairs if candidates is None else candidates.size
    if size < 2:
        raise PairrankError(
            f"validation comparisons cannot be drawn from {size} of them: {_REMEDY}"
        )
    places = _one_a_stretch(size, min(max(1, round(fraction * size)), size - 1), generator)
    held = np.zeros(pairs.n_pairs, dtype=bool)
    held[places if candidates is None else candidates[places]] = True
    rows = np.arange(pairs.n_rows, dtype=np.intp)
    own = None if weight is None else weight[rows]
    return Holdout(_chosen(pairs, ~held), weight, rows, _chosen(pairs, held), None, own)


def _one_a_stretch(size: int, n_drawn: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Draw one place from each of `n_drawn` equal stretches of `size` places; ascending."""
    width = size / n_drawn
    places = (np.arange(n_drawn) + generator.random(n_drawn)) * width
    return np.minimum(places, size - 1).astype(np.intp)


def _chosen(pairs: Pairs, keep: NDArray[np.bool_]) -> Pairs:
    weight = None if pairs.weight is None else pairs.weight[keep]
    magnitude = None if pairs.magnitude is None else pairs.magnitude[keep]
    return Pairs(pairs.i[keep], pairs.j[keep], weight, magnitude, n_rows=pairs.n_rows)


def row_scores(X: Any, rows: NDArray[np.intp] | None = None) -> Callable[[FloatArray], FloatArray]:
    """Return w -> the scores of all rows of X, or of some, which are gathered block by block.

    X is a dense or CSR matrix, or a LinearOperator. O(size of the rows) each time, and a block of
    memory.
    """
    if isinstance(X, LinearOperator):
        return lambda w: np.asarray(X @ w, dtype=np.float64)[slice(None) if rows is None else rows]
    if rows is None or rows.size == X.shape[0]:
        return Design(X).scores
    width = max(1, Design(X).n_entries // max(1, X.shape[0]))
    step = max(1, _BLOCK_ENTRIES // width)

    def scores(w: FloatArray) -> FloatArray:
        parts = [Design(X[rows[at : at + step]]).scores(w) for at in range(0, rows.size, step)]
        return np.concatenate(parts)

    return scores


class RankingError:
    """The ranking error on validation rows, as a function of their scores.

    Of labels the mean over queries of the weighted part of their preferences in the wrong order,
    a tied score counting half (Airola et al. 2010, Eq. 1); of Pairs the part of all comparisons
    (Eq. 2, normalised), those of magnitude 0 left out. It is 0.5 where all scores are equal.

    Parameters
    ----------
    y : array of shape (n_rows,), or Pairs
    qid, weight : array of shape (n_rows,), optional

    Raises
    ------
    PairrankError
        If no query holds two labels. Where only some hold one, they are left out, with a warning.
    """

    def __init__(self, y: Any, qid: NDArray[Any] | None, weight: FloatArray | None) -> None:
        self.qid = qid
        self.levels: Levels | None = None
        if isinstance(y, Pairs):
            self.comparisons = _oriented(y, qid, weight)
            return
        self.levels = Levels.build(y, qid, sample_weight=weight)
        single = np.flatnonzero(np.diff(self.levels.query_group) < 2)
        if single.size:
            self._say_single(self.levels, single)

    def __call__(self, scores: FloatArray) -> float:
        """Return the error of scores, (n_rows,); NaN where one is not finite; O(m log m)."""
        from pairrank.compiled import concordance

        if not np.isfinite(scores).all():
            return float("nan")
        levels = self.levels
        if levels is None:
            no_queries = np.empty(0, dtype=np.int32)
            counts = concordance.weigh_pairs(scores, *self.comparisons, no_queries, 1)
        elif levels.weight is None:
            groups = (levels.group_start, levels.query_group)
            counts = concordance.count_full(scores[levels.row_of], *groups)
        else:
            groups = (levels.group_start, levels.query_group)
            counts = concordance.weigh_full(scores[levels.row_of], levels.weight.copy(), *groups)
        total = counts[:, :3].sum(axis=1)
        counted = total > 0
        wrong = (counts[:, 2] + 0.5 * counts[:, 1])[counted] / total[counted]
        return float(wrong.mean())

    def _say_single(self, levels: Levels, single: NDArray[np.intp]) -> None:
        first = int(levels.query_group[single[0]])
        row, label = levels.row_of[levels.group_start[first]], levels.group_level[first]
        name = "the one query" if self.qid is None else f"query {self.qid[[row]].tolist()[0]!r}"
        text = f"{name} of the validation rows has one level ({levels.labels[label]:g})"
        if single.size == levels.n_queries:
            raise PairrankError(
                f"{text}, as has every other: no row is to rank above another; "
                "validate on rows of two labels at least"
            )
        warnings.warn(
            f"{text}: {single.size} of {levels.n_queries} queries, such as it, are left out of the "
            "validation error",
            PairrankWarning,
            stacklevel=5,
        )


def _oriented(
    pairs: Pairs, qid: NDArray[Any] | None, weight: FloatArray | None
) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
    """Return the preferred rows, the others and the weights (or none) of all but ties."""
    pairs = pairs.bound(
        pairs.n_rows if weight is None else weight.size, qid=qid, sample_weight=weight, ties=False
    )
    high, low, own = pairs.i, pairs.j, pairs.weight
    if pairs.magnitude is not None:
        kept, turned = pairs.magnitude != 0, pairs.magnitude < 0
        high, low = np.where(turned, low, high)[kept], np.where(turned, high, low)[kept]
        own = None if own is None else own[kept]
    if not high.size:
        raise PairrankError("the validation rows hold no comparison that prefers a row")
    return high, low, np.empty(0) if own is None else own


class Watch:
    """A callback that keeps the iterate of the least validation error, and knows when to stop.

    Parameters
    ----------
    error : RankingError
    scores : callable
        From coefficients to the validation rows' scores.
    patience : int, optional
        Stop after so many iterates in a row that are no better; None: never.
    """

    def __init__(
        self,
        error: RankingError,
        scores: Callable[[FloatArray], FloatArray],
        patience: int | None,
    ) -> None:
        self.error, self.scores, self.patience = error, scores, patience
        self.curve: list[float] = []
        self.best: FloatArray | None = None
        self.best_iteration, self.least = 0, np.inf
        self.ran_out = False

    def __call__(self, step: Step) -> bool:
        """Take one more iterate; weights that are all zero rank nothing, and are never the best."""
        assert step.coef is not None
        error = self.error(self.scores(step.coef))
        self.curve.append(error)
        if error < self.least and step.coef.any():
            self.best, self.best_iteration, self.least = step.coef, step.n_iter, error
        waited = step.n_iter - self.best_iteration
        self.ran_out = self.patience is not None and waited >= self.patience
        return self.ran_out
