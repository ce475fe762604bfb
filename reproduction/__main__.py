"""The command: runs missing cells, then writes REPRODUCTION.md and its pictures."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pairrank.exceptions import PairrankError
from reproduction.page import judge, write_page
from reproduction.papers import STUDIES, load_study
from reproduction.pictures import draw_pictures
from reproduction.runner import Choice, Runner, missing
from reproduction.store import Places, Store, write_text
from reproduction.study import Readings, Study

ROOT = Path(__file__).resolve().parents[1]
DATA = "PAIRRANK_DATA"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except PairrankError as error:
        print(f"reproduction: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("reproduction: interrupted; finished cells are kept", file=sys.stderr)
        return 130


def write_results(places: Places, ran: Sequence[str] = tuple(STUDIES)) -> list[str]:
    """Write results, pictures and page; return the claims' lines.

    Studies that `ran` publish their finished cells; others stay as they were published.
    """
    found, pictures, lines = [], set(), []
    for name in STUDIES:
        study, store = load_study(name), Store(places, load_study(name))
        records = store.publish() if name in ran else store.published()
        pictures |= draw_pictures(study, records, places.pictures)
        found.append((study, records))
        for text, verdict, _ in judge(study, Readings(study, records)):
            lines.append(f"{study.name}: {verdict.status}: {text} {verdict.figure}".rstrip())
    write_text(places.page, write_page(found, pictures))
    return lines


def _run(options: argparse.Namespace) -> int:
    places = Places(options.out)
    _find_data()
    studies = _studies(options.paper)
    if not options.page:
        _check_tables(studies, options.table)
        for study in studies if options.take_published else ():
            Store(places, study).take_published()
        choice = Choice(tuple(options.table), options.full, not options.untimed, options.again_busy)
        works = missing(studies, places, choice)
        print(f"{len(works)} cells to run", flush=True)
        left = Runner(options.jobs, _hours(options)).run(works)
        if left:
            print(f"{len(left)} cells did not fit into the hours: run again, or give --hours")
    ran = [] if options.page else [study.name for study in studies]
    for line in write_results(places, ran):
        print(line)
    print(f"wrote {places.page}")
    return 0


def _hours(options: argparse.Namespace) -> float:
    if options.hours is not None:
        return float(options.hours)
    return math.inf if options.full else 1.0


def _find_data() -> None:
    """Take the data beside the repository if the environment names none."""
    beside = ROOT.parent / "shared" / "data"
    if not os.environ.get(DATA) and beside.is_dir():
        os.environ[DATA] = str(beside)
    if os.environ.get(DATA):
        os.environ[DATA] = os.path.abspath(os.environ[DATA])
    else:
        print(f"{DATA} is not set: generated data and scikit-learn's only", flush=True)


def _studies(names: Sequence[str]) -> list[Study]:
    for name in names:
        if name not in STUDIES:
            raise PairrankError(f"no paper {name!r}; there are {', '.join(STUDIES)}")
    return [load_study(name) for name in names or STUDIES]


def _check_tables(studies: Sequence[Study], names: Sequence[str]) -> None:
    known = [table.name for study in studies for table in study.tables]
    for name in names:
        if name not in known:
            raise PairrankError(f"no table {name!r}; there are {', '.join(dict.fromkeys(known))}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Compute the papers' tables and figures, and write REPRODUCTION.md.",
    )
    add = parser.add_argument
    add("--paper", action="append", default=[], metavar="NAME", help=", ".join(STUDIES))
    add("--table", action="append", default=[], metavar="N", help="a table: 3, fig2")
    add("--full", action="store_true", help="also the cells that take hours")
    add("--hours", type=float, help="start no cell that may end later (1; with --full no limit)")
    add("--untimed", action="store_true", help="leave out the cells that report times")
    add("--again-busy", action="store_true", help="repeat times that other processes disturbed")
    add("--take-published", action="store_true", help="go on from the results in the repository")
    add("--page", action="store_true", help="run nothing; write the page from the results")
    add("--jobs", type=int, default=2, help="untimed cells side by side (2)")
    add("--out", type=Path, default=ROOT, metavar="FOLDER", help="where to write (the repository)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
