"""The part of box sums that works row by row: rows to boxes, moments, polynomials at rows.

A fine box has width h and four moments, the powers of u in [-1/2, 1/2); a coarse box has width H
and P moments, the Chebyshev polynomials of v in [-1, 1). Box 0 begins at 0, so that moments of
parts of the rows add. Rows may have codes; then each code has separate boxes. Arrays of boxes are
flat: by code, then by box, then by moment.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from pairrank.compiled._jit import compiled
from pairrank.compiled._lanes import lane_sum

_FIRST_TABLE = 1024
_BLOCK = 512
"""The boxes of this many rows are found before their powers are added."""
_FAST_ENTRIES = 1024
"""Several tables of moments have at most this many entries together."""
_STRETCH = 4096
"""This many rows are summed before they are added to the total, to keep rounding small."""


@compiled
def coarse_key(score, per_fine, children):
    """Return the key of the coarse box that holds a score, from the key of its fine box.

    All keys come from this expression. floor(score / H) differs from it for a negative score that
    underflows to -0.0 when divided by H but not by h.
    """
    return np.floor(np.floor(score * per_fine) / children)


@compiled
def _twice_place(score, per_fine, children):
    """Return 2 v, where v in [-1, 1] is the place of a score within its coarse box."""
    beyond = score * per_fine - coarse_key(score, per_fine, children) * children
    return beyond * (4.0 / children) - 2.0


@compiled
def occupied_boxes(scores, per_fine, children, slot):
    """Write each row's place in a list of the coarse boxes that hold rows to `slot` (m,) int32.

    Return the keys of that list, float64, in the order in which they were first met. By a hash
    table, O(m).
    """
    keys = np.empty(_FIRST_TABLE)
    table = _new_table(_FIRST_TABLE)
    found = 0
    for i in range(len(scores)):
        key = coarse_key(scores[i], per_fine, children)
        at = _find(table, keys, key)
        if table[at] < 0:
            table[at] = found
            keys[found] = key
            found += 1
        slot[i] = table[at]
        if 2 * found > len(table):
            wider = np.empty(4 * len(table))
            for k in range(found):
                wider[k] = keys[k]
            keys, table = wider, _table_of(wider, found, len(wider))
    return keys[:found]


@compiled
def _new_table(size):
    table = np.empty(size, np.int32)
    for at in range(size):
        table[at] = -1
    return table


@compiled
def _table_of(keys, found, size):
    """Return a table of a power of two that holds the places of the first keys."""
    table = _new_table(size)
    for place in range(found):
        table[_find(table, keys, keys[place])] = place
    return table


@compiled
def _find(table, keys, key):
    """Return where a table holds the place of a key, or where there is room for it."""
    bits = np.float64(key + 0.0).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0xD6E8FEB86659FD93)
    last = len(table) - 1
    at = np.int64(bits >> np.uint64(32)) & last
    while table[at] >= 0 and keys[table[at]] != key:
        at = (at + 1) & last
    return at


@compiled
def _places(scores, code, per_fine, first, n_boxes, at, u):
    """Write each row's fine box to `at` int32, and its place in it to `u`.

    The other arguments are those of `fine_moments`.
    """
    for i in range(len(scores)):
        x = scores[i] * per_fine
        below = np.floor(x)
        u[i] = x - below - 0.5
        at[i] = np.int32(below - first)
    for i in range(len(code)):
        at[i] += np.int32(n_boxes) * np.int32(code[i])


@compiled
def _tables_of(size):
    """Return how many tables of moments rows are added to in turn: 1, 2 or 4.

    With several tables, additions to one box wait less for each other. But together they must leave
    room in the first-level cache: 8 KB, unless a single table is larger.
    """
    return 4 if 4 * size <= _FAST_ENTRIES else 2 if 2 * size <= _FAST_ENTRIES else 1


@compiled
def _empty_into(total, part):
    """Add a part of a sum to its total, and zero the part."""
    for k in range(len(total)):
        total[k] += part[k]
        part[k] = 0.0


@compiled
def fine_moments(scores, code, weight, shift, n_codes, per_fine, first, n_boxes):
    """Return the moments of fine boxes, (n_codes * n_boxes * 4,), O(m + boxes).

    `code` is empty if every row has code 0; `per_fine` is 1/h, `first` the key of the first box,
    `n_boxes` their number for each code. The weights are weight - shift, or 1 - shift if `weight`
    is empty.
    """
    size = n_codes * n_boxes * 4
    n_tables = _tables_of(size)
    total = np.zeros(size)
    tables = np.zeros(n_tables * size)
    stretch = max(_STRETCH, 8 * size)
    at, u = np.empty(_BLOCK, np.int32), np.empty(_BLOCK)
    waiting = 0
    for start in range(0, len(scores), _BLOCK):
        stop = min(start + _BLOCK, len(scores))
        _places(scores[start:stop], code[start:stop], per_fine, first, n_boxes, at, u)
        if len(weight):
            here = weight[start:stop]
            for i in range(len(here)):
                entry = (i & (n_tables - 1)) * size + 4 * np.int64(at[i])
                add_powers(tables, entry, here[i] - shift, u[i])
        elif shift == 0.0:
            for i in range(stop - start):
                entry = (i & (n_tables - 1)) * size + 4 * np.int64(at[i])
                add_powers(tables, entry, 1.0, u[i])
        else:
            for i in range(stop - start):
                entry = (i & (n_tables - 1)) * size + 4 * np.int64(at[i])
                add_powers(tables, entry, 1.0 - shift, u[i])
        waiting += stop - start
        if waiting >= stretch or stop == len(scores):
            for begin in range(0, n_tables * size, size):
                _empty_into(total, tables[begin : begin + size])
            waiting = 0
    return total


@compiled
def add_fine(scores, code, weight, v, shift, n_boxes, per_fine, first, one, other, result):
    """Add polynomials of fine boxes, at the rows, to `result` (m,), O(m).

    A row gets weight * one(u); with `v` (m,) not empty, weight * ((v - shift) * one(u) - other(u)).
    `one` and `other` are laid out as moments are; the rest as for `fine_moments`.
    """
    at, u, found = np.empty(_BLOCK, np.int32), np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(0, len(scores), _BLOCK):
        stop = min(start + _BLOCK, len(scores))
        _places(scores[start:stop], code[start:stop], per_fine, first, n_boxes, at, u)
        here, w, y = result[start:stop], weight[start:stop], v[start:stop]
        if len(w) == 0 and len(y) == 0:
            for i in range(len(here)):
                here[i] += cubic(one, 4 * np.int64(at[i]), u[i])
            continue
        if len(y):
            for i in range(len(y)):
                found[i] = cubic_less(one, other, 4 * np.int64(at[i]), y[i] - shift, u[i])
        else:
            for i in range(len(here)):
                found[i] = cubic(one, 4 * np.int64(at[i]), u[i])
        for i in range(len(w)):
            found[i] *= w[i]
        for i in range(len(here)):
            here[i] += found[i]


@compiled
def coarse_moments(scores, code, weight, shift, slot, n_codes, per_fine, children, n_boxes, degree):
    """Return the moments of coarse boxes, (n_codes * n_boxes * P,), straight from the rows.

    `slot` is each row's place in the list of boxes, `per_fine` 1/h, `children` H/h;
    O(m P + boxes).
    """
    size = n_codes * n_boxes * degree
    total, part = np.zeros(size), np.zeros(size)
    stretch = max(_STRETCH, 8 * size)
    for start in range(0, len(scores), stretch):
        stop = min(start + stretch, len(scores))
        for i in range(start, stop):
            twice = _twice_place(scores[i], per_fine, children)
            box = np.int64(slot[i])
            if len(code):
                box += np.int64(code[i]) * n_boxes
            q = (weight[i] if len(weight) else 1.0) - shift
            moments = part[box * degree : box * degree + degree]
            before, here = q * 0.5 * twice, q
            for k in range(len(moments)):
                moments[k] += here
                before, here = here, twice * here - before
        _empty_into(total, part)
    return total


@compiled
def add_coarse(
    scores, code, weight, v, shift, slot, per_fine, children, n_boxes, degree, one, other, result
):  # fmt: skip
    """Add series of coarse boxes, at the rows, to `result` (m,), O(m P); see `add_fine`."""
    for i in range(len(scores)):
        twice = _twice_place(scores[i], per_fine, children)
        box = np.int64(slot[i])
        if len(code):
            box += np.int64(code[i]) * n_boxes
        found = _series(one[box * degree : box * degree + degree], twice)
        if len(v):
            less = _series(other[box * degree : box * degree + degree], twice)
            found = (v[i] - shift) * found - less
        result[i] += weight[i] * found if len(weight) else found


@compiled
def _series(coefficients, twice):
    """Return a Chebyshev series at v = twice/2, by Clenshaw's recurrence."""
    later, here = 0.0, 0.0
    for k in range(len(coefficients) - 1, 0, -1):
        later, here = here, coefficients[k] + twice * here - later
    return coefficients[0] + 0.5 * twice * here - later


_FOUR = ir.VectorType(ir.DoubleType(), 4)
_INDEX = ir.IntType(32)


def _load(builder, context, array_type, array, at):
    """Return the pointer to four numbers of an array, and the numbers.

    NUMBA_BOUNDSCHECK=1 has the place checked here too, as numba then checks that of every index.
    """
    made = context.make_array(array_type)(context, builder, array)
    data = made.data
    if config.BOUNDSCHECK:
        outside = builder.icmp_unsigned(">", at, builder.sub(made.nitems, at.type(4)))
        short = builder.icmp_signed("<", made.nitems, at.type(4))
        with builder.if_then(builder.or_(outside, short), likely=False):
            words = ("four numbers lie outside of an array",)
            context.call_conv.return_user_exc(builder, IndexError, words)
    pointer = builder.bitcast(builder.gep(data, [at]), _FOUR.as_pointer())
    numbers = builder.load(pointer)
    numbers.align = 8
    return pointer, numbers


def _splat(builder, x):
    """Return a vector of four times x."""
    one = builder.insert_element(ir.Constant(_FOUR, ir.Undefined), x, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, one, _places_of([0] * 4))


def _places_of(numbers):
    return ir.Constant(ir.VectorType(_INDEX, len(numbers)), numbers)


def _powers(builder, q, u):
    """Return q, q u, q u^2, q u^3."""
    ones = ir.Constant(_FOUR, [1.0] * 4)
    odd = builder.shuffle_vector(_splat(builder, u), ones, _places_of([4, 1, 6, 3]))
    square = _splat(builder, builder.fmul(u, u))
    high = builder.shuffle_vector(square, ones, _places_of([4, 5, 2, 3]))
    return builder.fmul(_splat(builder, q), builder.fmul(odd, high))


@intrinsic
def add_powers(typing_context, table, at, q, u):
    """Add q, q u, q u^2, q u^3 to table[at : at + 4], float64; `at` int64."""

    def generate(context, builder, signature, arguments):
        pointer, numbers = _load(builder, context, signature.args[0], *arguments[:2])
        stored = builder.store(builder.fadd(numbers, _powers(builder, *arguments[2:])), pointer)
        stored.align = 8
        return context.get_dummy_value()

    return types.void(table, types.int64, types.float64, types.float64), generate


_ONE = ir.Constant(_FOUR.element, 1.0)


@intrinsic
def cubic(typing_context, table, at, u):
    """Return the cubic with coefficients table[at : at + 4], lowest first, at u."""

    def generate(context, builder, signature, arguments):
        _, numbers = _load(builder, context, signature.args[0], *arguments[:2])
        return lane_sum(builder, builder.fmul(numbers, _powers(builder, _ONE, arguments[2])))

    return types.float64(table, types.int64, types.float64), generate


@intrinsic
def cubic_less(typing_context, table, less, at, factor, u):
    """Return factor times the cubic of one table less that of another, at u."""

    def generate(context, builder, signature, arguments):
        (first, second), (at, factor, u) = arguments[:2], arguments[2:]
        _, numbers = _load(builder, context, signature.args[0], first, at)
        _, lower = _load(builder, context, signature.args[1], second, at)
        both = builder.fsub(builder.fmul(_splat(builder, factor), numbers), lower)
        return lane_sum(builder, builder.fmul(both, _powers(builder, _ONE, u)))

    return types.float64(table, less, types.int64, types.float64, types.float64), generate
