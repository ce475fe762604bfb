"""The command: runs missing cells, then writes REPRODUCTION.md and its pictures."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pairrank.exceptions import PairrankError
from reproduction.data import ENVIRONMENT
from reproduction.page import write_page
from reproduction.papers import STUDIES, load_study
from reproduction.pictures import draw_pictures
from reproduction.runner import missing, run
from reproduction.study import Cell, Study

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except PairrankError as error:
        print(f"reproduction: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("reproduction: interrupted; finished cells are kept", file=sys.stderr)
        return 130
    return 0


def write_results(folder: Path) -> str:
    """Write pictures and page from the records in a folder, and return the page."""
    studies = [load_study(name, folder / "reproduction" / "results") for name in STUDIES]
    drawn = [draw_pictures(study, folder / "reproduction" / "pictures") for study in studies]
    page = write_page(studies, set().union(*drawn))
    (folder / "REPRODUCTION.md").write_text(page, encoding="utf-8")
    return page


def _run(options: argparse.Namespace) -> None:
    _find_data()
    results = options.out / "reproduction" / "results"
    studies = _studies(options.paper, options.table, results)
    if options.show:
        for cell, study in _cells(studies, options.table):
            print(json.dumps(study.records.get(cell.key, {"function": cell.function})))
        return
    if options.again:
        for cell, study in _cells(studies, options.table):
            study.records.pop(cell.key, None)
    if not options.page:
        works = missing(studies, options.table, full=options.full, timed=not options.untimed)
        print(f"{len(works)} cells to run", flush=True)
        hours = options.hours or (math.inf if options.full else 1.0)
        left = run(works, results, jobs=options.jobs, hours=hours)
        if left:
            print(f"{left} cells did not fit into the hours: run again, or give --hours")
    write_results(options.out)
    print(f"wrote {options.out / 'REPRODUCTION.md'}")


def _find_data() -> None:
    """Take the data beside the repository if the environment names none."""
    beside = ROOT.parent / "shared" / "data"
    if not os.environ.get(ENVIRONMENT) and beside.is_dir():
        os.environ[ENVIRONMENT] = str(beside)
    if os.environ.get(ENVIRONMENT):
        os.environ[ENVIRONMENT] = os.path.abspath(os.environ[ENVIRONMENT])
    else:
        print(f"{ENVIRONMENT} is not set: generated data and scikit-learn's only", flush=True)


def _studies(names: Sequence[str], tables: Sequence[str], results: Path) -> list[Study]:
    studies = [load_study(name, results) for name in names or STUDIES]
    known = dict.fromkeys(table.name for study in studies for table in study.tables)
    for name in tables:
        if name not in known:
            raise PairrankError(f"no table {name!r}; there are {', '.join(known)}")
    return studies


def _cells(studies: Sequence[Study], tables: Sequence[str]) -> Iterator[tuple[Cell, Study]]:
    for study in studies:
        for table in study.tables:
            if not tables or table.name in tables:
                yield from ((cell, study) for cell in table.cells)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Compute the papers' tables and figures that are missing, and write "
        "REPRODUCTION.md.",
    )
    add = parser.add_argument
    add("--paper", action="append", default=[], choices=[*STUDIES], help="all without it")
    add("--table", action="append", default=[], metavar="N", help="a table: 3, fig2")
    add("--again", action="store_true", help="compute what is there again")
    add("--full", action="store_true", help="also the cells that take hours")
    add("--hours", type=float, help="start no cell that may end later (1; with --full no limit)")
    add("--untimed", action="store_true", help="leave out the cells that report times")
    add("--page", action="store_true", help="run nothing; write the page from the results")
    add("--show", action="store_true", help="run nothing; print the values of every cell")
    add("--jobs", type=int, default=2, help="untimed cells side by side (2)")
    add("--out", type=Path, default=ROOT, metavar="FOLDER", help="where to write (the repository)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
