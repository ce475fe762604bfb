"""RowBlocks.from_csv: the same rows as read_rows, and a cache that is checked."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from block_sources import joined
from pairrank import RowBlocks
from pairrank.exceptions import PairrankError
from pairrank.io import _converted, csv_blocks, read_rows

NAMES = {"label": "grade", "qid": "query", "weight": "times"}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(csv_blocks, "_TEXT_BYTES", 500)


def lines_of(seed, n_rows=150):
    """Return a header and rows: quoted queries with commas and line breaks, blank lines."""
    generator = np.random.default_rng(seed)
    lines = ["grade,query,title,a,b,times\n"]
    for row in range(n_rows):
        grade, query = generator.integers(0, 4), generator.integers(0, 9)
        a, b = generator.normal(size=2)
        blank = "\n" * (row % 40 == 7)
        lines.append(f'{grade},"q,{query}\n",t{row},{a:.4f},{b:.4f},{row % 3 + 1}\n{blank}')
    return lines


def write(path, lines):
    path.write_text("".join(lines), encoding="utf-8")
    return path


def blocks_of(path, cache, **options):
    given = {"drop_text": True, "batch_rows": 40, **NAMES, **options}
    return RowBlocks.from_csv(path, cache=cache, **given)


@given(
    cells=st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**70), 2**70)),
        min_size=1,
        max_size=30,
    ),
    part=st.integers(64, 400),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_numbers_are_those_that_are_read_in_memory(tmp_path, cells, part):
    path = write(tmp_path / "rows.csv", ["a,b\n", *(f"{a!r},{b}\n" for a, b in cells)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_blocks, "_TEXT_BYTES", part)
        rows = RowBlocks.from_csv(path, cache=tmp_path / "cache")
    assert np.array_equal(joined(rows), read_rows(path, label=None).X)


def parsed_by(monkeypatch):
    calls = []
    plain = csv_blocks._CsvFile.write

    def watched(self, *arguments):
        calls.append(self.path)
        return plain(self, *arguments)

    monkeypatch.setattr(csv_blocks._CsvFile, "write", watched)
    return calls


def test_the_text_is_parsed_once(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.csv", lines_of(0))
    blocks_of(path, tmp_path / "cache")
    calls = parsed_by(monkeypatch)
    os.utime(path, ns=(1, 1))
    blocks_of(path, tmp_path / "cache", batch_rows=7)
    assert calls == []
    blocks_of(path, tmp_path / "cache", weight=None, drop=["times"])
    assert calls == [str(path)]


def test_converted_text_is_used_for_some_of_its_columns(tmp_path, monkeypatch):
    text = ["u,v,w,q,grade\n", *(f"{k},{k * k},{-k},{k // 3},{k % 4}\n" for k in range(9))]
    path, cache = write(tmp_path / "rows.csv", text), tmp_path / "cache"
    RowBlocks.from_csv(path, cache=cache, label="grade", qid="q")
    calls = parsed_by(monkeypatch)
    rows = RowBlocks.from_csv(path, cache=cache, label="grade", features=["w", "u"])
    found = rows.first_block()
    assert calls == []
    assert found.X[:, 0].tolist() == [-float(k) for k in range(9)]
    assert found.X[:, 1].tolist() == [float(k) for k in range(9)]
    assert found.y.tolist() == [k % 4 for k in range(9)]
    assert found.qid is None


@pytest.mark.parametrize(
    "other",
    [
        {"features": ["u", "grade"]},
        {"features": ["u"], "label": "q"},
        {"features": ["u"], "qid": "v"},
        {"features": ["u"], "weight": "w"},
        {"features": ["u"], "dtype": np.float32},
        {"drop": ["q"]},
    ],
)
def test_text_is_parsed_again_for_other_columns_or_roles(tmp_path, monkeypatch, other):
    text = ["u,v,w,q,grade\n", *(f"{k},{k * k},{k},{k // 3},{k % 4}\n" for k in range(9))]
    path, cache = write(tmp_path / "rows.csv", text), tmp_path / "cache"
    RowBlocks.from_csv(path, cache=cache, label="grade", qid="q", features=["u", "v"])
    calls = parsed_by(monkeypatch)
    RowBlocks.from_csv(path, cache=cache, **other)
    assert calls == [str(path)]


def test_folders_of_another_version_are_not_read(tmp_path, monkeypatch):
    path = write(tmp_path / "rows.csv", lines_of(0))
    blocks_of(path, tmp_path / "cache")
    calls = parsed_by(monkeypatch)
    monkeypatch.setattr(_converted, "_VERSION", _converted._VERSION + 1)
    blocks_of(path, tmp_path / "cache")
    assert calls == [str(path)]


def test_a_changed_bit_is_an_error_or_changes_nothing(tmp_path, monkeypatch):
    """Page headers hold statistics that no one reads; values and their lengths have checksums."""
    monkeypatch.setattr(csv_blocks, "_TEXT_BYTES", 1 << 20)
    path = write(tmp_path / "rows.csv", lines_of(0))
    wanted = joined(blocks_of(path, tmp_path / "cache"))
    block = next((tmp_path / "cache").rglob("*.parquet"))
    content, refused = block.read_bytes(), 0
    for at in range(4, 2000, 50):
        block.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            found = joined(blocks_of(path, tmp_path / "cache"))
        except PairrankError:
            refused += 1
        else:
            assert np.array_equal(found, wanted)
    assert refused > 20
