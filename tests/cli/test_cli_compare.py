"""pairrank compare: tables, files, folders of cells, progress, interrupts, and what is refused."""

from __future__ import annotations

import json

import pytest

from cli_rows import make_rows
from cli_runs import invoke, run
from pairrank.cli import compare as command
from pairrank.cli.compare import _CellLine
from pairrank.comparison import KNOWN, Progress
from pairrank.comparison.cells import Cell
from pairrank.io import write_rows, write_svmlight

MODELS = ["--models", "ranksvm,ridge,logistic_regression", "--folds", 3, "--inner-folds", 0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("compare")
    rows = make_rows(0, n_rows=120, n_queries=12)
    write_svmlight(home / "rows.txt", rows)
    for name in ("rows.csv", "rows.parquet"):
        write_rows(home / name, rows)
    write_svmlight(home / "one.txt", rows._replace(y=rows.X[:, 0] + rows.X[:, 1], qid=None))
    return home


def test_the_same_command_goes_on_from_its_cells(folder, tmp_path, monkeypatch):
    asked = ["compare", folder / "rows.txt", *MODELS, "--metric", "map", "--cells", tmp_path / "c"]

    class Impatient(_CellLine):
        def __call__(self, progress):
            super().__call__(progress)
            if progress.n_done == 4 and progress.cell is not None:
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(command, "_CellLine", Impatient)
        words = [str(each) for each in [*asked, "-o", tmp_path / "part.md"]]
        done = invoke(words)
    assert done.exit_code == 130
    assert "goes on from" in done.stderr.splitlines()[-1]
    assert "Interrupted: some folds are missing." in done.stdout
    assert "Interrupted" in (tmp_path / "part.md").read_text(encoding="utf-8")
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "c").iterdir()}
    assert len(kept) == 3  # one of the four has no values, but a reason
    record = json.loads(run(*asked, "--json").stdout)
    assert not record["interrupted"]
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "c").iterdir()}
    assert len(after) == 6
    assert kept.items() <= after.items()


def test_the_line_of_a_terminal_says_what_is_at_work_and_what_is_left():
    line = _CellLine(quiet=True)
    assert line.text(1.0) == "comparing"
    line(Progress(2, 6, "ridge", 1, 0, n_fits=4, n_choice=24))
    assert line.text(10.0) == (
        "2 of 6  ridge, fold 1 of repeat 2  fit 5 of 24 of the choice  10 s  20 s left"
    )
    cell = Cell("a", 0, 0, 2, 1, {}, 0.0, 0.5, 0.0, {"map": 0.25}, [0], {"map": [0.25]}, [])
    line(Progress(3, 6, "a", 0, 0, cell=cell))
    assert line.text(9.0) == "3 of 6  a, fold 1  9 s  9 s left"


def test_every_known_model_is_in_the_help():
    shown = " ".join(run("compare", "--help").stdout.replace("│", " ").split())
    for name in KNOWN:
        assert name in shown
