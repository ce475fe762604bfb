"""Generators of texts: statistics, determinism, errors."""

from __future__ import annotations

import numpy as np

from pairrank import datasets
from pairrank.datasets import make_documents


def test_blocks_of_documents_are_one_matrix(monkeypatch):
    monkeypatch.setattr(datasets.text_generators, "_BLOCK_WORDS", 500)
    data = make_documents(40, 300, dtype=np.float32, random_state=0)
    assert data.X.shape == (40, 300)
    assert data.X.dtype == np.float32
    assert np.allclose(data.X.multiply(data.X).sum(axis=1), 1.0, atol=1e-5)
