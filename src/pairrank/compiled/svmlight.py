"""svmlight text to arrays: one pass over a block of whole lines, no object a value."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.decimal import NUMBER, TOO_LONG, parse_number

# What is wrong with the token at state[ERROR_START]:state[ERROR_END]; the reader finds out more.
FINE = 0
BAD_LABEL = 1
BAD_QID = 2
QID_MISSING = 3
QID_UNEXPECTED = 4
BAD_PAIR = 5
DUPLICATE_INDEX = 6
UNORDERED_INDEX = 7

# The state that goes from block to block, an int64 array.
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
def parse_block(text, line, labels, row_ends, indices, values, runs, comments, long_tokens, state):
    """Parse whole lines; stop at the first error.

    Parameters
    ----------
    text : ndarray of uint8
        Whole lines, the last one ended too.
    line : int
        Number of the first line.
    labels, row_ends : ndarray of float64 and of int64, one element a row at least
        The label, and the entries up to the end of the row.
    indices, values : ndarray of int32 and of float64, one element an entry at least
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
    label_bits = labels.view(np.uint64)
    value_bits = values.view(np.uint64)
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
        status = parse_number(text, start, at, labels, label_bits, row)
        if status == TOO_LONG:
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
            status = parse_number(text, value_start, at, values, value_bits, entry)
            if status == TOO_LONG:
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
