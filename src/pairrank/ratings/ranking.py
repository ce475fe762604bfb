"""Rankings with intervals of scores and ranks; units of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from pairrank import _validation as validation
from pairrank._arrays import shown
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError

_ELO_SCALE, _ELO_ANCHOR = 400.0 / float(np.log(10.0)), 1000.0


class Units(NamedTuple):
    """The factor of scores; the score of an item, or (place None) the mean of all."""

    scale: float
    anchor: float
    place: int | None


def units_of(scale: Any, anchor: Any, items: NDArray[Any]) -> Units:
    """Return checked units: `scale` a number or "elo", `anchor` None, a number or {item: number}.

    "elo" is 400/log 10, about 1000.
    """
    factor, mean = _ELO_SCALE, _ELO_ANCHOR
    if not isinstance(scale, str):
        validation.check_number(scale, "scale")
        factor, mean = float(scale), 0.0
    elif scale != "elo":
        raise PairrankError(f'scale must be a number or "elo" (got {scale!r})')
    if anchor is None:
        return Units(factor, mean, None)
    if not isinstance(anchor, Mapping):
        validation.check_number(anchor, "anchor", low=-np.inf)
        return Units(factor, float(anchor), None)
    if len(anchor) != 1:
        raise PairrankError(f"anchor must name one item (got {dict(anchor)!r})")
    ((name, value),) = anchor.items()
    validation.check_number(value, "anchor", low=-np.inf)
    places = [place for place, item in enumerate(items.tolist()) if item == name]
    if not places:
        raise PairrankError(f"anchor names {shown(name)}, which no comparison names")
    return Units(factor, float(value), places[0])


_SHOWN = 20


class Contrast(NamedTuple):
    """The difference of two scores.

    Attributes
    ----------
    difference : float or ndarray
        The score of the first item less that of the second.
    standard_error : float or ndarray
        Its standard error.
    low, high : float or ndarray
        Its confidence interval.
    """

    difference: Any
    standard_error: Any
    low: Any
    high: Any


class Ranking(dict[str, NDArray[Any]]):
    """A small table of items, best first: its columns by name, arrays of one length.

    Examples
    --------
    >>> ranking = Ranking({"item": np.array(["b", "a"]), "score": np.array([0.5, -0.5])})
    >>> ranking["item"]
    array(['b', 'a'], dtype='<U1')
    >>> print(ranking)
    item   score
    b      0.500
    a     -0.500
    """

    def __repr__(self) -> str:
        """Return the first items as text; the larger the scores, the fewer decimals."""
        size = np.abs(self["score"]).max(initial=0.0)
        digits = 1 if size >= 100.0 else 6 if 0.0 < size < 0.1 else 3
        spec = {"f": f"z,.{digits}f", "i": ",d"}
        columns: list[list[str]] = []
        for name, values in self.items():
            form = "" if name == "item" else spec.get(values.dtype.kind, "")
            texts = [name, *(format(value, form) for value in values[:_SHOWN].tolist())]
            width = max(map(len, texts))
            columns.append([each.rjust(width) if columns else each.ljust(width) for each in texts])
        lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
        more = self["item"].size - _SHOWN
        return "\n".join(lines + [f"and {more:,} more items"] * (more > 0))


def rank(model: Any, count: FloatArray) -> Ranking:
    """Return the table of a model's items by falling score.

    `count` is how often each was compared.
    """
    scores = model.scores_
    columns: dict[str, NDArray[Any]] = {"item": model.items_, "score": scores}
    if hasattr(model, "covariance_"):
        level, df, error = model.level, model.degrees_of_freedom_, model.standard_errors_
        margin = quantile(level, df=df) * error
        lowest, highest = rank_intervals(scores, model.covariance_, level, df)
        columns |= {
            "standard_error": error,
            "low": scores - margin,
            "high": scores + margin,
            "rank_low": lowest,
            "rank_high": highest,
        }
    whole = (count == np.rint(count)).all() and count.max() < 2.0**53
    columns["n"] = count.astype(np.int64) if whole else count
    order = np.argsort(-scores, kind="stable")
    return Ranking({name: values[order] for name, values in columns.items()})


def quantile(level: float, n_intervals: int = 1, df: float = np.inf) -> float:
    """Return t so that `n_intervals` intervals of +-t errors together have the level.

    By Student's distribution with `df` degrees of freedom and Bonferroni's inequality, so for any
    dependence between them.
    """
    tail = 0.5 * (1.0 - level) / max(n_intervals, 1)
    return float(-ndtri(tail) if np.isinf(df) else -stdtrit(df, tail))


def rank_intervals(
    scores: FloatArray, covariance: FloatArray, level: float, df: float = np.inf
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and the highest rank of each item, 1 for the best, at a confidence level.

    An item's n - 1 differences to the others get simultaneous intervals (Bonferroni). The items
    whose interval is above 0 are better, those below 0 worse: the rank lies between 1 + better and
    n - worse. Each item's interval of ranks holds with probability `level` at least (Mogstad,
    Romano, Shaikh and Wilhelm 2024). Costs O(n^2).
    """
    n_items = scores.size
    better, worse = np.zeros(n_items, dtype=np.int64), np.zeros(n_items, dtype=np.int64)
    t, variance = quantile(level, n_items - 1, df), covariance.diagonal()
    for item in range(n_items):
        of_difference = variance[item] + variance - 2.0 * covariance[item]
        margin = t * np.sqrt(np.maximum(of_difference, 0.0))
        difference = scores - scores[item]
        better[item] = (difference > margin).sum()
        worse[item] = (-difference > margin).sum()
    return 1 + better, n_items - worse
