"""What is wrong with a line of svmlight text."""

from __future__ import annotations

import re

from pairrank.io.rows import is_finite, number

_SHOWN = 40
_INDEX = re.compile(r"-?[0-9]+\Z")
_HIGHEST = (1 << 31) - 2
"""That of `compiled.svmlight`."""


def fault_of(line: bytes, *, has_qid: bool) -> str:
    """Return the first fault of a line; `has_qid` says whether rows before it have queries."""
    text = line.decode("utf-8", "replace").partition("#")[0]
    label, *pairs = re.split(r"[ \t\r]+|(?=[\0-\x1f])", text.strip(" \t\r"))
    if not _is_number(label):
        return _of_label(label)
    if (pairs[:1] or [""])[0].startswith("qid:") != has_qid:
        if has_qid:
            return "no qid, though earlier rows have one; give every row a qid, or none"
        return "a qid, though earlier rows have none; give every row one, or none"
    if has_qid and pairs.pop(0) == "qid:":
        return "'qid:' without a query; write qid:1, or leave qid out of every row"
    last = -1
    for pair in pairs:
        fault = _of_pair(pair)
        if fault:
            return fault
        index = int(pair.partition(":")[0])
        if index == last:
            return f"the index of {_shown(pair)} comes twice; merge the two values"
        if index < last:
            return f"the index of {_shown(pair)} is below the one before it; sort them"
        last = index
    return "the line is damaged"


def _of_label(text: str) -> str:
    if ":" in text:
        return f"the label is missing before {_shown(text)}; a row starts with its label"
    if number(text) is not None:
        return f"the label {_shown(text)} is not finite; drop the row or correct it"
    return f"the label {_shown(text)} is not a number; a row starts with its label, a number"


def _of_pair(text: str) -> str:
    shown, (index, colon, value) = _shown(text), text.partition(":")
    if index == "qid":
        return f"{shown} is among the features; qid must come right after the label"
    if not colon:
        return f"{shown} is not an index:value pair; the line is damaged"
    if not _INDEX.match(index):
        return f"the index in {shown} is not a whole number"
    if index.startswith("-"):
        return f"the index in {shown} is negative; indices count from 1, or from 0"
    if int(index[:19]) > _HIGHEST:
        return f"the index in {shown} is too large; {_HIGHEST} is the highest"
    if not value:
        return f"{shown} has no value; the line is damaged"
    if _is_number(value):
        return ""
    if number(value) is not None:
        return f"the value in {shown} is not finite; leave the pair out, or impute a value"
    return f"the value in {shown} is not a number"


def _is_number(text: str) -> bool:
    return text.isascii() and is_finite(text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
