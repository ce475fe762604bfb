"""Decimal text to float64, correctly rounded: Clinger's exact case, then Eisel and Lemire's.

D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51 (2021),
Algorithm 1; N. Mushtak and D. Lemire (2022) show that it needs no fallback up to 19 digits. Longer
numbers are bracketed by their first 18 digits; where the two ends round apart the caller is told.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled

NUMBER = 0
NOT_A_NUMBER = 1
TOO_LONG = 2

_MAX_DIGITS = 18
_LOWEST_POWER = -342
_HIGHEST_POWER = 308
_EXACT_POWER = 22
_EXACT_MANTISSA = 1 << 53
_FAR_EXPONENT = 100_000

_MASK_32 = np.uint64(0xFFFFFFFF)
_SHIFT_32 = np.uint64(32)
_LOW_9 = np.uint64(0x1FF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_THREE = np.uint64(3)
_INFINITY = np.uint64(0x7FF0000000000000)
_HIDDEN_BIT = np.uint64(1 << 52)
_CARRIED = np.uint64(2 << 52)
_SIGN = np.uint64(1 << 63)

_POWERS_OF_TEN = np.array([10.0**k for k in range(_EXACT_POWER + 1)])


def _power_of_five(q: int) -> int:
    """Return the 128 leading bits of 5^q, rounded as the proof of the algorithm asks."""
    five = 5 ** abs(q)
    if q >= 0:
        shift = five.bit_length() - 128
        return five >> shift if shift > 0 else five << -shift
    bits = (five - 1).bit_length()
    reciprocal = (1 << (bits + 127 if q >= -27 else 2 * bits + 128)) // five + 1
    return reciprocal >> max(0, reciprocal.bit_length() - 128)


_FIVES = np.array(
    [
        [power >> 64, power & 0xFFFFFFFFFFFFFFFF]
        for power in (_power_of_five(q) for q in range(_LOWEST_POWER, _HIGHEST_POWER + 1))
    ],
    dtype=np.uint64,
)


@compiled
def _product_high(a, b):
    """Return the upper 64 bits of a * b; the lower are those of the wrapped product."""
    a_low, a_high = a & _MASK_32, a >> _SHIFT_32
    b_low, b_high = b & _MASK_32, b >> _SHIFT_32
    low = a_low * b_low
    middle = a_high * b_low + (low >> _SHIFT_32)
    other = a_low * b_high + (middle & _MASK_32)
    return a_high * b_high + (middle >> _SHIFT_32) + (other >> _SHIFT_32)


@compiled
def _leading_zeros(w):
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - step) == _ZERO:
            w = w << np.uint64(step)
            zeros += step
    return zeros


@compiled
def bits_of(mantissa, power):
    """Return the bits of mantissa * 10^power (an int64, not negative), nearest, ties to even."""
    if mantissa == 0 or power < _LOWEST_POWER:
        return _ZERO
    if power > _HIGHEST_POWER:
        return _INFINITY
    w = np.uint64(mantissa)
    zeros = _leading_zeros(w)
    w = w << np.uint64(zeros)
    row = power - _LOWEST_POWER
    high = _product_high(w, _FIVES[row, 0])
    low = w * _FIVES[row, 0]
    if high & _LOW_9 == _LOW_9:
        carry = _product_high(w, _FIVES[row, 1])
        low = low + carry
        if carry > low:
            high = high + _ONE
    upper = np.int64(high >> np.uint64(63))
    shift = np.uint64(upper + 9)
    bits = high >> shift
    exponent = ((217706 * power) >> 16) + 63 + upper - zeros + 1023
    if exponent <= 0:
        if 1 - exponent >= 64:
            return _ZERO
        bits = bits >> np.uint64(1 - exponent)
        bits = (bits + (bits & _ONE)) >> _ONE
        return bits
    if low <= _ONE and -4 <= power <= 23 and bits & _THREE == _ONE and bits << shift == high:
        bits = bits & ~_ONE
    bits = (bits + (bits & _ONE)) >> _ONE
    if bits >= _CARRIED:
        bits = _HIDDEN_BIT
        exponent += 1
    if exponent >= 0x7FF:
        return _INFINITY
    return (bits & ~_HIDDEN_BIT) | (np.uint64(exponent) << np.uint64(52))


@compiled
def parse_number(text, start, end, out, out_bits, slot):
    """Parse text[start:end] into out[slot] and return a status.

    Parameters
    ----------
    text : ndarray of uint8
    start, end : int
        The token, without blanks; text[end] exists.
    out, out_bits : ndarray of float64 and its view as uint64
    slot : int

    Returns
    -------
    int
        NUMBER; NOT_A_NUMBER, also for NaN, infinity and what overflows; or TOO_LONG where more
        digits are needed than are read here: the caller then asks Python's float.
    """
    at = start
    negative = text[at] == 45
    if negative or text[at] == 43:
        at += 1
    mantissa = 0
    n_digits = 0
    n_dropped = 0
    n_seen = 0
    truncated = False
    point = -1
    while at < end:
        digit = np.int64(text[at]) - 48
        if 0 <= digit <= 9:
            n_seen += 1
            if n_digits < _MAX_DIGITS:
                mantissa = mantissa * 10 + digit
                if mantissa != 0:
                    n_digits += 1
            else:
                n_dropped += 1
                if digit != 0:
                    truncated = True
        elif digit == -2 and point < 0:
            point = at
        else:
            break
        at += 1
    if n_seen == 0:
        return NOT_A_NUMBER
    power = n_dropped
    if point >= 0:
        power -= at - point - 1
    if at < end:
        if text[at] | 32 != 101:
            return NOT_A_NUMBER
        at += 1
        below = at < end and text[at] == 45
        if at < end and (below or text[at] == 43):
            at += 1
        if at >= end:
            return NOT_A_NUMBER
        exponent = 0
        while at < end:
            digit = np.int64(text[at]) - 48
            if digit < 0 or digit > 9:
                return NOT_A_NUMBER
            if exponent < _FAR_EXPONENT:
                exponent = exponent * 10 + digit
            at += 1
        power += -exponent if below else exponent
    if not truncated and mantissa <= _EXACT_MANTISSA and -_EXACT_POWER <= power <= _EXACT_POWER:
        value = np.float64(mantissa)
        value = value / _POWERS_OF_TEN[-power] if power < 0 else value * _POWERS_OF_TEN[power]
        out[slot] = -value if negative else value
        return NUMBER
    bits = bits_of(mantissa, power)
    if truncated and bits != bits_of(mantissa + 1, power):
        return TOO_LONG
    if bits == _INFINITY:
        return NOT_A_NUMBER
    out_bits[slot] = bits | _SIGN if negative else bits
    return NUMBER
