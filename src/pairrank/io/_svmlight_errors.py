"""What is wrong with a line of svmlight text, as a sentence."""

from __future__ import annotations

from typing import NamedTuple

from pairrank.exceptions import FileFormatError

_SHOWN = 40


class LineError(NamedTuple):
    """The parser's error code, the number of the line, and the token that it stumbled over."""

    code: int
    line: int
    token: bytes


def explain(name: str, error: LineError) -> FileFormatError:
    """Return the error to raise for `error` in the file `name`."""
    from pairrank.sums import svmlight as kernel

    sentences = {
        kernel.BAD_LABEL: "the label {token!r} is not a number; a row starts with its label",
        kernel.NO_LABEL: "the label is missing before {token!r}; a row starts with its label",
        kernel.LABEL_NOT_FINITE: "the label {token!r} is not finite; drop the row or mend it",
        kernel.EMPTY_QID: "'qid:' without a query; write qid:1, or leave qid out of every row",
        kernel.LATE_QID: "{token!r} stands among the features; qid comes right after the label",
        kernel.QID_MISSING: "no qid, though earlier rows have one; give every row a qid, or none",
        kernel.QID_UNEXPECTED: (
            "{token!r}, though earlier rows have no qid; give every row a qid, or none"
        ),
        kernel.TORN_PAIR: "{token!r} is no index:value pair; the line is torn",
        kernel.BAD_INDEX: "the index in {token!r} is not a whole number",
        kernel.NEGATIVE_INDEX: "the index in {token!r} is negative; they count from 1, or from 0",
        kernel.INDEX_TOO_LARGE: "the index in {token!r} is too large; 2147483646 is the highest",
        kernel.DUPLICATE_INDEX: "the index of {token!r} comes twice; merge the two values",
        kernel.UNORDERED_INDEX: "the index of {token!r} is below the one before; sort them",
        kernel.NO_VALUE: "{token!r} has no value; the line is torn",
        kernel.BAD_VALUE: "the value in {token!r} is not a number",
        kernel.VALUE_NOT_FINITE: (
            "the value in {token!r} is not finite; leave the pair out, or impute a value"
        ),
    }
    token = error.token.decode("utf-8", "replace")
    if len(token) > _SHOWN:
        token = token[:_SHOWN] + "..."
    sentence = sentences[error.code].format(token=token)
    return FileFormatError(f"{name}, line {error.line}: {sentence}")
