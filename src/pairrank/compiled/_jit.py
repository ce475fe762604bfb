"""The one decorator under which everything here is compiled."""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from pairrank.exceptions import CacheWarning

Function = TypeVar("Function", bound=Callable[..., Any])

_FASTMATH = {"reassoc", "contract"}


def compiled(function: Function) -> Function:
    """Compile `function` at its first call, cached on disk, one thread, IEEE arithmetic."""
    return _compile(function, fastmath=False)


def compiled_reassociating(function: Function) -> Function:
    """Like `compiled`, for reductions whose order may change so that they vectorise."""
    return _compile(function, fastmath=_FASTMATH)


def _compile(function: Function, **options: Any) -> Function:
    try:
        dispatcher = numba.njit(function, cache=True, nogil=True, error_model="numpy", **options)
    except RuntimeError:
        _warn_once()
        return numba.njit(function, cache=False, nogil=True, error_model="numpy", **options)
    _stamp_with_all_sources(dispatcher)
    return dispatcher


def _stamp_with_all_sources(dispatcher: Any) -> None:
    """Make the cached code of a function depend on every file here, not on its own alone.

    numba stamps its cache with the time and size of the function's own file, so that after a change
    in a callee elsewhere the old machine code would run on.
    """
    index = dispatcher._cache._cache_file
    index._source_stamp = (index._source_stamp, _sources_digest())


@functools.cache
def _sources_digest() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


@functools.cache
def _warn_once() -> None:
    warnings.warn(
        "no folder can be written for compiled code, so it is compiled anew in every process; "
        "set the environment variable NUMBA_CACHE_DIR to a folder that can be written",
        CacheWarning,
        stacklevel=4,
    )
