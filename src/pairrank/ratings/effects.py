"""Whether comparisons determine the effects of their covariates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import cg

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.ratings.objective import LikelihoodObjective

_OWN = 1e-8
"""A covariate with less than this part of its information beside the items is a sum of items."""
_LEFT = 1e-6
"""An effect with less than this part of its information at zero runs to infinity."""


def check_covariates(objective: LikelihoodObjective, names: NDArray[np.str_]) -> None:
    """Raise a PairrankError if differences of items, or other covariates, make up a covariate."""
    own, beside = _information(objective, np.zeros(objective.n_features))
    empty = own.diagonal() == 0.0
    if empty.any():
        raise PairrankError(
            f"covariate {str(names[empty.argmax()])!r} is 0 in every comparison: drop it"
        )
    norm = np.sqrt(own.diagonal())
    if linalg.eigvalsh(own / np.outer(norm, norm))[0] < _OWN:
        raise PairrankError(
            f"the covariates ({', '.join(names)}) determine one another: drop one of them"
        )
    if linalg.eigvalsh(beside / np.outer(norm, norm))[0] < _OWN:
        raise PairrankError(
            f"the covariates ({', '.join(names)}) have no effect of their own: the items that are "
            "compared determine one of them. Covariates describe a comparison (home, position), "
            "features of items belong to RankNCG; or set alpha (such as alpha=0.1)"
        )


def check_effects(objective: LikelihoodObjective, w: FloatArray, names: NDArray[np.str_]) -> None:
    """Raise a PairrankError if effects grew until the comparisons are certain."""
    at_zero = _information(objective, np.zeros(objective.n_features))[1]
    here = _information(objective, w)[1]
    share, vectors = linalg.eigh(here, at_zero)
    if share[0] < _LEFT:
        which = str(names[np.abs(vectors[:, 0]).argmax()])
        raise PairrankError(
            f"the effect of covariate {which!r} would be infinite: with the scores it predicts "
            "every comparison that it differs in. Drop it, or collect more comparisons"
        )


def _information(objective: LikelihoodObjective, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Hessian of the effects, and what is left of it for unknown scores.

    The latter is Schur's complement, by conjugate gradients with the items' part.
    """
    n_items, width = objective.margins.n_items, objective.width
    bent = objective.curvature(w).of_margins
    diagonal = sparse.dia_array((bent[None], [0]), shape=(bent.size,) * 2)
    design = objective.design.tocsc()
    items, covariates = design[:, :n_items], design[:, n_items:width]
    own = (covariates.T @ (diagonal @ covariates)).toarray()
    across = (items.T @ (diagonal @ covariates)).toarray()
    block = items.T @ (diagonal @ items)
    block = block + sparse.dia_array((objective.ridge[None, :n_items], [0]), shape=block.shape)
    jacobi = sparse.dia_array(
        (1.0 / np.maximum(block.diagonal(), np.finfo(float).tiny)[None], [0]), shape=block.shape
    )
    solved = [
        cg(block, column, rtol=1e-10, maxiter=10 * n_items, M=jacobi)[0] for column in across.T
    ]
    return own, own - across.T @ np.array(solved).T
