"""Indices of compiled code are checked in `make test-portable`, which runs all tests so.

NUMBA_BOUNDSCHECK=1 has numba check indices in code that is compiled then, not in code from a cache.
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from pairrank.compiled._jit import compiled
from pairrank.exceptions import PairrankError
from pairrank.io import read_rows


@compiled
def read(x, at):
    return x[at]


@pytest.mark.skipif(not config.BOUNDSCHECK, reason="needs NUMBA_BOUNDSCHECK=1")
def test_a_planted_index_out_of_bounds_is_found():
    read(np.zeros(8), 7)
    for at in (8, 12, -9):
        with pytest.raises(IndexError, match="out"):
            read(np.zeros(8), at)


@given(text=st.text("0123456789.:-+eE# \n\tqidnaf", max_size=60).map(str.encode))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(PairrankError):
        read_rows(io.BytesIO(text))
