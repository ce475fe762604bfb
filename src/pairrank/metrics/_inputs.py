"""Shared parts of metrics: arguments and their descriptions, checked input, means over queries."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Protocol, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._docstrings import described_by, entries, keywords_of, showing
from pairrank._protocols import FloatArray
from pairrank._validation import check_aligned, check_labels, check_numbers
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.preferences import Levels, OrderGraph, Pairs, as_graph, refuse_roles
from pairrank.preferences._codes import counting_order, query_codes
from pairrank.preferences.roles import ROLES, weights_of_rows

_Function = TypeVar("_Function", bound=Callable[..., Any])


class RowArguments(TypedDict, total=False):
    """The optional arguments with one entry per row, of every metric and scorer."""

    qid: ArrayLike | None
    sample_weight: ArrayLike | None
    winner_weight: ArrayLike | None
    loser_weight: ArrayLike | None


class AllRowArguments(RowArguments, total=False):
    """`RowArguments`, of training rows and of validation rows."""

    qid_val: ArrayLike | None
    sample_weight_val: ArrayLike | None
    winner_weight_val: ArrayLike | None
    loser_weight_val: ArrayLike | None


_SHARED = entries("""
y_true : array-like of shape (n_rows,)
    Labels, any finite numbers.
scores : array-like of shape (n_rows,)
    The scores to judge; higher is better.
qid : array-like of shape (n_rows,), optional
    Queries; None: all rows are one query.
sample_weight : array-like of shape (n_rows,), optional
    Row weights; a pair's weight is the product of its rows' weights.
winner_weight, loser_weight : array-like of shape (n_rows,), optional
    Further factors of the pairs that a row wins, and of those that it loses: 0 where it never
    wins, or never loses.
per_query : bool
    Return {qid: value} of the queries that count instead; without qid the one query is called None.
""")
_SHARED["Returns"] = """float or dict
    NaN, with a NoPairsWarning, where there is nothing to judge by."""
_SHARED["Raises"] = """PairrankError
    If lengths differ, a value is not finite, a weight is negative or an option is out of range."""
_SHARED["Notes"] = "Costs O(m log m) for m rows."

OF_PAIRS = entries("""
y_true : array-like of shape (n_rows,), or Pairs
    Labels, numbers or (with an OrderGraph) text; or explicit comparisons.
graph : "full", "chain" or OrderGraph
    Which levels are preferred to which; ignored with Pairs.
ties : {"half", "correct", "error"}
    The value of a tie in the scores: 1/2; 1 (Raykar's >=); 0 (Lee & Lin's >).
average : {"pairs", "queries"}
    The mean over all pairs, or over the queries that have a pair.
relevant_from : float, optional
    The lowest label that is relevant; None: labels above 0 are.
""")
"""Parameters of metrics of pairs."""


def takes_rows(*suffixes: str, without: Collection[str] = ()) -> Callable[[_Function], _Function]:
    """Return a decorator that shows keywords by name in the signature, in place of ``**keywords``.

    These are `RowArguments` with each suffix, such as "" and "_val", but not those `without`, which
    a function takes only to refuse them.
    """
    names = [name for name in RowArguments.__annotations__ if name not in without]
    kind = inspect.Parameter.KEYWORD_ONLY
    return showing(
        [inspect.Parameter(name + each, kind, default=None) for each in suffixes for name in names]
    )


def rows_given(arguments: Mapping[str, Any], *suffixes: str) -> list[dict[str, Any]]:
    """Return the `RowArguments` that are given with each suffix, by their plain names."""
    known = RowArguments.__annotations__
    for name in arguments.keys() - {name + suffix for name in known for suffix in suffixes}:
        raise TypeError(f"there is no argument {name!r}")
    return [
        {
            name: arguments[name + suffix]
            for name in known
            if arguments.get(name + suffix) is not None
        }
        for suffix in suffixes
    ]


def metric(*known: dict[str, str], roles: bool = False) -> Callable[[_Function], _Function]:
    """Return a decorator that completes a metric's signature (see `takes_rows`) and docstring.

    `roles` says whether the metric weighs pairs by role.
    """
    shown = takes_rows("", without=() if roles else ROLES)
    return lambda function: described_by(_SHARED, *known)(shown(function))


class QueryMetric(Protocol):
    """A metric that `of_queries` makes."""

    __name__: str

    def __call__(self, y_true: ArrayLike, scores: ArrayLike, **options: Any) -> Any:
        """Return the mean over the queries, or {query: value}."""


def of_queries(
    mean: Callable[..., Any], *known: dict[str, str], **fixed: Any
) -> Callable[[Callable[..., FloatArray]], QueryMetric]:
    """Return a decorator that makes a metric of the function of each query's value.

    ``mean(value, y_true, scores, **options)`` checks input and takes the mean. The metric has the
    keywords of the function and those of `mean` that are not `fixed`; both get what both take.
    """

    def decorate(value: Callable[..., FloatArray]) -> QueryMetric:
        own, shared = keywords_of(value), keywords_of(mean)

        @functools.wraps(value, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def function(y_true: ArrayLike, scores: ArrayLike, **options: Any) -> Any:
            bound = functools.partial(value, **{n: options[n] for n in own.keys() & options.keys()})
            rest = {name: options[name] for name in options.keys() - (own.keys() - shared.keys())}
            return mean(bound, y_true, scores, **rest, **fixed)

        shown = [each for name, each in (own | shared | own).items() if name not in fixed]
        return metric(*known)(showing(shown)(function))

    return decorate


class Judged(NamedTuple):
    """Checked input: labels (or Pairs), scores, and the `ALIGNED` arguments that are given.

    `sample_weight` is 0 for rows without weight in both roles.
    """

    labels: Any
    scores: FloatArray
    layout: dict[str, Any]

    @property
    def sample_weight(self) -> FloatArray | None:
        """The row weights, (n_rows,)."""
        return self.layout.get("sample_weight")

    @property
    def kept(self) -> NDArray[np.intp]:
        """The rows of positive weight."""
        every = np.arange(self.scores.size)
        return every if self.sample_weight is None else every[self.sample_weight > 0]

    @property
    def queries(self) -> tuple[NDArray[Any] | None, NDArray[np.int32], int]:
        """The queries with a row of positive weight (None without qid), as `Levels` has them.

        Then the place of each row's query among them, 0 for rows of weight 0, and their number.
        """
        query_of, kept = np.zeros(self.scores.size, dtype=np.int32), self.kept
        if "qid" not in self.layout:
            return None, query_of, min(kept.size, 1)
        identifiers, query_of[kept] = query_codes(self.layout["qid"][kept])
        return identifiers, query_of, identifiers.size


def check_rows(
    y_true: Any, scores: Any, rows: RowArguments, *, text: bool = False, no_roles: str = ""
) -> Judged:
    """Return labels, scores, queries and weights as checked arrays of one length.

    `no_roles` is the reason of a metric that refuses weights by role.
    """
    if no_roles:
        refuse_roles(rows.get("winner_weight"), rows.get("loser_weight"), no_roles)
    judged = check_scored(None, scores, rows)
    labels = check_labels(y_true, name="y_true")
    if labels.dtype.kind not in "fiu" and not text:
        raise PairrankError(
            "y_true holds text, which has no order of its own: give numbers, or an OrderGraph "
            "to a metric that takes a graph"
        )
    if labels.size != judged.scores.size:
        raise PairrankError(
            f"y_true has {labels.size} entries but there are {judged.scores.size} scores: give one "
            "per row"
        )
    return judged._replace(labels=labels)


def check_scored(y_true: Any, scores: Any, rows: RowArguments) -> Judged:
    """Check all arguments but `y_true`."""
    values = check_numbers(scores, "scores")
    layout = check_aligned(rows, values.size)
    weight, _ = weights_of_rows(layout.get("sample_weight"), *map(layout.get, ROLES))
    if weight is not None:
        layout["sample_weight"] = weight
    return Judged(y_true, values, layout)


def check_preferences(
    y_true: Any, scores: Any, graph: Any, rows: RowArguments
) -> tuple[Judged, Levels | Pairs]:
    """Return checked input, and the preferences of its labels, or its Pairs as they are."""
    if isinstance(y_true, Pairs):
        return check_scored(y_true, scores, rows), y_true
    graph = as_graph(graph)
    judged = check_rows(y_true, scores, rows, text=isinstance(graph, OrderGraph))
    return judged, Levels.build(judged.labels, graph=graph, **judged.layout)


def check_flags(values: Any, name: str, n_rows: int | None = None) -> NDArray[np.bool_]:
    """Return values that are True or 1, False or 0, as an array of bool of shape (n_rows,)."""
    flags = check_numbers(values, name, n_rows)
    wrong = (flags != 0) & (flags != 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise PairrankError(
            f"{name} must hold True or False, or 1 or 0 (got {flags[row]:g} in row {row})"
        )
    return flags == 1


class ByQuery(NamedTuple):
    """Rows by query, without those of weight 0.

    order: the user's row at each place, (n_kept,); starts: where each query begins,
    (n_queries + 1,); identifiers: the queries, (n_queries,); None where there is no qid.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    identifiers: NDArray[Any] | None


def by_query(judged: Judged) -> ByQuery:
    """Order the rows by query, stably; O(m), or O(m log m) where identifiers are numbers."""
    kept, (identifiers, query_of, n_queries) = judged.kept, judged.queries
    order, starts = counting_order(query_of[kept], n_queries)
    return ByQuery(kept[order], starts, identifiers)


def ratios(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part/whole, NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)


def mean_over_queries(
    identifiers: NDArray[Any] | None,
    values: FloatArray,
    *,
    per_query: bool,
    nothing: str,
    weights: FloatArray | None = None,
) -> Any:
    """Return the mean value of the queries, or {query: value} with `per_query`.

    Queries of the value NaN do not count. Without qid the one query is called None. If no query
    counts, warn with the reason `nothing` and return NaN.
    """
    counted = np.flatnonzero(~np.isnan(values))
    if per_query:
        names = np.array([None]) if identifiers is None else identifiers
        return dict(zip(names[counted].tolist(), values[counted].tolist(), strict=True))
    if not counted.size:
        warnings.warn(f"{nothing}, so the metric is NaN", NoPairsWarning, stacklevel=3)
        return float("nan")
    return float(np.average(values[counted], weights=None if weights is None else weights[counted]))
