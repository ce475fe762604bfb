"""How numba compiles the functions of this folder: a callee only as part of its callers.

By itself numba optimises every function, adds entries for Python and for C, makes machine code of
it, and does most of that again in every caller. Here a function that another one calls is read by
its caller before it is optimised, and machine code is made for functions that Python calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.registry import CPUDispatcher

from pairrank.compiled._collector import paused_collection


class _Source(JITCodeLibrary):
    """The code of a callee for its callers to link, optimised first.

    Reassociating loops need that: read into a large caller, some no longer vectorise and take up to
    four times as long.
    """

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _Read(_Source):
    """The code as it was read."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass


class _CalleeCompiler(CompilerBase):
    """Stops before there is machine code."""

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        library = _Source if state.flags.fastmath else _Read
        state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class _Callee(CPUDispatcher):
    """A function as its callers see it; Python cannot call it."""

    def add_overload(self, result: Any) -> None:
        """Let callers find the code under an entry point that stands for none."""
        result = result._replace(entry_point=object())
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


class Function(CPUDispatcher):
    """A function that Python and compiled functions may call."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions={**options, "no_cfunc_wrapper": True})
        self._options = options

    @functools.cached_property
    def _callee(self) -> _Callee:
        return _Callee(self.py_func, targetoptions=self._options, pipeline_class=_CalleeCompiler)

    def compile(self, signature: Any) -> Any:
        """Compile or load the function for calls from Python."""
        with paused_collection():
            return super().compile(signature)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile the function for a call from a compiled function, once for all constants."""
        args = tuple(types.unliteral(each) for each in args)
        return self._callee.get_call_template(args, kws)

    def get_overload(self, signature: Any) -> Any:
        """Return the entry point that a compiled function calls."""
        return self._callee.get_overload(signature)
