"""BradleyTerry: scores of named items from comparisons, with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._arrays import is_hashable, shown
from pairrank._protocols import FloatArray
from pairrank.estimators.covariance import check_size
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.preferences.pair_inputs import name_codes
from pairrank.ratings.comparisons import (
    Comparisons,
    Margins,
    add_up,
    check_comparisons,
    checked_covariates,
)
from pairrank.ratings.connections import (
    check_covariates,
    check_effects,
    check_finite_scores,
    described_parts,
    parts_of,
)
from pairrank.ratings.covariance import score_covariance
from pairrank.ratings.likelihoods import LIKELIHOODS, LikelihoodObjective, Ties
from pairrank.ratings.ranking import Contrast, Units, quantile, rank, units_of
from pairrank.solvers.newton import Newton

_ERRORS = "covariance_", "standard_errors_", "degrees_of_freedom_", "coef_standard_errors_"


@dataclass(eq=False, repr=False)
class BradleyTerry(BaseEstimator):
    r"""Ratings of named items from comparisons, with ties, covariates and confidence intervals.

    .. math:: \Pr[a \succ b] = \frac1{1 + e^{-d}}, \qquad d = s_a - s_b + \beta^T z

    for scores s and covariates z of the comparison (Bradley & Terry 1952). The scores maximise the
    likelihood; a shift of all scores changes nothing, so they are reported about their mean or
    about one item.

    Parameters
    ----------
    ties : "half", "davidson" or "rao-kupper", default "half"
        "half" counts a tie as half a win each way. The others estimate how often equal items tie:
        in the ratio nu to two wins of 1 (Davidson 1970), or as a difference of scores below
        log theta that is not noticed (Rao & Kupper 1967).
    alpha : float, default 0.0
        The precision of a Gaussian prior on the scores, that is the penalty alpha/2 times their
        squares. 0 is maximum likelihood, which has finite scores only if each item has beaten each
        other one through some chain of wins and ties.
    scale : float or "elo", default 1.0
        What the scores are multiplied by. "elo" is 400/log 10: 400 points are odds of 10 to 1.
    anchor : float or {item: float}, optional
        The mean of the scores, or the score of one item. None: 0, or 1000 with ``scale="elo"``.
    covariance : "auto", "hessian", "robust", "clusters", "dyadic" or None, default "auto"
        What is independent: comparisons ("hessian" trusts the model, "robust" does not), groups
        ("clusters"), or the comparisons of each two items ("dyadic"). "auto" is "clusters" if
        `groups` are given, "robust" with half ties, else "hessian"; also "hessian" if all
        comparisons are ties, of which the others make errors of 0. None saves time and memory.
    level : float, default 0.95
        The confidence level of the intervals.
    tol : float, default 1e-10
        Stop when \|gradient\| <= tol \|gradient at 0\|.
    max_iter : int, default 1000
        The largest number of Newton steps.

    Attributes
    ----------
    ranking_ : Ranking
        A table of items, best first: item, score, standard_error, low, high, rank_low, rank_high,
        n. Without a covariance it has item, score and n. n counts comparisons by weight, a tie as
        one.
    items_ : ndarray of shape (n_items,)
        The names: sorted if all are numbers or all are text, else in the order of appearance.
    scores_ : ndarray of shape (n_items,)
        The score of each of `items_`.
    covariance_, standard_errors_ : ndarray of shape (n_items, n_items) and (n_items,)
        The covariance of `scores_`, and the roots of its diagonal. An item that the scores are
        anchored at has the standard error 0.
    degrees_of_freedom_ : float
        The number of clusters less 1 for "clusters" and "dyadic", else infinity.
    coef_, coef_standard_errors_ : ndarray of shape (n_covariates,)
        The effects of the covariates, in units of the scores.
    covariate_names_ : ndarray of str, shape (n_covariates,)
        Their names.
    tie_parameter_ : float
        Davidson's nu (0: no ties), Rao and Kupper's theta (1: no ties), or 0 for halves.
    log_likelihood_ : float
        The logarithm of the likelihood, without the penalty.
    n_iter_, status_ : int and str
        Newton steps, and how the solver ended.

    Notes
    -----
    Equal comparisons are added up first. A Newton step costs O(K) per product with the Hessian for
    K distinct ones, the covariance O(n^3) for n items.

    Intervals hold for one item at a time. Those of scores are score +- t standard_error, t a
    quantile of Student's distribution (of the normal one for infinite degrees of freedom). Those of
    ranks hold with at least the level: an item ranks below those that are better by simultaneous
    intervals of its n - 1 differences (Bonferroni).

    References
    ----------
    R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39, 1952.
    R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison
    experiments", JASA 65, 1970. P. V. Rao and L. L. Kupper, "Ties in paired-comparison
    experiments", JASA 62, 1967.

    Examples
    --------
    >>> from pairrank import BradleyTerry
    >>> winner, loser = ["ann", "ann", "bob", "ann", "cid"], ["bob", "cid", "cid", "bob", "ann"]
    >>> model = BradleyTerry(scale="elo", covariance=None).fit(winner, loser, tie=[0, 0, 0, 1, 0])
    >>> print(model.ranking_)
    item    score  n
    ann   1,060.2  4
    bob   1,015.4  3
    cid     924.4  3
    >>> model.predict_proba("ann", "bob").round(2)
    array([0.56, 0.44])
    """

    _: KW_ONLY
    ties: Ties = "half"
    alpha: float = 0.0
    scale: float | Literal["elo"] = 1.0
    anchor: float | Mapping[Any, float] | None = None
    covariance: Literal["auto", "hessian", "robust", "clusters", "dyadic"] | None = "auto"
    level: float = 0.95
    tol: float = 1e-10
    max_iter: int = 1000

    def fit(
        self,
        winner: Any,
        loser: Any,
        *,
        tie: Any = None,
        weight: Any = None,
        covariates: Any = None,
        groups: Any = None,
    ) -> Self:
        """Estimate the scores of the items that are compared.

        Parameters
        ----------
        winner, loser : array-like or column of a frame, shape (n_comparisons,)
            The names of the two items: any hashable values.
        tie : array-like of bool, shape (n_comparisons,), optional
            Whether neither won; the order of the two is then free.
        weight : array-like of float, shape (n_comparisons,), optional
            How often each comparison counts. If all are whole numbers, a weight of w stands for w
            independent comparisons. ``0.5 ** (age / half_life)`` lets old comparisons fade; take
            ``covariance="robust"`` with it.
        covariates : array-like or frame of shape (n_comparisons, n_covariates), or dict, optional
            What speaks for the winner and against the loser (for a tie: for `winner`): say 1 if the
            winner was at home, -1 if the loser was, 0 if neither; or the winner's length less the
            loser's. A dict holds columns by name.
        groups : array-like of shape (n_comparisons,), optional
            Who compared (voter, session): comparisons of one group may depend on one another.

        Returns
        -------
        BradleyTerry
            The estimator itself.

        Raises
        ------
        PairrankError
            If lengths differ, a name is missing, an item is compared with itself, a weight is
            negative, or the scores or effects would be infinite.
        """
        self._check_parameters(groups)
        found = check_comparisons(
            winner, loser, tie=tie, weight=weight, covariates=covariates, groups=groups
        )
        kind = self._covariance_kind(found)
        units = units_of(self.scale, self.anchor, found.items)
        margins = add_up(found)
        objective = self._objective(found, margins)
        solution = Newton()(
            objective, np.zeros(objective.n_features), tol=self.tol, max_iter=self.max_iter
        )
        self.n_iter_, self.status_ = solution.n_iter, solution.status.name.lower()
        if not solution.status.ok:
            warnings.warn(solution.status.value, ConvergenceWarning, stacklevel=2)
        w = solution.coef
        if found.covariate_names.size:
            check_effects(objective, w, found.covariate_names)
        self._set_scores(objective, w, units, found)
        if kind is not None:
            full, df = score_covariance(objective, w, kind, found)
            if self.covariance == "auto" and kind != "hessian" and not full.any():
                full, df = score_covariance(objective, w, "hessian", found)
            self._set_covariance(full, units, margins.unit)
            self.degrees_of_freedom_ = df
        self.ranking_ = rank(self, found.n_comparisons)
        return self

    def predict_proba(self, a: Any, b: Any, *, covariates: Any = None) -> FloatArray:
        """Return the probabilities that `a` wins against `b`, ties (if estimated) and loses.

        Parameters
        ----------
        a, b : item, or array-like of shape (n_pairs,)
            Names of items that were compared in `fit`.
        covariates : array-like or frame of shape (n_pairs, n_covariates), or dict, optional
            What speaks for `a`, in the order of `covariate_names_`; None: nothing does.

        Returns
        -------
        ndarray of shape (n_pairs, 2) or (n_pairs, 3)
            Columns win and loss for ``ties="half"``, else win, tie and loss; one row without its
            dimension for two single items.
        """
        first, second = self._places(a, b)
        d = (self.scores_[first] - self.scores_[second]) / self._scale
        if covariates is not None:
            d = d + self._checked(covariates, d.shape) @ (self.coef_ / self._scale)
        chances = self._chances(d)
        return np.moveaxis(chances[[0, 2]] if self.ties == "half" else chances, 0, -1)

    def contrast(self, a: Any, b: Any, *, level: float | None = None) -> Contrast:
        """Return the difference of scores of `a` and `b`, with its standard error and interval.

        Parameters
        ----------
        a, b : item, or array-like of shape (n_pairs,)
            Names of items that were compared in `fit`.
        level : float, optional
            The confidence level; None: the estimator's.

        Returns
        -------
        Contrast
        """
        level = self.level if level is None else level
        validation.check_number(level, "level", below=1.0)
        i, j = self._places(a, b)
        if not hasattr(self, "covariance_"):
            raise PairrankError("covariance=None gives no errors: set covariance and fit again")
        V = self.covariance_
        difference, variance = self.scores_[i] - self.scores_[j], V[i, i] + V[j, j] - 2.0 * V[i, j]
        error = np.sqrt(np.maximum(variance, 0.0))
        margin = quantile(level, df=self.degrees_of_freedom_) * error
        return Contrast(difference, error, difference - margin, difference + margin)

    def win_matrix(self, items: Any = None) -> FloatArray:
        """Return the probability that each item wins against each other one; a tie is half a win.

        Parameters
        ----------
        items : array-like of shape (n,), optional
            Names; None: those of `ranking_`, best first.

        Returns
        -------
        ndarray of shape (n, n)
            Entry (i, j) is for item i against item j; 0.5 on the diagonal.
        """
        check_is_fitted(self)
        names = self.ranking_["item"] if items is None else items
        place = self._places(names, names)[0]
        d = np.subtract.outer(self.scores_[place], self.scores_[place]) / self._scale
        win, tie, _ = self._chances(d)
        return win if self.ties == "half" else win + 0.5 * tie

    def _chances(self, d: Any) -> FloatArray:
        """Return the probabilities of win, tie and loss, (3, ...), at differences of scores d."""
        logs = LIKELIHOODS[self.ties].log_probabilities(np.ravel(d), self._tie)
        return np.exp(logs).reshape(3, *np.shape(d))

    def _check_parameters(self, groups: Any) -> None:
        validation.check_choices(self)
        validation.check_number(self.alpha, "alpha", inclusive=True)
        validation.check_number(self.tol, "tol")
        validation.check_number(self.max_iter, "max_iter", integer=True)
        validation.check_number(self.level, "level", below=1.0)
        if self.covariance == "clusters" and groups is None:
            raise PairrankError(
                'groups are missing: covariance="clusters" needs them; pass groups to fit'
            )

    def _covariance_kind(self, found: Comparisons) -> str | None:
        """Return the covariance to compute, "auto" resolved."""
        kind: str | None = self.covariance
        if kind == "auto":
            kind = "robust" if self.ties == "half" and found.tie.any() else "hessian"
            kind = kind if found.group is None else "clusters"
        if kind is not None:
            check_size(kind, found.items.size, "items")
        if kind == "clusters" and found.group is not None and not np.ptp(found.group):
            raise PairrankError(
                'covariance="clusters" needs comparisons of at least two groups: use "robust"'
            )
        return kind

    def _objective(self, found: Comparisons, margins: Margins) -> LikelihoodObjective:
        """Return the objective, after a check that it has a finite minimum."""
        likelihood = LIKELIHOODS[self.ties]
        if likelihood.has_parameter and found.tie.all():
            raise PairrankError(
                f"every comparison is a tie, so ties={self.ties!r} has no finite optimum: use "
                'ties="half"'
            )
        if self.alpha == 0.0:
            check_finite_scores(margins, found.items, parameter=likelihood.has_parameter)
        else:
            part = parts_of(margins, strong=False)
            if part.max() > 0:
                warnings.warn(
                    f"the items fall into {part.max() + 1} parts that no comparison joins: "
                    f"{described_parts(found.items, part)}. Only the penalty alpha says how the "
                    "parts compare; rank each one by itself",
                    PairrankWarning,
                    stacklevel=3,
                )
        objective = LikelihoodObjective(margins, likelihood, float(self.alpha))
        if found.covariate_names.size:
            check_covariates(objective, found.covariate_names)
        return objective

    def _set_scores(
        self, objective: LikelihoodObjective, w: FloatArray, units: Units, found: Comparisons
    ) -> None:
        """Set the scores, effects and tie parameter; drop what an earlier fit estimated."""
        n_items, place = found.items.size, units.place
        shift = w[:n_items].mean() if place is None else w[place]
        self.items_ = found.items
        self.scores_ = units.anchor + units.scale * (w[:n_items] - shift)
        self.covariate_names_ = found.covariate_names
        self.coef_ = units.scale * w[n_items : objective.width] / objective.margins.unit
        self._scale, self._tie = units.scale, objective.tie_parameter(w)
        self.tie_parameter_ = float(np.exp(self._tie))
        self.log_likelihood_ = objective.log_likelihood(w)
        for name in _ERRORS:
            self.__dict__.pop(name, None)

    def _set_covariance(self, full: FloatArray, units: Units, unit: FloatArray) -> None:
        """Set the covariance of the scores about their anchor, and the errors of the effects."""
        n_items, place = self.items_.size, units.place
        V = full[:n_items, :n_items].copy()
        if place is not None:
            V += V[place, place] - V[place] - V[:, place, None]
        self.covariance_ = units.scale**2 * V
        self.standard_errors_ = np.sqrt(np.maximum(self.covariance_.diagonal(), 0.0))
        variances = full.diagonal()[n_items : n_items + unit.size]
        self.coef_standard_errors_ = units.scale * np.sqrt(np.maximum(variances, 0.0)) / unit

    def _checked(self, covariates: Any, shape: tuple[int, ...]) -> FloatArray:
        """Return the covariates of pairs, (*shape, n_covariates)."""
        if not shape and np.ndim(covariates) == 1:
            covariates = [covariates]
        wanted = self.covariate_names_
        given, names = checked_covariates(covariates, int(np.prod(shape)), wanted)
        if names.tolist() != wanted.tolist():
            raise PairrankError(
                f"covariates are {', '.join(names)}; fit had {', '.join(wanted) or 'none'}: give "
                "these, in this order"
            )
        return given.reshape(*shape, names.size)

    def _places(self, a: Any, b: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places of names among the items: of shape (), or (n_pairs,)."""
        check_is_fitted(self)
        known = {name: place for place, name in enumerate(self.items_.tolist())}
        first, second = (_places_of(names, which, known) for names, which in ((a, "a"), (b, "b")))
        if first.shape != second.shape:
            raise PairrankError(
                f"a has shape {first.shape} and b {second.shape}: item k of each makes pair k"
            )
        return first, second


def _places_of(names: Any, which: str, known: dict[Any, int]) -> NDArray[np.intp]:
    is_single = isinstance(names, (str, bytes)) or not isinstance(names, Iterable)
    if not is_single and is_hashable(names):
        is_single = names in known
    distinct, codes = name_codes([names] if is_single else names, which)
    unknown = [name for name in distinct if name not in known]
    if unknown:
        raise PairrankError(f"{which} names {shown(unknown[0])}, which was not compared in fit")
    places = np.array([known[name] for name in distinct], dtype=np.intp)[codes]
    return places[0] if is_single else places
