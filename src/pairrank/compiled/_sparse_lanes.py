"""Products of one CSR row: inner products in eight lanes, weighted sums, entries fetched ahead."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from pairrank.compiled._lanes import (
    DOUBLE,
    EIGHT,
    INDEX,
    LANES,
    SIZE,
    by_eights,
    bytes_of,
    constant,
    lane_sum,
    load,
    load_own,
    masked,
    spread,
)
from pairrank.compiled._prefetch import ask_for

_AHEAD = 512
"""Entries are fetched into the cache so many places before they are read: processors do not fetch
ahead beyond a page of memory."""
_ALL = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [1] * LANES)


def _fetch_ahead(builder, *places):
    """Ask for what is `_AHEAD` numbers behind some pointers."""
    for place in places:
        ask_for(builder, builder.gep(place, [constant(_AHEAD)]))


def _places(builder, indices, at, mask):
    """Return eight indices as 64-bit numbers; those outside a mask are 0."""
    numbers = load_own(builder, indices, at, mask)
    wide = ir.VectorType(SIZE, LANES)
    return numbers if numbers.type == wide else builder.zext(numbers, wide)


def _gathered(builder, table, places, mask):
    """Return eight numbers of a table as float64; those outside a mask are 0."""
    kind = table.type.pointee
    size = bytes_of(kind)
    vector, pointers = ir.VectorType(kind, LANES), ir.VectorType(kind.as_pointer(), LANES)
    steps = builder.mul(places, ir.Constant(places.type, [size] * LANES))
    start = spread(builder, builder.ptrtoint(table, SIZE))
    mask = _ALL if mask is None else mask
    arguments = [pointers, INDEX, mask.type, vector]
    gather = masked(builder, "gather", vector, arguments, f"v{LANES}f{8 * size}.v{LANES}p0")
    at = builder.inttoptr(builder.add(start, steps), pointers)
    zeros = ir.Constant(vector, [0.0] * LANES)
    numbers = builder.call(gather, [at, ir.Constant(INDEX, size), mask, zeros])
    return numbers if kind == DOUBLE else builder.fpext(numbers, EIGHT)


def _arrays(context, builder, signature, arguments, *which):
    """Return pointers to the numbers of some arguments, which are arrays."""
    return (
        context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in which
    )


@intrinsic
def sparse_product(typing_context, data, indices, start, stop, vector, out, at):
    """Set out[at] to the product of entries start to stop with a vector.

    Entry k of the row is added to lane k % 8, in float64. Data and vector are float32 or float64,
    indices are integers that are not negative, `out` is float64.
    """

    def generate(context, builder, signature, arguments):
        data, indices, table, results = _arrays(context, builder, signature, arguments, 0, 1, 4, 5)
        start, stop, at = (arguments[k] for k in (2, 3, 6))
        data, indices = builder.gep(data, [start]), builder.gep(indices, [start])
        total = cgutils.alloca_once_value(builder, ir.Constant(EIGHT, [0.0] * LANES))

        def add(place, mask=None):
            _fetch_ahead(builder, *(builder.gep(each, [place]) for each in (data, indices)))
            factors = _gathered(builder, table, _places(builder, indices, place, mask), mask)
            product = builder.fmul(load(builder, data, place, mask), factors)
            builder.store(builder.fadd(builder.load(total), product), total)

        by_eights(builder, builder.sub(stop, start), add)
        builder.store(lane_sum(builder, builder.load(total)), builder.gep(results, [at]))
        return context.get_dummy_value()

    index = types.int64
    return types.void(data, indices, index, index, vector, out, index), generate


@intrinsic
def add_sparse_row(typing_context, data, indices, start, stop, weight, out):
    """Add entries start to stop, times a weight, to out[indices], one after another.

    The weight is float64; it is rounded to the type of `out`, which products and sums have too.
    """

    def generate(context, builder, signature, arguments):
        data, indices, results = _arrays(context, builder, signature, arguments, 0, 1, 5)
        start, stop, weight = (arguments[k] for k in (2, 3, 4))
        data, indices = builder.gep(data, [start]), builder.gep(indices, [start])
        size, kind = builder.sub(stop, start), results.type.pointee
        if kind != DOUBLE:
            weight = builder.fptrunc(weight, kind)

        def add(place):
            number = builder.load(builder.gep(data, [place]))
            number = number if number.type == kind else builder.fpext(number, kind)
            index = builder.load(builder.gep(indices, [place]))
            index = index if index.type == SIZE else builder.zext(index, SIZE)
            total = builder.gep(results, [index])
            builder.store(builder.fadd(builder.load(total), builder.fmul(number, weight)), total)

        whole = builder.and_(size, constant(-LANES))
        eights = cgutils.for_range_slice(builder, constant(0), whole, constant(LANES), intp=SIZE)
        with eights as (place, _):
            _fetch_ahead(builder, *(builder.gep(each, [place]) for each in (data, indices)))
            for k in range(LANES):
                add(builder.add(place, constant(k)))
        _fetch_ahead(builder, *(builder.gep(each, [whole]) for each in (data, indices)))
        rest = cgutils.for_range_slice(builder, whole, size, constant(1), intp=SIZE)
        with rest as (place, _):
            add(place)
        return context.get_dummy_value()

    index = types.int64
    return types.void(data, indices, index, index, types.float64, out), generate
