"""Asking for memory before it is read."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_INDEX = ir.IntType(32)
_AHEAD = 2048
"""The bytes from what is read now to what is asked for: longer than memory takes to answer."""
_LINE = 64
"""The bytes of a line of the cache."""


@intrinsic
def fetch_ahead(typing_context, table, start, size):
    """Ask for what lies 2 kB behind table[start : start + size], flat and C-contiguous.

    Processors see that memory is read in order, but stop at the borders of pages. It changes no
    result, and the end of the table does not matter.
    """

    def generate(context, builder, signature, arguments):
        _, start, size = arguments
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        number = 4 if isinstance(data.type.pointee, ir.FloatType) else 8
        first = builder.add(start, ir.Constant(start.type, _AHEAD // number))
        stop, step = builder.add(first, size), ir.Constant(start.type, _LINE // number)
        kinds = [data.type, _INDEX, _INDEX, _INDEX]
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.prefetch.p0"
        )
        is_read, keep, of_data = (ir.Constant(_INDEX, number) for number in (0, 3, 1))
        with cgutils.for_range_slice(builder, first, stop, step, intp=start.type) as (at, _):
            builder.call(function, [builder.gep(data, [at]), is_read, keep, of_data])
        return context.get_dummy_value()

    return types.void(table, types.int64, types.int64), generate
