"""Type checkers find misspelt choices and arguments of a wrong type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

RIGHT = """
import numpy as np
import pandas as pd
from scipy import sparse
from pairrank import (
    ConvexHullRanker, GreedyRankRLS, MPRank, OrderGraph, Pairs, PairwiseClassifier, PairwiseRanker,
    RankBoost, RankNCG, RankNCGCV, RankNet, RankRLS, RankRLSCV, RankSVM, RankSVMCV, SVRank,
)
from pairrank.datasets import make_queries
from pairrank.metrics import pairwise_accuracy

X, y = np.zeros((3, 2)), [0, 1, 2]
RankNCG(loss="probit", kernel="linear", graph="chain", random_state=np.random.RandomState(0))
RankSVM(kernel=lambda A, B: A @ B.T, graph=OrderGraph([(0, 1)])).fit(X, y, qid=y)
RankRLS().fit(sparse.csr_array(X), np.array(y)).predict(pd.DataFrame(X))
RankSVM().fit(X, Pairs([0], [1]), sample_weight=[1.0, 2.0, 3.0]).score(X.tolist(), y)
SVRank(n=2, epsilon=None), MPRank(10.0, n=1), ConvexHullRanker(nu=1.0)
RankSVMCV([0.1, 1.0], cv=3, loss="hinge"), RankNCGCV(covariance="rows"), RankRLSCV(kernel="rbf")
RankNet((5, 5), loss="hinge", batch_size=8).fit(X, y, qid=y)
RankBoost(50, patience=3).fit(X, Pairs([0], [1])).rankings_.alphas.sum()
PairwiseClassifier(RankSVM(), method="isotonic").fit(X, y).predict_proba(X)


class LogCosh:
    def phi(self, d: np.ndarray, magnitude: float = 0.0, order: int = 0) -> np.ndarray:
        return d


PairwiseRanker(LogCosh()), PairwiseRanker("hinge", patience=3, validation_metric="ndcg@10")
"""

WRONG = [
    'RankNCG(loss="logistc")',
    'RankSVM(graph="ful")',
    'RankSVM(kernel="rfb")',
    'RankSVM(solver="newton")',
    "SVRank(n=3)",
    'PairwiseRanker(loss="expo")',
    "PairwiseRanker(loss=object())",
    'RankSVMCV(loss="logistic")',
    'ConvexHullRanker(regularizer="l2")',
    'PairwiseClassifier(method="platt")',
    "RankSVM().fit([[1.0]], object())",
    "RankSVM().fit([[1.0]], [1], qid=object())",
    "RankSVM().predict(object())",
    "GreedyRankRLS().fit(object(), [1])",
    'make_queries(5, latent="few")',
    "pairwise_accuracy(object(), [1.0])",
]


def test_mypy_accepts_what_is_right_and_refuses_what_is_wrong(tmp_path):
    pytest.importorskip("mypy", reason="the check needs mypy, which is in pairrank[dev]")
    snippet = tmp_path / "snippet.py"
    snippet.write_text("\n".join([RIGHT, *WRONG, ""]))
    command = [
        *(sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent"),
        *("--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(snippet)),
    ]
    path = {"MYPYPATH": str(SOURCE), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=path, cwd=tmp_path)
    assert not done.stderr
    first = RIGHT.count("\n") + 2
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == list(range(first, first + len(WRONG))), done.stdout
