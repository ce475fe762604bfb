"""svmlight text to arrays: one pass over a block of whole lines, no object per value."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled

# The kind of a token: a number read exactly here, one left to Python's float, or no number.
NUMBER = 0
LEFT = 1
NOT_A_NUMBER = 2

_MAX_DIGITS = 18
_EXACT_POWER = 22
_EXACT_MANTISSA = 1 << 53
_FAR_EXPONENT = 100_000
_POWERS_OF_TEN = np.array([10.0**k for k in range(_EXACT_POWER + 1)])
_SPLITTER = 134217729.0  # 2^27 + 1, which splits a double into two halves (Veltkamp)
_DOUBT = 1 + 2.0**-40

# The error of the token at state[ERROR_START]:state[ERROR_END]; the reader describes it.
FINE = 0
BAD_LABEL = 1
BAD_QID = 2
QID_MISSING = 3
QID_UNEXPECTED = 4
BAD_PAIR = 5
DUPLICATE_INDEX = 6
UNORDERED_INDEX = 7

# Places of the state, an int64 array that is passed from block to block.
N_ROWS = 0
N_ENTRIES = 1
N_LONG = 2
N_RUNS = 3
HAS_QID = 4  # -1 before the first row, then 0 or 1
MIN_INDEX = 5
MIN_INDEX_LINE = 6
MAX_INDEX = 7
MAX_INDEX_LINE = 8
ERROR = 9
ERROR_LINE = 10
ERROR_START = 11
ERROR_END = 12
STATE_SIZE = 13

MAX_INDEX_ALLOWED = (1 << 31) - 2


@compiled
def _skip_blanks(text, at):
    while text[at] == 32 or text[at] == 9 or text[at] == 13:
        at += 1
    return at


@compiled
def _token_end(text, at):
    """Return where the token ends: at a blank, a comment or the end of the line."""
    while text[at] > 32 and text[at] != 35:
        at += 1
    return at


@compiled
def _divide(mantissa, power):
    """Return mantissa / power rounded correctly, or -1 if two doubles are about equally near.

    `mantissa` is an int64 from 2^53 to 10^18, `power` a double of at most 10^22. The remainder of
    the quotient of doubles is exact (Dekker's product), so quotient + correction has a relative
    error far below 2^-90; the last line is Ziv's test of its rounding.
    """
    upper = np.float64(mantissa)
    lower = np.float64(mantissa - np.int64(upper))
    quotient = upper / power
    product = quotient * power
    q_high = quotient * _SPLITTER
    q_high -= q_high - quotient
    q_low = quotient - q_high
    p_high = power * _SPLITTER
    p_high -= p_high - power
    p_low = power - p_high
    error = ((q_high * p_high - product) + q_high * p_low + q_low * p_high) + q_low * p_low
    correction = (((upper - product) - error) + lower) / power
    value = quotient + correction
    rest = correction - (value - quotient)
    return value if value + rest * _DOUBT == value else -1.0


@compiled
def parse_number(text, start, end, out, slot):
    """Parse text[start:end] into out[slot] if that is exact; return the kind of the token.

    A mantissa up to 2^53 and a power of ten up to 10^22 are doubles, so one product or quotient of
    them is rounded correctly (Clinger, "How to read floating point numbers accurately", PLDI 1990).
    18 digits over such a power, as `repr` writes doubles, need a second step, see `_divide`.
    `text[end]` exists; nan and infinity are not numbers here.
    """
    at = start
    negative = text[at] == 45
    if negative or text[at] == 43:
        at += 1
    mantissa = n_digits = n_seen = n_decimals = 0
    point = False
    while at < end:
        digit = np.int64(text[at]) - 48
        if 0 <= digit <= 9:
            n_seen += 1
            n_decimals += point
            if n_digits < _MAX_DIGITS:
                mantissa = mantissa * 10 + digit
            if mantissa != 0:
                n_digits += 1
        elif digit == -2 and not point:
            point = True
        else:
            break
        at += 1
    if n_seen == 0:
        return NOT_A_NUMBER
    exponent = 0
    below = False
    if at < end:
        if text[at] | 32 != 101:
            return NOT_A_NUMBER
        at += 1
        below = at < end and text[at] == 45
        if at < end and (below or text[at] == 43):
            at += 1
        if at >= end:
            return NOT_A_NUMBER
        while at < end:
            digit = np.int64(text[at]) - 48
            if digit < 0 or digit > 9:
                return NOT_A_NUMBER
            if exponent < _FAR_EXPONENT:
                exponent = exponent * 10 + digit
            at += 1
    power = (-exponent if below else exponent) - n_decimals
    if n_digits > _MAX_DIGITS or abs(power) > _EXACT_POWER:
        return LEFT
    value = np.float64(mantissa)
    if mantissa > _EXACT_MANTISSA:
        if power >= 0:
            return LEFT
        value = _divide(mantissa, _POWERS_OF_TEN[-power])
        if value < 0:
            return LEFT
    elif power < 0:
        value /= _POWERS_OF_TEN[-power]
    else:
        value *= _POWERS_OF_TEN[power]
    out[slot] = -value if negative else value
    return NUMBER


@compiled
def parse_block(text, line, labels, row_ends, indices, values, runs, comments, long_tokens, state):
    """Parse whole lines; stop at the first error.

    Parameters
    ----------
    text : ndarray of uint8
        Whole lines, the last one ended too.
    line : int
        Number of the first line.
    labels, row_ends : ndarray of float64 and of int64, at least one element per row
        The label, and the entries up to the end of the row.
    indices, values : ndarray of int32 and of float64, at least one element per entry
        As in the file, indices not shifted.
    runs : ndarray of int64, shape (n_rows, 3)
        A run of rows of one qid: first row, start and end of the qid's text.
    comments : ndarray of int64, shape (n_rows, 2)
        Start and end of the text after `#`, equal where there is none.
    long_tokens : ndarray of int64, shape (n_tokens, 4)
        Numbers left to Python's float: start, end, slot, and 1 for a value, 0 for a label.
    state : ndarray of int64, shape (STATE_SIZE,)
        Counts of this block; HAS_QID and the extreme indices go on from block to block.

    Returns
    -------
    int
        Number of the line after the last.
    """
    row = entry = n_long = n_runs = 0
    run_start = run_end = 0
    at = start = 0
    error = FINE
    while at < len(text):
        at = _skip_blanks(text, at)
        if text[at] == 10 or text[at] == 35:
            while text[at] != 10:
                at += 1
            at += 1
            line += 1
            continue

        start, at = at, _token_end(text, at)
        status = parse_number(text, start, at, labels, row)
        if status == LEFT:
            long_tokens[n_long, 0], long_tokens[n_long, 1] = start, at
            long_tokens[n_long, 2], long_tokens[n_long, 3] = row, 0
            n_long += 1
        elif status != NUMBER:
            error = BAD_LABEL
            break

        start = at = _skip_blanks(text, at)
        found = (
            text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == 58
        )
        if state[HAS_QID] < 0:
            state[HAS_QID] = found
        if found != state[HAS_QID]:
            error = QID_UNEXPECTED if found else QID_MISSING
            break
        if found:
            at = _token_end(text, at)
            start += 4
            if start == at:
                error = BAD_QID
                break
            same = n_runs > 0 and at - start == run_end - run_start
            offset = 0
            while same and offset < at - start:
                same = text[start + offset] == text[run_start + offset]
                offset += 1
            if not same:
                run_start, run_end = start, at
                runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2] = row, start, at
                n_runs += 1

        last = -1
        while True:
            at = _skip_blanks(text, at)
            if text[at] == 10 or text[at] == 35:
                break
            start = at
            index = 0
            digit = np.int64(text[at]) - 48
            while 0 <= digit <= 9 and index <= MAX_INDEX_ALLOWED:
                index = index * 10 + digit
                at += 1
                digit = np.int64(text[at]) - 48
            if at == start or digit != 10 or index > MAX_INDEX_ALLOWED:
                error = BAD_PAIR
                break
            value_start = at + 1
            at = _token_end(text, value_start)
            if index <= last:
                error = DUPLICATE_INDEX if index == last else UNORDERED_INDEX
                break
            if last < 0 and index < state[MIN_INDEX]:
                state[MIN_INDEX] = index
                state[MIN_INDEX_LINE] = line
            last = index
            status = parse_number(text, value_start, at, values, entry)
            if status == LEFT:
                long_tokens[n_long, 0], long_tokens[n_long, 1] = value_start, at
                long_tokens[n_long, 2], long_tokens[n_long, 3] = entry, 1
                n_long += 1
            elif status != NUMBER:
                error = BAD_PAIR
                break
            indices[entry] = index
            entry += 1
        if error != FINE:
            break
        if last > state[MAX_INDEX]:
            state[MAX_INDEX] = last
            state[MAX_INDEX_LINE] = line
        start = at + 1 if text[at] == 35 else at
        while text[at] != 10:
            at += 1
        comments[row, 0], comments[row, 1] = start, at
        row_ends[row] = entry
        row += 1
        at += 1
        line += 1

    state[N_ROWS], state[N_ENTRIES], state[N_LONG], state[N_RUNS] = row, entry, n_long, n_runs
    state[ERROR], state[ERROR_LINE] = error, line
    state[ERROR_START] = start
    if error != FINE:
        state[ERROR_END] = _token_end(text, start)
    return line


@compiled
def scatter_rows(row_ends, indices, values, out):
    """Write rows of entries into the dense `out`, zeros elsewhere; O(cells of out)."""
    entry = 0
    for row in range(len(row_ends)):
        out[row, :] = 0
        while entry < row_ends[row]:
            out[row, indices[entry]] = values[entry]
            entry += 1
