"""Ratings from text: separators, headers, columns by name or place, and what is no rating."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from pairrank.datasets import make_ratings
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import read_ratings
from pairrank.recommend import RatingsTable
from reproduction.data import load_ratings

LINES = [("2", "x", "5"), ("10", "y", "3.5"), ("2", "y", "-4"), ("1", "x", "0")]


def read(text, **options):
    return read_ratings(io.BytesIO(text.encode()), **options)


def check(found):
    users, items = found.user_ids[found.user].tolist(), found.item_ids[found.item].tolist()
    assert users == [2, 10, 2, 1]
    assert items == ["x", "y", "y", "x"]
    assert found.rating.tolist() == [5.0, 3.5, -4.0, 0.0]
    assert found.user_ids.tolist() == [1, 2, 10]


@pytest.mark.parametrize("header", ["", "user{0}item{0}rating\n"], ids=["bare", "header"])
@pytest.mark.parametrize("separator", ["::", "\t", ";", "|", ","])
def test_lines_are_read_whatever_separates_them(separator, header):
    text = "".join(f"{separator.join(line)}{separator}978300760\n" for line in LINES)
    check(read(header.format(separator).replace("\n", f"{separator}at\n") + text))


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", ["::", ","])
def test_blank_lines_and_ends_of_lines_are_no_matter(separator, ends):
    text = "".join(f"{separator.join(line)}{ends}{ends}" for line in LINES)
    check(read(ends + text.removesuffix(ends + ends)))


@pytest.mark.parametrize(
    "line",
    [
        "{0},{1},{2},Action|Comedy|War",
        "{0},{1},{2},Star::Wars; the film",
        '{0},{1},{2},"Good; bad, ugly; long, old"',
        "{0}|{1}|{2}|Toy, Story, The",
        "{0};{1};{2};Crouching, hidden, tiger",
    ],
)
def test_a_separator_cuts_the_first_line_into_user_item_and_rating(line):
    check(read("".join(line.format(*each) + "\n" for each in LINES)))


def test_a_header_may_speak_of_ids():
    text = "rating_id,age,itemId,Rating,User-ID\n"
    check(read(text + "".join(f"9,33,{i},{r},{u}\n" for u, i, r in LINES)))
    text = "userId,movieId,rating,timestamp\n"
    check(read(text + "".join(f"{u},{i},{r},9\n" for u, i, r in LINES)))


def test_columns_are_found_by_name_wherever_they_stand():
    text = "stars,when,film,who\n" + "".join(f"{r},9,{i},{u}\n" for u, i, r in LINES)
    check(read(text, user="who", item="film", rating="stars"))
    check(read(text, user=4, item=3, rating=1))
    check(read(text.partition("\n")[2], user="4", item="3", rating="1"))


def test_a_number_is_a_place_whatever_the_first_line_holds():
    found = read("ann,5,2\nbob,3,3\n", user="1", item="3", rating="2")
    assert found.user_ids.tolist() == ["ann", "bob"]
    assert found.rating.tolist() == [5.0, 3.0]


def test_quoted_names_and_spaces_are_read():
    found = read('user,item,rating\n"o\'hara, ann", dune ,4\n')
    assert (found.user_ids[0], found.item_ids[0]) == ("o'hara, ann", "dune")


@pytest.mark.parametrize("names", [["007", "7"], ["9" * 30, "1"], ["01", "-1"], ["a", "1"]])
def test_names_that_are_no_plain_numbers_stay_text(names):
    found = read("".join(f"{name}::x::1\n" for name in names))
    assert found.user_ids[found.user].tolist() == names
    assert found.user_ids.tolist() == sorted(names)


def test_parquet_and_text_hold_the_same_ratings(tmp_path):
    user, item, rating = make_ratings(30, 40, random_state=0)
    text = "".join(f"{u}\t{i}\t{r}\n" for u, i, r in zip(user, item, rating, strict=True))
    columns = {"rating": rating, "when": rating, "userId": user, "itemId": item}
    parquet.write_table(pyarrow.table(columns), tmp_path / "ratings")
    for found in (read(text), read_ratings(tmp_path / "ratings")):
        np.testing.assert_array_equal(found.user_ids[found.user], user)
        np.testing.assert_array_equal(found.item_ids[found.item], item)
        np.testing.assert_array_equal(found.rating, rating)


def test_compressed_files_make_a_table(tmp_path):
    (tmp_path / "ratings.gz").write_bytes(gzip.compress(b"user,item,rating\n1,a,3\n2,a,4\n1,b,5\n"))
    table = RatingsTable.build(read_ratings(tmp_path / "ratings.gz"))
    assert (table.n_users, table.n_items, table.n_ratings) == (2, 2, 3)
    assert table.ratings_of(0).tolist() == [3.0, 5.0]


@pytest.mark.parametrize(
    ("text", "options", "complaint"),
    [
        ("", {}, "no ratings; a line is a user, an item and a number"),
        ("\n\n", {}, "no ratings"),
        ("user,item,rating\n", {}, "no ratings below the header"),
        ("1,2\n", {}, "the first line has 2 cells, but no column 3"),
        ("1;2\n", {}, "the first line has 2 cells, but no column 3"),
        ("1 2 3\n", {}, "the first line has 1 cell, but no column 3"),
        ("1,2,NA\n1,3,5\n", {}, "line 1: column 'rating': 'NA' is not a finite number"),
        ("1,2,3\n4,5,1_0\n", {}, "line 2: column 'rating': '1_0'"),
        ("\n\n1,2,3\n\n\n4,5,x\n", {}, "line 6: column 'rating': 'x'"),
        ("1,2,3\n \n4,5,6\n", {}, "line 2: 1 cells, 3 are expected"),
        ("\n\n1::2::3\n\n4::5::x\n", {}, "line 5: column 'rating': 'x'"),
        ("1,2,3\n4,5\n", {}, "line 2: 2 cells, 3 are expected"),
        ("1,2,3\n\n4,5,good\n", {}, "line 3: column 'rating': 'good'"),
        ("1::2::3\n\n4::5::nan\n", {}, "line 3: column 'rating': 'nan'"),
        ("1,2,3\n4,5,\n", {}, "line 2: column 'rating': an empty cell"),
        ("1,2,3\n,5,2\n", {}, "line 2: column 'user' is empty"),
        ("1,2,3\n4, ,2\n", {}, "line 2: column 'item' is empty"),
        ("user,item,rating\n1,2,3\n", {"user": "who"}, "no column 'who' to take as .*'item'"),
        ("1,2,3\n", {"item": "0"}, "no column '0'"),
        ("1,2,3\n", {"rating": 4}, "no column 4"),
        ("1,2,3\n", {"user": 2}, "user, item and rating are columns 2, 2, 3"),
        ('1,2,3\n"1,2,3\n', {}, "line"),
        ("PAR1....", {}, "not a Parquet file, or is cut"),
    ],
)  # fmt: skip
def test_what_is_no_rating_is_refused_with_its_line(text, options, complaint):
    with pytest.raises(PairrankError, match=complaint):
        read(text, **options)


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(FileFormatError, match="not UTF-8"):
        read_ratings(io.BytesIO(b"1,caf\xe9,3\n"))


def test_movielens_files_are_read_as_they_are(data_home):
    found, loaded = (
        read_ratings(data_home / "ml-100k" / "u.data.gz"),
        load_ratings("ml-100k", data_home),
    )
    for ours, theirs in zip(found, loaded, strict=False):
        np.testing.assert_array_equal(ours, theirs)
