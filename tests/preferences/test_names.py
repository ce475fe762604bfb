"""Names as codes: every kind of column gives the same rows, and faults name the row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pairrank.preferences.pair_inputs import name_codes

NAMES = st.one_of(st.integers(-3, 3), st.text(max_size=2), st.tuples(st.integers(0, 1)))


@given(st.lists(NAMES, min_size=1))
def test_codes_are_places_among_the_distinct_names(names):
    distinct, codes = name_codes(names, "names")
    assert [distinct[code] for code in codes] == names
    assert len(set(distinct)) == len(distinct)
