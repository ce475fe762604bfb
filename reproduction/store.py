"""Finished cells on disk: one JSON file each, and what the page was made from."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairrank.exceptions import FileFormatError
from reproduction.study import Cell, Record, Study

LASTING = ("done", "time", "memory")
"""Results that are not computed again, if the limits have not grown."""


@dataclass(frozen=True)
class Places:
    """Where a run keeps its files, under `root`: the repository, or another folder."""

    root: Path

    @property
    def cells(self) -> Path:
        """Finished cells, one file each, by which a run is resumed."""
        return self.root / "reproduction" / "cells"

    @property
    def results(self) -> Path:
        """What the page is made from, one file per paper."""
        return self.root / "reproduction" / "results"

    @property
    def pictures(self) -> Path:
        """The pictures of the page."""
        return self.root / "reproduction" / "pictures"

    @property
    def page(self) -> Path:
        """The page."""
        return self.root / "REPRODUCTION.md"


class Store:
    """The finished cells of a study.

    Parameters
    ----------
    places : Places
    study : Study
    """

    def __init__(self, places: Places, study: Study) -> None:
        self._folder = places.cells / study.name
        self._results = places.results / f"{study.name}.json"
        self._known = {cell.digest for table in study.tables for cell in table.cells}

    def find(self, cell: Cell) -> Record | None:
        """Return the record of a cell that need not be computed again, or None."""
        path = self._folder / f"{cell.digest}.json"
        if not path.exists():
            return None
        record: Record = read_json(path)
        limit = {"time": cell.seconds, "memory": cell.memory}.get(record["status"])
        if limit is not None and limit > record[record["status"]]:
            return None
        return record if record["status"] in LASTING else None

    def keep(self, record: Record) -> None:
        """Write a record."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_text(self._folder / f"{record['digest']}.json", json.dumps(record, indent=1))

    def finished(self) -> dict[str, Record]:
        """Return the records of the study's cells by digest, also of those that failed."""
        records = [read_json(path) for path in sorted(self._folder.glob("*.json"))]
        return {each["digest"]: each for each in records if each["digest"] in self._known}

    def publish(self) -> dict[str, Record]:
        """Write the file that the page is made from, one line per cell, and return its records."""
        records = self.finished()
        lines = ",\n".join(json.dumps(records[digest]) for digest in sorted(records))
        self._results.parent.mkdir(parents=True, exist_ok=True)
        write_text(self._results, f"[\n{lines}\n]\n")
        return records

    def published(self) -> dict[str, Record]:
        """Return the records that the page was made from."""
        if not self._results.exists():
            return {}
        records = read_json(self._results)
        return {each["digest"]: each for each in records if each["digest"] in self._known}

    def take_published(self) -> None:
        """Keep the published records that are not there, so that a run goes on from them."""
        present = self.finished()
        for digest, record in self.published().items():
            if digest not in present:
                self.keep(record)


def read_json(path: Path) -> Any:
    """Return the content of a file, or raise a FileFormatError that says what to do."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(f"{path}: not a finished cell ({error}); remove it") from None


def write_text(path: Path, text: str) -> None:
    """Write a file to a temporary name, then move it into place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
