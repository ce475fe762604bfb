"""convert: text to Parquet block by block, the same rows as read_rows, or nothing at all."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from pyarrow import parquet as pq

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import convert, read_rows

NAMES = {"label": "grade", "qid": "query", "weight": "times"}


def csv_of(n_rows=150, query="q,{}\n"):
    """Return a header and rows: quoted queries with commas and line breaks, blank lines."""
    generator = np.random.default_rng(0)
    lines = ["grade,query,title,a,b,times\n"]
    for row in range(n_rows):
        grade, number = generator.integers(0, 4), generator.integers(0, 9)
        a, b = generator.normal(size=2)
        blank = "\n" * (row % 40 == 7)
        name = query.format(number)
        lines.append(f'{grade},"{name}",t{row},{a:.4f},{b:.4f},{row % 3 + 1}\n{blank}')
    return lines


def assert_same(found, wanted):
    assert np.array_equal(
        found.X, wanted.X if isinstance(wanted.X, np.ndarray) else wanted.X.todense()
    )
    for name in ("y", "qid", "weight", "docid"):
        one, other = getattr(found, name), getattr(wanted, name)
        assert (one is None) == (other is None)
        assert one is None or (np.array_equal(one, other) and one.dtype.kind == other.dtype.kind)


@pytest.mark.parametrize("query", ["q,{}\n", "{}", "0{}"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_csv_becomes_the_rows_that_are_read(tmp_path, query, packed, dtype):
    source, target = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    text = "".join(csv_of(query=query)).encode()
    source.write_bytes(gzip.compress(text) if packed else text)
    convert(source, target, drop_text=True, dtype=dtype, **NAMES)
    assert_same(
        read_rows(target, dtype=dtype, **NAMES),
        read_rows(source, dtype=dtype, drop_text=True, **NAMES),
    )
    kind = str(pq.read_schema(target).field("a").type)
    assert kind == ("float" if dtype == np.float32 else "double")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "rows.parquet"]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("docid", ["", " # docid = GX{}", " # {}"])
def test_svmlight_becomes_the_rows_that_are_read(tmp_path, sparse, docid):
    source, target = tmp_path / "rows.txt", tmp_path / "rows.parquet"
    pairs = "{0}:1.5 40:{1}" if sparse else "1:{0} 2:{1} 3:-1e-3"
    lines = (
        f"{k % 3} qid:{k // 7} {pairs.format(k % 30 + 1, k)}{docid.format(k)}\n" for k in range(99)
    )
    source.write_text("".join(lines))
    convert(source, target)
    names = {"qid": "qid", **({"docid": "docid"} if docid else {})}
    found = read_rows(target, **names)
    assert_same(found, read_rows(source, **names))
    assert found.feature_names[:2] == ["f1", "f2"]
    convert(source, tmp_path / "again.txt")
    assert_same(read_rows(target, **names), read_rows(tmp_path / "again.txt", **names))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1,q,t,nan,2,1\n", "line 264: column 'a': 'nan' is not a finite number"),
        ("1,q,t,1\n", "line 264: 4 cells, 6 are expected"),
        ('1,"q,t,1,1,1\n', "line 265: ',' expected after"),
        ("1,q,t,1e300,2,1\n", "line 264: column 'a': 1e[+]300 overflows float32"),
        ("1,,t,1,2,1\n", "line 264: column 'query' is empty"),
        ("inf,q,t,1,2,1\n", "line 264: the label 'inf' is not a finite number"),
    ],
)
def test_a_bad_row_is_named_and_the_target_stays(tmp_path, line, complaint):
    lines = csv_of()
    lines[130] = line
    source, target = tmp_path / "rows.csv", tmp_path / "rows.parquet"
    source.write_text("".join(lines))
    target.write_text("old")
    with pytest.raises(FileFormatError, match=rf"rows\.csv, {complaint}"):
        convert(source, target, drop_text=True, dtype=np.float32, **NAMES)
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


def test_what_cannot_be_converted_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("label,qid,a\nlow,1,2\nhigh,1,3\n")
    with pytest.raises(PairrankError, match=r"rows\.csv: column 'qid' would be a feature"):
        convert(tmp_path / "rows.csv", tmp_path / "rows.parquet")
    (tmp_path / "some.txt").write_text("1 1:2 # docid = a\n1 1:2 # no idea\n")
    with pytest.raises(FileFormatError, match=r"some\.txt: .* row 1 \(from 0\) has no document"):
        convert(tmp_path / "some.txt", tmp_path / "rows.parquet")
