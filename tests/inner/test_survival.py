"""Censored times: targets, concordance indices and standard errors against their definitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pairrank.preferences import Levels
from pairrank.survival import survival_target
from survival_definition import comparable_pairs


def pairs_of(target) -> list[tuple[int, int]]:
    """Return the pairs of positive weight that labels and winner weights give."""
    y, winner = target["y"], target["winner_weight"]
    rows = range(y.size)
    return [(i, j) for i in rows for j in rows if y[i] > y[j] and winner[i] > 0]


ROWS = st.lists(st.tuples(st.booleans(), st.integers(-2, 4)), min_size=1, max_size=14)


@given(ROWS)
def test_a_target_has_the_comparable_pairs(rows):
    event, time = (list(each) for each in zip(*rows, strict=True))
    target = survival_target(event, time)
    assert pairs_of(target) == comparable_pairs(event, time)
    assert Levels.build(**target).n_pairs == len(comparable_pairs(event, time))
