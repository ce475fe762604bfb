"""Time ratings of named items from many votes: kinds of names, ties, errors and groups.

The time of a chart of 1,000 items from ten million votes is mostly that of reading their names.
Asserts nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import _harness as harness

VOTES_A_VOTER = 20


class Made(NamedTuple):
    """Votes between items by number, (n_votes,) each, and the items' names."""

    winner: Any
    loser: Any
    tie: Any
    voter: Any
    names: Any


def made(n_votes: int, n_items: int) -> Made:
    """Return votes by a Bradley-Terry model; a tenth are ties."""
    import numpy as np

    rng = np.random.default_rng(0)
    score = rng.normal(size=n_items)
    i = rng.integers(0, n_items, n_votes)
    j = (i + rng.integers(1, n_items, n_votes)) % n_items
    wins = rng.random(n_votes) < 1.0 / (1.0 + np.exp(score[j] - score[i]))
    voter = np.arange(n_votes) // VOTES_A_VOTER
    names = np.array([f"player {item}" for item in range(n_items)])
    tie = rng.random(n_votes) < 0.1
    return Made(np.where(wins, i, j), np.where(wins, j, i), tie, voter, names)


def calls(votes: Made) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    from pairrank import BradleyTerry

    winner, loser = votes.names[votes.winner], votes.names[votes.loser]

    def fit(*columns: Any, groups: Any = None, tie: Any = None, **params: Any) -> bool:
        model = BradleyTerry(**params).fit(*columns, groups=groups, tie=tie)
        return model.status_ == "converged"

    numbers = votes.winner, votes.loser
    found: dict[str, Callable[[], Any]] = {
        "numbers as names, no errors": lambda: fit(*numbers, covariance=None),
        "numbers as names": lambda: fit(*numbers),
        "text as names": lambda: fit(winner, loser),
        "half ties": lambda: fit(*numbers, tie=votes.tie),
        "Davidson's ties": lambda: fit(*numbers, tie=votes.tie, ties="davidson"),
        "Rao and Kupper's ties": lambda: fit(*numbers, tie=votes.tie, ties="rao-kupper"),
        "voters as groups": lambda: fit(*numbers, groups=votes.voter),
    }
    if find_spec("pandas"):
        import pandas as pd

        columns = pd.Series(winner), pd.Series(loser)
        found["text in pandas"] = lambda: fit(*columns)
    return found


def measured(n_votes: int, n_items: int, repeat: int) -> Iterator[list[Any]]:
    """Yield a row of the table for each call."""
    timed = calls(made(n_votes, n_items))
    for name, each in harness.in_turn(timed, repeat).items():
        yield [name, f"{each.median:.2f}", each.spread]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=float, default=1e7)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    limits = harness.one_thread()
    print(harness.header(), "", sep="\n")
    rows = measured(int(given.votes), given.items, given.repeat)
    print(harness.table(["votes", "median, s", "least to greatest"], rows))
    del limits


if __name__ == "__main__":
    main()
