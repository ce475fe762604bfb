"""Chebyshev series of many groups or rows at once, eight lanes in one vector."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from pairrank.compiled._lanes import EIGHT, LANES, SIZE, spread

STEP = 4
"""Terms are computed in steps of so many."""

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
        if isinstance(kind, types.Array)
        else None
        for kind, array in zip(kinds, arrays, strict=True)
    ]

    def pointer(array, at):
        return builder.bitcast(builder.gep(data[array], [at]), EIGHT.as_pointer())

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


@intrinsic
def ends_by_lane(typing_context, scores, size, out):
    """Write the least of each lane of whole vectors to out[:8], the greatest to out[8:16]."""

    def generate(context, builder, signature, arguments):
        scores, size, out = arguments
        load, store = _reader(builder, context, [signature.args[k] for k in (0, 2)], [scores, out])
        ends = [cgutils.alloca_once_value(builder, load(0, SIZE(0))) for _ in range(2)]
        step = SIZE(LANES)
        with cgutils.for_range_slice(builder, step, size, step, intp=SIZE) as (row, _):
            here = load(0, row)
            for end, order in zip(ends, ("<", ">"), strict=True):
                known = builder.load(end)
                further = builder.fcmp_ordered(order, here, known)
                builder.store(builder.select(further, here, known), end)
        for k, end in enumerate(ends):
            store(builder.load(end), 1, SIZE(k * LANES))
        return context.get_dummy_value()

    return types.void(scores, types.int64, out), generate


def _argument(builder, load, arithmetic, centre, per_radius, row):
    """Return u = (s - centre) per_radius of the rows, and 2 u."""
    times, plus, minus = arithmetic
    u = times(minus(load(0, row), centre), per_radius)
    return u, plus(u, u)


def _lanes_of(builder, kind, number, load, lane):
    """Return eight lanes of an array, or a number in all of them."""
    return spread(builder, number) if isinstance(kind, types.Float) else load(1, lane)


def _add_terms(is_folded):
    @intrinsic
    def add_terms(
        typing_context, s, centre, per_radius, q, last, before, stride, size, lane, moments, at,
        is_first,
    ):  # fmt: skip
        """Write the sums of q times the next four Chebyshev polynomials of (s - centre) per_radius.

        The rows are at lane, lane + stride, .. < size of flat arrays, eight lanes each. `centre`
        has a number per lane, or is one. `last` and `before` have the two polynomials before and
        get the last two; they are only written if `is_first`: the first polynomial is 1. The sums
        by lane go to moments[at], [at + stride], .., or those of all lanes to moments[at : at + 4].
        """

        def generate(context, builder, signature, arguments):
            s, centre, per_radius, *arrays, stride, size, lane, moments, at, is_first = arguments
            kinds = [signature.args[k] for k in (0, 1, 3, 4, 5, 9)]
            known = [s, centre, *arrays, moments]
            load, store = _reader(builder, context, kinds, known)
            arithmetic = times, plus, minus = _arithmetic(builder)
            centre = _lanes_of(builder, kinds[1], centre, load, lane)
            per_radius, ones = spread(builder, per_radius), ir.Constant(EIGHT, [1.0] * LANES)
            zeros = ir.Constant(EIGHT, [0.0] * LANES)
            sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(STEP)]
            for total in sums:
                builder.store(zeros, total)
            with cgutils.for_range_slice(builder, lane, size, stride, intp=SIZE) as (row, _):
                u, x = _argument(builder, load, arithmetic, centre, per_radius, row)
                w = load(2, row)
                newest = builder.select(is_first, u, load(3, row))
                older = builder.select(is_first, minus(times(x, u), ones), load(4, row))
                for total in sums:
                    newest, older = minus(times(x, newest), older), newest
                    builder.store(plus(builder.load(total), times(w, newest)), total)
                store(newest, 3, row)
                store(older, 4, row)
            totals = [builder.load(total) for total in sums]
            if is_folded:
                store(_folded(builder, totals), 5, at)
            else:
                for total in totals:
                    store(total, 5, at)
                    at = builder.add(at, stride)
            return context.get_dummy_value()

        index, number = types.int64, types.float64
        sizes = (*3 * (index,), moments, index, types.boolean)
        return types.void(s, centre, number, q, last, before, *sizes), generate

    return add_terms


add_terms = _add_terms(False)
add_folded_terms = _add_terms(True)


def _add_back(is_spread):
    @intrinsic
    def add_back(
        typing_context, s, centre, per_radius, q, own, here, later, stride, size, lane, series, at,
        is_first, is_last,
    ):  # fmt: skip
        """Take four steps of Clenshaw's recurrence, for the rows of eight lanes.

        The coefficients by lane are series[at], [at + stride], .., or those of all lanes are
        series[at : at + 4]; the last one is taken first. `here` and `later` keep the recurrence:
        they are only written if `is_first`, and if `is_last`, `here` gets the values of the series
        less own * q. The rest is as for `add_terms`.
        """

        def generate(context, builder, signature, arguments):
            s, centre, per_radius, q, own, *arrays = arguments
            here, later, stride, size, lane, series, at, is_first, is_last = arrays
            kinds = [signature.args[k] for k in (0, 1, 3, 5, 6, 10)]
            known = [s, centre, q, here, later, series]
            load, store = _reader(builder, context, kinds, known)
            arithmetic = times, plus, minus = _arithmetic(builder)
            centre = _lanes_of(builder, kinds[1], centre, load, lane)
            per_radius, own = spread(builder, per_radius), spread(builder, own)
            zeros = ir.Constant(EIGHT, [0.0] * LANES)
            numbers = context.make_array(kinds[5])(context, builder, series).data
            coefficients = []
            for k in range(STEP):
                if is_spread:
                    number = builder.load(builder.gep(numbers, [builder.add(at, SIZE(k))]))
                    coefficients.append(spread(builder, number))
                else:
                    coefficients.append(load(5, at))
                    at = builder.add(at, stride)
            with cgutils.for_range_slice(builder, lane, size, stride, intp=SIZE) as (row, _):
                u, x = _argument(builder, load, arithmetic, centre, per_radius, row)
                newest, older = (builder.select(is_first, zeros, load(k, row)) for k in (3, 4))
                for coefficient in reversed(coefficients):
                    newest, older = minus(plus(coefficient, times(x, newest)), older), newest
                found = minus(newest, plus(times(u, older), times(own, load(2, row))))
                store(builder.select(is_last, found, newest), 3, row)
                store(older, 4, row)
            return context.get_dummy_value()

        index, number = types.int64, types.float64
        sizes = (*3 * (index,), series, index, types.boolean, types.boolean)
        return types.void(s, centre, number, q, number, here, later, *sizes), generate

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
        zeros = ir.Constant(EIGHT, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zeros) for _ in range(2)]
        columns = cgutils.for_range_slice(builder, SIZE(0), size, SIZE(2 * LANES), intp=SIZE)
        with columns as (column, _):
            for total in sums:
                builder.store(zeros, total)
            rows = cgutils.for_range_slice(builder, SIZE(0), size, SIZE(STEP), intp=SIZE)
            with rows as (row, _):
                at = builder.add(builder.add(start, builder.mul(row, stride)), column)
                for k in range(STEP):
                    place = builder.add(first, builder.add(row, SIZE(k)))
                    factor = spread(builder, builder.load(builder.gep(numbers, [place])))
                    for half, total in enumerate(sums):
                        entries = load(1, builder.add(at, SIZE(half * LANES)))
                        builder.store(plus(builder.load(total), times(factor, entries)), total)
                    at = builder.add(at, stride)
            for half, total in enumerate(sums):
                store(builder.load(total), 2, builder.add(column, SIZE(half * LANES)))
        return context.get_dummy_value()

    index = types.int64
    return types.void(vector, index, index, table, index, index, out), generate
