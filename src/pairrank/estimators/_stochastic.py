"""StochasticRanker: stochastic steps on drawn pairs, and `partial_fit` over batches of rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from pairrank import _validation as validation
from pairrank._protocols import Features, Status
from pairrank._validation import ALIGNED
from pairrank.estimators._descent import Method
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._fit import FITTED
from pairrank.estimators._pair_loss import PairLossRanker
from pairrank.estimators._reservoir import Reservoir
from pairrank.estimators._rows import Rows, aligned
from pairrank.estimators._stream import STEPS_PER_ROW, Stream
from pairrank.exceptions import PairrankError
from pairrank.losses import as_loss
from pairrank.objective import PairSteps, StepRule
from pairrank.preferences import Graph, OrderGraph, Pairs, as_graph


@ranker
class StochasticRanker(PairLossRanker):
    """A ranker of preferences that can also learn by stochastic steps on drawn pairs."""

    _: KW_ONLY
    learning_rate: Literal["sgd", "pegasos"] = "sgd"
    eta0: float | None = None
    average: bool = True

    __metadata_request__partial_fit: ClassVar = dict.fromkeys(ALIGNED, True)

    def _learns_in_batches(self) -> bool:
        """Whether `partial_fit` is offered; an AttributeError says why not."""
        if not self._is_linear:
            raise AttributeError(
                f"partial_fit learns weights of X's features, so kernel={self.kernel!r} cannot be "
                "used: take kernel=None, or transform X by pairrank.kernels.FeatureMap"
            )
        if self.solver not in ("auto", "sgd"):
            raise AttributeError(
                f'partial_fit takes stochastic steps, not those of solver="{self.solver}": take '
                'solver="sgd" (or "auto")'
            )
        if self.loss == "raykar":
            raise AttributeError(
                'partial_fit needs values that match gradients, which loss="raykar" does not give: '
                'take "probit", which has the same gradient'
            )
        if getattr(self, "covariance", None) is not None:
            raise AttributeError(
                f"covariance={self.covariance!r} needs all rows at the optimum, which partial_fit "
                "does not have: take covariance=None"
            )
        return True

    @available_if(_learns_in_batches)
    def partial_fit(
        self,
        X: Features,
        y: ArrayLike | Pairs,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        winner_weight: ArrayLike | None = None,
        loser_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        reservoir: int | None = None,
        n_steps: int | None = None,
    ) -> Self:
        """Learn from one more batch of rows by stochastic steps on its pairs.

        Steps are those of ``solver="sgd"``; other solvers than that and "auto" have no
        `partial_fit`, nor have kernels, covariances and the "raykar" loss. After `fit`, the first
        call goes on from its weights, and the rows of the fit count as seen. New values of `alpha`
        and `C` count from the next call on; all other parameters are those of the first call.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), or Pairs
            Labels, or explicit comparisons of the rows of this batch.
        qid : array-like of shape (n_rows,), optional
            Query identifiers, in every batch or in none. Without `reservoir`, rows are compared
            within a batch only, so keep queries whole. Without qid all batches are one query.
        sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
            As in `fit`.
        classes : array-like, optional
            All labels that will come. The first call needs it unless `graph` is "full".
        reservoir : int, optional
            Set at the first call: so many earlier rows are kept, of each query where there is a
            qid, as partners of later rows. It is for queries that go on in later batches. The kept
            rows are a uniform sample whose pairs count for all earlier rows; a small sample adds
            noise, so keep hundreds if you can. Memory grows with the number of queries. Labels
            only; ``reduction="query"`` refuses it.
        n_steps : int, optional
            The number of pairs to draw from this batch; None: 10 per row, or per comparison.

        Returns
        -------
        self
            With `coef_`, `n_iter_` (the number of batches), `n_steps_`, `n_pairs_` and `n_rows_`,
            all totals so far.

        Raises
        ------
        ValueError
            Before any step, for input that `fit` refuses, a label that is not among `classes`, or
            batches of different kinds; after the steps, if weights overflow. The ranker keeps its
            weights and totals then, as after an interrupt.

        Warns
        -----
        NoPairsWarning
            If a batch has no pair, and there is no reservoir.

        Notes
        -----
        The objective is that of one `fit` on all batches, except that pairs across batches are
        represented by those within. ``reduction`` takes its totals from all batches so far. With
        the "chain" graph, neighbours in `classes` are joined; with qid and without reservoir, the
        next higher label of the query, as in `fit`. One pass comes within 1 % of the objective of
        `fit` if rows are many more than features; with thousands of sparse features, or nearly
        separable rows, it ends 10 % or more above, and more steps per batch do not help.

        A step costs the entries of two rows; a batch
        O(n_features) and what laying it out costs.
        """
        given = locals()
        self._check_parameters()
        if n_steps is not None:
            validation.check_number(n_steps, "n_steps", low=1, inclusive=True, integer=True)
        rows = self._check_rows(X, y, aligned(given), reset=not hasattr(self, "coef_"))
        stream: Stream | None = getattr(self, "_stream", None)
        if stream is None:
            stream = self._new_stream(rows, classes, reservoir)
        stream.check(rows, classes, reservoir)
        batch = stream.batch(rows)
        stream = replace(stream, steps=stream.steps.copied())  # the ranker's own stay as they are
        stream.learn(batch, self._strength, n_steps)
        coef = stream.steps.coef
        if not np.isfinite(coef).all():
            raise PairrankError(Status.OVERFLOW.value)
        for name in FITTED:
            self.__dict__.pop(name, None)
        stream.keep(batch)
        self._stream = stream
        self.coef_ = coef
        self.n_iter_, self.n_steps_ = stream.n_batches, stream.steps.n_steps
        self.n_rows_, self.n_pairs_ = stream.n_rows, stream.n_pairs
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.eta0 is not None:
            validation.check_number(self.eta0, "eta0")

    def _method(self) -> Method:
        return replace(super()._method(), rule=self._rule())

    def _rule(self) -> StepRule:
        eta0 = None if self.eta0 is None else float(self.eta0)
        return StepRule(self.learning_rate, eta0, bool(self.average))

    @property
    def _strength(self) -> float:
        """The penalty over the factor of the loss."""
        return float(getattr(self, "alpha", 1.0)) / float(getattr(self, "C", 1.0))

    def _new_stream(self, rows: Rows, classes: Any, reservoir: int | None) -> Stream:
        """Return the state before the first batch; after `fit` its rows count as seen."""
        of_pairs = isinstance(rows.y, Pairs)
        graph = as_graph(self.graph)
        if of_pairs and graph != "full":
            raise PairrankError("Pairs are preferences already: leave graph at its default")
        known = None if classes is None else _as_classes(classes, graph)
        if known is None and graph != "full":
            raise PairrankError(
                f"partial_fit with graph={self.graph!r} needs classes= at the first call: all "
                "labels that will come"
            )
        crosses = rows.qid is None or reservoir is not None
        if graph == "chain" and known is not None and crosses:
            graph = OrderGraph(pairwise(known.tolist()))
        reduction = self.reduction
        if reduction == "auto":
            reduction = "sum" if of_pairs else "rows"
        generator = np.random.default_rng(self._seed())
        continues = hasattr(self, "coef_") and not hasattr(self, "feature_map_")
        start = self.coef_ if continues else np.zeros(rows.X.shape[1])
        steps = PairSteps(as_loss(self.loss), start, self._rule(), generator)
        kept = self._reservoir(rows, reservoir, generator)
        stream = Stream(steps, graph, reduction, known, kept, of_pairs, rows.qid is not None)
        if continues:
            n_units = self.n_pairs_ if of_pairs else self.n_rows_
            steps.resume(getattr(self, "n_steps_", STEPS_PER_ROW * n_units))
            stream.n_rows, stream.n_pairs = self.n_rows_, self.n_pairs_
            stream.row_weight = float(self.n_rows_)
            stream.pair_weight = float(self.n_rows_ if reduction == "query" else self.n_pairs_)
        return stream

    def _reservoir(
        self, rows: Rows, size: int | None, generator: np.random.Generator
    ) -> Reservoir | None:
        if size is None:
            return None
        validation.check_number(size, "reservoir", low=1, inclusive=True, integer=True)
        if isinstance(rows.y, Pairs):
            raise PairrankError("Pairs name both rows of a comparison: leave reservoir out")
        if self.reduction == "query":
            raise PairrankError(
                'reservoir= is for queries that go on, whose number of pairs reduction="query" '
                'cannot know: use reduction="rows"'
            )
        return Reservoir(int(size), generator)


def _as_classes(classes: Any, graph: Graph) -> NDArray[Any]:
    """Return the sorted distinct labels; a warning names ends of edges that are not among them."""
    known: NDArray[Any] = np.unique(validation.check_labels(classes, name="classes"))
    if known.size < 2:
        raise PairrankError(f"classes must hold at least two labels, got {known.tolist()}")
    if isinstance(graph, OrderGraph):
        absent = sorted(map(repr, set(graph.labels) - set(known.tolist())))
        if absent:
            raise PairrankError(
                f"the order graph names labels that are not among classes: {', '.join(absent)}"
            )
    return known
