"""Four numbers at once: the moments of a fine box as one vector, which loops alone never become."""

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

_DOUBLE = ir.DoubleType()
_FOUR = ir.VectorType(_DOUBLE, 4)
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


def _powers(builder, q, u):
    """Return q, q u, q u^2, q u^3."""
    vector = ir.Constant(_FOUR, ir.Undefined)
    uu, qu = builder.fmul(u, u), builder.fmul(q, u)
    for k, x in enumerate((q, qu, builder.fmul(q, uu), builder.fmul(qu, uu))):
        vector = builder.insert_element(vector, x, ir.Constant(_INDEX, k))
    return vector


def _sum(builder, vector):
    """Return the sum of four numbers, in pairs."""
    halves = [
        builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_INDEX, 2), places))
        for places in ([0, 1], [2, 3])
    ]
    pairs = builder.fadd(*halves)
    return builder.fadd(*(builder.extract_element(pairs, ir.Constant(_INDEX, k)) for k in range(2)))


@intrinsic
def add_powers(typing_context, table, at, q, u):
    """Add q, q u, q u^2, q u^3 to table[at : at + 4], float64; `at` int64."""

    def generate(context, builder, signature, arguments):
        pointer, numbers = _load(builder, context, signature.args[0], *arguments[:2])
        stored = builder.store(builder.fadd(numbers, _powers(builder, *arguments[2:])), pointer)
        stored.align = 8
        return context.get_dummy_value()

    return types.void(table, types.int64, types.float64, types.float64), generate


@intrinsic
def cubic(typing_context, table, at, u):
    """Return the cubic with coefficients table[at : at + 4], lowest first, at u."""

    def generate(context, builder, signature, arguments):
        _, numbers = _load(builder, context, signature.args[0], *arguments[:2])
        powers = _powers(builder, ir.Constant(_DOUBLE, 1.0), arguments[2])
        return _sum(builder, builder.fmul(numbers, powers))

    return types.float64(table, types.int64, types.float64), generate


@intrinsic
def cubic_less(typing_context, one, other, at, v, u):
    """Return v times the cubic of `one` less that of `other`, at u."""

    def generate(context, builder, signature, arguments):
        _, first = _load(builder, context, signature.args[0], arguments[0], arguments[2])
        _, second = _load(builder, context, signature.args[1], arguments[1], arguments[2])
        v = ir.Constant(_FOUR, ir.Undefined)
        for k in range(4):
            v = builder.insert_element(v, arguments[3], ir.Constant(_INDEX, k))
        powers = _powers(builder, ir.Constant(_DOUBLE, 1.0), arguments[4])
        return _sum(builder, builder.fmul(builder.fsub(builder.fmul(first, v), second), powers))

    return types.float64(one, other, types.int64, types.float64, types.float64), generate
