"""BradleyTerry: scores of named items from comparisons, with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import FloatArray, Solution
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.preferences.names import name_codes, shown
from pairrank.ratings.comparisons import Comparisons, check_comparisons
from pairrank.ratings.connections import check_finite_scores, described_parts, parts_of
from pairrank.ratings.covariance import check_size, score_covariance
from pairrank.ratings.effects import check_covariates, check_effects
from pairrank.ratings.likelihoods import LIKELIHOODS, Ties
from pairrank.ratings.margins import Margins, add_up
from pairrank.ratings.objective import LikelihoodObjective
from pairrank.ratings.ranking import (
    Contrast,
    Ranking,
    check_level,
    contrast,
    normal_quantile,
    rank_intervals,
)
from pairrank.solvers.tron import Tron

Covariance = Literal["auto", "hessian", "robust", "clusters", "dyadic"]
_ELO_SCALE, _ELO_ANCHOR = 400.0 / np.log(10.0), 1000.0


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
    half_life : float or timedelta, optional
        The age at which a comparison counts half, in units of `time`, or in days if `time` holds
        dates.
    scale : float or "elo", default 1.0
        What the scores are multiplied by. "elo" is 400/log 10: 400 points are odds of 10 to 1.
    anchor : float or {item: float}, optional
        The mean of the scores, or the score of one item. None: 0, or 1000 with ``scale="elo"``.
    covariance : "auto", "hessian", "robust", "clusters", "dyadic" or None, default "auto"
        What is independent: comparisons ("hessian" trusts the model, "robust" does not), groups
        ("clusters"), or comparisons without a common item ("dyadic"). "auto" is "clusters" where
        `groups` are given, "robust" with `half_life`, else "hessian". None saves time and memory.
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
        one, before any decay.
    items_ : ndarray of shape (n_items,)
        The names: sorted if all are numbers or all are text, else in the order of appearance.
    scores_ : ndarray of shape (n_items,)
        The score of each of `items_`.
    covariance_, standard_errors_ : ndarray of shape (n_items, n_items) and (n_items,)
        The covariance of `scores_`, and the roots of its diagonal. An item that the scores are
        anchored at has the standard error 0.
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

    Intervals of scores are score +- z standard_error, for one item at a time. Intervals of ranks
    hold for one item at a time too, with at least the level: an item ranks below those that are
    better by simultaneous intervals of its n - 1 differences (Bonferroni). See
    `pairrank.ratings.covariance` for the covariances.

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
    item   score  n
    ann   1073.5  4
    bob    983.2  3
    cid    943.3  3
    >>> model.predict_proba("ann", "bob").round(2)
    array([0.63, 0.37])
    """

    def __init__(
        self,
        *,
        ties: Ties = "half",
        alpha: float = 0.0,
        half_life: Any = None,
        scale: float | Literal["elo"] = 1.0,
        anchor: float | Mapping[Any, float] | None = None,
        covariance: Covariance | None = "auto",
        level: float = 0.95,
        tol: float = 1e-10,
        max_iter: int = 1000,
    ) -> None:
        self.ties = ties
        self.alpha = alpha
        self.half_life = half_life
        self.scale = scale
        self.anchor = anchor
        self.covariance = covariance
        self.level = level
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        winner: Any,
        loser: Any,
        *,
        tie: Any = None,
        weight: Any = None,
        covariates: Any = None,
        groups: Any = None,
        time: Any = None,
    ) -> Self:
        """Estimate the scores of the items that are compared.

        Parameters
        ----------
        winner, loser : array-like or column of a frame, shape (n_comparisons,)
            The names of the two items: any hashable values.
        tie : array-like of bool, shape (n_comparisons,), optional
            Whether neither won; the order of the two is then free.
        weight : array-like of float, shape (n_comparisons,), optional
            How often each comparison counts.
        covariates : array-like or frame of shape (n_comparisons, n_covariates), optional
            What speaks for the winner and against the loser (for a tie: for `winner`): say 1 if the
            winner was at home, -1 if the loser was, 0 if neither; or the winner's length less the
            loser's.
        groups : array-like of shape (n_comparisons,), optional
            Who compared (voter, session): comparisons of one group may depend on one another.
        time : array-like of shape (n_comparisons,), optional
            When: numbers, dates or ISO text; needs `half_life`.

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
            winner,
            loser,
            tie=tie,
            weight=weight,
            covariates=covariates,
            groups=groups,
            time=time,
            half_life=self.half_life,
        )
        kind = self._covariance_kind(found)
        scale, anchor, place = self._units(found.items)
        margins = add_up(found)
        objective = self._objective(found, margins)
        solution = Tron()(
            objective, np.zeros(objective.n_features), tol=self.tol, max_iter=self.max_iter
        )
        self._report(solution)
        w = solution.coef
        if found.covariate_names.size:
            check_effects(objective, w, found.covariate_names)
        n_items = found.items.size
        natural = w[:n_items] - (w[:n_items].mean() if place is None else w[place])
        self.items_, self.scores_ = found.items, anchor + scale * natural
        self.covariate_names_ = found.covariate_names
        self.coef_ = scale * w[n_items : objective.width] / margins.unit
        parameter = objective.tie_parameter(w) if objective.has_tie else objective.likelihood.none
        self.tie_parameter_ = objective.likelihood.shown(parameter)
        self.log_likelihood_ = objective.log_likelihood(w)
        self._margin_scale, self._tie = scale, parameter
        for name in ("covariance_", "standard_errors_", "coef_standard_errors_"):
            vars(self).pop(name, None)
        if kind is not None:
            full = score_covariance(objective, w, kind, found.weight, found.group)
            self._set_covariance(full, scale, place, margins.unit)
        self.ranking_ = self._ranking(found)
        return self

    def predict_proba(self, a: Any, b: Any, *, covariates: Any = None) -> FloatArray:
        """Return the probabilities that `a` wins against `b`, ties (if estimated) and loses.

        Parameters
        ----------
        a, b : item, or array-like of shape (n_pairs,)
            Names.
        covariates : array-like of shape (n_pairs, n_covariates), optional
            What speaks for `a`, as in `fit`; None: nothing does.

        Returns
        -------
        ndarray of shape (n_pairs, 2) or (n_pairs, 3)
            Columns win and loss for ``ties="half"``, else win, tie and loss; one row without its
            dimension for two single items.

        Raises
        ------
        PairrankError
            If an item was not compared in `fit`, or shapes differ.
        """
        first, second = self._places(a, b)
        d = (self.scores_[first] - self.scores_[second]) / self._margin_scale
        if covariates is not None:
            given = validation.as_float_array(covariates, "covariates")
            if given.size != d.size * self.coef_.size:
                raise PairrankError(
                    f"covariates has shape {given.shape}; {d.size} pairs have {self.coef_.size} "
                    "covariates each"
                )
            d = d + given.reshape(*d.shape, self.coef_.size) @ (self.coef_ / self._margin_scale)
        logs = LIKELIHOODS[self.ties].log_probabilities(np.ravel(d), self._tie)
        chosen = logs[[0, 2]] if self.ties == "half" else logs
        return np.exp(chosen).T.reshape(*np.shape(d), len(chosen))

    def contrast(self, a: Any, b: Any, *, level: float | None = None) -> Contrast:
        """Return the difference of scores of `a` and `b`, with its standard error and interval.

        Parameters
        ----------
        a, b : item, or array-like of shape (n_pairs,)
            Names.
        level : float, optional
            The confidence level; None: the estimator's.

        Returns
        -------
        Contrast

        Raises
        ------
        PairrankError
            If an item was not compared in `fit`, or there is no covariance.
        """
        level = self.level if level is None else level
        check_level(level)
        i, j = self._places(a, b)
        if not hasattr(self, "covariance_"):
            raise PairrankError("covariance=None gives no errors: set covariance and fit again")
        V = self.covariance_
        return contrast(
            self.scores_[i] - self.scores_[j], V[i, i] + V[j, j] - 2.0 * V[i, j], float(level)
        )

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
        d = np.subtract.outer(self.scores_[place], self.scores_[place]) / self._margin_scale
        win, tie, _ = np.exp(LIKELIHOODS[self.ties].log_probabilities(d.ravel(), self._tie))
        chance = win if self.ties == "half" else win + 0.5 * tie
        return chance.reshape(d.shape)
