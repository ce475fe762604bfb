"""Chebyshev series of many groups or rows at once, eight lanes in one vector."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
STEP = 4
"""Terms are computed in steps of so many."""

_SIZE = ir.IntType(64)
_EIGHT = ir.VectorType(ir.DoubleType(), LANES)
_FUSED = ("contract", "reassoc")


def _arithmetic(builder):
    """Return product, sum and difference, which the machine may fuse."""

    def times(a, b):
        return builder.fmul(a, b, flags=_FUSED)

    def plus(a, b):
        return builder.fadd(a, b, flags=_FUSED)

    def minus(a, b):
        return builder.fsub(a, b, flags=_FUSED)

    return times, plus, minus


def _reader(builder, context, kinds, arrays):
    """Return functions that load and store eight numbers of an array, given by its place."""
    data = [
        context.make_array(kind)(context, builder, array).data
        for kind, array in zip(kinds, arrays, strict=True)
    ]

    def pointer(array, at):
        return builder.bitcast(builder.gep(data[array], [at]), _EIGHT.as_pointer())

    def load(array, at):
        numbers = builder.load(pointer(array, at))
        numbers.align = 8
        return numbers

    def store(numbers, array, at):
        builder.store(numbers, pointer(array, at)).align = 8

    return load, store


@intrinsic
def add_terms(typing_context, twice, q, last, before, stride, size, lane, moments, at):
    """Write the sums of q times the next four Chebyshev polynomials over the rows of eight lanes.

    The rows are at lane, lane + stride, .. < size of flat arrays; `last` and `before` have the two
    polynomials before, `twice` twice the argument. The sums go to moments[at], [at + stride], ..
    """

    def generate(context, builder, signature, arguments):
        *arrays, stride, size, lane, moments, at = arguments
        kinds = [*signature.args[:4], signature.args[7]]
        load, store = _reader(builder, context, kinds, [*arrays, moments])
        times, plus, minus = _arithmetic(builder)
        zeros = ir.Constant(_EIGHT, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(STEP)]
        for total in sums:
            builder.store(zeros, total)
        with cgutils.for_range_slice(builder, lane, size, stride, intp=_SIZE) as (row, _):
            x, w, newest, older = (load(array, row) for array in range(4))
            for total in sums:
                newest, older = minus(times(x, newest), older), newest
                builder.store(plus(builder.load(total), times(w, newest)), total)
            store(newest, 2, row)
            store(older, 3, row)
        for total in sums:
            store(builder.load(total), 4, at)
            at = builder.add(at, stride)
        return context.get_dummy_value()

    index = types.int64
    return types.void(twice, q, last, before, *3 * (index,), moments, index), generate


@intrinsic
def add_back(typing_context, twice, here, later, stride, size, lane, series, at):
    """Take four steps of Clenshaw's recurrence, for the rows of eight lanes.

    The coefficients are series[at], [at + stride], ..; the last one is taken first. The rest is as
    for `add_terms`.
    """

    def generate(context, builder, signature, arguments):
        *arrays, stride, size, lane, series, at = arguments
        kinds = [*signature.args[:3], signature.args[6]]
        load, store = _reader(builder, context, kinds, [*arrays, series])
        times, plus, minus = _arithmetic(builder)
        coefficients = []
        for _ in range(STEP):
            coefficients.append(load(3, at))
            at = builder.add(at, stride)
        with cgutils.for_range_slice(builder, lane, size, stride, intp=_SIZE) as (row, _):
            x, newest, older = (load(array, row) for array in range(3))
            for coefficient in reversed(coefficients):
                newest, older = minus(plus(coefficient, times(x, newest)), older), newest
            store(newest, 1, row)
            store(older, 2, row)
        return context.get_dummy_value()

    index = types.int64
    return types.void(twice, here, later, *3 * (index,), series, index), generate


@intrinsic
def times_table(typing_context, vector, first, size, table, start, stride, out):
    """Write the products of a vector with the columns of a table, sixteen columns at once.

    out[p] is the sum of vector[first + q] * table[start + q * stride + p] over q < size, for p below
    the next multiple of 16. All arrays are flat.
    """

    def generate(context, builder, signature, arguments):
        vector, first, size, table, start, stride, out = arguments
        kinds = [signature.args[k] for k in (0, 3, 6)]
        load, store = _reader(builder, context, kinds, [vector, table, out])
        times, plus, _ = _arithmetic(builder)
        numbers = context.make_array(kinds[0])(context, builder, vector).data
        zeros = ir.Constant(_EIGHT, [0.0] * LANES)
        spread = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(2)]
        width = ir.Constant(_SIZE, 2 * LANES)
        with cgutils.for_range_slice(builder, _SIZE(0), size, width, intp=_SIZE) as (column, _):
            for total in sums:
                builder.store(zeros, total)
            with cgutils.for_range(builder, size, intp=_SIZE) as loop:
                number = builder.load(builder.gep(numbers, [builder.add(first, loop.index)]))
                one = ir.Constant(_EIGHT, ir.Undefined)
                one = builder.insert_element(one, number, ir.IntType(32)(0))
                factor = builder.shuffle_vector(one, one, spread)
                at = builder.add(builder.add(start, builder.mul(loop.index, stride)), column)
                for total in sums:
                    product = times(factor, load(1, at))
                    builder.store(plus(builder.load(total), product), total)
                    at = builder.add(at, _SIZE(LANES))
            for k, total in enumerate(sums):
                store(builder.load(total), 2, builder.add(column, _SIZE(k * LANES)))
        return context.get_dummy_value()

    index = types.int64
    return types.void(vector, index, index, table, index, index, out), generate
