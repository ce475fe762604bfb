"""svmlight text to tokens: one pass over a block of whole lines, no object per value."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled

# Places of the state, an int64 array.
N_ROWS, N_TOKENS, N_RUNS = 0, 1, 2
HAS_QID = 3  # -1 before the first row, then 0 or 1
BAD_LINE = 4  # the first line that is not valid; -1: none. The reader says why

MAX_INDEX_ALLOWED = (1 << 31) - 2
LABEL = -1
"""The index of a token that is a label."""


@compiled
def _skip_blanks(text, at):
    while text[at] == 32 or text[at] == 9 or text[at] == 13:
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
def split_block(text, numbers, ends, indices, rows, runs, state):
    """Split whole lines into tokens; stop at the first line that is not valid.

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
    rows : ndarray of int64, shape (n_rows, 4)
        The tokens up to the end of each row, start and end of the text after `#` (equal where there
        is none), and the line.
    runs : ndarray of int64, shape (n_rows, 3)
        A run of rows of one qid: first row, start and end of the qid's text.
    state : ndarray of int64, shape (5,)
        The counts of this block; HAS_QID is given, if earlier rows tell it.
    """
    row = token = n_runs = line = 0
    run_start = run_end = at = 0
    fine = True
    while fine and at < len(text):
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
        if found:
            start += 4
            at += 4
            while text[at] > 32 and text[at] != 35:
                at += 1
            same = n_runs > 0 and at - start == run_end - run_start
            offset = 0
            while same and offset < at - start:
                same = text[start + offset] == text[run_start + offset]
                offset += 1
            if not same:
                run_start, run_end = start, at
                runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2] = row, start, at
                n_runs += 1
        fine = found == state[HAS_QID] and (not found or at > start)

        last = -1
        while fine:
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
            fine = at > start and digit == 10 and last < index <= MAX_INDEX_ALLOWED
            if not fine:
                break
            last = index
            at = _take_number(text, at + 1, numbers, ends, token)
            indices[token] = index
            token += 1
        if not fine:
            break
        rows[row, 1] = at + 1 if text[at] == 35 else at
        while text[at] != 10:
            at += 1
        rows[row, 0], rows[row, 2], rows[row, 3] = token, at, line
        row += 1
        at += 1
        line += 1

    state[N_ROWS], state[N_TOKENS], state[N_RUNS] = row, token, n_runs
    state[BAD_LINE] = -1 if fine else line
