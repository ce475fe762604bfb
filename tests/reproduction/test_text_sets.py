"""Text sets: splits, labels, and lines that are damaged."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.exceptions import PairrankError
from reproduction.data import load


def test_reuters_is_the_modapte_split(data_home):
    train = load("reuters21578", data_home)
    test = load("reuters21578", data_home, subset="test")
    assert (train.y.size, test.y.size) == (9603, 3299)
    assert (train.y.sum(), test.y.sum()) == (2877, 1087)
    assert train.X.shape[1] == test.X.shape[1]
    lengths = np.sqrt(train.X.multiply(train.X).sum(axis=1))
    assert np.allclose(lengths[lengths > 0], 1.0)
    assert load("reuters21578", data_home, topic="grain").y.sum() == 433


def test_reuters_knows_its_topics(data_home):
    with pytest.raises(PairrankError, match=r"topic='sports'; choose one of .*'acq'"):
        load("reuters21578", data_home, topic="sports")
