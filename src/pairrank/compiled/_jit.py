"""The decorators that compile the functions of this folder, and their cache on disk."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys

from pairrank.compiled._callees import Function as _Function
from pairrank.exceptions import CacheWarning

Function = TypeVar("Function", bound=Callable[..., Any])

_LOGGER = logging.getLogger("pairrank")
_OPTIONS = {"nopython": True, "boundscheck": None, "nogil": True, "error_model": "numpy"}
_FASTMATH = {"reassoc", "contract"}
_IMPORTS = re.compile(r"^ *(?:from|import) (?:\\\n|[^\n(]|\([^)]*\))*", re.MULTILINE)
_WORDS = re.compile(r"\w+")
_ELSEWHERE = "set the environment variable NUMBA_CACHE_DIR to a folder that can be written"


def compiled(function: Function) -> Function:
    """Compile `function` at its first call, cached on disk, one thread, IEEE arithmetic."""
    return _compile(function, fastmath=False)


def compiled_reassociating(function: Function) -> Function:
    """Like `compiled`, for reductions whose order may change so that they vectorise."""
    return _compile(function, fastmath=_FASTMATH)


def inlined_reassociating(function: Function) -> Function:
    """Like `compiled_reassociating`, and inlined whatever its size, so that callers vectorise."""
    return _compile(function, fastmath=_FASTMATH, forceinline=True)


def _compile(function: Function, **options: Any) -> Function:
    dispatcher = _Function(function, {**_OPTIONS, **options})
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError:
        _warn_once(
            "no folder can be written for compiled code, so it is compiled anew in every process; "
            + _ELSEWHERE
        )
    return dispatcher


class _Code(CompileResultCacheImpl):
    """What is kept of a compiled function: not the environments of numba's own functions.

    They are for Python objects, which compiled functions here never touch, and loading them imports
    the modules of numba that define them: a fifth of the loading of code.
    """

    def reduce(self, data: Any) -> Any:
        """Return what is kept, to be pickled."""
        *parts, environments = super().reduce(data)
        own = (each for each in environments if each.globals["__name__"].startswith("pairrank."))
        return *parts, tuple(own)


class _Cache(FunctionCache):
    """numba's cache of one function; where it fails, the function is compiled and a warning given.

    It fails where a disk is full, a file is torn or empty, or may not be read.
    """

    _impl_class = _Code

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        source = function.__code__.co_filename
        self._cache_file = _CodeFiles(self.cache_path, self._impl.filename_base, source)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for this signature, or None."""
        found = None
        with self._warned():
            rtsys.initialize(target_context)
            found = self._load_overload(sig, target_context)
        if found is None and next(_misses) == 0:
            _LOGGER.info("compiling for this machine, once; this takes 1 to 15 s per kind of model")
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function for later processes."""
        with self._warned():
            super().save_overload(sig, data)

    @contextlib.contextmanager
    def _warned(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            _warn_once(
                f"compiled code cannot be kept in {self.cache_path} or read from there "
                f"({type(error).__name__}: {error}), so it is compiled anew; free some space there "
                f"or delete the folder, or {_ELSEWHERE}"
            )


class _CodeFiles(IndexDataCacheFile):
    """The files of one function: one for each signature, processor and state of its sources.

    numba's own index watches the file of the function only, so that after a change in a function
    that it calls the old code would run on. It is also written without a lock: two processes that
    compile at once may store code under each other's signatures. Here the name of a file says it
    all. A file that cannot be read is deleted, so that the next process finds a new one.
    """

    def load(self, key: Any) -> Any:
        """Return what was saved under `key`, or None."""
        name = self._name(key)
        try:
            return self._load_data(name)
        except FileNotFoundError:
            return None
        except Exception:
            Path(self._data_path(name)).unlink(missing_ok=True)
            raise

    def save(self, key: Any, data: Any) -> None:
        """Write `data` under `key`: to a temporary file that is then renamed."""
        self._save_data(self._name(key), data)

    def _name(self, key: Any) -> str:
        state = repr((self._version, sources_digest(Path(self._source_stamp)), key))
        digest = hashlib.sha256(state.encode()).digest()
        return str(self._data_name(int.from_bytes(digest[:8], "little")))


@functools.cache
def sources_digest(source: Path) -> str:
    """Return a hash of a compiled file and of all files of this folder that it needs."""
    needed, waiting = {source}, [source]
    while waiting:
        new = _imported_here(waiting.pop()) - needed
        needed |= new
        waiting += new
    digest = hashlib.sha256()
    for path in sorted(needed):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@functools.cache
def _imported_here(source: Path) -> frozenset[Path]:
    """Return the files of this folder that a file imports.

    Every word of an import statement counts that is the name of a file here, also in a docstring:
    to parse the files would take a fifth of a first fit.
    """
    words = {
        word for found in _IMPORTS.findall(source.read_text()) for word in _WORDS.findall(found)
    }
    return frozenset(path for path in _files_here() if path.stem in words)


@functools.cache
def _files_here() -> tuple[Path, ...]:
    return tuple(Path(__file__).parent.glob("*.py"))


_warnings, _misses = itertools.count(), itertools.count()

_COMPILING = event.TimingListener()
event.register("numba:compile", _COMPILING)


def compile_seconds() -> float:
    """Return the seconds that this process has compiled for, without those of loading code."""
    return float(_COMPILING.duration) if _COMPILING.done else 0.0


def _warn_once(message: str) -> None:
    if next(_warnings) == 0:
        warnings.warn(message, CacheWarning, stacklevel=4)
