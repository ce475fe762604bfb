"""Linear models for programs and databases: JSON, CSV, SQL and Python."""

from __future__ import annotations

import csv
import io
import json
from importlib.metadata import version

import numpy as np

from pairrank.export.linear import LinearModel

_PYTHON = '''\
"""Scores of a linear {ranker}, exported by pairrank {version}; higher ranks better."""

WEIGHTS = {{
{weights}
}}
OFFSET = {offset!r}


def score(row):
    """Return the score of a row, a mapping from the names of features to numbers."""
    return OFFSET + sum(weight * row[name] for name, weight in WEIGHTS.items())
'''


def as_json(model: LinearModel) -> str:
    """Return names, weights and offset as a JSON object."""
    record = {
        "format": "pairrank-linear",
        "version": 1,
        "pairrank": version("pairrank"),
        "ranker": model.ranker,
        "offset": model.offset,
        "names": model.names,
        "weights": model.weights.tolist(),
    }
    return json.dumps(record, indent=2) + "\n"


def as_csv(model: LinearModel) -> str:
    """Return a table with the columns feature and weight."""
    text = io.StringIO()
    # minimal quoting leaves a carriage return bare, which readers take for the end of the line
    if any("\r" in name for name in model.names):
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    else:
        writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("feature", "weight"))
    writer.writerows(zip(model.names, model.weights.tolist(), strict=True))
    return text.getvalue()


def as_sql(model: LinearModel) -> str:
    """Return an expression over columns with the names of the features.

    Identifiers are quoted as in standard SQL. Numbers have an exponent, so that databases compute
    with floating point, not with decimals. Features of weight 0 are left out.
    """
    terms = [
        f"{_sql_number(weight)} * {_sql_identifier(feature)}"
        for feature, weight in zip(model.names, model.weights.tolist(), strict=True)
        if weight
    ]
    if model.offset or not terms:
        terms.append(_sql_number(model.offset))
    return "\n+ ".join(terms) + "\n"


def as_python(model: LinearModel) -> str:
    """Return a module with a function `score` that needs no library."""
    pairs = zip(model.names, model.weights.tolist(), strict=True)
    return _PYTHON.format(
        ranker=model.ranker,
        version=version("pairrank"),
        weights="\n".join(f"    {feature!r}: {weight!r}," for feature, weight in pairs),
        offset=model.offset,
    )


def _sql_number(value: float) -> str:
    return np.format_float_scientific(value, trim="-")


def _sql_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
