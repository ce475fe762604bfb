"""Vectors of eight lanes, for the series of `_lane_series`."""

from __future__ import annotations

from llvmlite import ir

LANES = 8

_INDEX = ir.IntType(32)
SIZE = ir.IntType(64)
EIGHT = ir.VectorType(ir.DoubleType(), LANES)


def spread(builder, number):
    """Return a vector of eight lanes with one number."""
    vector = ir.Constant(ir.VectorType(number.type, LANES), ir.Undefined)
    places = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
    one = builder.insert_element(vector, number, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, one, places)
