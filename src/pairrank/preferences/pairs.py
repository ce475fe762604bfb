"""Pairs: explicit comparisons, a `y` that cross-validation can split."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank import _validation as validation
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.preferences._codes import query_codes, scale_to
from pairrank.preferences.roles import refuse_roles, weights_of_rows

FloatArray = NDArray[np.float64]
_LARGEST_PRODUCT = 1e200


class Pairs:
    """Explicit comparisons: row i[k] is preferred to row j[k].

    It is passed as `y` and counts as one value per row: it has a shape and a length. Indexing by
    rows keeps the pairs with both ends among the rows, renumbered, so that grid search and
    cross-validation split it like labels.

    Parameters
    ----------
    i, j : array-like of int, shape (n_pairs,)
        The preferred row and the other row.
    weight : array-like of float, shape (n_pairs,), optional
        Weights, 0 or between 1e-100 and 1e100; None: 1 each. They multiply the product of the
        rows' weights.
    magnitude : array-like of float, shape (n_pairs,), optional
        The difference of scores that square and tube losses aim at; None: 1 each. 0 is a tie: the
        other losses count it in both directions at half the weight, and accept 0 and 1 only.
    n_rows : int, optional
        The number of rows; None: the largest index + 1.

    Raises
    ------
    PairrankError
        If lengths differ, an index is not a whole number or out of range, i[k] equals j[k], a
        weight is negative or out of range, or a number is not finite.

    Notes
    -----
    Costs O(n_pairs); indices are kept as int32, 8 bytes per pair.

    Examples
    --------
    >>> pairs = Pairs([2, 0, 3], [0, 1, 1])
    >>> pairs
    Pairs(n_pairs=3, n_rows=4)
    >>> pairs[[0, 2, 3]].i, pairs[[0, 2, 3]].j
    (array([1], dtype=int32), array([0], dtype=int32))
    """

    def __init__(
        self,
        i: ArrayLike,
        j: ArrayLike,
        weight: ArrayLike | None = None,
        magnitude: ArrayLike | None = None,
        *,
        n_rows: int | None = None,
    ) -> None:
        first, second = _as_index(i, "i"), _as_index(j, "j")
        if first.size != second.size:
            raise PairrankError(f"i has {first.size} entries and j {second.size}: one pair each")
        highest = int(max(first.max(initial=-1), second.max(initial=-1)))
        if n_rows is not None:
            validation.check_number(n_rows, "n_rows", inclusive=True, integer=True)
        self.n_rows = highest + 1 if n_rows is None else int(n_rows)
        if self.n_rows >= 2**31:
            raise PairrankError(f"{self.n_rows} rows are too many: at most 2**31 - 1")
        for name, index in (("i", first), ("j", second)):
            outside = (index < 0) | (index >= self.n_rows)
            if outside.any():
                at = int(outside.argmax())
                rows = f"rows go from 0 to {self.n_rows - 1}" if self.n_rows else "n_rows is 0"
                raise PairrankError(f"{name}[{at}] = {index[at]} is not a row: {rows}")
        same = first == second
        if same.any():
            at = int(same.argmax())
            raise PairrankError(f"pair {at} compares row {first[at]} with itself; remove it")
        self.i: NDArray[np.int32] = first.astype(np.int32, copy=False)
        self.j: NDArray[np.int32] = second.astype(np.int32, copy=False)
        self.weight = _as_numbers(weight, "weight", first.size)
        self.magnitude = _as_numbers(magnitude, "magnitude", first.size)
        if self.weight is not None:
            validation.check_weight_range(self.weight, "weight")
        self.pair_scale = 1.0
        self.row_weight = float(self.n_rows)

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
        """The number of comparisons."""
        return int(self.i.size)

    @property
    def pair_weight(self) -> float:
        """T, the total weight of the comparisons."""
        return float(self.i.size if self.weight is None else self.weight.sum())

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Pairs(n_pairs={self.n_pairs}, n_rows={self.n_rows})"

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("Pairs are comparisons, not an array of labels; this function needs labels")

    def __getitem__(self, key: Any) -> Pairs:
        """Return the pairs with both ends among the given rows, renumbered in their order."""
        rows = self._rows(key)
        place = np.full(self.n_rows, -1, dtype=np.int32)
        place[rows] = np.arange(rows.size, dtype=np.int32)
        if np.count_nonzero(place >= 0) != rows.size:
            raise PairrankError("a row is selected twice: comparisons cannot be resampled by rows")
        i, j = place[self.i], place[self.j]
        return self._kept((i >= 0) & (j >= 0), i, j, rows.size)

    @property
    def total_weight(self) -> float:
        """The weight of all comparisons, scaled by `pair_scale`."""
        return self.pair_scale * self.pair_weight

    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the comparisons that each row wins, and of those that it loses."""
        wins = np.bincount(self.i, self.weight, self.n_rows)
        losses = np.bincount(self.j, self.weight, self.n_rows)
        return np.multiply(self.pair_scale, wins), np.multiply(self.pair_scale, losses)

    def concordance(
        self, scores: FloatArray, query_of: NDArray[np.int32] | None = None, n_queries: int = 1
    ) -> FloatArray:
        """Return the weights of (concordant, tied, discordant) comparisons by query.

        `scores` (n_rows,); `query_of` (n_rows,) is each row's query, None: one query. The result is
        (n_queries, 3). Costs O(n_pairs).
        """
        from pairrank.compiled.concordance import weigh_pairs

        weight = np.empty(0) if self.weight is None else self.weight
        query_of = np.empty(0, dtype=np.int32) if query_of is None else query_of
        return weigh_pairs(scores, self.i, self.j, weight, query_of, n_queries)

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
        result, turned = self._resized(self.n_rows), self.magnitude < 0
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
        result = self._resized(n_rows)
        codes = None if qid is None else _check_queries(result, qid)
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
        result = self._kept(self.weight > 0, self.i, self.j, self.n_rows)
        result.row_weight, result.pair_scale = self.row_weight, self.pair_scale
        return result

    def _rows(self, key: Any) -> NDArray[np.int64]:
        if isinstance(key, tuple):
            if len(key) != 1 and not (len(key) == 2 and key[1] is Ellipsis):
                raise PairrankError("Pairs are indexed by rows alone")
            key = key[0]
        if np.ndim(key) == 0 and not isinstance(key, slice):
            raise PairrankError("Pairs are indexed by many rows at once, not by a single one")
        return np.arange(self.n_rows)[key if isinstance(key, slice) else np.asarray(key)]

    def _kept(
        self, keep: NDArray[np.bool_], i: NDArray[np.int32], j: NDArray[np.int32], n_rows: int
    ) -> Pairs:
        result = object.__new__(Pairs)
        result.i, result.j = i[keep], j[keep]
        result.weight = None if self.weight is None else self.weight[keep]
        result.magnitude = None if self.magnitude is None else self.magnitude[keep]
        result.n_rows, result.row_weight, result.pair_scale = n_rows, float(n_rows), 1.0
        return result

    def _resized(self, n_rows: int) -> Pairs:
        result = object.__new__(Pairs)
        row_weight = self.row_weight if n_rows == self.n_rows else float(n_rows)
        result.__dict__.update(self.__dict__, n_rows=n_rows, row_weight=row_weight)
        return result

    def _weighted(self, winner: FloatArray, loser: FloatArray) -> Pairs:
        """Multiply each comparison's weight by a weight of row i and one of row j, (n_rows,)."""
        result = self._resized(self.n_rows)
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
        result = self._resized(self.n_rows)
        result.magnitude = None
        if tie.any():
            weight = np.where(tie, 0.5, 1.0) * (1.0 if self.weight is None else self.weight)
            result.i = np.concatenate((self.i, self.j[tie]))
            result.j = np.concatenate((self.j, self.i[tie]))
            result.weight = np.concatenate((weight, weight[tie]))
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


def _check_queries(pairs: Pairs, qid: NDArray[Any]) -> NDArray[np.int32]:
    identifiers, codes = query_codes(qid)
    across = codes[pairs.i] != codes[pairs.j]
    if across.any():
        at = int(across.argmax())
        first, second = identifiers[codes[[pairs.i[at], pairs.j[at]]]].tolist()
        raise PairrankError(
            f"pair {at} compares rows {pairs.i[at]} and {pairs.j[at]} of different queries "
            f"({first!r} and {second!r}); remove it, or give no qid"
        )
    return codes


def _as_index(values: ArrayLike, name: str) -> NDArray[Any]:
    index = validation.as_array(values, name)
    if index.ndim != 1:
        raise PairrankError(f"{name} must have one dimension, got shape {index.shape}")
    if index.dtype.kind in "iu":
        return index.astype(np.int64) if index.dtype == np.uint64 else index
    if index.dtype.kind == "O":
        index = validation.as_float_array(index, name)
    whole = index.dtype.kind == "f" and (np.abs(index) < 2**31).all() and (index % 1 == 0).all()
    if index.size and not whole:
        raise PairrankError(f"{name} must hold row numbers (whole numbers from 0)")
    return index.astype(np.int64)


def _as_numbers(values: ArrayLike | None, name: str, size: int) -> FloatArray | None:
    if values is None:
        return None
    numbers = validation.as_float_array(values, name)
    if numbers.shape != (size,):
        raise PairrankError(f"{name} has shape {numbers.shape}, but there are {size} pairs")
    if not np.isfinite(numbers).all():
        at = int((~np.isfinite(numbers)).argmax())
        raise PairrankError(f"{name}[{at}] = {numbers[at]} is not finite")
    return numbers
