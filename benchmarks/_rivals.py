"""Rivals of RankSVM on the same problem: LIBLINEAR-ranksvm, FastSurvivalSVM, sampled pairs."""

from __future__ import annotations

import re
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairrank.io import Rows, write_svmlight
from pairrank.losses import SquaredHinge
from pairrank.pair_sums import bind
from pairrank.preferences import Levels

_BLOCK = 20_000
_LONGEST = 60.0


class Problem(NamedTuple):
    """Rows to rank, the paper's plain sum over their pairs, and how to judge weights."""

    name: str
    X: Any
    y: np.ndarray[Any, Any]
    qid: np.ndarray[Any, Any] | None

    def cut(self, n_rows: int) -> Problem:
        """Return the first rows alone."""
        qid = None if self.qid is None else self.qid[:n_rows]
        return Problem(f"{self.name}, {n_rows:,} rows", self.X[:n_rows], self.y[:n_rows], qid)

    def objective(self, C: float, coef: np.ndarray[Any, Any]) -> float:
        """Return |w|^2/2 + C * pair sum, in float64 whatever X is."""
        scores = np.empty(self.y.size)
        for start in range(0, self.y.size, _BLOCK):
            rows = slice(start, start + _BLOCK)
            scores[rows] = self.X[rows].astype(np.float64) @ coef
        pair_sum = bind(SquaredHinge(), Levels.build(self.y, self.qid))
        return 0.5 * float(coef @ coef) + C * pair_sum.at(scores)[0]


class Rival(NamedTuple):
    """What a rival found: weights, its seconds, and steps where it tells them."""

    coef: np.ndarray[Any, Any]
    seconds: float
    n_newton: int = 0
    n_cg: int = 0


class Liblinear:
    """LIBLINEAR-ranksvm's `train` program on one problem, written as svmlight text once.

    A build that prints a line ``training_seconds S`` around its call of train() is timed by that
    line. Of any other the wall time is taken, less that of a run with ``-e 1e10``, which reads the
    same file and stops after its first evaluation.
    """

    def __init__(self, train: Path, problem: Problem, folder: Path) -> None:
        self.train, self.problem = train, problem
        self.file, self.model = folder / "rows.txt", folder / "rows.model"
        write_svmlight(self.file, Rows(problem.X, problem.y, problem.qid))
        self._reading: float | None = None

    def fit(self, C: float, tol: float) -> Rival | None:
        """Train, and read the weights from the model file; None where it takes too long."""
        try:
            output, wall = self._run(C, tol)
        except subprocess.TimeoutExpired:
            return None
        told = re.search(r"^training_seconds (\S+)", output, re.MULTILINE)
        taken = float(told.group(1)) if told else wall - self._overhead(C)
        steps = re.findall(r"^iter\s+(\d+) .*CG\s+(\d+)", output, re.MULTILINE)
        newton = int(steps[-1][0]) if steps else 0
        return Rival(self._coef(), taken, newton, sum(int(count) for _, count in steps))

    def _run(self, C: float, tol: float) -> tuple[str, float]:
        command = [str(self.train), "-s", "8", "-c", repr(C), "-e", repr(tol)]
        command += [str(self.file), str(self.model)]
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=_LONGEST)
        return done.stdout, time.perf_counter() - start

    def _overhead(self, C: float) -> float:
        if self._reading is None:
            self._reading = self._run(C, 1e10)[1]
        return self._reading

    def _coef(self) -> np.ndarray[Any, Any]:
        lines = self.model.read_text().partition("\nw\n")[2].split()
        coef = np.zeros(self.problem.X.shape[1])
        coef[: len(lines)] = np.array(lines, dtype=np.float64)
        return coef


def fit_survival(problem: Problem, C: float, tol: float) -> Rival:
    """Fit scikit-survival's FastSurvivalSVM: one query, no equal labels, dense rows only."""
    from scipy.stats import rankdata
    from sksurv.svm import FastSurvivalSVM
    from sksurv.util import Surv

    X = problem.X.toarray() if hasattr(problem.X, "toarray") else problem.X
    target = Surv.from_arrays(np.ones(problem.y.size, dtype=bool), rankdata(problem.y))
    model = FastSurvivalSVM(alpha=2 * C, rank_ratio=1.0, max_iter=100, tol=tol, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, target)
    return Rival(model.coef_, time.perf_counter() - start, int(model.n_iter_))


def fit_sampled_pairs(problem: Problem, C: float, tol: float, n_pairs: int) -> Rival:
    """Fit LinearSVC to the differences of `n_pairs` preferences drawn alike from all."""
    from sklearn.svm import LinearSVC

    levels = Levels.build(problem.y, problem.qid)
    start = time.perf_counter()
    first, second = _draw_pairs(problem, n_pairs)
    sign = np.where(np.arange(n_pairs) % 2, 1.0, -1.0)
    towards = np.sign(problem.y[first] - problem.y[second]) == sign
    differences = (
        problem.X[np.where(towards, first, second)] - problem.X[np.where(towards, second, first)]
    )
    weight = C * levels.n_pairs / n_pairs
    model = LinearSVC(C=weight, loss="squared_hinge", dual=False, tol=tol, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(differences.astype(np.float64), sign)
    return Rival(model.coef_.ravel(), time.perf_counter() - start, int(model.n_iter_))


def _draw_pairs(
    problem: Problem, n_pairs: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Draw pairs of rows of one query with different labels, each as likely as any other."""
    rng = np.random.default_rng(0)
    qid = np.zeros(problem.y.size) if problem.qid is None else problem.qid
    order = np.argsort(qid, kind="stable")
    sizes = np.unique(qid, return_counts=True)[1]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    shares = sizes.astype(float) ** 2 / (sizes.astype(float) ** 2).sum()
    firsts: list[np.ndarray[Any, Any]] = []
    seconds: list[np.ndarray[Any, Any]] = []
    found = 0
    while found < n_pairs:
        query = rng.choice(sizes.size, n_pairs, p=shares)
        first = order[starts[query] + rng.integers(0, sizes[query])]
        second = order[starts[query] + rng.integers(0, sizes[query])]
        unequal = problem.y[first] != problem.y[second]
        firsts.append(first[unequal])
        seconds.append(second[unequal])
        found += int(unequal.sum())
    return np.concatenate(firsts)[:n_pairs], np.concatenate(seconds)[:n_pairs]
