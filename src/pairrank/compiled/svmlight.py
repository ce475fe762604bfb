"""svmlight text to tokens: one pass over a block of whole lines, no object per value."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled

# The error of the token at state[ERROR_START]:state[ERROR_END]; the reader describes it.
FINE = 0
BAD_LABEL = 1
BAD_QID = 2
QID_MISSING = 3
QID_UNEXPECTED = 4
BAD_PAIR = 5
DUPLICATE_INDEX = 6
UNORDERED_INDEX = 7

# Places of the state, an int64 array.
N_ROWS = 0
N_TOKENS = 1
N_RUNS = 2
HAS_QID = 3  # -1 before the first row, then 0 or 1
MIN_INDEX = 4
MIN_INDEX_LINE = 5
MAX_INDEX = 6
MAX_INDEX_LINE = 7
ERROR = 8
ERROR_LINE = 9
ERROR_START = 10
ERROR_END = 11
STATE_SIZE = 12

MAX_INDEX_ALLOWED = (1 << 31) - 2
LABEL = -1
"""The index of a token that is a label."""


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
def _take_number(text, at, numbers, ends, n_tokens):
    """Copy a token, without the plus sign of a number, behind the others; return where it ends."""
    if text[at] == 43 and (48 <= text[at + 1] <= 57 or text[at + 1] == 46):
        at += 1
    n_bytes = ends[n_tokens] - at
    while text[at] > 32 and text[at] != 35:
        numbers[n_bytes + at] = text[at]
        at += 1
    ends[n_tokens + 1] = n_bytes + at
    return at


@compiled
def split_block(text, numbers, ends, indices, row_ends, runs, comments, state):
    """Split whole lines into tokens; stop at the first error.

    Parameters
    ----------
    text : ndarray of uint8
        Whole lines, the last one ended too; lines are counted from 0.
    numbers : ndarray of uint8, as long as the text
        The labels and values one after another, as text.
    ends : ndarray of int32, one element more than tokens
        Where each of these ends; the first element is 0.
    indices : ndarray of int32, at least one element per token
        The index of each value as in the file, and LABEL for a label.
    row_ends : ndarray of int64, at least one element per row
        The tokens up to the end of the row.
    runs : ndarray of int64, shape (n_rows, 3)
        A run of rows of one qid: first row, start and end of the qid's text.
    comments : ndarray of int64, shape (n_rows, 2)
        Start and end of the text after `#`, equal where there is none.
    state : ndarray of int64, shape (STATE_SIZE,)
        Counts and extreme indices of this block; HAS_QID is given, if earlier rows tell it.
    """
    row = token = n_runs = line = 0
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

        at = _take_number(text, at, numbers, ends, token)
        indices[token] = LABEL
        token += 1

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
            if index <= last:
                error = DUPLICATE_INDEX if index == last else UNORDERED_INDEX
                break
            if last < 0 and index < state[MIN_INDEX]:
                state[MIN_INDEX] = index
                state[MIN_INDEX_LINE] = line
            last = index
            at = _take_number(text, at + 1, numbers, ends, token)
            indices[token] = index
            token += 1
        if error != FINE:
            break
        if last > state[MAX_INDEX]:
            state[MAX_INDEX] = last
            state[MAX_INDEX_LINE] = line
        start = at + 1 if text[at] == 35 else at
        while text[at] != 10:
            at += 1
        comments[row, 0], comments[row, 1] = start, at
        row_ends[row] = token
        row += 1
        at += 1
        line += 1

    state[N_ROWS], state[N_TOKENS], state[N_RUNS] = row, token, n_runs
    state[ERROR], state[ERROR_LINE] = error, line
    state[ERROR_START] = start
    if error != FINE:
        state[ERROR_END] = _token_end(text, start)


@compiled
def scatter_rows(row_ends, indices, values, out):
    """Write rows of entries into the dense `out`, zeros elsewhere; O(cells of out)."""
    entry = 0
    for row in range(len(row_ends)):
        out[row, :] = 0
        while entry < row_ends[row]:
            out[row, indices[entry]] = values[entry]
            entry += 1
