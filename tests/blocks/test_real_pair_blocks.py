"""Real rows written to Parquet as a user would, streamed: the coefficients of a fit in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from pairrank import RankNCG, RankSVM
from pairrank.blocks import RowBlocks
from reproduction.data import load

TOL = 1e-11
"""The penalty alone bounds the curvature of a9a's features from below, and its gradient at zero is
1e5 times as long: a smaller tol leaves more than six digits of the weights open."""


@pytest.mark.parametrize(
    ("name", "ranker"),
    [
        ("letor4_mq2008", RankSVM(tol=TOL)),
        ("letor4_mq2008", RankNCG(tol=TOL)),
        ("libsvm_a9a", RankSVM(tol=TOL)),
    ],
)
def test_streamed_parquet_files(name, ranker, data_home, tmp_path, monkeypatch):
    monkeypatch.setattr("pairrank.blocks.catalog.SAMPLE_ROWS", 5000)
    data = load(name, data_home=data_home)
    X = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
    frame = pd.DataFrame(X, columns=[f"feature {at}" for at in range(X.shape[1])])
    frame["label"] = data.y
    if data.qid is not None:
        frame["query"] = data.qid
    for part, places in enumerate(np.array_split(np.arange(len(frame)), 4)):
        path = tmp_path / f"part-{part}.parquet"
        frame.iloc[places].to_parquet(path, row_group_size=2500)
    rows = RowBlocks.from_parquet(
        tmp_path / "*.parquet",
        label="label",
        qid=None if data.qid is None else "query",
        memory_limit=6e8,
    )
    found = clone(ranker).fit(rows)
    wanted = clone(ranker).fit(X, data.y, qid=data.qid)
    assert found.n_pairs_ == wanted.n_pairs_
    assert found.feature_names_in_[0] == "feature 0"
    assert np.abs(found.coef_ - wanted.coef_).max() <= 1e-6 * np.abs(wanted.coef_).max()
