"""LIBLINEAR-ranksvm on a problem, and the objective of anyone's weights."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairrank.io import Rows, write_rows
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

    def objective(self, C: float, coef: np.ndarray[Any, Any]) -> float:
        """Return |w|^2/2 + C * pair sum, in float64 whatever X is, all pairs summed exactly."""
        scores = np.empty(self.y.size)
        for start in range(0, self.y.size, _BLOCK):
            rows = slice(start, start + _BLOCK)
            scores[rows] = self.X[rows].astype(np.float64) @ coef
        levels = Levels.build(self.y, self.qid)
        pair_sum = bind(SquaredHinge(), levels, pair_sum="sorted")
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
        write_rows(self.file, Rows(problem.X, problem.y, problem.qid))
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
