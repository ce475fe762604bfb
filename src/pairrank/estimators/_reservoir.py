"""Reservoir: a sample of earlier rows of each query, as partners of the rows that follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.estimators._rows import Rows
from pairrank.preferences._codes import query_codes

_WEIGHTS = ("sample_weight", "winner_weight", "loser_weight")


class Joined(NamedTuple):
    """Rows of a batch, and after them earlier rows of the same queries.

    `weights` are those of `_WEIGHTS`, (n_rows, 3). `keys` are uniform. `stands_for` says how many
    earlier rows each row represents: 1 for the batch.
    """

    X: Any
    y: NDArray[Any]
    weights: FloatArray
    keys: FloatArray
    codes: NDArray[np.int32]
    stands_for: FloatArray
    n_new: int
    names: list[Any]
    """The query of each code."""
    seen: NDArray[np.int64]
    """How many rows of each query were seen so far, this batch included."""


class _Kept(NamedTuple):
    X: Any
    y: NDArray[Any]
    weights: FloatArray
    keys: FloatArray
    seen: int


@dataclass
class Reservoir:
    """A uniform sample of at most `size` earlier rows of each query.

    Every row gets a random key when it arrives, and the rows of the least keys are kept. Rows of
    weight 0 are ignored. Memory grows with the number of queries. A batch costs O(n log n) for its
    rows and the kept rows of its queries.
    """

    size: int
    generator: np.random.Generator
    kept: dict[Any, _Kept] = field(default_factory=dict)

    def join(self, rows: Rows) -> Joined:
        """Return the rows of positive weight and the kept rows of their queries."""
        weight = rows.kept_weight
        new = np.arange(rows.n_rows) if weight is None else np.flatnonzero(weight > 0)
        given = (getattr(rows, name) for name in _WEIGHTS)
        weights = [np.ones(new.size) if each is None else each[new] for each in given]
        names, codes = [None], np.zeros(new.size, dtype=np.int32)
        if rows.qid is not None:
            identifiers, codes = query_codes(rows.qid[new])
            names = identifiers.tolist()
        old = [(code, self.kept[name]) for code, name in enumerate(names) if name in self.kept]
        parts = [each for _, each in old]
        sizes = [each.y.size for each in parts]
        seen = np.bincount(codes, minlength=len(names))
        stands_for = [np.ones(new.size)]
        for code, each in old:
            seen[code] += each.seen
            stands_for.append(np.full(each.y.size, each.seen / each.y.size))
        return Joined(
            _stacked(rows.X[new], [each.X for each in parts]),
            np.concatenate([rows.y[new], *(each.y for each in parts)]),
            np.concatenate([np.column_stack(weights), *(each.weights for each in parts)]),
            np.concatenate([self.generator.random(new.size), *(each.keys for each in parts)]),
            np.append(codes, np.repeat([code for code, _ in old], sizes).astype(np.int32)),
            np.concatenate(stands_for),
            new.size,
            names,
            seen,
        )

    def keep(self, joined: Joined) -> None:
        """Keep the rows of the least keys of each query."""
        order = np.lexsort((joined.keys, joined.codes))
        sizes = np.bincount(joined.codes, minlength=len(joined.names))
        starts = np.cumsum(sizes) - sizes
        chosen = order[np.arange(order.size) - np.repeat(starts, sizes) < self.size]
        stops = np.cumsum(np.minimum(sizes, self.size)).tolist()
        start = 0
        for name, stop, seen in zip(joined.names, stops, joined.seen.tolist(), strict=True):
            rows, start = chosen[start:stop], stop
            self.kept[name] = _Kept(
                joined.X[rows], joined.y[rows], joined.weights[rows], joined.keys[rows], seen
            )


def _stacked(X: Any, kept: list[Any]) -> Any:
    """Return rows of a batch and kept rows below them, in the batch's form: CSR or dense."""
    if not kept:
        return X
    if sparse.issparse(X):
        return sparse.vstack([X, *map(sparse.csr_array, kept)], format="csr")
    return np.concatenate(
        [X, *(each.toarray() if sparse.issparse(each) else each for each in kept)]
    )
