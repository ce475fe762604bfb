"""RankSVM: large-scale linear ranking support vector machine."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from pairrank.estimators._docstrings import ranker
from pairrank.estimators._pair_loss import PairLossRanker
from pairrank.estimators.sgd import SGD


@ranker
class RankSVM(PairLossRanker):
    r"""Linear RankSVM with the squared hinge or the hinge over every pair (Lee & Lin 2014).

    .. math:: \min_w \tfrac12 \|w\|^2 + C \, a \sum_{(i, j)} \max(0, 1 - w^T (x_i - x_j))^p

    over all preferences (i, j), i preferred to j; p = 2 is Eq. 3, p = 1 Eq. 2. The squared hinge is
    solved by a trust region Newton method, the hinge by cutting planes (the TreeRankSVM of Airola
    et al. 2011). Their sums over pairs cost O(m) for large queries of few levels, by cells of
    scores, else O(m log k) for m rows of k levels; never O(m^2).

    Parameters
    ----------
    loss : "squared_hinge" or "hinge", default "squared_hinge"
        The cost of a pair, p = 2 or 1. Both rank about equally well (Lee & Lin, Section 4.4). The
        squared hinge is solved faster; the hinge is less sensitive to outliers.
    tol : float, default 1e-3
        Stop when \|gradient\| <= tol \|gradient at 0\| and a Newton step would lower the objective
        by at most sqrt(tol) of itself. Cutting planes stop when the duality gap
        (how far the objective may be above its minimum) is at most tol times the objective, or
        times \|gradient at 0\|^2/2 if that is less.
    solver : "auto", "tron", "bundle", "sgd" or SGD, default "auto"
        "tron" is the paper's trust region Newton, with every Hessian product over every pair.
        "auto" is Newton with a line search, the Hessian from a sample where that is cheaper; value
        and gradient use every pair, so the optimum is the same. "bundle" is cutting planes,
        `pairrank.solvers.bundle.Bundle`. The hinge has no Hessian, so its "auto" is "bundle", which
        with many rows starts from the solution on a sample. "sgd" takes stochastic steps on drawn
        pairs, as `SGD` says.
    pair_sum : str, default "auto"
        The algorithm of the pair sum: "auto", "cells", "sorted", "selection_tree",
        "level_counting" or "direct". "cells" is linear in the rows; its error is computed and made
        smaller where it matters, so the optimum is the same. "direct" computes every pair.

    Notes
    -----
    A Newton step or a cutting plane costs two products with X and O(m log m) for sorting the
    scores. Memory beyond X is below 120 bytes per row; at most 128 planes take 8 bytes per feature
    each, 256 MB in all. float32 X stays float32. A quadratic RankSVM (Raykar's comparison) has
    ``kernel=Kernel("poly", degree=2, gamma=1)``.

    References
    ----------
    C.-P. Lee and C.-J. Lin, "Large-scale linear RankSVM", Neural Computation 26(4), 2014. (Its
    Eq. 5 means y_i > y_s, and Eq. 27 sums x_j.) For the hinge T. Joachims, "Training linear SVMs in
    linear time", KDD 2006; C. H. Teo, S. V. N. Vishwanathan, A. Smola and Q. V. Le, "Bundle methods
    for regularized risk minimization", JMLR 11, 2010; V. Franc and S. Sonnenburg, "Optimized
    cutting plane algorithm for large-scale risk minimization", JMLR 10, 2009; A. Airola, T.
    Pahikkala and T. Salakoski, "Training linear ranking SVMs in linearithmic time using red-black
    trees", Pattern Recognition Letters 32, 2011.

    Examples
    --------
    >>> from pairrank import RankSVM
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 2, 0], ["a", "a", "b", "b"]
    >>> RankSVM().fit(X, y, qid=qid).rank(X, qid=qid)
    array([2, 1, 1, 2])
    """

    C: float = 0.1
    _: KW_ONLY
    loss: Literal["squared_hinge", "hinge"] = "squared_hinge"
    solver: Literal["auto", "tron", "bundle", "sgd"] | SGD = "auto"
    pair_sum: Literal["auto", "cells", "sorted", "selection_tree", "level_counting", "direct"] = (
        "auto"
    )
