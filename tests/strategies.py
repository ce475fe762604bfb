"""Ranking problems of every kind, for hypothesis."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from definitions import preferences_of
from pairrank import OrderGraph


class Problem(NamedTuple):
    """Labels, queries, graph, weights, scores, and a vector to multiply a Hessian with.

    Without roles, `winner` and `loser` are None.
    """

    y: np.ndarray
    qid: np.ndarray | None
    graph: Any
    weight: np.ndarray | None
    scores: np.ndarray
    v: np.ndarray
    winner: np.ndarray | None = None
    loser: np.ndarray | None = None

    @property
    def aligned(self) -> dict[str, Any]:
        """Queries and weights by the names of arguments."""
        names = ("qid", "sample_weight", "winner_weight", "loser_weight")
        return dict(zip(names, (self.qid, self.weight, self.winner, self.loser), strict=True))


def differs(problem: Problem) -> bool:
    """Whether some query holds two labels of positive weight."""
    weight = np.ones(problem.y.size) if problem.weight is None else problem.weight
    pairs = preferences_of(problem.y, problem.qid, "full")
    return any(weight[i] > 0 and weight[j] > 0 for i, j in pairs)


KINDS = (
    "normal", "wide", "ties", "grid", "constant", "tiny", "huge", "outlier", "offset",
    "float32", "kink", "clusters", "mixed", "subnormal",
)  # fmt: skip


def scores_of(kind: str, n_rows: int, generator: np.random.Generator) -> np.ndarray:
    """Return scores of a kind that has broken some sum before."""
    normal = generator.normal(size=n_rows)
    made = {
        "normal": normal,
        "wide": 100.0 * normal,
        "ties": generator.integers(0, 3, n_rows) * 0.5,
        "grid": generator.integers(-4, 5, n_rows) * 0.25,
        "constant": np.full(n_rows, 0.1),
        "tiny": 1e-150 * normal,
        "huge": 1e149 * normal,
        "outlier": np.where(generator.random(n_rows) < 0.2, np.sign(normal) * 1e120, normal),
        "offset": 1e7 + normal,
        "float32": normal.astype(np.float32).astype(np.float64),
        "kink": generator.integers(0, 3, n_rows) + 1e-16 * generator.integers(-4, 5, n_rows),
        "clusters": normal + 1e6 * generator.integers(0, 3, n_rows),
        "subnormal": np.where(normal < 0.0, 5e-324 * generator.integers(-9, 10, n_rows), normal),
        "mixed": normal * 10.0 ** generator.integers(-150, 100, n_rows),
    }
    return np.asarray(made[kind], dtype=np.float64)


@st.composite
def problems(draw: st.DrawFn, max_rows: int = 40, graphs: Any = None) -> Problem:
    """Draw a problem: few numbers are drawn, the rest comes from a drawn seed, so it is fast."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(1, max_rows))
    y = _labels(draw, n_rows, generator)
    qid = None
    if draw(st.booleans()):
        qid = generator.integers(0, draw(st.integers(1, max(1, n_rows // 2))), n_rows)
    graph = draw(st.sampled_from(("full", "chain", "random") if graphs is None else graphs))
    if graph == "random":
        graph = _random_graph(np.unique(y), generator)
    scores = scores_of(draw(st.sampled_from(KINDS)), n_rows, generator)
    v = draw(st.sampled_from((1.0, 1e-150, 1e100))) * generator.normal(size=n_rows)
    return Problem(y, qid, graph, _weights(draw, n_rows, generator), scores, v)


@st.composite
def problems_with_roles(draw: st.DrawFn, **kwargs: Any) -> Problem:
    """Draw a problem with weights by role; often one of them is 0 for many rows."""
    problem = draw(problems(**kwargs))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = ("none", "random", "zeros", "events", "equal", "far")
    drawn = [draw(st.sampled_from(kinds)), draw(st.sampled_from(kinds[1:]))]
    if draw(st.booleans()):
        drawn.reverse()
    winner, loser = (_role(kind, problem.y.size, generator) for kind in drawn)
    return problem._replace(winner=winner, loser=loser)


def _role(kind: str, n_rows: int, generator: np.random.Generator) -> np.ndarray | None:
    weight = generator.exponential(size=n_rows) + 0.1
    made = {
        "none": None,
        "random": weight,
        "zeros": np.where(generator.random(n_rows) < 0.3, 0.0, weight),
        "events": (generator.random(n_rows) < 0.3) * 1.0,
        "equal": np.full(n_rows, 0.3),
        "far": weight * 10.0 ** generator.integers(-30, 30, n_rows),
    }
    return made[kind]


def _labels(draw: st.DrawFn, n_rows: int, generator: np.random.Generator) -> np.ndarray:
    kind = draw(st.sampled_from(("two", "few", "real", "constant", "skewed")))
    if kind == "real":
        return generator.normal(size=n_rows)
    if kind == "constant":
        return np.full(n_rows, 3.0)
    if kind == "skewed":
        return np.floor(generator.exponential(size=n_rows))
    return generator.integers(0, 2 if kind == "two" else 7, n_rows).astype(np.float64)


def _weights(draw: st.DrawFn, n_rows: int, generator: np.random.Generator) -> np.ndarray | None:
    kind = draw(st.sampled_from(("none", "constant", "random", "zeros")))
    if kind == "none":
        return None
    if kind == "constant":
        return np.full(n_rows, 0.1)
    weight = generator.exponential(size=n_rows)
    return np.where(generator.random(n_rows) < 0.3, 0.0, weight) if kind == "zeros" else weight


def _random_graph(labels: np.ndarray, generator: np.random.Generator) -> Any:
    """Return an acyclic graph over the labels: edges go up a random order, about half of them."""
    order = generator.permutation(labels)
    edges = [
        (float(low), float(high))
        for at, low in enumerate(order)
        for high in order[at + 1 :]
        if generator.random() < 0.5
    ]
    return OrderGraph(edges) if edges else "chain"
