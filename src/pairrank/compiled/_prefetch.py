"""Asking for memory before it is read."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_NUMBER, _BYTES = ir.IntType(32), ir.IntType(8).as_pointer()
_AHEAD = 2048
"""The bytes from what is read now to what is asked for: longer than memory takes to answer."""
_LINE = 64
"""The bytes of a line of the cache."""


def ask_for(builder, place):
    """Ask for the line of the cache that holds what a pointer points to; any pointer will do."""
    place = builder.bitcast(place, _BYTES)
    signature = ir.FunctionType(ir.VoidType(), [_BYTES, _NUMBER, _NUMBER, _NUMBER])
    function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    to_read, keep, data = (ir.Constant(_NUMBER, number) for number in (0, 3, 1))
    builder.call(function, [place, to_read, keep, data])


@intrinsic
def fetch_ahead(typing_context, table, start, size):
    """Ask for what lies 2 kB behind table[start : start + size], flat and C-contiguous.

    Processors see that memory is read in order, but stop at the borders of pages. It changes no
    result, and the end of the table does not matter.
    """

    def generate(context, builder, signature, arguments):
        _, start, size = arguments
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        bytes_each = 4 if isinstance(data.type.pointee, ir.FloatType) else 8
        first = builder.add(start, ir.Constant(start.type, _AHEAD // bytes_each))
        stop, step = builder.add(first, size), ir.Constant(start.type, _LINE // bytes_each)
        with cgutils.for_range_slice(builder, first, stop, step, intp=start.type) as (at, _):
            ask_for(builder, builder.gep(data, [at]))
        return context.get_dummy_value()

    return types.void(table, types.int64, types.int64), generate
