"""Error messages for lines of svmlight text."""

from __future__ import annotations

import re

from pairrank.exceptions import FileFormatError
from pairrank.io.rows import is_finite, number

_SHOWN = 40
_INDEX = re.compile(r"-?[0-9]+\Z")


def explain(name: str, code: int, line: int, token: bytes) -> FileFormatError:
    """Return the error for the parser's error code and the token at fault."""
    from pairrank.compiled import svmlight as kernel

    text = token.decode("utf-8", "replace")
    shown = repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
    sentences = {
        kernel.BAD_QID: "'qid:' without a query; write qid:1, or leave qid out of every row",
        kernel.QID_MISSING: "no qid, though earlier rows have one; give every row a qid, or none",
        kernel.QID_UNEXPECTED: "a qid, though earlier rows have none; give every row one, or none",
        kernel.DUPLICATE_INDEX: f"the index of {shown} comes twice; merge the two values",
        kernel.UNORDERED_INDEX: f"the index of {shown} is below the one before it; sort them",
    }
    if code == kernel.BAD_LABEL:
        sentence = _label_sentence(text, shown)
    elif code == kernel.BAD_PAIR:
        sentence = _pair_sentence(text, shown, kernel.MAX_INDEX_ALLOWED)
    else:
        sentence = sentences[code]
    return FileFormatError(f"{name}, line {line}: {sentence}")


def _label_sentence(text: str, shown: str) -> str:
    if ":" in text:
        return f"the label is missing before {shown}; a row starts with its label"
    if _is_infinite(text):
        return f"the label {shown} is not finite; drop the row or correct it"
    return f"the label {shown} is not a number; a row starts with its label, a number"


def _pair_sentence(text: str, shown: str, highest: int) -> str:
    index, colon, value = text.partition(":")
    if index == "qid":
        return f"{shown} is among the features; qid must come right after the label"
    if not colon:
        return f"{shown} is not an index:value pair; the line is damaged"
    if not _INDEX.match(index):
        return f"the index in {shown} is not a whole number"
    if index.startswith("-"):
        return f"the index in {shown} is negative; indices count from 1, or from 0"
    if int(index[:19]) > highest:
        return f"the index in {shown} is too large; {highest} is the highest"
    if not value:
        return f"{shown} has no value; the line is damaged"
    if _is_infinite(value):
        return f"the value in {shown} is not finite; leave the pair out, or impute a value"
    return f"the value in {shown} is not a number"


def _is_infinite(text: str) -> bool:
    """Whether Python reads the text as NaN or infinity."""
    return number(text) is not None and not is_finite(text)
