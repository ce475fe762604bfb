"""Ratings tables: users, items and ratings as the registry states them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pairrank.exceptions import PairrankError
from reproduction.data import DatasetNotFoundError, load_ratings
from reproduction.data.registry import read_records

RATINGS = read_records("ratings")
COUNTS = {
    "ml-1m": (1_000_204, 1.0, 5.0),
    "jester": (1_810_455, -9.95, 10.0),
    "book_crossing_partial": (27_086, 1.0, 10.0),
}
"""Ratings, the least and the greatest; 16 of Book-Crossing are of one book by one reader again."""


@pytest.mark.parametrize("name", sorted(RATINGS))
def test_every_table_is_what_the_registry_states(data_home, name):
    data = load_ratings(name, data_home)
    n_ratings, least, greatest = COUNTS[name]
    record = RATINGS[name]
    assert data.item.shape == data.rating.shape == (n_ratings,)
    assert (data.rating.min(), data.rating.max()) == (least, greatest)
    assert (data.user_ids.size, data.item_ids.size) == (record.n_rows, record.n_columns)
    assert data.counts.min() >= 1
    assert (np.unique(data.item) == np.arange(data.item_ids.size)).all()


@pytest.mark.parametrize("record", RATINGS.values(), ids=lambda record: record.name)
def test_every_table_has_its_source_terms_and_digest(record):
    assert record.title
    assert record.description.endswith(".")
    assert record.source
    assert record.licence
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in record.files.values())


def test_a_missing_table_says_where_it_can_be_had(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"ratings_no_timestamp.*source: "):
        load_ratings("ml-1m", tmp_path)


def test_an_unknown_table_is_refused_by_name():
    with pytest.raises(PairrankError, match=r"no ratings table 'netflix'; there are .*ml-1m"):
        load_ratings("netflix")
