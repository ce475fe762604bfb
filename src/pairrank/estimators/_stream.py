"""Stream: what was seen of earlier batches, and the steps on the pairs of each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._validation import check_labels
from pairrank.estimators._descent import n_draws
from pairrank.estimators._reservoir import Joined, Reservoir
from pairrank.estimators._rows import Rows
from pairrank.exceptions import NoPairsWarning, PairrankError, PairrankWarning
from pairrank.objective import PairSteps
from pairrank.preferences import Graph, Levels, PairIndex, Pairs, Preferences

STEPS_PER_ROW = 10


class PairsOfAny:
    """Several indexes as one: a pair is drawn in proportion to its weight among all."""

    def __init__(self, indexes: Sequence[PairIndex]) -> None:
        self.indexes = indexes
        weights = np.array([index.total_weight for index in indexes])
        self.shares = weights / weights.sum()

    def draw(
        self, n_draws: int, generator: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the preferred and the other row of each drawn pair, (n_draws,) each."""
        which = generator.choice(len(self.indexes), n_draws, p=self.shares)
        winners, losers = np.empty((2, n_draws), dtype=np.int32)
        for number, index in enumerate(self.indexes):
            places = np.flatnonzero(which == number)
            winners[places], losers[places] = index.draw(places.size, generator)
        return winners, losers


class Batch(NamedTuple):
    """The preferences that a batch adds, over rows of X, and the numbers that totals count."""

    X: Any
    parts: list[Preferences]
    row_weight: float
    n_rows: int
    joined: Joined | None = None

    @property
    def pair_weight(self) -> float:
        """The weight of the pairs, scaled by query if the reduction says so."""
        return float(sum(part.total_weight for part in self.parts))

    @property
    def n_pairs(self) -> int:
        """The number of preferences; a tie counts as one."""
        pairs = (p.n_comparisons if isinstance(p, Pairs) else p.n_pairs for p in self.parts)
        return sum(pairs)

    @property
    def n_units(self) -> int:
        """The number of rows, or of comparisons."""
        if self.joined is not None:
            return self.joined.n_new
        return sum(n_draws(part) for part in self.parts)


@dataclass
class Stream:
    """The state of `partial_fit` between calls.

    `graph` is over all classes. `reduction` is "rows", "sum" or "query". The penalty per unit of
    pair weight is that of the objective over all batches so far. A batch whose pairs weigh more per
    step than those of earlier ones takes steps that are longer by the same factor, so that all
    pairs of a stream count alike, however they are cut into batches.
    """

    steps: PairSteps
    graph: Graph
    reduction: str
    classes: NDArray[Any] | None
    reservoir: Reservoir | None
    of_pairs: bool
    has_qid: bool
    row_weight: float = 0.0
    pair_weight: float = 0.0
    n_rows: int = 0
    n_pairs: int = 0
    n_batches: int = 0

    def check(self, rows: Rows, classes: Any, reservoir: int | None) -> None:
        """Raise a PairrankError where a batch is of another kind than the first one."""
        size = None if self.reservoir is None else self.reservoir.size
        if reservoir is not None and reservoir != size:
            raise PairrankError(
                f"reservoir={reservoir!r}, but at the first call it was {size!r}: leave it out"
            )
        known = [] if self.classes is None else self.classes.tolist()
        if classes is not None and set(check_labels(classes, name="classes").tolist()) != set(
            known
        ):
            raise PairrankError("classes differ from those of the first call: leave them out")
        if isinstance(rows.y, Pairs) != self.of_pairs:
            kinds = ("Pairs", "labels") if self.of_pairs else ("labels", "Pairs")
            raise PairrankError(
                f"earlier batches had {kinds[0]}, this one has {kinds[1]}: use one ranker for each"
            )
        if (rows.qid is not None) != self.has_qid:
            raise PairrankError("qid must be given with every batch or with none")
        if self.classes is None or self.of_pairs:
            return
        strange = np.setdiff1d(rows.y, self.classes)
        if strange.size:
            raise PairrankError(
                f"y holds {strange[:1].tolist()[0]!r}, which is not among classes: pass all labels "
                "that will come as classes at the first call"
            )

    def batch(self, rows: Rows) -> Batch:
        """Return the preferences among the rows of a batch, and with kept rows of earlier ones."""
        scaled = "query" if self.reduction == "query" else "sum"
        weight = rows.kept_weight
        n_rows = rows.n_rows if weight is None else int(np.count_nonzero(weight > 0))
        row_weight = float(n_rows if weight is None else weight.sum())
        if self.of_pairs:
            pairs = rows.y.bound(rows.n_rows, reduction=scaled, **rows.layout)
            return Batch(rows.X, [pairs], row_weight, n_rows)
        if self.reservoir is None:
            levels = self._levels(rows.y, **rows.layout).reduced(scaled)
            return Batch(rows.X, [levels], row_weight, n_rows)
        joined = self.reservoir.join(rows)
        sample, winner, loser = joined.weights.T
        is_new = np.arange(joined.y.size) < joined.n_new
        parts: list[Preferences] = [
            self._levels(
                joined.y,
                joined.codes,
                sample_weight=sample * joined.stands_for,
                winner_weight=winner * wins,
                loser_weight=loser * loses,
            )
            for wins, loses in ((is_new, np.ones(is_new.size)), (~is_new, is_new))
        ]
        return Batch(joined.X, parts, row_weight, n_rows, joined)

    def learn(self, batch: Batch, strength: float, n_steps: int | None) -> None:
        """Count a batch and take steps on its pairs; `strength` is penalty/factor.

        Warns if there is no pair, except with a reservoir, which may wait for partners.
        """
        self.row_weight += batch.row_weight
        self.pair_weight += batch.pair_weight
        self.n_rows += batch.n_rows
        self.n_pairs += batch.n_pairs
        self.n_batches += 1
        indexes = [PairIndex(part) for part in batch.parts if part.n_pairs]
        if indexes:
            n_steps = STEPS_PER_ROW * batch.n_units if n_steps is None else n_steps
            total = self.row_weight if self.reduction == "rows" else self.pair_weight
            mean = self.pair_weight / (self.steps.n_steps + n_steps)
            importance = batch.pair_weight / n_steps / mean
            pairs = PairsOfAny(indexes)
            self.steps.take(batch.X, pairs, n_steps, strength / total, importance)
        elif self.reservoir is None:
            warnings.warn(
                f"no preference among the {batch.n_rows} rows of this batch, so that nothing is "
                "learnt from them: give rows of several labels per query, or reservoir=, which "
                "keeps rows as partners of later ones",
                NoPairsWarning,
                stacklevel=3,
            )

    def keep(self, batch: Batch) -> None:
        """Keep rows of a batch in the reservoir, if there is one."""
        if self.reservoir is not None and batch.joined is not None:
            self.reservoir.keep(batch.joined)

    def _levels(self, *rows: Any, **weights: Any) -> Levels:
        """Return the preferences of rows that need not have every label of the graph."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PairrankWarning)
            return Levels.build(*rows, graph=self.graph, **weights)
