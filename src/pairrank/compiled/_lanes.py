"""Inner products in eight lanes, with one fixed order of additions for every row."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
"""Entry j of a row is added to lane j % 8; then lanes l and l + 4, l + 2 and l + 1 are added."""

INDEX = ir.IntType(32)
SIZE = ir.IntType(64)
DOUBLE = ir.DoubleType()
_FOUR, EIGHT = ir.VectorType(DOUBLE, 4), ir.VectorType(DOUBLE, LANES)


def constant(number):
    return ir.Constant(SIZE, number)


def _places(numbers):
    return ir.Constant(ir.VectorType(INDEX, len(numbers)), numbers)


def spread(builder, number):
    """Return a vector of eight lanes with one number."""
    vector = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    one = builder.insert_element(vector, number, ir.Constant(INDEX, 0))
    return builder.shuffle_vector(one, one, _places([0] * LANES))


def _first(builder, count):
    """Return the mask of the first `count` lanes."""
    counts = spread(builder, count)
    return builder.icmp_signed("<", ir.Constant(counts.type, list(range(LANES))), counts)


def masked(builder, name, result, arguments, kind):
    """Return LLVM's load, store or gather of the lanes of a mask; `kind` ends its name."""
    signature = ir.FunctionType(result, arguments)
    return cgutils.get_or_insert_function(builder.module, signature, f"llvm.masked.{name}.{kind}")


def bytes_of(kind):
    """Return the size of a float or an integer."""
    return kind.width // 8 if isinstance(kind, ir.IntType) else 8 if kind == DOUBLE else 4


def load_own(builder, data, at, mask):
    """Return eight numbers of any type as they are; those outside a mask are 0."""
    kind = data.type.pointee
    vector, size = ir.VectorType(kind, LANES), bytes_of(kind)
    pointer = builder.bitcast(builder.gep(data, [at]), vector.as_pointer())
    if mask is None:
        numbers = builder.load(pointer)
        numbers.align = size
        return numbers
    letter = "i" if isinstance(kind, ir.IntType) else "f"
    arguments = [vector.as_pointer(), INDEX, mask.type, vector]
    read = masked(builder, "load", vector, arguments, f"v{LANES}{letter}{8 * size}.p0")
    zeros = ir.Constant(vector, None)
    return builder.call(read, [pointer, ir.Constant(INDEX, size), mask, zeros])


def load(builder, data, at, mask):
    """Return eight numbers as float64; those outside a mask are 0."""
    numbers = load_own(builder, data, at, mask)
    return numbers if numbers.type == EIGHT else builder.fpext(numbers, EIGHT)


def by_eights(builder, size, process):
    """Call process(place) for every eight numbers, and process(place, mask) for those left."""
    whole = builder.and_(size, constant(-LANES))
    eights = cgutils.for_range_slice(builder, constant(0), whole, constant(LANES), intp=SIZE)
    with eights as (place, _):
        process(place)
    rest = builder.sub(size, whole)
    with builder.if_then(builder.icmp_signed(">", rest, constant(0))):
        process(whole, _first(builder, rest))


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
    return builder.extract_element(vector, ir.Constant(INDEX, 0))


def _lane_sums(builder, vectors):
    """Return the `lane_sum` of each of four vectors of eight lanes, to the bit, as one vector."""

    def pairs(one, other, first, second):
        """Return the sums of lanes `first` and lanes `second` of two vectors."""
        parts = (builder.shuffle_vector(one, other, _places(lanes)) for lanes in (first, second))
        return builder.fadd(*parts)

    halves = [pairs(each, each, [0, 1, 2, 3], [4, 5, 6, 7]) for each in vectors]
    twos = [pairs(*two, [0, 1, 4, 5], [2, 3, 6, 7]) for two in (halves[:2], halves[2:])]
    return pairs(*twos, [0, 2, 4, 6], [1, 3, 5, 7])


def _inner_products(n_together):
    """Return an intrinsic for one row or four, with one order of additions for all."""

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
            zeros = ir.Constant(EIGHT, [0.0] * LANES)
            sums = [cgutils.alloca_once_value(builder, zeros) for _ in rows]

            def add(place, mask=None):
                factor = load(builder, weights, place, mask)
                for row, total in zip(rows, sums, strict=True):
                    product = builder.fmul(load(builder, row, place, mask), factor)
                    builder.store(builder.fadd(builder.load(total), product), total)

            by_eights(builder, size, add)
            totals = [builder.load(total) for total in sums]
            if n_together == 4:
                pointer = builder.bitcast(builder.gep(results, [at]), _FOUR.as_pointer())
                stored = builder.store(_lane_sums(builder, totals), pointer)
                stored.align = 8
            else:
                builder.store(lane_sum(builder, totals[0]), builder.gep(results, [at]))
            return context.get_dummy_value()

        index = types.int64
        return types.void(table, index, index, vector, index, out, index), generate

    return inner_products


one_product = _inner_products(1)
four_products = _inner_products(4)


@intrinsic
def add_eight_rows(typing_context, table, start, size, weights, at, out):
    """Add eight consecutive rows, times weights[at : at + 8], to out (size,).

    The first row is table[start : start + size]; arrays are flat and C-contiguous. The rows are
    added as a binary tree, whose sum is added to out.
    """

    def generate(context, builder, signature, arguments):
        _, start, size, _, at, _ = arguments
        data, factors, results = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data
            for k in (0, 3, 5)
        )
        rows, weights = [builder.gep(data, [start])], []
        for k in range(LANES):
            weight = builder.load(builder.gep(factors, [builder.add(at, constant(k))]))
            weights.append(spread(builder, weight))
        for _ in range(LANES - 1):
            rows.append(builder.gep(rows[-1], [size]))

        def add(place, mask=None):
            terms = [
                builder.fmul(load(builder, row, place, mask), weight)
                for row, weight in zip(rows, weights, strict=True)
            ]
            while len(terms) > 1:
                terms = [builder.fadd(*two) for two in zip(terms[::2], terms[1::2], strict=True)]
            total = builder.fadd(load(builder, results, place, mask), terms[0])
            pointer = builder.bitcast(builder.gep(results, [place]), EIGHT.as_pointer())
            if mask is None:
                builder.store(total, pointer).align = 8
                return
            arguments = [EIGHT, EIGHT.as_pointer(), INDEX, mask.type]
            call = masked(builder, "store", ir.VoidType(), arguments, f"v{LANES}f64.p0")
            builder.call(call, [total, pointer, ir.Constant(INDEX, 8), mask])

        by_eights(builder, size, add)
        return context.get_dummy_value()

    index = types.int64
    return types.void(table, index, index, weights, index, out), generate


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
                place = builder.mul(builder.add(row, constant(r)), n_columns)
                for half in (0, LANES):
                    at = builder.add(place, builder.add(left, constant(half)))
                    pointer = builder.bitcast(builder.gep(results, [at]), EIGHT.as_pointer())
                    start = builder.load(pointer)
                    start.align = 8
                    pointers.append(pointer)
                    sums.append(cgutils.alloca_once_value(builder, start))
            with cgutils.for_range_slice(builder, first, last, constant(1), intp=SIZE) as (k, _):
                at = builder.add(builder.mul(k, n_columns), left)
                halves = [
                    load(builder, others, builder.add(at, constant(half)), None)
                    for half in (0, LANES)
                ]
                for r in range(4):
                    place = builder.add(builder.mul(builder.add(row, constant(r)), n_terms), k)
                    number = builder.load(builder.gep(data, [place]))
                    if number.type != DOUBLE:
                        number = builder.fpext(number, DOUBLE)
                    factor = spread(builder, number)
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
