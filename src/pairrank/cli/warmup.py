"""pairrank warmup: compile the loops of models before they are needed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from pairrank.cli import _options as options
from pairrank.cli._models import MODELS, make_ranker
from pairrank.cli._options import choice, option
from pairrank.cli._progress import Progress
from pairrank.cli._report import print_facts

_N_ROWS, _N_FEATURES = 30_000, 4
_QUERY_SIZES = (10, 300)
_N_LEVELS = 5


def warmup(
    model: Annotated[
        str | None, option("Model", "One model; all if left out.", **choice(*MODELS))
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Compile the loops of one model or of all for this machine, and keep them on disk.

    Without it, each model compiles what it needs at its first fit, once per machine.
    """
    seconds = {}
    with Progress(quiet=quiet) as progress:
        installed = [name for name, each in MODELS.items() if each.is_installed]
        for name in installed if model is None else (model,):
            progress.keep(f"compiling {name}")
            start = time.perf_counter()
            for X, y, qid in samples():
                fit_and_score(make_ranker(name, {"max_iter": 3}), X, y, qid)
            seconds[name] = time.perf_counter() - start
    if not quiet:
        print_facts("Seconds for compiled models", seconds)


def samples() -> Iterator[tuple[Any, Any, Any]]:
    """Yield rows, labels and queries of every kind that has loops of its own."""
    from scipy.sparse import csr_array

    generator = np.random.default_rng(0)
    X = generator.normal(size=(_N_ROWS, _N_FEATURES))
    score = X @ np.ones(_N_FEATURES) + generator.normal(size=_N_ROWS)
    ranks = np.argsort(np.argsort(score))
    graded = ranks * _N_LEVELS // _N_ROWS
    few = slice(2 * max(_QUERY_SIZES))
    for size in _QUERY_SIZES:
        qid = np.arange(_N_ROWS) // size
        for rows in (X[few], X[few].astype(np.float32), csr_array(X[few])):
            yield rows, graded[few], qid[few]
    for y in (ranks >= _N_ROWS // 2, graded, score):
        yield X, y, None


def fit_and_score(ranker: Any, X: Any, y: Any, qid: Any) -> None:
    """Fit and score a ranker; it stops early, which does not matter here."""
    import warnings

    from pairrank.metrics import mean_ndcg, pairwise_accuracy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(X, y, qid=qid)
        scores = ranker.predict(X)
    pairwise_accuracy(y, scores, qid=qid)
    if not np.issubdtype(np.asarray(y).dtype, np.floating):
        mean_ndcg(np.asarray(y, dtype=np.float64), scores, qid=qid)
