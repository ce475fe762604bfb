"""What fitted scores give: probabilities, contrasts and a matrix of wins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pairrank._arrays import as_float_array, is_hashable, shown
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences.pair_inputs import name_codes
from pairrank.ratings.likelihoods import LIKELIHOODS
from pairrank.ratings.ranking import Contrast, check_level, quantile


class RatedItems(BaseEstimator):
    """Scores of named items under a likelihood of comparisons."""

    def predict_proba(self, a: Any, b: Any, *, covariates: Any = None) -> FloatArray:
        """Return the probabilities that `a` wins against `b`, ties (if estimated) and loses.

        Parameters
        ----------
        a, b : item, or array-like of shape (n_pairs,)
            Names of items that were compared in `fit`.
        covariates : array-like or frame of shape (n_pairs, n_covariates), optional
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
        likelihood = LIKELIHOODS[self.ties]
        logs = likelihood.log_probabilities(np.ravel(d), self._tie)
        chosen = logs if likelihood.has_parameter else logs[[0, 2]]
        return np.exp(chosen).T.reshape(*np.shape(d), len(chosen))

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
        check_level(level)
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
        likelihood = LIKELIHOODS[self.ties]
        win, tie, _ = np.exp(likelihood.log_probabilities(d.ravel(), self._tie))
        chance = win + 0.5 * tie if likelihood.has_parameter else win
        return chance.reshape(d.shape)

    def _checked(self, covariates: Any, shape: tuple[int, ...]) -> FloatArray:
        """Return the covariates of pairs, (*shape, n_covariates)."""
        names = getattr(covariates, "columns", None)
        if names is not None and list(map(str, names)) != self.covariate_names_.tolist():
            raise PairrankError(
                f"covariates has the columns {', '.join(map(str, names))}; fit had "
                f"{', '.join(self.covariate_names_)}: give these, in this order"
            )
        given = as_float_array(covariates, "covariates")
        wanted = *shape, self.coef_.size
        if given.size != np.prod(wanted) or (given.ndim > 1 and given.shape[-1] != wanted[-1]):
            raise PairrankError(
                f"covariates has shape {given.shape}, but must have {wanted}: one row per pair, "
                "one column per covariate"
            )
        if not np.isfinite(given).all():
            raise PairrankError("covariates must be finite; give 0 if neither has the advantage")
        return given.reshape(wanted)

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
