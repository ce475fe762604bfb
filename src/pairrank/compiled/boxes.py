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

    All keys come from this expression, which numpy rounds alike. floor(score / H) differs from it
    for a negative score that
    underflows to -0.0 when divided by H but not by h.
    """
    return np.floor(np.floor(score * per_fine) / children)


@compiled
def _twice_place(score, per_fine, children):
    """Return 2 v, where v in [-1, 1] is the place of a score within its coarse box."""
    beyond = score * per_fine - coarse_key(score, per_fine, children) * children
    return beyond * (4.0 / children) - 2.0


def occupied_boxes(scores, per_fine, children, slot):
    """Write each row's place in a list of the coarse boxes that hold rows to `slot` (m,) int32.

    Return the keys of that list, float64, in the order in which they were first met. By a hash
    table, O(m).
    """
    size, keys, progress = _FIRST_TABLE, np.empty(0), np.zeros(2, np.int64)
    while progress[0] < len(scores):
        known, keys = keys, np.empty(size // 2)
        keys[: len(known)] = known
        table = np.full(size, -1, np.int32)
        _fill_table(scores, per_fine, children, table, keys, progress, slot)
        size *= 4
    return keys[: progress[1]]


@compiled
def _fill_table(scores, per_fine, children, table, keys, progress, slot):
    """Continue `occupied_boxes` with an empty table, until there is no room for another key.

    `progress` has the number of rows that were read, and that of the keys that were found.
    """
    row, found = progress[0], progress[1]
    for place in range(found):
        table[_find(table, keys, keys[place])] = place
    while row < len(scores) and found < len(keys):
        key = coarse_key(scores[row], per_fine, children)
        at = _find(table, keys, key)
        if table[at] < 0:
            table[at] = found
            keys[found] = key
            found += 1
        slot[row] = table[at]
        row += 1
    progress[0], progress[1] = row, found


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


def fine_moments(scores, code, weight, shift, n_codes, per_fine, first, n_boxes):
    """Return the moments of fine boxes, (n_codes * n_boxes * 4,), O(m + boxes).

    `code` is empty if every row has code 0; `per_fine` is 1/h, `first` the key of the first box,
    `n_boxes` their number for each code. The weights are weight - shift, or 1 - shift if `weight`
    is empty.
    """
    size = n_codes * n_boxes * 4
    total, tables = np.zeros(size), np.zeros(_tables_of(size) * size)
    at, work = np.zeros(_BLOCK, np.int32), np.zeros((2, _BLOCK))
    _add_fine_moments(
        scores, code, weight, shift, per_fine, first, n_boxes, at, work, tables, total
    )
    return total


@compiled
def _add_fine_moments(
    scores, code, weight, shift, per_fine, first, n_boxes, at, work, tables, total
):
    size = len(total)
    n_tables = len(tables) // size
    stretch = 8 * size if 8 * size > _STRETCH else _STRETCH
    second = size if n_tables > 1 else 0
    third = 2 * size if n_tables > 2 else 0
    u, q = work[0], work[1]
    for i in range(_BLOCK):
        q[i] = 1.0 - shift
    waiting = 0
    for start in range(0, len(scores), _BLOCK):
        stop = min(start + _BLOCK, len(scores))
        _places(scores[start:stop], code[start:stop], per_fine, first, n_boxes, at, u)
        here = weight[start:stop]
        for i in range(len(here)):
            q[i] = here[i] - shift
        for i in range(stop - start, _BLOCK):
            q[i] = 0.0
        for i in range(0, stop - start, 4):
            add_four_powers(tables, at, u, q, i, second, third)
        waiting += stop - start
        if waiting >= stretch or stop == len(scores):
            for begin in range(0, n_tables * size, size):
                _empty_into(total, tables[begin : begin + size])
            waiting = 0


def add_fine(scores, code, weight, v, shift, n_boxes, per_fine, first, one, other, result):
    """Add polynomials of fine boxes, at the rows, to `result` (m,), O(m).

    A row gets weight * one(u); with `v` (m,) not empty, weight * ((v - shift) * one(u) - other(u)).
    `one` and `other` are laid out as moments are; the rest as for `fine_moments`.
    """
    at, work = np.zeros(_BLOCK, np.int32), np.zeros((3, _BLOCK))
    _add_fine(
        scores, code, weight, v, shift, n_boxes, per_fine, first, one, other, at, work, result
    )


@compiled
def _add_fine(
    scores, code, weight, v, shift, n_boxes, per_fine, first, one, other, at, work, result
):
    u, found, less = work[0], work[1], work[2]
    for start in range(0, len(scores), _BLOCK):
        stop = min(start + _BLOCK, len(scores))
        _places(scores[start:stop], code[start:stop], per_fine, first, n_boxes, at, u)
        here, w, y = result[start:stop], weight[start:stop], v[start:stop]
        for i in range(0, len(here), 4):
            four_cubics(one, at, u, i, found)
        if len(y):
            for i in range(0, len(here), 4):
                four_cubics(other, at, u, i, less)
            for i in range(len(y)):
                found[i] = (y[i] - shift) * found[i] - less[i]
        for i in range(len(w)):
            found[i] *= w[i]
        for i in range(len(here)):
            here[i] += found[i]


def coarse_moments(scores, code, weight, shift, slot, n_codes, per_fine, children, n_boxes, degree):
    """Return the moments of coarse boxes, (n_codes * n_boxes * P,), straight from the rows.

    `slot` is each row's place in the list of boxes, `per_fine` 1/h, `children` H/h;
    O(m P + boxes).
    """
    total = np.zeros(n_codes * n_boxes * degree)
    _add_coarse_moments(
        scores, code, weight, shift, slot, per_fine, children, n_boxes, degree,
        np.zeros(len(total)), total,
    )  # fmt: skip
    return total


@compiled
def _add_coarse_moments(
    scores, code, weight, shift, slot, per_fine, children, n_boxes, degree, part, total
):
    stretch = 8 * len(total) if 8 * len(total) > _STRETCH else _STRETCH
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


_DOUBLE = ir.DoubleType()
_FOUR = ir.VectorType(_DOUBLE, 4)
_INDEX = ir.IntType(32)
_PAIRS = ((0, 4, 2, 6), (1, 5, 3, 7))
_HALVES = ((0, 1, 4, 5), (2, 3, 6, 7))


def _pointer(builder, context, array_type, array, at, kind):
    """Return the pointer to four numbers of an array.

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
    return builder.bitcast(builder.gep(data, [at]), ir.VectorType(kind, 4).as_pointer())


def _four(builder, pointer):
    """Return the four numbers at a pointer, which need not be aligned."""
    numbers = builder.load(pointer)
    numbers.align = 8 if pointer.type.pointee == _FOUR else 4
    return numbers


def _transposed(builder, rows):
    """Return the columns of four vectors of four numbers."""

    def shuffled(a, b, places):
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_INDEX, 4), places))

    even, odd = ([shuffled(*rows[k : k + 2], places) for k in (0, 2)] for places in _PAIRS)
    return [shuffled(*each, places) for places in _HALVES for each in (even, odd)]


def _entries(builder, context, places_type, places, i):
    """Return where the entries of four boxes begin in a table of four numbers per box."""
    numbers = _four(builder, _pointer(builder, context, places_type, places, i, _INDEX))
    each = (builder.extract_element(numbers, ir.Constant(_INDEX, k)) for k in range(4))
    return [builder.shl(builder.sext(one, i.type), i.type(2)) for one in each]


@intrinsic
def add_four_powers(typing_context, table, places, u, q, i, second, third):
    """Add q, q u, q u^2, q u^3 to the boxes of the rows i to i + 3.

    Box b is table[4 b : 4 b + 4] for row i; for row i + 1 it begins `second` entries later, for
    row i + 2 `third`, for row i + 3 `second` + `third`. `places` (int32) has the rows' boxes.
    """

    def generate(context, builder, signature, arguments):
        table, places, *factors, i, second, third = arguments
        kinds = signature.args
        x, w = (
            _four(builder, _pointer(builder, context, kind, factor, i, _DOUBLE))
            for kind, factor in zip(kinds[2:4], factors, strict=True)
        )
        first, square = builder.fmul(w, x), builder.fmul(x, x)
        moments = [w, first, builder.fmul(w, square), builder.fmul(first, square)]
        later = [i.type(0), second, third, builder.add(second, third)]
        entries = _entries(builder, context, kinds[1], places, i)
        for entry, more, powers in zip(entries, later, _transposed(builder, moments), strict=True):
            at = builder.add(entry, more)
            pointer = _pointer(builder, context, kinds[0], table, at, _DOUBLE)
            stored = builder.store(builder.fadd(_four(builder, pointer), powers), pointer)
            stored.align = 8
        return context.get_dummy_value()

    index = types.int64
    return types.void(table, places, u, q, index, index, index), generate


@intrinsic
def four_cubics(typing_context, table, places, u, i, out):
    """Set out[i : i + 4] to the cubics of the rows i to i + 3 at u.

    The coefficients of box b are table[4 b : 4 b + 4], lowest first; `places` (int32) has the rows'
    boxes.
    """

    def generate(context, builder, signature, arguments):
        table, places, u, i, out = arguments
        kinds = signature.args
        x = _four(builder, _pointer(builder, context, kinds[2], u, i, _DOUBLE))
        rows = [
            _four(builder, _pointer(builder, context, kinds[0], table, at, _DOUBLE))
            for at in _entries(builder, context, kinds[1], places, i)
        ]
        *lower, value = _transposed(builder, rows)
        for coefficient in reversed(lower):
            value = builder.fadd(builder.fmul(value, x), coefficient)
        stored = builder.store(value, _pointer(builder, context, kinds[4], out, i, _DOUBLE))
        stored.align = 8
        return context.get_dummy_value()

    return types.void(table, places, u, types.int64, out), generate
