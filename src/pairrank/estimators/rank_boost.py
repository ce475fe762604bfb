"""RankBoost: boosting of weak rankings by the exponential loss of every pair."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Any, Literal, NoReturn

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import Callback, Features, FloatArray, Solution, Status, Step
from pairrank.estimators._base import Graph, Seed
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._fit import FittedRanker, Solve
from pairrank.estimators._rows import Judge, Rows, Watch, keep, preferences_of
from pairrank.exceptions import PairrankError, ZeroWeightsWarning
from pairrank.preferences import Preferences, as_graph
from pairrank.rank_boost.binning import MOST_BINS, MOST_EXACT_ROWS, encode
from pairrank.rank_boost.rankings import Rankings, WeakRanking, columns_of

_EQUAL_SCORES = (
    "no weak ranking orders the weighted pairs better than chance, so every row has the same "
    "score: features are constant within queries, or independent of the preferences"
)


@ranker
class RankBoost(FittedRanker):
    r"""RankBoost: a sum of weak rankings that fits every pair (Freund et al. 2003).

    .. math:: H(x) = \sum_t \alpha_t h_t(x), \qquad
              \min \sum_{(i, j)} w_{ij} e^{-(H(x_i) - H(x_j))}

    over all preferences (i, j), i preferred to j. Each round adds one weak ranking h of one
    feature, a threshold (1 above it, else 0). It is the one with the largest edge \|r\|, where r is
    the sum over pairs of D (h(x_i) - h(x_j)) and D are the terms of the loss, normalised. The loss
    separates into exp(-H_i) and exp(H_j), so that a round never sees the pairs: r is the sum over
    rows of h times a potential. The paper has this for two levels only (its RankBoost.B); here it
    holds for any order graph, queries and weights.

    Parameters
    ----------
    n_estimators : int, default 100
        The number of rounds.
    learning_rate : float, default 0.5
        What multiplies alpha; 1 is the paper's algorithm. At 1 the rounds overfit more.
    early_stopping : bool, default False
        Keep the rounds up to the best validation score, and stop `patience` rounds after it. `fit`
        takes X_val and y_val; without them it draws validation rows.
    validation_fraction : float, default 0.1
        The fraction of rows that is drawn for validation: whole queries, or rows of a single one.
    patience : int, default 10
        Rounds without a better validation score after which `early_stopping` stops.
    reduction : "auto", "rows", "query" or "sum", default "auto"
        The first weights of pairs: "query" gives all queries the same total weight; the others
        give all pairs the same weight.
    verbose : int, default 0
        1 prints one line per round to standard error.
    random_state : int, RandomState or None, default None
        Seeds the draw of validation rows; None is a fixed seed.

    Attributes
    ----------
    rankings_ : Rankings
        The weak rankings kept, as arrays of one entry per round: `features`, `thresholds` (-inf
        for one below every value), `missing` (h of a missing value) and `alphas`.
    n_estimators_ : int
        The number of rounds kept.
    n_iter_, best_iteration_ : int
        The rounds done, and the number of those kept.
    train_score_ : ndarray of shape (n_iter_ + 1,)
        The loss after each round, of that at scores of 0; the first is 1.
    validation_scores_ : ndarray of shape (n_iter_ + 1,)
        The metric on the validation rows after each round, where there are such rows; an error or
        a cost is negated.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in the fall of the loss's logarithm over the rounds kept.
    status_ : str
        "rounds" (all done), "no_edge" (no weak ranking is better than chance, so the loss is
        least), "separated" (the loss is 0 to rounding), "validated", "stopped" or "interrupted".
    history_ : list of Step
        For each round the loss as value, \|r\| as gradient norm, and seconds.
    objective_ : float
        The loss after the rounds kept.
    n_pairs_
    n_rows_, n_queries_, n_ties_
    n_features_in_, feature_names_in_

    Notes
    -----
    A round costs O(m) per feature for m rows, or O(non-zeros) of sparse rows, whose zeros are
    values (O(edges) more under a graph that is not full; O(pairs) for `Pairs`). Each feature is
    sorted once. Values take one byte per entry if there are at most 256, else two or four.

    Up to 65,536 rows every threshold between two distinct values is tried; beyond, the values of a
    feature are put into 256 bins of about equal weight, missing values in one of their own. h of
    missing values (NaN) is the better of 0 and 1 (the paper's q_def), and 1/2 for a feature without
    missing values in training.

    alpha follows from h by the paper's second method, 0.5 ln(W+/W-), with the weights of the pairs
    that h puts right and wrong, as shares of all. 0.001 is added to both, so that alpha is finite
    where h makes no mistake. The loss never rises. If no \|r\| exceeds its rounding, the loss is
    least over all sums of the weak rankings, and rounds end.

    References
    ----------
    Y. Freund, R. Iyer, R. E. Schapire and Y. Singer, "An efficient boosting algorithm for combining
    preferences", Journal of Machine Learning Research 4, 2003.

    Examples
    --------
    >>> from pairrank import RankBoost
    >>> X, y, qid = [[0.0], [1.0], [float("nan")], [0.5]], [0, 1, 2, 0], ["a", "a", "b", "b"]
    >>> ranker = RankBoost(10).fit(X, y, qid=qid)
    >>> ranker.rank(X, qid=qid), ranker.rankings_.thresholds[0].item()
    (array([2, 1, 1, 2]), 0.75)
    """

    _learnt = "rankings_"
    _strength, _searched = "n_estimators", (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
    n_estimators: int = 100
    _: KW_ONLY
    learning_rate: float = 0.5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    patience: int = 10
    validation_metric: str | None = None
    graph: Graph = "full"
    reduction: Literal["auto", "rows", "query", "sum"] = "auto"
    verbose: int = 0
    random_state: Seed = None

    def _scores(self, X: Any) -> FloatArray:
        return self.rankings_.scores(X)

    def staged_predict(self, X: Features) -> Iterator[FloatArray]:
        """Yield the scores after each round kept.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)

        Yields
        ------
        ndarray of shape (n_rows,), float64
        """
        check_is_fitted(self)
        for scores in self.rankings_.staged(self._check_X(X, reset=False)):
            yield scores.copy()

    def linear_coef(self) -> NoReturn:
        """Raise a PairrankError: scores are not linear in the features."""
        raise PairrankError(
            "the scores of RankBoost are sums of thresholds, not linear in the features: save the "
            "model with save(), or fit RankSVM or RankNCG for linear weights"
        )

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that missing values are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _stops_early(self) -> bool:
        return self.early_stopping

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        return validation.check_features(self, X, reset=reset, missing=True)

    def _check_parameters(self) -> None:
        name = "n_estimators"
        validation.check_number(self.n_estimators, name, low=1, inclusive=True, integer=True)
        validation.check_number(self.learning_rate, "learning_rate", most=1.0)
        super()._check_parameters()
        as_graph(self.graph)

    def _preferences(self, rows: Rows) -> Preferences:
        return preferences_of(rows, self.graph, self.reduction)

    def _watches(self, held: Rows, judges: list[Judge], features: Any) -> list[Watch]:
        """Return the callback that adds the last weak ranking to the scores and judges them."""
        X = columns_of(features[held.places] if held.X is None else held.X)
        scores = np.zeros(held.n_rows)

        def after_round(alphas: FloatArray) -> FloatArray:
            if alphas.size:
                ranking = self._found[alphas.size - 1]
                scores[:] += ranking.alpha * ranking.values(X)
            return scores

        watch = Watch(judges[0], after_round, self.patience if self.early_stopping else None)
        watch(Step(0, 1.0, np.nan, np.empty(0), 0.0, 1, 0))
        return [watch]

    def _solver_of(self, rows: Rows, features: Any, preferences: Preferences) -> Solve:
        from pairrank.rank_boost.rounds import Booster

        n_bins = None if self.n_rows_ <= MOST_EXACT_ROWS else MOST_BINS
        codes = encode(rows.X, rows.kept_weight, n_bins)
        booster = Booster(codes, preferences, float(self.learning_rate))

        def solve(target: None, start: None, callback: Callback | None) -> Solution:
            found: list[WeakRanking] = []
            self._found, history, status = found, [], Status.ROUNDS
            started = time.perf_counter()
            try:
                for n in range(1, self.n_estimators + 1):
                    made = booster.advance()
                    if isinstance(made, Status):
                        status = made
                        break
                    found.append(made.ranking)
                    seconds = time.perf_counter() - started
                    step = Step(n, booster.loss, abs(made.edge), None, seconds, n + 1, 0)
                    history.append(step)
                    alphas = np.array([each.alpha for each in found])
                    if callback is not None and callback(step._replace(coef=alphas)):
                        status = Status.STOPPED
                        break
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            except BaseException:
                del self._found
                raise
            return Solution(np.empty(0), status, len(history), history)

        return solve

    def _keep(self, solutions: list[Any], watches: list[Watch], n_targets: int) -> Status:
        """Set the fitted attributes; of an interrupted round nothing is kept."""
        (solution,), found = solutions, self.__dict__.pop("_found")
        status, kept = solution.status, len(solution.history)
        if watches:
            kept = min(kept, len(watches[0].curve) - 1)
        self.n_iter_, self.history_ = kept, solution.history[:kept]
        keep(self, validation_scores_=np.array(watches[0].curve) if watches else None)
        for watch in watches:
            if watch.ran_out:
                status = Status.VALIDATED
            if self.early_stopping and watch.best is not None:
                kept = watch.best_iteration
        self.n_estimators_ = self.best_iteration_ = kept
        self.rankings_, self.status_ = Rankings.of(found[:kept]), status.name.lower()
        self.train_score_ = np.array([1.0, *(step.value for step in self.history_)])
        self.objective_ = float(self.train_score_[kept])
        falls = -np.diff(np.log(self.train_score_[: kept + 1]))
        shares = np.bincount(self.rankings_.features, falls, self.n_features_in_)
        self.feature_importances_ = shares / (shares.sum() or 1.0)
        return status

    def _warn(self, status: Status, scores: Callable[[FloatArray], FloatArray]) -> None:
        if not status.ok:
            warnings.warn(status.value, ConvergenceWarning, stacklevel=3)
        elif not self.n_estimators_ and status is not Status.STOPPED:
            warnings.warn(_EQUAL_SCORES, ZeroWeightsWarning, stacklevel=3)
