"""Cells of text to the arrays of Rows, block by block."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from pairrank.exceptions import FileFormatError
from pairrank.io._columns import Roles
from pairrank.io.rows import Rows

_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,18}\s*\Z")


class TextBlock(NamedTuple):
    """Rows of cells and the lines where they end."""

    lines: list[int]
    cells: list[list[str]]


class CellParser:
    """Takes blocks of text cells and keeps them as arrays."""

    def __init__(self, name: str, header: list[str], roles: Roles, dtype: Any) -> None:
        self.name = name
        self.roles = roles
        self.dtype = np.dtype(dtype)
        self.position = {column: number for number, column in enumerate(header)}
        self.features = [self.position[column] for column in roles.features]
        self.X: list[np.ndarray[Any, Any]] = []
        self.labels: list[np.ndarray[Any, Any]] = []
        self.weights: list[np.ndarray[Any, Any]] = []
        self.code_of: dict[str, int] = {}
        self.codes: list[np.ndarray[Any, Any]] = []

    def take(self, block: TextBlock) -> None:
        """Convert a block of rows."""
        picked = [[cells[position] for position in self.features] for cells in block.cells]
        X = _numbers(itertools.chain.from_iterable(picked), len(picked) * len(self.features))
        if X is None:
            raise self._refusal(block, self.roles.features)
        self.X.append(X.reshape(len(picked), -1).astype(self.dtype, copy=False))
        if self.roles.weight is not None:
            self.weights.append(self._weights(block, self.roles.weight))
        if self.roles.qid is not None:
            queries = self._filled(block, self.roles.qid)
            codes = [self.code_of.setdefault(query, len(self.code_of)) for query in queries]
            self.codes.append(np.array(codes, dtype=np.int32))
        if self.roles.label is not None:
            self.labels.append(self._block_labels(block, self.roles.label))

    def _weights(self, block: TextBlock, column: str) -> np.ndarray[Any, Any]:
        position = self.position[column]
        weights = _numbers((cells[position] for cells in block.cells), len(block.cells))
        if weights is None:
            raise self._refusal(block, [column])
        return weights

    def _block_labels(self, block: TextBlock, column: str) -> np.ndarray[Any, Any]:
        """Return the labels as numbers, or as text where all, also the earlier ones, are names."""
        texts = self._filled(block, column)
        numbers = _numbers(texts, len(texts))
        named = self.labels[0].dtype.kind == "U" if self.labels else is_word(texts[0])
        if not named and numbers is not None:
            return numbers
        if named and all(map(is_word, texts)):
            return np.array(texts)
        for line, text in zip(block.lines, texts, strict=True):
            if is_word(text) != named or (not named and _numbers([text], 1) is None):
                raise FileFormatError(
                    f"{self.name}, line {line}: the label {text!r} is "
                    f"{'not a name' if named else 'not a finite number'}, the others are; use "
                    "numbers for all rows, or names for all"
                )
        raise AssertionError("labels are refused without one to blame")

    def _filled(self, block: TextBlock, column: str) -> list[str]:
        position = self.position[column]
        texts = [cells[position] for cells in block.cells]
        for line, text in zip(block.lines, texts, strict=True):
            if not text.strip():
                raise FileFormatError(
                    f"{self.name}, line {line}: the column {column!r} is empty; fill it in or drop "
                    "the row"
                )
        return texts

    def _refusal(self, block: TextBlock, columns: list[str]) -> FileFormatError:
        """Return the error that says which cell of `columns` is not a finite number."""
        texts = [column for column in columns if self._holds_only_text(block, column)]
        if texts and not self.X:
            listed = ", ".join(repr(column) for column in texts)
            return FileFormatError(
                f"{self.name}: columns {listed} hold text, features are numbers; drop or encode "
                "them"
            )
        for line, cells in zip(block.lines, block.cells, strict=True):
            for column in columns:
                cell = cells[self.position[column]]
                if _numbers([cell], 1) is None:
                    what = f"{cell!r} is not a finite number" if cell.strip() else "an empty cell"
                    return FileFormatError(
                        f"{self.name}, line {line}: column {column!r}: {what}; impute a value, "
                        "drop the row, or drop the column"
                    )
        raise AssertionError("a block is refused without a cell to blame")

    def _holds_only_text(self, block: TextBlock, column: str) -> bool:
        position = self.position[column]
        return all(is_word(cells[position]) for cells in block.cells)

    def rows(self) -> Rows:
        """Put the blocks together."""
        if not self.X:
            raise FileFormatError(f"{self.name}: no rows below the header")
        X = np.concatenate(self.X)
        self.X.clear()
        weight = np.concatenate(self.weights) if self.weights else None
        return Rows(X, self._y(), self._qid(), weight, list(self.roles.features), None)

    def _y(self) -> np.ndarray[Any, Any] | None:
        return np.concatenate(self.labels) if self.labels else None

    def _qid(self) -> np.ndarray[Any, Any] | None:
        if not self.codes:
            return None
        whole = all(_INTEGER.match(query) for query in self.code_of)
        names = np.array([int(query) for query in self.code_of] if whole else list(self.code_of))
        return names[np.concatenate(self.codes)]


def _numbers(texts: Iterable[str], count: int) -> np.ndarray[Any, Any] | None:
    """Return finite float64 values, or None where a text is no such number."""
    try:
        values = np.fromiter(map(number, texts), dtype=np.float64, count=count)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def number(text: str) -> float:
    """Return float(text), without Python's 1_000."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


def is_word(text: str) -> bool:
    """Whether a cell is text: neither empty nor a number, NaN and infinity included."""
    try:
        number(text)
    except ValueError:
        return bool(text.strip())
    return False
