"""Inner products in eight lanes, with one fixed order of additions for every row."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
"""Entry j of a row is added to lane j % 8; then lanes l and l + 4, l + 2 and l + 1 are added."""

_INDEX = ir.IntType(32)
_SIZE = ir.IntType(64)
_DOUBLE = ir.DoubleType()
_EIGHT = ir.VectorType(_DOUBLE, LANES)


def _size(number):
    return ir.Constant(_SIZE, number)


def _places(numbers):
    return ir.Constant(ir.VectorType(_INDEX, len(numbers)), numbers)


def _first(builder, count):
    """Return the mask of the first `count` lanes."""
    one = ir.Constant(ir.VectorType(_SIZE, LANES), ir.Undefined)
    one = builder.insert_element(one, count, ir.Constant(_INDEX, 0))
    counts = builder.shuffle_vector(one, one, _places([0] * LANES))
    return builder.icmp_signed("<", ir.Constant(counts.type, list(range(LANES))), counts)


def _load(builder, data, at, mask):
    """Return eight numbers as float64; those outside a mask are 0."""
    kind = data.type.pointee
    vector = ir.VectorType(kind, LANES)
    pointer = builder.bitcast(builder.gep(data, [at]), vector.as_pointer())
    align = 8 if kind == _DOUBLE else 4
    if mask is None:
        numbers = builder.load(pointer)
        numbers.align = align
    else:
        arguments = [vector.as_pointer(), _INDEX, mask.type, vector]
        masked = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(vector, arguments),
            f"llvm.masked.load.v{LANES}f{8 * align}.p0",
        )
        zeros = ir.Constant(vector, [0.0] * LANES)
        numbers = builder.call(masked, [pointer, ir.Constant(_INDEX, align), mask, zeros])
    return numbers if kind == _DOUBLE else builder.fpext(numbers, _EIGHT)


def lane_sum(builder, vector):
    """Return the sum of a vector's 2^k lanes: halves are added until one lane is left."""
    width = vector.type.count
    while width > 1:
        width //= 2
        low, high = (
            builder.shuffle_vector(vector, vector, _places(list(range(at, at + width))))
            for at in (0, width)
        )
        vector = builder.fadd(low, high)
    return builder.extract_element(vector, ir.Constant(_INDEX, 0))


def _inner_products(n_together):
    """Return an intrinsic for this many rows at once, with one order of additions for all."""

    @intrinsic
    def inner_products(typing_context, table, start, stride, vector, size, out, at):
        """Set out[at + r] to the product of table[start + r stride :][:size] with a vector.

        Arrays are flat and C-contiguous; `table` is float32 or float64, the others are float64.
        """

        def generate(context, builder, signature, arguments):
            _, start, stride, _, size, _, at = arguments
            data, weights, results = (
                context.make_array(signature.args[k])(context, builder, arguments[k]).data
                for k in (0, 3, 5)
            )
            rows = [builder.gep(data, [start])]
            for _ in range(n_together - 1):
                rows.append(builder.gep(rows[-1], [stride]))
            zeros = ir.Constant(_EIGHT, [0.0] * LANES)
            sums = [cgutils.alloca_once_value(builder, zeros) for _ in rows]

            def add(place, mask=None):
                factor = _load(builder, weights, place, mask)
                for row, total in zip(rows, sums, strict=True):
                    product = builder.fmul(_load(builder, row, place, mask), factor)
                    builder.store(builder.fadd(builder.load(total), product), total)

            whole = builder.and_(size, _size(-LANES))
            with cgutils.for_range_slice(builder, _size(0), whole, _size(LANES), intp=_SIZE) as (
                place,
                _,
            ):
                add(place)
            rest = builder.sub(size, whole)
            with builder.if_then(builder.icmp_signed(">", rest, _size(0))):
                add(whole, _first(builder, rest))
            for k, total in enumerate(sums):
                pointer = builder.gep(results, [builder.add(at, _size(k))])
                builder.store(lane_sum(builder, builder.load(total)), pointer)
            return context.get_dummy_value()

        index = types.int64
        return types.void(table, index, index, vector, index, out, index), generate

    return inner_products


one_product = _inner_products(1)
four_products = _inner_products(4)


def _tile_sums(by_distance):
    """Return an intrinsic that adds the terms of four rows and sixteen columns."""

    @intrinsic
    def tile_sums(typing_context, rows, row, n_terms, columns, left, n_columns, first, last, out):
        """Add terms first to last, in order, to out[row : row + 4, left : left + 16], all flat.

        A term is rows[i, k] * columns[k, j], or the square of their difference.
        """

        def generate(context, builder, signature, arguments):
            _, row, n_terms, _, left, n_columns, first, last, _ = arguments
            data, others, results = (
                context.make_array(signature.args[k])(context, builder, arguments[k]).data
                for k in (0, 3, 8)
            )
            pointers, sums = [], []
            for r in range(4):
                place = builder.mul(builder.add(row, _size(r)), n_columns)
                for half in (0, LANES):
                    at = builder.add(place, builder.add(left, _size(half)))
                    pointer = builder.bitcast(builder.gep(results, [at]), _EIGHT.as_pointer())
                    start = builder.load(pointer)
                    start.align = 8
                    pointers.append(pointer)
                    sums.append(cgutils.alloca_once_value(builder, start))
            with cgutils.for_range_slice(builder, first, last, _size(1), intp=_SIZE) as (k, _):
                at = builder.add(builder.mul(k, n_columns), left)
                halves = [
                    _load(builder, others, builder.add(at, _size(half)), None)
                    for half in (0, LANES)
                ]
                for r in range(4):
                    place = builder.add(builder.mul(builder.add(row, _size(r)), n_terms), k)
                    number = builder.load(builder.gep(data, [place]))
                    if number.type != _DOUBLE:
                        number = builder.fpext(number, _DOUBLE)
                    one = ir.Constant(_EIGHT, ir.Undefined)
                    one = builder.insert_element(one, number, ir.Constant(_INDEX, 0))
                    factor = builder.shuffle_vector(one, one, _places([0] * LANES))
                    for column, total in zip(halves, sums[2 * r : 2 * r + 2], strict=True):
                        gap = builder.fsub(factor, column) if by_distance else None
                        term = builder.fmul(gap, gap) if gap else builder.fmul(factor, column)
                        builder.store(builder.fadd(builder.load(total), term), total)
            for pointer, total in zip(pointers, sums, strict=True):
                stored = builder.store(builder.load(total), pointer)
                stored.align = 8
            return context.get_dummy_value()

        index = types.int64
        sizes = (index, index, index, index)
        return types.void(rows, index, index, columns, *sizes, out), generate

    return tile_sums


add_tile_products = _tile_sums(False)
add_tile_squares = _tile_sums(True)
