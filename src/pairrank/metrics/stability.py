"""stability_bound: how far the true error of a magnitude-preserving ranker is from the observed."""

from __future__ import annotations

import math
from typing import NamedTuple

from pairrank._validation import check_number, check_power
from pairrank.exceptions import PairrankError


class StabilityBound(NamedTuple):
    """What stability guarantees of a magnitude-preserving ranker.

    Attributes
    ----------
    beta : float
        No pair's cost changes by more when the pairs of one training row are left out
        (Proposition 1); by twice that when the row is replaced.
    excess : float
        The true error and the one on the training rows differ by no more, with the probability
        asked for.
    as_printed : float
        The same by Corollary 1 as the paper prints it, which its proof does not carry.
    largest_cost : float
        (2 M)^n, above which no cost can be.
    kappa, M : float
        What the bound was computed from.
    """

    beta: float
    excess: float
    as_printed: float
    largest_cost: float
    kappa: float
    M: float

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound tells nothing: errors never exceed the largest cost anyway."""
        return self.excess >= self.largest_cost


def stability_bound(
    C: float, kappa: float, M: float, m: int, n: int = 2, delta: float = 0.05
) -> StabilityBound:
    r"""Return how far a ranker's true error may be from its error on m training rows.

    With probability at least 1 - delta over the draw of the rows, for `MPRank`, `SVRank` or any h
    that minimises \|h\|^2 + C/m^2 times the sum over differences of a cost c_MP^n, c_SVR^n or
    c_HR^n,

    .. math:: |R(h) - \hat R(h)| \le 4 \beta + \frac{(2M)^n}{m}
        + \bigl(2 m \beta + (2M)^n\bigr) \sqrt{\tfrac2m \log \tfrac2\delta}, \qquad
        \beta = \frac{4 C \sigma_n^2 \kappa^2}{m},\ \sigma_1 = 1,\ \sigma_2 = 4M,

    R the mean cost of two rows drawn independently, R^ that over the m^2 pairs of training rows.

    Parameters
    ----------
    C : float
        The weight of the costs, as in `MPRank`; at least 0.
    kappa : float
        \|phi(x)\| = k(x, x)^(1/2) is no larger for any row; only differences count, so the radius
        of a ball about any fixed point will do.
    M : float
        \|h(x) - y\| is no larger for any row and any h that may be learnt, up to an offset of h.
    m : int
        The number of training rows.
    n : {1, 2}, default 2
        The power of the cost.
    delta : float, default 0.05
        The probability that the bound fails, between 0 and 1.

    Returns
    -------
    StabilityBound
        `excess` is the right-hand side; `is_vacuous` says where it tells nothing.

    Raises
    ------
    PairrankError
        If an argument is out of range.

    Notes
    -----
    The rows are assumed to be drawn independently and alike, as one query, and neither the kernel
    nor the limits kappa and M to be chosen by looking at them. The bound is of the order
    (2M)^n (1 + C kappa^2)/m^(1/2), so it is effective for C far below m^(1/2) (the paper's "C >>
    1/sqrt(m)" is a slip). And it is loose: of simulated rows within the unit ball, labels within
    [-1, 1] and C = 0.5 it is 27 to 55 times the largest difference of thirty draws for n = 1, 850
    to 1,400 times for n = 2, where it is vacuous even with 2,000 rows.

    It departs from Theorem 1 and Corollary 1 in three places. Their proofs replace rows at the
    price beta of leaving one out, which is half of it (so is the price of leaving one out where the
    sum is then divided by (m - 1)^2, not by m^2). They count the pairs (i, i), which cost nothing
    in R^, like others: (2M)^n/m at the most. And M must hold for all rows that may be met, not only
    for those of the sample. Lemma 1 and all that follows fail for c_HMP, which is neither convex
    nor continuous.

    References
    ----------
    Cortes et al. 2007, Lemma 1, Proposition 1, Theorem 1, Corollary 1.

    Examples
    --------
    >>> bound = stability_bound(C=1.0, kappa=1.0, M=1.0, m=100_000, n=1)
    >>> round(bound.beta, 6), round(bound.excess, 3), bound.is_vacuous
    (4e-05, 0.086, False)
    """
    _check_arguments(C, kappa, M, m, n, delta)
    C, kappa, M = float(C), float(kappa), float(M)
    sigma = 1.0 if n == 1 else 4.0 * M
    largest = 2.0 * M if n == 1 else 4.0 * M * M
    step = sigma * kappa
    changed = 4.0 * C * step * step
    deviation = math.sqrt(2.0 * math.log(2.0 / delta) / m)
    excess = (4.0 * changed + largest) / m + (2.0 * changed + largest) * deviation
    printed = 2.0 * changed / m + (changed + largest) * deviation
    return StabilityBound(changed / m, excess, printed, largest, kappa, M)


def _check_arguments(C: float, kappa: float, M: float, m: int, n: int, delta: float) -> None:
    for value, name in ((C, "C"), (kappa, "kappa"), (M, "M")):
        check_number(value, name, inclusive=True)
    check_number(m, "m", low=1, inclusive=True, integer=True)
    check_power(n)
    check_number(delta, "delta")
    if delta >= 1:
        raise PairrankError(f"delta is a probability below 1, got {delta!r}")
