"""Cells for the tests of the reproduction: quick, slow, greedy and failing ones."""

import os
import time
from dataclasses import replace

import numpy as np

from reproduction.data import DatasetNotFoundError
from reproduction.study import Cell, Claim, Quantity, Study, Table, Verdict

SMALL = {
    "dataset": "generated", "n_repeats": 1, "n_users": 6, "n_references": 8, "n_held": 4,
    "group": [5, 100], "activity": [10, 100],
}  # fmt: skip
"""A small configuration of Cortes' cells."""


def count(*, n):
    """Return numbers that depend on the configuration."""
    return {"number": [n, n + 1.0], "word": "text", "nan": np.nan, "third": np.float32(1) / 3}


def sleep(*, seconds):
    """Do nothing for some seconds."""
    time.sleep(seconds)
    return {"number": 0.0}


def allocate(*, gibibytes):
    """Fill an array."""
    return {"number": float(np.ones(int(gibibytes * 2**27)).sum())}


def fail():
    """Raise an error."""
    raise RuntimeError("no luck")


def absent():
    """Miss a data set."""
    raise DatasetNotFoundError("put it there")


def crash():
    """End the process."""
    os._exit(3)


def done(study, values):
    """Return a study whose cells at (table, row, column) have values, or another status."""
    records = {
        study.table(table).places[row, column].key: {"status": "done", "values": each}
        if isinstance(each, dict)
        else {"status": each, "values": {}}
        for (table, row, column), each in values.items()
    }
    return replace(study, records=records)


def one_study(*cells, title="a number", **options):
    """Return a study of one table of some cells."""
    quantity = Quantity("number", title, **options)
    return Study(
        name="small",
        title="Small 2000",
        citation="S. Small, 2000.",
        tables=(Table("1", "numbers", cells, (quantity,)),),
        claims=(
            Claim(
                "a is above 1",
                lambda study: Verdict(study.mean("1", "a", "x", "number") > 1.0, "so it is"),
            ),
        ),
    )


def cell(row="a", column="x", run=count, **options):
    """Return a cell; `n` counts by the row."""
    config = options.pop("config", {"n": ord(row)} if run is count else {})
    return Cell(row, column, run, config, **{"seconds": 60.0, **options})
