"""Folds of comparisons: whole groups, whole queries, or single comparisons of Pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from pairrank._protocols import FloatArray
from pairrank._validation import check_number
from pairrank.exceptions import PairrankError
from pairrank.model_selection.splits import QueryKFold, generator_of, given_splits
from pairrank.preferences import Pairs
from pairrank.preferences._codes import query_codes

PairSplit = tuple[Pairs, Pairs]


def pair_folds(pairs: Pairs, n_splits: int = 5, *, random_state: Any = 0) -> Iterator[PairSplit]:
    """Return an iterator over (training comparisons, test comparisons), both over all rows.

    If the Pairs have `groups`, whole groups are dealt out, balanced by size. Otherwise single
    comparisons are: the same two rows may be compared in training and in test. If all weights are
    whole numbers, a comparison of weight w counts as w comparisons, each of which may fall into
    another fold; with other weights, every comparison stays in one piece.

    Parameters
    ----------
    pairs : Pairs
        The comparisons.
    n_splits : int
        The number of folds, at least 2 and at most the number of groups, or of comparisons.
    random_state : int, RandomState or None
        Seeds the folds.

    Returns
    -------
    iterator of (Pairs, Pairs)

    Raises
    ------
    PairrankError
        If `pairs` are no Pairs, or there are fewer groups or comparisons than folds.

    Notes
    -----
    A fold costs O(n_pairs).

    Examples
    --------
    >>> from pairrank import Pairs
    >>> votes = Pairs([0, 1, 2, 0], [1, 2, 0, 2], groups=["ann", "bob", "bob", "ann"])
    >>> sorted(test.i.tolist() for train, test in pair_folds(votes, 2))
    [[0, 0], [1, 2]]
    """
    check_number(n_splits, "n_splits", low=2, inclusive=True, integer=True)
    if not isinstance(pairs, Pairs):
        raise PairrankError(f"pairs must be Pairs (got a {type(pairs).__name__})")
    n_splits, generator = int(n_splits), generator_of(random_state)
    counts = None if pairs.groups is not None else pairs.repetitions()
    if pairs.groups is not None:
        n_units, units = query_codes(pairs.groups)[0].size, "groups"
    else:
        n_units, units = pairs.n_pairs if counts is None else int(counts.sum()), "comparisons"
    if n_units < n_splits:
        remedy = "take fewer folds" if n_units > 1 else f"more {units} are needed"
        raise PairrankError(f"{n_units} {units} cannot make {n_splits} folds: {remedy}")
    if counts is not None:
        return _thinned(pairs, counts, n_splits, generator)
    if pairs.groups is None:
        fold_of = generator.permutation(np.arange(pairs.n_pairs) % n_splits)
        tests: Any = (np.flatnonzero(fold_of == fold) for fold in range(n_splits))
    else:  # GroupKFold balances sizes; groups of one size are taken in random order
        groups = generator.permutation(n_units)[query_codes(pairs.groups)[1]]
        split = GroupKFold(n_splits).split(np.zeros(pairs.n_pairs), groups=groups)
        tests = (test for _, test in split)
    return (_parted(pairs, test) for test in tests)


def splits_of_pairs(
    cv: Any, pairs: Pairs, qid: NDArray[Any] | None, seed: Any
) -> Iterable[PairSplit]:
    """Return the (training comparisons, test comparisons) that `cv` stands for.

    An int (None: 5) means `pair_folds`, or whole queries where there is a qid and no groups.
    QueryKFold keeps queries, or else groups, whole. Other splitters and index pairs are of
    comparisons; a splitter gets the groups, or else the queries, as its groups.
    """
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        check_number(cv, "cv", low=2, inclusive=True, integer=True)
        if pairs.groups is not None or qid is None:
            return pair_folds(pairs, int(cv), random_state=0 if seed is None else seed)
        cv = QueryKFold(int(cv))
    if isinstance(cv, QueryKFold) and qid is not None:
        tests = [test for _, test in cv.split(qid, qid=qid)]
        return [_parted(pairs, np.isin(pairs.i, test)) for test in tests]
    groups = pairs.groups
    if groups is None and qid is not None:
        groups = qid[pairs.i]
    if groups is None and isinstance(cv, QueryKFold):
        raise PairrankError(
            "QueryKFold keeps whole queries or groups, and the Pairs have neither: pass qid, "
            "or Pairs(..., groups=...); a number of folds splits single comparisons"
        )
    places = given_splits(cv, pairs.n_pairs, "comparisons", groups)
    return [(pairs.select(train), pairs.select(test)) for train, test in places]


def _parted(pairs: Pairs, test: NDArray[Any]) -> PairSplit:
    """Return all other comparisons, and those at the places of a test part."""
    held = np.zeros(pairs.n_pairs, dtype=bool)
    held[test] = True
    return pairs.select(~held), pairs.select(held)


def _thinned(
    pairs: Pairs, counts: FloatArray, n_splits: int, generator: np.random.RandomState
) -> Iterator[PairSplit]:
    """Yield folds of repeated comparisons: each repetition falls into a fold at random."""
    left = counts.astype(np.int64)
    for fold in range(n_splits):
        held = generator.binomial(left, 1.0 / (n_splits - fold))
        left = left - held
        yield pairs.reweighed(counts - held), pairs.reweighed(held)
