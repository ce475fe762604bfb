"""Pairs: explicit comparisons, a `y` that cross-validation can split."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.exceptions import NoPairsError, PairrankError, PairrankWarning
from pairrank.preferences._codes import query_codes, scale_to
from pairrank.preferences.pair_inputs import check_queries, checked_rows, pair_codes
from pairrank.preferences.roles import refuse_roles, weights_of_rows

_LARGEST_PRODUCT = 1e200
_MOST_COUNTED = 2.0**53
_OF_COMPARISONS = ("i", "j", "weight", "magnitude", "groups", "comparison")
"""Arrays with one value per comparison; all but i and j may be None."""


class Pairs:
    """Explicit comparisons: row i[k] is preferred to row j[k].

    It is passed as `y` and counts as one value per row: it has a shape and a length. Indexing by
    rows keeps the pairs with both ends among the rows, renumbered, so that searches over whole
    queries split it like labels. To choose models over items that are compared with one another,
    split comparisons: `RankNCGCV` and `RankSVMCV` do, by `groups` if they are given.

    Parameters
    ----------
    i, j : array-like of int, shape (n_pairs,)
        The preferred row and the other row.
    weight : array-like of float, shape (n_pairs,), optional
        Weights, 0 or between 1e-100 and 1e100; None: 1 each. They multiply the product of the
        rows' weights. Weight 2 equals the comparison twice.
    magnitude : array-like of float, shape (n_pairs,), optional
        The difference of scores that square and tube losses aim at; None: 1 each. 0 is a tie: the
        other losses count it in both directions at half the weight, and accept 0 and 1 only. A tie
        is one comparison in all counts and standard errors.
    groups : array-like of shape (n_pairs,), optional
        What made each comparison: a session, a voter, a tournament; any hashable values. Model
        choice keeps a group together, and ``covariance="clusters"`` treats groups as independent.
    n_rows : int, optional
        The number of rows; None: the largest index + 1.

    Raises
    ------
    PairrankError
        If lengths differ, an index is not a whole number or out of range, i[k] equals j[k], a
        weight is negative or out of range, a number is not finite, or a group is missing.

    Notes
    -----
    Costs O(n_pairs); indices are kept as int32, 8 bytes per pair.

    Examples
    --------
    >>> pairs = Pairs([2, 0, 3], [0, 1, 1])
    >>> pairs
    Pairs(n_pairs=3, n_rows=4)
    >>> pairs[[0, 1, 2]].i, pairs[[0, 1, 2]].j
    (array([2, 0], dtype=int32), array([0, 1], dtype=int32))
    >>> Pairs([0, 1, 2], [1, 2, 0], magnitude=[1, 0, 1], groups=["ann", "bob", "ann"])
    Pairs(n_pairs=3, n_rows=3, n_ties=1, n_groups=2)
    """

    def __init__(
        self,
        i: ArrayLike,
        j: ArrayLike,
        weight: ArrayLike | None = None,
        magnitude: ArrayLike | None = None,
        *,
        groups: Any = None,
        n_rows: int | None = None,
    ) -> None:
        self.i, self.j, self.n_rows = checked_rows(i, j, n_rows)
        self.weight, self.magnitude = (
            None if each is None else validation.check_numbers(each, name, self.i.size)
            for each, name in ((weight, "weight"), (magnitude, "magnitude"))
        )
        if self.weight is not None:
            validation.check_weight_range(self.weight, "weight")
        self.groups = groups
        if groups is not None:
            self.groups = validation.check_identifiers(groups, "groups", self.i.size)
        self.comparison: NDArray[np.int64] | None = None
        self.pair_scale = 1.0
        self.row_weight = float(self.n_rows)

    @classmethod
    def from_names(cls, winner: Any, loser: Any, **parts: Any) -> tuple[Pairs, NDArray[Any]]:
        """Return comparisons of named items, and the items in the order of their rows.

        `winner` and `loser` are array-likes or columns of frames with any hashable names; `parts`
        are `weight`, `magnitude` and `groups` of the constructor. The items are sorted if all are
        numbers or all are text, else in the order of appearance. A PairrankError names the row of a
        missing name, or of an item that is compared with itself. Costs O(n_pairs).

        Examples
        --------
        >>> pairs, items = Pairs.from_names(["b", "c"], ["a", "b"])
        >>> pairs.i.tolist(), pairs.j.tolist(), items
        ([1, 2], [0, 1], array(['a', 'b', 'c'], dtype='<U1'))
        """
        items, i, j = pair_codes(winner, loser)
        return cls(i, j, n_rows=items.size, **parts), items

    @property
    def shape(self) -> tuple[int]:
        """(n_rows,): one value per row, as cross-validation expects."""
        return (self.n_rows,)

    @property
    def ndim(self) -> int:
        """Always 1."""
        return 1

    @property
    def n_pairs(self) -> int:
        """The number of entries of i and j."""
        return int(self.i.size)

    @property
    def n_comparisons(self) -> int:
        """The number of comparisons: a tie counts as one, also where it has an entry per half."""
        if self.comparison is None:
            return self.n_pairs
        return int(self.comparison.max(initial=-1)) + 1

    @property
    def pair_weight(self) -> float:
        """T, the total weight of the comparisons."""
        return float(self.i.size if self.weight is None else self.weight.sum())

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        text = f"n_pairs={self.n_comparisons}, n_rows={self.n_rows}"
        if self.magnitude is not None:
            text += f", n_ties={np.count_nonzero(self.magnitude == 0)}"
        if self.groups is not None:
            text += f", n_groups={query_codes(self.groups)[0].size}"
        return f"Pairs({text})"

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("Pairs are comparisons, not an array of labels; this function needs labels")

    def __getitem__(self, key: Any) -> Pairs:
        """Return the pairs with both ends among the given rows, renumbered in their order.

        A PairrankWarning says if most pairs of these rows are lost, as in random folds of items.
        """
        rows = self._rows(key)
        place = np.full(self.n_rows, -1, dtype=np.int32)
        place[rows] = np.arange(rows.size, dtype=np.int32)
        if np.count_nonzero(place >= 0) != rows.size:
            raise PairrankError("a row is selected twice: comparisons cannot be resampled by rows")
        i, j = place[self.i], place[self.j]
        both, n_either = (i >= 0) & (j >= 0), int(np.count_nonzero((i >= 0) | (j >= 0)))
        n_lost = n_either - int(np.count_nonzero(both))
        if n_lost > n_either / 2:
            warnings.warn(
                f"{n_lost} of the {n_either} comparisons of these {rows.size} rows are lost, since "
                "their other row is left out. Folds of rows cannot judge items that are compared "
                "with one another: RankNCGCV and RankSVMCV split comparisons instead",
                PairrankWarning,
                stacklevel=2,
            )
        result = self.select(both)
        result.i, result.j = i[both], j[both]
        result.n_rows, result.row_weight = rows.size, float(rows.size)
        return result

    def select(self, comparisons: Any) -> Pairs:
        """Return some of the comparisons, by a mask, a slice or places; all rows are kept."""
        result = copy(self)
        for name in _OF_COMPARISONS:
            part = getattr(self, name)
            setattr(result, name, None if part is None else part[comparisons])
        if result.comparison is not None:
            result.comparison = np.unique(result.comparison, return_inverse=True)[1]
        return result

    @property
    def total_weight(self) -> float:
        """The weight of all comparisons, scaled by `pair_scale`."""
        return self.pair_scale * self.pair_weight

    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the comparisons that each row wins, and of those that it loses."""
        wins, losses = (np.bincount(ends, self.weight, self.n_rows) for ends in (self.i, self.j))
        return np.multiply(self.pair_scale, wins), np.multiply(self.pair_scale, losses)

    def concordance(
        self, scores: FloatArray, query_of: NDArray[np.int32] | None = None, n_queries: int = 1
    ) -> FloatArray:
        """Return the weights of (concordant, tied, discordant) comparisons by query.

        `scores` (n_rows,); `query_of` (n_rows,) is each row's query, None: one query. The result is
        (n_queries, 3). Costs O(n_pairs).
        """
        winner, loser = scores[self.i], scores[self.j]
        outcome = np.where(winner > loser, 0, np.where(winner == loser, 1, 2))
        if query_of is not None:
            outcome += 3 * query_of[self.i]
        return np.bincount(outcome, self.weight, 3 * n_queries).reshape(-1, 3).astype(np.float64)

    def preferred(self) -> Pairs:
        """Return the same comparisons without magnitudes, as metrics count them.

        Ties (magnitude 0) get the weight 0; a negative magnitude prefers the other row.
        """
        if self.magnitude is None:
            return self
        result = self.signed()
        weight = 1.0 if self.weight is None else self.weight
        result.weight, result.magnitude = np.where(self.magnitude == 0, 0.0, weight), None
        return result

    def signed(self) -> Pairs:
        """Return the same comparisons with magnitudes 1 and, for ties, 0.

        A negative magnitude prefers the other row.
        """
        if self.magnitude is None:
            return self
        result, turned = copy(self), self.magnitude < 0
        result.i = np.where(turned, self.j, self.i)
        result.j = np.where(turned, self.i, self.j)
        result.magnitude = np.where(self.magnitude == 0, 0.0, 1.0)
        return result

    def require_pairs(self) -> None:
        """Raise a NoPairsError where there is no comparison to learn from."""
        if not self.n_pairs:
            raise NoPairsError("there is no comparison of positive weight to learn from")

    def bound(
        self,
        n_rows: int,
        *,
        qid: NDArray[Any] | None = None,
        sample_weight: FloatArray | None = None,
        winner_weight: FloatArray | None = None,
        loser_weight: FloatArray | None = None,
        reduction: str = "sum",
        ties: bool = True,
    ) -> Pairs:
        """Return the comparisons over the rows of an X, weights multiplied in and scaled.

        Parameters
        ----------
        n_rows : int
            Rows of X, at least as many as the indices count.
        qid : array of shape (n_rows,), optional
            Queries; a pair of rows of different queries is an error.
        sample_weight : array of shape (n_rows,), optional
            Row weights: a pair's weight is multiplied by the product of its rows' weights.
        winner_weight, loser_weight : array of shape (n_rows,), optional
            Further factors, of row i[k] and of row j[k]; they need `ties`.
        reduction : "auto", "sum", "rows" or "query", default "sum"
            "auto" is "sum": each comparison is further information. "rows" multiplies the sum by
            W/T, "query" the sum of query q by W/(n_queries T_q), as for labels.
        ties : bool
            True replaces ties (magnitude 0) by both directions at half the weight, and refuses
            magnitudes other than 1. False keeps the magnitudes.
        """
        if self.n_rows > n_rows:
            raise PairrankError(f"the pairs count {self.n_rows} rows but X has {n_rows}")
        result = copy(self)
        if n_rows != self.n_rows:
            result.n_rows, result.row_weight = n_rows, float(n_rows)
        codes = None if qid is None else check_queries(result.i, result.j, qid)
        if not ties:
            refuse_roles(winner_weight, loser_weight)
        sample_weight, roles = weights_of_rows(sample_weight, winner_weight, loser_weight)
        if sample_weight is not None:
            result = result._weighted(sample_weight, sample_weight)
            result.row_weight = float(sample_weight.sum())
        result = result.of_positive_weight()
        if ties and result.magnitude is not None:
            result = result._without_ties()
        if roles is not None:
            ones = np.ones(n_rows)
            factors = (ones if each is None else each for each in (winner_weight, loser_weight))
            result = result._weighted(*factors).of_positive_weight()
        if reduction in ("rows", "query") and result.n_pairs:
            result._reduce(reduction, codes, sample_weight)
        return result

    def of_positive_weight(self) -> Pairs:
        """Return the comparisons that have a positive weight."""
        if self.weight is None or (self.weight > 0).all():
            return self
        return self.select(self.weight > 0)

    def repetitions(self) -> FloatArray | None:
        """Return the weight of each comparison if these are numbers of repetitions, else None.

        They are if all are whole and one is above 1. A tie has the weight of both its halves.
        """
        weight = self.weight
        if weight is None:
            return None
        if self.comparison is not None:
            weight = np.bincount(self.comparison, weight).astype(np.float64)
        counted = 1.0 < weight.max(initial=0.0) < _MOST_COUNTED
        return weight if counted and (weight == np.rint(weight)).all() else None

    def reweighed(self, weight: NDArray[Any]) -> Pairs:
        """Return the comparisons with other weights, (n_pairs,), without those of weight 0."""
        result = copy(self)
        result.weight = weight.astype(np.float64)
        return result.of_positive_weight()

    def _rows(self, key: Any) -> NDArray[np.int64]:
        if isinstance(key, tuple):
            if len(key) != 1 and not (len(key) == 2 and key[1] is Ellipsis):
                raise PairrankError("Pairs are indexed by rows alone")
            key = key[0]
        if np.ndim(key) == 0 and not isinstance(key, slice):
            raise PairrankError("Pairs are indexed by many rows at once, not by a single one")
        return np.arange(self.n_rows)[key if isinstance(key, slice) else np.asarray(key)]

    def _weighted(self, winner: FloatArray, loser: FloatArray) -> Pairs:
        """Multiply each comparison's weight by a weight of row i and one of row j, (n_rows,)."""
        result = copy(self)
        product = winner[self.i] * loser[self.j]
        result.weight = product if self.weight is None else product * self.weight
        validation.check_weight_range(
            result.weight, "weight (times the rows' weights)", _LARGEST_PRODUCT
        )
        return result

    def _without_ties(self) -> Pairs:
        assert self.magnitude is not None
        tie = self.magnitude == 0
        other = ~tie & (self.magnitude != 1)
        if other.any():
            at = int(other.argmax())
            raise PairrankError(
                f"magnitude[{at}] = {self.magnitude[at]}: this loss takes only 1 (preferred) and "
                "0 (a tie); use RankRLS, MPRank or SVRank for the size of a preference"
            )
        result = copy(self)
        result.magnitude = None
        if tie.any():
            weight = np.where(tie, 0.5, 1.0) * (1.0 if self.weight is None else self.weight)
            result.i = np.concatenate((self.i, self.j[tie]))
            result.j = np.concatenate((self.j, self.i[tie]))
            result.weight = np.concatenate((weight, weight[tie]))
            every = np.arange(tie.size)
            result.comparison = np.concatenate((every, every[tie]))
            if self.groups is not None:
                result.groups = np.concatenate((self.groups, self.groups[tie]))
        return result

    def _reduce(
        self, reduction: str, codes: NDArray[np.int32] | None, sample_weight: FloatArray | None
    ) -> None:
        if reduction == "rows" or codes is None:
            self.pair_scale = scale_to(self.row_weight, self.pair_weight)
            return
        weight = np.ones(self.n_pairs) if self.weight is None else self.weight
        query = codes[self.i]
        kept = codes if sample_weight is None else codes[sample_weight > 0]
        factor = scale_to(self.row_weight / np.unique(kept).size, np.bincount(query, weight))
        self.weight = weight * factor[query]
