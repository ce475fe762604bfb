"""Finished cells on disk: one file of JSON per paper, one line per cell."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from pairrank.exceptions import FileFormatError
from reproduction.study import Record, key_of


def read_records(path: Path) -> dict[str, Record]:
    """Return the records of a file by their keys."""
    try:
        records = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        return {key_of(each["function"], each["config"]): each for each in records}
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path}: not finished cells ({error}); remove it") from None


def write_records(path: Path, records: Mapping[str, Record]) -> None:
    """Write the records to a temporary file, one per line, and move it into place."""
    lines = ",\n".join(json.dumps(records[key]) for key in sorted(records))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    temporary.replace(path)
