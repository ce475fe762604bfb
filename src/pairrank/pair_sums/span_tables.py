"""Chebyshev coefficients of a function of differences over one interval, for `sums.spans`."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from pairrank.pair_sums.profiles import Profile

FloatArray = NDArray[np.float64]

LEAST, MOST = -8, 10
"""Tables are for radii 2**(LEAST/2), 2**((LEAST + 1)/2), .., 2**(MOST/2)."""
MOST_TERMS = 96


class SpanTables(NamedTuple):
    """The coefficients of several functions, and how many terms of them count.

    Attributes
    ----------
    tables : tuple of float64 arrays of shape (n_tables, MOST_TERMS, MOST_TERMS)
        One a function: [t, p, q] belongs to T_p(u_i) T_q(u_j) in k(radius_t (u_i - u_j)).
    degrees : int64 array of shape (n_tables,)
    """

    tables: tuple[FloatArray, ...]
    degrees: NDArray[np.int64]


@functools.lru_cache(maxsize=32)
def span_tables(profiles: tuple[Profile, ...], eps: float) -> SpanTables:
    r"""Return the tables of all radii up to where MOST_TERMS terms are no longer within eps.

    With u, u' in [-1, 1], k(r (u - u')) is the sum of c_pq T_p(u) T_q(u'), and since \|T_p\| <= 1,
    leaving out all terms with p or q from n on is wrong by at most the sum of their \|c_pq\|. The
    coefficients come from a cosine transform of k at twice as many Chebyshev nodes as there may be
    terms; what that folds onto them are terms beyond, smaller by orders than those left out.

    Parameters
    ----------
    profiles : tuple of Profile
    eps : float
        What every function may be off by.
    """
    tables: list[list[FloatArray]] = [[] for _ in profiles]
    degrees = []
    for step in range(LEAST, MOST + 1):
        found = [_coefficients(profile, step) for profile in profiles]
        degree = max(_terms(coefficients, eps) for coefficients in found)
        if degree > MOST_TERMS:
            break
        degrees.append(max(degree, 2))
        for table, coefficients in zip(tables, found, strict=True):
            n_known = min(coefficients.shape[0], MOST_TERMS)
            table.append(np.zeros((MOST_TERMS, MOST_TERMS)))
            table[-1][:n_known, :n_known] = coefficients[:n_known, :n_known]
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
    """Return the least n such that the terms with p or q from n on sum to eps at the most."""
    size = np.abs(coefficients)
    size = np.where(size < 1e-17 * size.max(), 0.0, size)
    inside = np.cumsum(np.cumsum(size, axis=0), axis=1).diagonal()
    left = np.append(inside[-1], inside[-1] - inside)
    return int(np.argmax(left <= eps))
