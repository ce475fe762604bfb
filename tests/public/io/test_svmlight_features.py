"""How many features svmlight rows have: which files are padded, and which are refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank.exceptions import FileFormatError
from pairrank.io import Rows, read_rows


def read(text: str, **options) -> Rows:
    return read_rows(io.BytesIO(text.encode()), **options)


@pytest.mark.parametrize(
    "text", ["1 1:5 2:0\n0 1:2 2:3\n", "1 0:5 1:0\n0 0:2 1:3\n", "1 1:2 2:1\n"]
)
def test_rows_that_state_every_feature_are_not_padded(text):
    assert read(text, n_features=2).X.shape[1] == 2
    message = (
        "every row states 2 features, .* though 3 are expected; .* state the last one in a row"
    )
    with pytest.raises(FileFormatError, match=message):
        read(text, n_features=3)
    X = read(text + "2\n" * 9, n_features=3).X
    assert X[:, [2]].sum() == 0


@given(
    entries=st.lists(st.sets(st.integers(1, 5)), min_size=1, max_size=4),
    n_features=st.integers(1, 7),
)
def test_the_rule_of_padding_is_that_some_entry_is_left_out(entries, n_features):
    text = "".join(f"1 {' '.join(f'{index}:2' for index in sorted(row))}\n" for row in entries)
    width = max((index for row in entries for index in row), default=0)
    states_all = width > 0 and all(row == set(range(1, width + 1)) for row in entries)
    if width > n_features or (states_all and width < n_features):
        with pytest.raises(FileFormatError, match="another set of features"):
            read(text, n_features=n_features)
    else:
        X = read(text, n_features=n_features).X
        wanted = [[2.0 * (index in row) for index in range(1, n_features + 1)] for row in entries]
        assert (X if isinstance(X, np.ndarray) else X.toarray()).tolist() == wanted
