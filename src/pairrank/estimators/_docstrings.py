"""Shared parts of the estimators' docstrings, described once and filled in by name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform, get_type_hints

from pairrank._docstrings import completed, described_by, entries, sections

Class = TypeVar("Class", bound=type)

SHARED = entries(r"""
graph : "full", "chain" or OrderGraph, default "full"
    Which labels are preferred to which: every higher one, the next higher one present in the
    query, or explicit edges (low, high).
reduction : "auto", "rows", "query" or "sum", default "auto"
    The factor a. "rows": W/T, so that the strength of the regularisation means the same for ten
    rows and ten million. "sum": 1, the paper's plain sum. "query": W/n_queries times the sum over
    queries of their mean pair loss. W is the total row weight, T the total pair weight. "auto" is
    "rows" for labels and "sum" for Pairs, where every further comparison adds evidence.
kernel : None, "linear", "rbf", "poly", "precomputed", callable or Kernel, default None
    k(x, x') for scores that are not linear in x; None is linear. A `pairrank.Kernel` has settings:
    ``Kernel("rbf", gamma=0.1, n_components=500)``; grids reach them as ``kernel__gamma``. With
    "precomputed", X is the kernel matrix of the training rows, and k(rows, training rows) for
    predictions.
C : float, default 0.1
    Weight of the loss.
max_iter : int, default 1000
    The largest number of iterations: Newton steps, conjugate gradients, cutting planes, or rounds
    of stochastic steps.
warm_start : bool, default False
    Start from the previous `coef_`.
verbose : int, default 0
    1 prints one line per iteration to standard error.
random_state : int, RandomState or None, default None
    Seeds what is drawn: the samples behind "auto", the pairs of "sgd" and the landmarks of
    "nystroem". None is a fixed seed, so that two fits agree.
coef_ : ndarray of shape (n_features,), float64
    The weights; with a kernel, those of its features.
n_iter_ : int
    Iterations taken; with several targets, the most of any target; 1 for a direct solution.
best_iteration_ : int
    The iteration whose weights `coef_` holds; with several targets, that of the last one.
status_ : str
    How the solver ended, such as "converged", "gap_closed" or "max_iter".
history_ : list of Step
    Value, gradient norm, seconds, evaluations, Hessian products and gap of each iteration; with
    several targets, a list of such lists.
objective_ : float
    The objective at `coef_`; with several targets, their sum.
gap_ : float
    How far `objective_` may be above the minimum, at most; known from cutting planes only.
n_pairs_ : int
    The number of preferences; of Pairs, of comparisons, in which a tie counts as one.
n_rows_, n_queries_ : int
    The numbers of training rows and of their queries.
n_ties_ : int
    The number of pairs of rows of one query with equal labels, of `Pairs` that of ties; not set
    where differences of labels are learnt, which include those of 0.
validation_metric : str or None, default None
    The metric that judges the validation rows at each iteration, such as "ndcg@10" (see
    `pairrank.model_selection.get_query_scorer`). None is the pairwise accuracy that `score` has.
patience : int or None, default None
    Keep the weights of the best validation score, and stop after so many changes of the weights
    without a better one; this needs validation rows. None: validation rows only watch.
validation_scores_ : ndarray of shape (n_iter_ + 1,)
    The metric on the validation rows at each iteration, where there are such rows; an error or a
    cost is negated.
kernel_ : Kernel
    The fitted kernel, where there is one.
n_features_in_ : int
    The number of features of X.
feature_names_in_ : ndarray of str
    Their names, where X had names.
alphas : array-like of float
    The values to try.
cv : int, splitter or iterable of (training rows, test rows), optional
    An int (None: 5) means a QueryKFold where there is a qid. Without a qid, rows are dealt out at
    random within each label, so that every fold spans all labels. Other splitters than QueryKFold
    get the qid as their groups. Of Pairs, comparisons are split, also by splitters and iterables:
    whole groups, or else whole queries, or else single comparisons; see
    `pairrank.model_selection.splits`.
scoring : str or callable, default "pairwise_accuracy"
    "pairwise_accuracy" over the ranker's own graph, "wmw", "mean_ndcg", "ndcg@10",
    "kendall_tau", or a scorer; see `pairrank.model_selection.get_query_scorer`.
""")
"""Descriptions of parameters and attributes that mean the same in several estimators."""

of_rows = described_by(
    entries("""
X : array-like, CSR matrix or frame of shape (n_rows, n_features), or RowBlocks
    With ``kernel="precomputed"`` the kernel matrix of the rows; later k(rows, training rows).
    RowBlocks hold labels, queries and weights too, so leave those out.
y : array-like of shape (n_rows,) or (n_rows, n_targets), or Pairs
    Labels: numbers, or text where `graph` is an OrderGraph; or explicit comparisons.
qid : array-like of shape (n_rows,), optional
    Query identifiers, any hashable values in any order; None: all rows are one query.
sample_weight : array-like of shape (n_rows,), optional
    A pair weighs the product of its rows' weights; weight 2 equals the row twice, 0 its absence.
winner_weight, loser_weight : array-like of shape (n_rows,), optional
    Further factors of the pairs that a row wins, and of those that it loses: 0 where it never wins,
    or never loses. RankRLS, MPRank, SVRank and ConvexHullRanker refuse them.
"""),
    {
        "Raises": "ValueError\n"
        "    If input is not finite or does not fit, a parameter is out of range, or there is\n"
        "    nothing to learn from; of `fit` before any work."
    },
)
"""Decorator of methods that take rows: what they share is described once, here."""


def described(cls: Class) -> Class:
    """Complete the docstring of a class by its constructor's parameters, its bases and `SHARED`.

    Bases pass on their descriptions and list of attributes. So does the `_ranker_class` of a
    search, before its bases.
    """
    known = {"Attributes": ""} | SHARED
    searched: tuple[type, ...] = getattr(cls, "_ranker_class", ())
    for source in (*searched, *reversed(cls.__mro__[1:])):
        _, found = sections(source.__doc__ or "")
        for title in ("Parameters", "Attributes"):
            new = entries(found.get(title, ""))
            known |= {name: entry for name, entry in new.items() if " :" in entry}
        known["Attributes"] += "\n" + found.get("Attributes", "")
    cls.__doc__ = completed(cls.__doc__ or "", list(inspect.signature(cls).parameters), known)
    return cls


@dataclass_transform(eq_default=False)
def ranker(cls: Class) -> Class:
    """Make the annotated attributes of a class the parameters of its constructor.

    The constructor stores them and does nothing else. Keywords are in the order of the classes
    that declare them, the class itself first.
    """
    made: Any = dataclass(eq=False, repr=False)(cls)
    hints = get_type_hints(cls)
    places = [name for each in cls.__mro__ for name in inspect.get_annotations(each)]
    parameters = [
        one.replace(annotation=hints.get(one.name, one.annotation))
        for one in inspect.signature(made.__init__).parameters.values()
    ]
    parameters.sort(key=lambda one: places.index(one.name) if one.kind is one.KEYWORD_ONLY else -1)
    made.__init__.__signature__ = inspect.Signature(parameters)
    made.__init__.__annotations__ = {one.name: hints[one.name] for one in parameters[1:]}
    return described(cls)
