"""svmlight text to arrays: one pass over a block of whole lines, no object a value."""

from __future__ import annotations

import numpy as np

from pairrank.sums._jit import compiled
from pairrank.sums.decimal import NOT_FINITE, NUMBER, TOO_LONG, parse_number

# Errors: what is wrong with the token at state[ERROR_START]:state[ERROR_END].
FINE = 0
BAD_LABEL = 1
NO_LABEL = 2
LABEL_NOT_FINITE = 3
EMPTY_QID = 4
LATE_QID = 5
QID_MISSING = 6
QID_UNEXPECTED = 7
TORN_PAIR = 8
BAD_INDEX = 9
NEGATIVE_INDEX = 10
INDEX_TOO_LARGE = 11
DUPLICATE_INDEX = 12
UNORDERED_INDEX = 13
NO_VALUE = 14
BAD_VALUE = 15
VALUE_NOT_FINITE = 16

# The state that goes from block to block, an int64 array.
N_ROWS = 0
N_ENTRIES = 1
N_LONG = 2
N_RUNS = 3
HAS_QID = 4  # -1 before the first row, then 0 or 1
MIN_INDEX = 5
MAX_INDEX = 6
MAX_INDEX_LINE = 7
MIN_INDEX_LINE = 8
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
def _fail(state, error, line, start, end):
    state[ERROR] = error
    state[ERROR_LINE] = line
    state[ERROR_START] = start
    state[ERROR_END] = end
    return -1


@compiled
def _is_qid(text, at):
    """Whether the token starts with "qid:"."""
    return text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == 58


@compiled
def _same_token(text, start, end, other_start, other_end):
    same = end - start == other_end - other_start
    offset = 0
    while same and offset < end - start:
        same = text[start + offset] == text[other_start + offset]
        offset += 1
    return same


@compiled
def _parse_label(text, at, line, labels, label_bits, long_tokens, state):
    end = _token_end(text, at)
    status = parse_number(text, at, end, labels, label_bits, state[N_ROWS])
    if status == NUMBER:
        return end
    if status == TOO_LONG:
        _note_long(long_tokens, at, end, state[N_ROWS], 0, state)
        return end
    if status == NOT_FINITE:
        return _fail(state, LABEL_NOT_FINITE, line, at, end)
    for position in range(at, end):
        if text[position] == 58:
            return _fail(state, NO_LABEL, line, at, end)
    return _fail(state, BAD_LABEL, line, at, end)


@compiled
def _note_long(long_tokens, start, end, slot, is_value, state):
    row = state[N_LONG]
    long_tokens[row, 0] = start
    long_tokens[row, 1] = end
    long_tokens[row, 2] = slot
    long_tokens[row, 3] = is_value
    state[N_LONG] = row + 1


@compiled
def _parse_qid(text, at, line, runs, state):
    """Read an optional qid; note where a run of rows of one qid starts."""
    row = state[N_ROWS]
    found = _is_qid(text, at)
    if state[HAS_QID] < 0:
        state[HAS_QID] = 1 if found else 0
    if not found:
        if state[HAS_QID] == 1:
            return _fail(state, QID_MISSING, line, at, at)
        return at
    end = _token_end(text, at)
    if state[HAS_QID] == 0:
        return _fail(state, QID_UNEXPECTED, line, at, end)
    start = at + 4
    if start == end:
        return _fail(state, EMPTY_QID, line, at, end)
    last = state[N_RUNS] - 1
    if last < 0 or not _same_token(text, start, end, runs[last, 1], runs[last, 2]):
        runs[last + 1, 0] = row
        runs[last + 1, 1] = start
        runs[last + 1, 2] = end
        runs[last + 1, 3] = line
        state[N_RUNS] = last + 2
    return end


@compiled
def _refuse_index(text, at, line, state):
    """Say why text[at:] starts no index:value pair."""
    end = _token_end(text, at)
    if _is_qid(text, at):
        return _fail(state, LATE_QID, line, at, end)
    colon = at
    while colon < end and text[colon] != 58:
        colon += 1
    if colon == end:
        return _fail(state, TORN_PAIR, line, at, end)
    digits = at + 1 if text[at] == 45 else at
    for position in range(digits, colon):
        if text[position] < 48 or text[position] > 57:
            return _fail(state, BAD_INDEX, line, at, end)
    if digits == colon:
        return _fail(state, BAD_INDEX, line, at, end)
    if digits > at:
        return _fail(state, NEGATIVE_INDEX, line, at, end)
    return _fail(state, INDEX_TOO_LARGE, line, at, end)


@compiled
def _parse_pairs(text, at, line, indices, values, value_bits, long_tokens, state):
    """Read the index:value pairs of a line; return where its comment or its end is."""
    entry = state[N_ENTRIES]
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
        if at == start or text[at] != 58 or index > MAX_INDEX_ALLOWED:
            return _refuse_index(text, start, line, state)
        at += 1
        end = _token_end(text, at)
        if end == at:
            return _fail(state, NO_VALUE, line, start, end)
        if index <= last:
            error = DUPLICATE_INDEX if index == last else UNORDERED_INDEX
            return _fail(state, error, line, start, end)
        if last < 0 and index < state[MIN_INDEX]:
            state[MIN_INDEX] = index
            state[MIN_INDEX_LINE] = line
        last = index
        status = parse_number(text, at, end, values, value_bits, entry)
        if status == TOO_LONG:
            _note_long(long_tokens, at, end, entry, 1, state)
        elif status != NUMBER:
            error = VALUE_NOT_FINITE if status == NOT_FINITE else BAD_VALUE
            return _fail(state, error, line, start, end)
        indices[entry] = index
        entry += 1
        at = end
    if last > state[MAX_INDEX]:
        state[MAX_INDEX] = last
        state[MAX_INDEX_LINE] = line
    state[N_ENTRIES] = entry
    return at


@compiled
def parse_block(text, line, labels, row_ends, indices, values, runs, comments, long_tokens, state):
    """Parse whole lines; stop at the first error.

    Parameters
    ----------
    text : ndarray of uint8
        Whole lines, the last one ended too; the end must be the byte 10.
    line : int
        Number of the first line.
    labels, row_ends : ndarray of float64 and of int64, one element a row at least
        The label, and the entries up to the end of the row.
    indices, values : ndarray of int32 and of float64, one element an entry at least
        As in the file, indices not shifted.
    runs : ndarray of int64, shape (n_rows, 4)
        A run of rows of one qid: first row, start and end of the qid's text, line.
    comments : ndarray of int64, shape (n_rows, 2)
        Start and end of the text after `#`, equal where there is none.
    long_tokens : ndarray of int64, shape (n_tokens, 4)
        Numbers left to Python's float: start, end, slot, and 1 for a value, 0 for a label.
    state : ndarray of int64, shape (STATE_SIZE,)
        What is counted; HAS_QID, MIN_INDEX and MAX_INDEX go on from block to block.

    Returns
    -------
    int
        Number of the line after the last.
    """
    label_bits = labels.view(np.uint64)
    value_bits = values.view(np.uint64)
    size = len(text)
    at = 0
    while at < size:
        at = _skip_blanks(text, at)
        if text[at] != 10 and text[at] != 35:
            at = _parse_label(text, at, line, labels, label_bits, long_tokens, state)
            if at < 0:
                return line
            at = _parse_qid(text, _skip_blanks(text, at), line, runs, state)
            if at < 0:
                return line
            at = _parse_pairs(text, at, line, indices, values, value_bits, long_tokens, state)
            if at < 0:
                return line
            comment = at + 1 if text[at] == 35 else at
            while text[at] != 10:
                at += 1
            row = state[N_ROWS]
            comments[row, 0] = comment
            comments[row, 1] = at
            row_ends[row] = state[N_ENTRIES]
            state[N_ROWS] = row + 1
        while text[at] != 10:
            at += 1
        at += 1
        line += 1
    return line


@compiled
def scatter_rows(row_ends, indices, values, shift, out):
    """Write the rows of a block into the dense `out`, zeros elsewhere; O(cells of out)."""
    entry = 0
    for row in range(len(row_ends)):
        out[row, :] = 0
        while entry < row_ends[row]:
            out[row, indices[entry] - shift] = values[entry]
            entry += 1
