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
        place = builder.bitcast(builder.gep(data[array], [at]), numbers.type.as_pointer())
        builder.store(numbers, place).align = 8

    return load, store


def _places(numbers):
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers)


def _folded(builder, vectors):
    """Return the sums of the eight lanes of each of 2^k vectors, as one vector."""
    lanes = LANES
    while lanes > 1:
        if len(vectors) > 1:
            joined = []
            for one, other in zip(vectors[::2], vectors[1::2], strict=True):
                width = one.type.count
                joined.append(builder.shuffle_vector(one, other, _places(list(range(2 * width)))))
            vectors = joined
        width = vectors[0].type.count
        own = [range(at, at + lanes) for at in range(0, width, lanes)]
        low, high = (
            _places([place for part in own for place in part[half:][: lanes // 2]])
            for half in (0, lanes // 2)
        )
        vectors = [
            builder.fadd(builder.shuffle_vector(x, x, low), builder.shuffle_vector(x, x, high))
            for x in vectors
        ]
        lanes //= 2
    return vectors[0]


def _spread(builder, number):
    """Return a vector with one number in each lane."""
    one = builder.insert_element(ir.Constant(_EIGHT, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, _places([0] * LANES))


def _add_terms(is_folded):
    @intrinsic
    def add_terms(typing_context, twice, q, last, before, stride, size, lane, moments, at):
        """Write the sums of q times the next four Chebyshev polynomials.

        The rows are at lane, lane + stride, .. < size of flat arrays, eight lanes each; `last` and
        `before` have the two polynomials before, `twice` twice the argument. The sums by lane go to
        moments[at], [at + stride], .., or those of all lanes to moments[at : at + 4].
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
            totals = [builder.load(total) for total in sums]
            if is_folded:
                store(_folded(builder, totals), 4, at)
            else:
                for total in totals:
                    store(total, 4, at)
                    at = builder.add(at, stride)
            return context.get_dummy_value()

        index = types.int64
        return types.void(twice, q, last, before, *3 * (index,), moments, index), generate

    return add_terms


add_terms = _add_terms(False)
add_folded_terms = _add_terms(True)


def _add_back(is_spread):
    @intrinsic
    def add_back(typing_context, twice, here, later, stride, size, lane, series, at):
        """Take four steps of Clenshaw's recurrence, for the rows of eight lanes.

        The coefficients by lane are series[at], [at + stride], .., or those of all lanes are
        series[at : at + 4]; the last one is taken first. The rest is as for `add_terms`.
        """

        def generate(context, builder, signature, arguments):
            *arrays, stride, size, lane, series, at = arguments
            kinds = [*signature.args[:3], signature.args[6]]
            load, store = _reader(builder, context, kinds, [*arrays, series])
            times, plus, minus = _arithmetic(builder)
            numbers = context.make_array(kinds[3])(context, builder, series).data
            coefficients = []
            for k in range(STEP):
                if is_spread:
                    number = builder.load(builder.gep(numbers, [builder.add(at, _SIZE(k))]))
                    coefficients.append(_spread(builder, number))
                else:
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

    return add_back


add_back = _add_back(False)
add_spread_back = _add_back(True)


@intrinsic
def times_table(typing_context, vector, first, size, table, start, stride, out):
    """Write the products of a vector with the columns of a table, sixteen columns at once.

    out[p] is the sum of vector[first + q] * table[start + q * stride + p] over q < size, for p
    below the next multiple of 16. All arrays are flat; `size` is a multiple of four.
    """

    def generate(context, builder, signature, arguments):
        vector, first, size, table, start, stride, out = arguments
        kinds = [signature.args[k] for k in (0, 3, 6)]
        load, store = _reader(builder, context, kinds, [vector, table, out])
        times, plus, _ = _arithmetic(builder)
        numbers = context.make_array(kinds[0])(context, builder, vector).data
        zeros = ir.Constant(_EIGHT, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(2)]
        columns = cgutils.for_range_slice(builder, _SIZE(0), size, _SIZE(2 * LANES), intp=_SIZE)
        with columns as (column, _):
            for total in sums:
                builder.store(zeros, total)
            rows = cgutils.for_range_slice(builder, _SIZE(0), size, _SIZE(STEP), intp=_SIZE)
            with rows as (row, _):
                at = builder.add(builder.add(start, builder.mul(row, stride)), column)
                for k in range(STEP):
                    place = builder.add(first, builder.add(row, _SIZE(k)))
                    factor = _spread(builder, builder.load(builder.gep(numbers, [place])))
                    for half, total in enumerate(sums):
                        entries = load(1, builder.add(at, _SIZE(half * LANES)))
                        builder.store(plus(builder.load(total), times(factor, entries)), total)
                    at = builder.add(at, stride)
            for half, total in enumerate(sums):
                store(builder.load(total), 2, builder.add(column, _SIZE(half * LANES)))
        return context.get_dummy_value()

    index = types.int64
    return types.void(vector, index, index, table, index, index, out), generate
