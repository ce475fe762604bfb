"""MPRank: magnitude-preserving ranking by differences of labels."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar, Literal

from pairrank.estimators._docstrings import ranker
from pairrank.estimators._magnitude import MagnitudeRanker
from pairrank.losses import Square, Tube


@ranker
class MPRank(MagnitudeRanker):
    r"""MPRank: scores whose differences are those of the labels, over all pairs of rows.

    .. math:: \min_w \|w\|^2 + \sum_q \frac{C}{m_q^2} \sum_{i, j \in q} w_i w_j
              \bigl|(s_i - s_j) - (y_i - y_j)\bigr|^n, \qquad s = X w

    over all differences: both directions, and ties too (Cortes, Mohri & Rastogi 2007, Eq. 24, with
    queries and row weights w_i, m_q those of a query). The size of a preference counts, not only
    its sign. Of `Pairs` it minimises |w|^2 + C/T times the sum of weight |magnitude - d|^n,
    d = s_i - s_j, T their total weight. No pair is listed.

    With n = 2 and one query it is `RankRLS` with alpha = m/(2 C), by default 5.

    Parameters
    ----------
    n : 2 or 1, default 2
        The power of an error. 2 is least squares; 1 is less sensitive to large errors.
    solver : "auto", "cg", "direct" or "bundle", default "auto"
        For n = 2, "direct" is the closed form: primal (Eq. 27) where rows outnumber features, else
        dual (Eq. 29). "cg" is conjugate gradients. "auto" takes the cheaper one, and "cg" where the
        factorisation fails; where features differ in size, it takes Newton steps preconditioned by
        the diagonal of the Hessian instead of "cg". For n = 1 it is "bundle", cutting planes.
    tol : float, default 1e-4
        For n = 2, stop when \|gradient\| <= tol \|gradient at 0\|. For n = 1, stop when the duality
        gap is at most tol times the objective, or times \|gradient at 0\|^2/4 if that is less.

    Notes
    -----
    For n = 2, an iteration costs two products with X and O(n_rows), of Pairs O(n_pairs), and a
    direct solution O(m n^2 + n^3) or O(m^2 n + m^3) for m rows of n features. For n = 1, an
    iteration costs two products with X and O(m log m). float32 X stays float32. An offset of all
    labels of a query changes nothing.

    RowBlocks are solved as by `RankRLS`; for n = 1 an iteration is one or two passes. The default C
    is exact.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, "Magnitude-preserving ranking algorithms", technical report
    TR2007-887, Courant Institute, 2007. (Eq. 28 should invert I + C' A'A, A the centred columns:
    they do not commute, but pass through. Lemma 1 and Theorem 1 fail for c_HMP, which is neither
    convex nor continuous; for the stability bounds see `pairrank.metrics.stability_bound`.)

    Examples
    --------
    >>> from pairrank import MPRank
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [10, 12, 14, 16]
    >>> MPRank(C=100).fit(X, y).coef_.round(3)
    array([1.992])
    """

    _: KW_ONLY
    n: Literal[1, 2] = 2
    solver: Literal["auto", "cg", "direct", "bundle"] = "auto"

    _solvers: ClassVar = {1: ("bundle",), 2: ("cg", "direct")}

    @property
    def _solves_kernels(self) -> bool:  # type: ignore[override]
        return self.n == 2

    def _loss(self) -> Square | Tube:
        return Square() if self.n == 2 else super()._loss()
