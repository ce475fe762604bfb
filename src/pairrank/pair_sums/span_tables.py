"""Double Chebyshev series of k(s - s') over an interval of scores, by the interval's radius."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from pairrank._protocols import FloatArray
from pairrank.compiled.spans import STEP
from pairrank.pair_sums.profiles import Profile

IntArray = NDArray[np.int64]

LEAST, MOST = -8, 10
"""Tables are for radii 2**(LEAST/2), 2**((LEAST + 1)/2), .., 2**(MOST/2)."""
MOST_TERMS = 96


class SpanTables(NamedTuple):
    """The coefficients of some functions, and the numbers of terms to use."""

    tables: tuple[FloatArray, ...]
    """(n_tables, MOST_TERMS, MOST_TERMS) per function: [t, q, p] is the coefficient of
    T_p(u_i) T_q(u_j) in k(radius_t (u_i - u_j))."""
    degrees: IntArray
    """The number of terms of each table, (n_tables,): multiples of STEP."""


@functools.lru_cache(maxsize=32)
def span_tables(profiles: tuple[Profile, ...], eps: float) -> SpanTables:
    r"""Return the tables of all radii for which MOST_TERMS terms have an error of at most eps.

    With u, u' in [-1, 1], k(r (u - u')) is the sum of c_pq T_p(u) T_q(u'). Since \|T_p\| <= 1, the
    error of leaving out all terms with p >= n or q >= n is at most the sum of their \|c_pq\|. The
    coefficients come from a cosine transform of k at twice as many Chebyshev nodes as terms.
    Aliasing adds only later terms, which are smaller by orders than those left out.
    """
    tables: list[list[FloatArray]] = [[] for _ in profiles]
    degrees = []
    for step in range(LEAST, MOST + 1):
        found = [_coefficients(profile, step) for profile in profiles]
        degree = max(_terms(coefficients, eps) for coefficients in found)
        if degree > MOST_TERMS:
            break
        degrees.append(-(-degree // STEP) * STEP)
        for table, coefficients in zip(tables, found, strict=True):
            n_known = min(coefficients.shape[0], MOST_TERMS)
            table.append(np.zeros((MOST_TERMS, MOST_TERMS)))
            table[-1][:n_known, :n_known] = coefficients[:n_known, :n_known].T
    return SpanTables(tuple(np.array(table) for table in tables), np.array(degrees))


@functools.lru_cache(maxsize=256)
def _coefficients(profile: Profile, step: int) -> FloatArray:
    n_nodes = 48 if step <= 0 else 96 if step <= 4 else 2 * MOST_TERMS
    u = np.cos(np.pi * (np.arange(n_nodes) + 0.5) / n_nodes)
    values = profile.function(2.0 ** (0.5 * step) * (u[:, np.newaxis] - u))
    result = fft.dctn(values) / n_nodes**2
    result[0] /= 2.0
    result[:, 0] /= 2.0
    return np.asarray(result)


def _terms(coefficients: FloatArray, eps: float) -> int:
    """Return the least n such that the terms with p >= n or q >= n sum to at most eps."""
    size = np.abs(coefficients)
    size = np.where(size < 1e-17 * size.max(), 0.0, size)
    inside = np.cumsum(np.cumsum(size, axis=0), axis=1).diagonal()
    return int(np.argmax(np.append(inside[-1], inside[-1] - inside) <= eps))
