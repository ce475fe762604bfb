"""svmlight text: every value as Python reads it, every torn line an error with its number."""

from __future__ import annotations

import io

import numpy as np
import pytest

import pairrank.io.svmlight as module
from pairrank.exceptions import FileFormatError
from pairrank.io import Rows, read_svmlight


def read(text: str | bytes, **options) -> Rows:
    return read_svmlight(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_blocks_cut_anywhere_change_nothing(monkeypatch, size, ending):
    lines = [f"{k % 3} qid:{k // 4} 1:{k / 7!r} 3:{-k} # row {k}" for k in range(40)]
    lines[5:5] = ["", "   ", "# only a comment: 3", "\t# and another"]
    text = ending.join(lines)
    whole = read(text + ending, comments=True)
    monkeypatch.setattr(module, "_BLOCK", size)
    cut = read(text, comments=True)
    for one, other in zip(whole[:3], cut[:3], strict=True):
        assert np.array_equal(one, other)
    assert cut.comments == whole.comments == [f" row {k}" for k in range(40)]
    assert whole.X.shape == (40, 3)
    assert whole.qid.tolist() == [k // 4 for k in range(40)]


def test_an_error_beyond_the_first_block_names_its_line(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 16)
    with pytest.raises(FileFormatError, match="line 31: '3:' has no value"):
        read("1 1:2 2:3\n" * 30 + "1 3:\n")
