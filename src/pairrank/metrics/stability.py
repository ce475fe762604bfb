"""Stability bound on the true error of a magnitude-preserving ranker."""

from __future__ import annotations

import math
from typing import NamedTuple

from pairrank._validation import check_number, check_power


class StabilityBound(NamedTuple):
    """The stability bound of a magnitude-preserving ranker.

    Attributes
    ----------
    beta : float
        The most that a pair's cost changes when the pairs of one training row are left out
        (Proposition 1); it changes by at most twice that when the row is replaced.
    excess : float
        The bound on the difference of the true error and the error on the training rows.
    as_printed : float
        The bound by Corollary 1 as printed in the paper, which the paper's proof does not support.
    largest_cost : float
        (2 M)^n, the largest possible cost.
    kappa, M : float
        The arguments that the bound was computed from.
    """

    beta: float
    excess: float
    as_printed: float
    largest_cost: float
    kappa: float
    M: float

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound is no lower than the largest cost, which always holds."""
        return self.excess >= self.largest_cost


def stability_bound(
    C: float, kappa: float, M: float, m: int, n: int = 2, delta: float = 0.05
) -> StabilityBound:
    r"""Return a bound on the difference of a ranker's true error and its error on m rows.

    With probability at least 1 - delta over the draw of the rows, for `MPRank`, `SVRank` or any h
    that minimises \|h\|^2 + C/m^2 times the sum over differences of a cost c_MP^n, c_SVR^n or
    c_HR^n,

    .. math:: |R(h) - \hat R(h)| \le 4 \beta + \frac{(2M)^n}{m}
        + \bigl(2 m \beta + (2M)^n\bigr) \sqrt{\tfrac2m \log \tfrac2\delta}, \qquad
        \beta = \frac{4 C \sigma_n^2 \kappa^2}{m},\ \sigma_1 = 1,\ \sigma_2 = 4M,

    where R is the mean cost of two rows drawn independently, and R^ the mean cost over the m^2
    pairs of training rows.

    Parameters
    ----------
    C : float
        The weight of the costs, as in `MPRank`; at least 0.
    kappa : float
        The largest \|phi(x)\| = k(x, x)^(1/2) of any row. Only differences count, so the radius of
        a ball around any fixed point is enough.
    M : float
        The largest \|h(x) - y\| of any row and any h that may be learnt, up to an offset of h.
    m : int
        The number of training rows.
    n : {1, 2}, default 2
        The power of the cost.
    delta : float, default 0.05
        The probability that the bound fails, between 0 and 1.

    Returns
    -------
    StabilityBound
        `excess` is the right-hand side.

    Raises
    ------
    PairrankError
        If an argument is out of range.

    Notes
    -----
    The rows must be independent and identically distributed, in one query; the kernel, kappa and M
    must not be chosen from them. The bound is of the order (2M)^n (1 + C kappa^2)/m^(1/2), so it is
    useful for C far below m^(1/2) (the paper's "C >> 1/sqrt(m)" is a slip). It is loose: for
    simulated rows in the unit ball, labels in [-1, 1] and C = 0.5 it is 27 to 55 times the largest
    difference of thirty draws for n = 1, and 850 to 1,400 times for n = 2.

    It differs from Theorem 1 and Corollary 1 in three places. Their proofs use beta, the effect of
    leaving a row out, for replacing a row, which has twice that effect. They count the pairs
    (i, i), which cost nothing in R^, like others, a difference of at most (2M)^n/m. And M must hold
    for all possible rows, not only for the sample. Lemma 1 fails for c_HMP, which is not
    continuous.

    References
    ----------
    Cortes et al. 2007, Lemma 1, Proposition 1, Theorem 1, Corollary 1.

    Examples
    --------
    >>> bound = stability_bound(C=1.0, kappa=1.0, M=1.0, m=100_000, n=1)
    >>> round(bound.beta, 6), round(bound.excess, 3), bound.is_vacuous
    (4e-05, 0.086, False)
    """
    for value, name in ((C, "C"), (kappa, "kappa"), (M, "M")):
        check_number(value, name, inclusive=True)
    check_number(m, "m", low=1, inclusive=True, integer=True)
    check_power(n)
    check_number(delta, "delta", below=1.0)
    C, kappa, M = float(C), float(kappa), float(M)
    sigma = 1.0 if n == 1 else 4.0 * M
    largest = 2.0 * M if n == 1 else 4.0 * M * M
    step = sigma * kappa
    changed = 4.0 * C * step * step
    deviation = math.sqrt(2.0 * math.log(2.0 / delta) / m)
    excess = (4.0 * changed + largest) / m + (2.0 * changed + largest) * deviation
    printed = 2.0 * changed / m + (changed + largest) * deviation
    return StabilityBound(changed / m, excess, printed, largest, kappa, M)
