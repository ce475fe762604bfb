"""Whether comparisons determine scores and effects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import cg

from pairrank._arrays import shown
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.ratings.comparisons import LOSS, TIE, WIN, Margins
from pairrank.ratings.likelihoods import LikelihoodObjective

_PARTS_SHOWN, _NAMES_SHOWN = 6, 4
_OWN = 1e-8
"""A covariate with less than this part of its information beside the items is a sum of items."""
_LEFT = 1e-6
"""An effect with less than this part of its information at zero runs to infinity."""


def beaten(margins: Margins, *, ties: bool) -> sparse.csr_array:
    """Return the graph with an edge from each winner to each loser, and both ways for ties."""
    has = margins.weight > 0.0
    down, up = has[WIN] | (ties & has[TIE]), has[LOSS] | (ties & has[TIE])
    heads = np.concatenate((margins.first[down], margins.second[up]), dtype=np.int32)
    tails = np.concatenate((margins.second[down], margins.first[up]), dtype=np.int32)
    shape = (margins.n_items, margins.n_items)  # csgraph of scipy 1.14 takes int32 only
    return sparse.coo_array((np.ones(heads.size), (heads, tails)), shape=shape).tocsr()


def parts_of(margins: Margins, *, strong: bool) -> NDArray[np.int32]:
    """Return the connected component of each item.

    In a strong component each item has beaten each other one through a chain of wins and ties.
    """
    kind = "strong" if strong else "weak"
    graph = beaten(margins, ties=True)
    found: NDArray[np.int32] = csgraph.connected_components(graph, connection=kind)[1]
    return found


def described_parts(items: NDArray[Any], part: NDArray[np.int32]) -> str:
    """Return a list of components for a message, the largest first."""
    _, first, sizes = np.unique(part, return_index=True, return_counts=True)
    largest = np.lexsort((first, -sizes))[:_PARTS_SHOWN]
    listed = []
    for each in largest:
        names = items[part == each]
        more = names.size - _NAMES_SHOWN
        text = ", ".join(shown(name) for name in names[:_NAMES_SHOWN])
        listed.append(f"{{{text}{f' and {more} more' if more > 0 else ''}}}")
    more = sizes.size - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more else "")


def check_finite_scores(margins: Margins, items: NDArray[Any], *, parameter: bool) -> None:
    """Raise a PairrankError if the maximum of the likelihood of scores is at infinity.

    Halves have finite scores exactly if all items are one strong component (Ford 1957). With a tie
    `parameter` a chain of items that leads back to its start must also have more wins than ties:
    otherwise all scores can grow with the parameter, and all comparisons stay likely.
    """
    part = parts_of(margins, strong=True)
    if part.max(initial=0) > 0:
        raise PairrankError(
            f"the scores would be infinite: the items fall into {part.max() + 1} parts, and "
            "between two parts one never wins against the other, or they never met: "
            f"{described_parts(items, part)}. Set alpha (such as alpha=0.1), a penalty that "
            "keeps scores finite, or drop the items"
        )
    if parameter and margins.weight[TIE].any() and not _has_more_wins_than_ties(margins):
        raise PairrankError(
            "the scores would be infinite: no chain of comparisons that leads back to its first "
            "item has more wins than ties, so ever larger scores and ties fit ever better. Set "
            'alpha (such as alpha=0.1), or ties="half"'
        )


def _has_more_wins_than_ties(margins: Margins) -> bool:
    """Whether a cycle has more wins than ties; O(items + margins) if wins alone have a cycle."""
    wins = beaten(margins, ties=False)
    n_parts, _ = csgraph.connected_components(wins, connection="strong")
    if n_parts < margins.n_items:
        return True
    edges, won = beaten(margins, ties=True), wins.tocoo()
    edges.data[:] = 1.0
    won.data[:] = -2.0
    lengths = edges + won.tocsr()  # 1 for a tie, -1 for a win
    try:
        csgraph.bellman_ford(lengths, indices=0)
    except csgraph.NegativeCycleError:
        return True
    return False


def check_covariates(objective: LikelihoodObjective, names: NDArray[np.str_]) -> None:
    """Raise a PairrankError if a covariate is 0, or items or other covariates determine it."""
    own, beside = _information(objective, np.zeros(objective.n_features))
    norm = np.sqrt(own.diagonal())
    norm[norm == 0.0] = 1.0
    if linalg.eigvalsh(beside / np.outer(norm, norm))[0] < _OWN:
        raise PairrankError(
            f"the covariates ({', '.join(names)}) have no effect of their own: one is 0 in every "
            "comparison, or others or the compared items determine it. Drop one; covariates "
            "describe a comparison (home, position), features of items belong to RankNCG; or, "
            "where items determine it, set alpha (such as alpha=0.1)"
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
    full = objective.hessian(objective.slopes(w))[:width, :width]
    own, across = full[n_items:, n_items:].toarray(), full[:n_items, n_items:].toarray()
    block = full[:n_items, :n_items]
    jacobi = sparse.diags_array(1.0 / np.maximum(block.diagonal(), np.finfo(float).tiny))
    steps = 10 * n_items
    solved = [cg(block, column, rtol=1e-10, maxiter=steps, M=jacobi)[0] for column in across.T]
    return own, own - across.T @ np.array(solved).T
