"""The decorators that compile the functions of this folder: numba's, with its cache on disk.

numba's cache watches the file of each function. After a change in a function that compiled
functions of other files call, delete the cache (CONTRIBUTING.md).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from pairrank.exceptions import CacheWarning

Function = TypeVar("Function", bound=Callable[..., Any])

_FASTMATH = {"reassoc", "contract"}
_functions: list[Any] = []


def compiled(function: Function, **options: Any) -> Function:
    """Compile `function` at its first call, cached on disk, one thread, IEEE arithmetic.

    `options` are further ones of numba.
    """
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        result = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder that it can write to
        _warn_of_no_cache()
        result = njit(**options)(function)
    _functions.append(result)
    return result


compiled_reassociating = functools.partial(compiled, fastmath=_FASTMATH)
"""Like `compiled`, for reductions whose order may change so that they vectorise."""
inlined_reassociating = functools.partial(compiled_reassociating, forceinline=True)
"""Like that, and inlined whatever its size, so that callers vectorise."""


def n_compiled() -> int:
    """Return how many functions this process had to compile, since no cache held them."""
    return sum(sum(function.stats.cache_misses.values()) for function in list(_functions))


@functools.cache
def _warn_of_no_cache() -> None:
    warnings.warn(
        "no folder can be written for compiled code, so it is compiled anew in every process; set "
        "the environment variable NUMBA_CACHE_DIR to a folder that can be written",
        CacheWarning,
        stacklevel=2,
    )
