"""fast_erfc_sum: weighted sums of erfc at many targets, in linear time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pairrank._protocols import FloatArray
from pairrank._validation import check_numbers
from pairrank.exceptions import PairrankError
from pairrank.pair_sums.papers.beaulieu import SeriesSum
from pairrank.pair_sums.plan import check_eps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_PAIRS_AT_ONCE = 1 << 22
_FEW_PAIRS = 1500
METHODS = ("auto", "boxes", "beaulieu", "direct")
_FAR = 1e150
"""Beyond, boxes are replaced by series."""
_MOST_WEIGHT = 0.1 * np.finfo(np.float64).max


def fast_erfc_sum(
    sources: ArrayLike,
    targets: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    eps: float = 1e-6,
    method: str = "auto",
) -> FloatArray:
    r"""Sum weighted complementary error functions at every target, in linear time.

    .. math:: E(y_j) = \sum_{i=1}^{N} q_i \, \mathrm{erfc}(y_j - z_i), \qquad j = 1, \dots, M,

    with an error of at most eps :math:`Q_{abs}`, :math:`Q_{abs} = \sum_i |q_i|`, at every target
    (Raykar, Duraiswami & Krishnapuram 2007, Eq. 4). With normal kernels it is a smoothed empirical
    distribution function: the sum of weight q over normal distribution functions Phi((t - m)/s) is
    ``fast_erfc_sum(-m / (s * 2**0.5), -t / (s * 2**0.5), q) / 2``. So besides pairwise ranking it
    is useful for kernel estimates of distribution functions, smooth ranks, probit models and soft
    counts of exceedances.

    Parameters
    ----------
    sources : array-like of shape (n_sources,)
        z, finite numbers in any order.
    targets : array-like of shape (n_targets,)
        y, finite numbers in any order.
    weights : array-like of shape (n_sources,), optional
        q, finite numbers of any sign; None: all are 1.
    eps : float, default=1e-6
        The error allowed per unit of weight, greater than 0 and less than 1.
    method : str, default="auto"
        One of

        - "auto": "direct" up to 1,500 pairs, where it is faster, else "boxes";
        - "boxes": the box sum, `pairrank.pair_sums.box_sum.box_sum`, the fastest in linear time;
        - "beaulieu": the series, clusters and parameters of the paper, Section 5, Eqs. 5 to 11;
        - "direct": every pair.

    Returns
    -------
    float64 array of shape (n_targets,)
        E at each target.

    Raises
    ------
    PairrankError
        If an input is not finite or not one-dimensional, lengths differ, the absolute weights sum
        to more than 1e307, `eps` is not between 0 and 1, or the method is unknown.

    See Also
    --------
    scipy.special.erfc : The function that is summed.

    Notes
    -----
    Costs for N sources and M targets: "boxes" O(N + M); "beaulieu" O(p N + p l M), with p = 15
    terms at eps 1e-6 and 33 at 1e-13, and at most l = 13 clusters (the paper has (p l + m) M; here
    the m clusters above a target are one number); "direct" O(N M). See `benchmarks/erfc_sum.py` for
    times.

    Rounding adds about 1e-14 Q_abs to the error eps Q_abs. The smallest eps is 1e-13 by boxes and
    1e-16 by series. The error of "direct" is 1e-15 Q_abs. The bounds and their proofs are in
    `pairrank.pair_sums.papers.beaulieu.SeriesRule` and `pairrank.pair_sums.profiles.error_bound`.
    Differences y - z are formed between near points only: an offset of all points costs no digits
    beyond those that the points themselves have lost, and points 1e300 apart cost no more memory
    than others. Where a point lies beyond 1e150, "boxes" uses the series, with the same bound.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank import fast_erfc_sum
    >>> fast_erfc_sum([0.0, 1.0, 1e300], [-9.0, 0.0, 9.0], [1.0, -0.5, 2.0]).round(4)
    array([5.    , 4.0786, 4.    ])
    """
    z, y = check_numbers(sources, "sources"), check_numbers(targets, "targets")
    q = np.empty(0) if weights is None else check_numbers(weights, "weights", z.size)
    with np.errstate(over="ignore"):
        total = np.abs(q).sum()
    if not total <= _MOST_WEIGHT:
        raise PairrankError(
            f"the absolute weights sum to {total:g}, and twice that must be finite: scale them "
            "down, and the result up"
        )
    check_eps(eps)
    if not isinstance(method, str) or method not in METHODS:
        names = ", ".join(map(repr, METHODS))
        raise PairrankError(
            f"there is no method {method!r} for a sum of erfc; choose one of {names}"
        )
    if not z.size or not y.size:
        return np.zeros(y.size)
    if method == "direct" or (method == "auto" and z.size * y.size <= _FEW_PAIRS):
        return _by_pairs(z, y, q)
    is_far = max(-z.min(), z.max(), -y.min(), y.max()) > _FAR
    if method in ("auto", "boxes") and not is_far:
        from pairrank.pair_sums.box_sum import box_sum
        from pairrank.pair_sums.profiles import ERFC

        return box_sum(ERFC, z, y, q if q.size else None, eps=eps)
    return SeriesSum(z, q, float(eps)).at(y)


def _by_pairs(z: FloatArray, y: FloatArray, q: FloatArray) -> FloatArray:
    """Sum every pair, in parts between which an interrupt can be handled."""
    from pairrank.compiled.beaulieu import erfc_sums

    out = np.empty(y.size)
    at_once = max(1, _PAIRS_AT_ONCE // z.size)
    for low in range(0, y.size, at_once):
        part = slice(low, low + at_once)
        erfc_sums(z, q, y[part], out[part])
    return out
